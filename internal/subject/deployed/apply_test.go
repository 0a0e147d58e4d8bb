package deployed

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// services is a mapper that knows services only.
type services struct{ meta.RESTMapper }

func (services) Reset() {}

// TestSomebodyElseIsFaster has an object appear after it was looked for, and before it is created.
func TestSomebodyElseIsFaster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run   string // of what appears
		want  error
		verbs []string
	}{
		"somebody's": {"", errNotOurs, []string{"get", "create", "get"}},
		"a run's":    {"r2", errNotOurs, []string{"get", "create", "get"}},
		"ours":       {"r1", nil, []string{"get", "create", "get", "patch"}},
	} {
		resource := schema.GroupVersionResource{Version: "v1", Resource: "services"}
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.AddSpecific(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, resource, resource, meta.RESTScopeNamespace)
		client := fake.NewSimpleDynamicClient(runtime.NewScheme())
		there := &unstructured.Unstructured{}
		there.SetName("hook")
		there.SetUID("theirs")
		there.SetLabels(map[string]string{cluster.RunLabel: test.run})
		appeared := false
		var verbs []string
		client.PrependReactor("*", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
			verbs = append(verbs, action.GetVerb())
			switch {
			case action.GetVerb() == "create":
				appeared = true
				return true, nil, apierrors.NewAlreadyExists(resource.GroupResource(), "hook")
			case !appeared:
				return true, nil, apierrors.NewNotFound(resource.GroupResource(), "hook")
			}
			return true, there, nil
		})
		a := &applier{owned: kube.Owned{Client: client}, mapper: services{mapper}, run: "r1"}
		object := parsed(t, "apiVersion: v1\nkind: Service\nmetadata: {name: hook, namespace: ns}\n")
		if err := a.applyAll(t.Context(), "ns", object); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		if !slices.Equal(verbs, test.verbs) {
			t.Errorf("%s: it came to %v, want %v", name, verbs, test.verbs)
		}
		if adopted := a.owned.Has("theirs"); adopted != (test.want == nil) {
			t.Errorf("%s: that it is removed in the end is %t", name, adopted)
		}
	}
}
