package suites_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// TestNoOpNamesTheField has a webhook that stores the same values in another order each time. To clients that compare what is read, nothing
// differs: the finding names the place all the same, whether storage can be looked into or not, and has an object with little else.
func TestNoOpNamesTheField(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	const set = `{names: {type: array, minItems: 2, x-kubernetes-list-type: set, items: {type: string}}, other: {type: object, properties: {size: {type: integer}, note: {type: string}}}}`
	reverses := rewriting(func(_, to string, o map[string]any) {
		if names, is := within(o, "spec")["names"].([]any); is && to == "v1" {
			slices.Reverse(names)
		}
	})
	genuine := apiServer.Cluster(t)
	for name, test := range map[string]struct {
		cluster cluster.Cluster
		says    string
	}{
		"storage is seen":     {genuine, "though nothing that is seen at v1 differs; in storage, it changed:\nspec.names[0]: expected"},
		"storage is not seen": {bare{genuine}, "; writing it once more changed at v1:\nspec.names[0]: expected"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range judge(t, test.cluster, subject(t, reverses, corpusOf(t, twin(set, set, "{status: {}}"), "")), requirement.ResourceWriteNoOp) {
				if r.Verdict != requirement.Failed || !strings.Contains(r.Reason, test.says) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				for _, a := range r.Attachments {
					object := &unstructured.Unstructured{}
					if a.Name != "object.yaml" {
						continue
					}
					if err := yaml.Unmarshal(a.Data, &object.Object); err != nil {
						t.Fatal(err)
					}
					if leaves := corpus.Leaves(object); len(leaves) > 2 {
						t.Errorf("the object has %v", leaves)
					}
				}
			}
		})
	}
}
