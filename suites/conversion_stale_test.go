package suites_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// gadget is a definition with a schema of the spec in YAML.
const gadget = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.org}, spec: {
	group: example.org, scope: Cluster, names: {plural: gadgets, kind: Gadget}, versions: [
	{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {PROPERTIES}}}}}},
	{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

// What the fields of a gadget were, and are.
const (
	gadgetsBefore = `mode: {type: string, enum: [A, B]}, size: {type: integer, default: 1}, gone: {type: object, properties: {deep: {type: string}}},
		part: {type: object, properties: {a: {type: string}}}, maybe: {type: string, nullable: true}, other: {type: string, nullable: true},
		texts: {type: array, items: {type: string, nullable: true}}, map: {type: object, additionalProperties: {type: string, nullable: true}},
		loose: {type: object, x-kubernetes-preserve-unknown-fields: true}, turned: {type: object, properties: {x: {type: string}}}, word: {type: string},
		set: {type: array, items: {type: string}}, any: {x-kubernetes-preserve-unknown-fields: true}, free: {type: object, additionalProperties: true},
		inner: {type: object, x-kubernetes-preserve-unknown-fields: true}, whole: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {type: string}}}`
	gadgetsNow = `mode: {type: string, enum: [A]}, size: {type: integer, default: 2}, added: {type: string, default: new},
		part: {type: object, required: [a], properties: {a: {type: string}, more: {type: integer, default: 7}}}, maybe: {type: string}, other: {type: string, default: some},
		texts: {type: array, items: {type: string}}, map: {type: object, additionalProperties: {type: string}},
		loose: {type: object, properties: {known: {type: string}}}, turned: {type: array, items: {type: string}}, word: {type: object, properties: {x: {type: string}}},
		set: {type: array, items: {type: string}, x-kubernetes-list-type: set}, any: {type: integer}, free: {type: object, additionalProperties: {type: string}},
		inner: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}, whole: {type: object, properties: {data: {type: string}}}`
)

// conversionAsked is a webhook that changes the apiVersion, and remembers the spec of each object by its name.
type conversionAsked struct {
	mu    sync.Mutex
	specs map[string]any
}

func (a *conversionAsked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var review map[string]any
	if err := json.Unmarshal(body, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := review["request"].(map[string]any)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, each := range request["objects"].([]any) {
		object := each.(map[string]any)
		a.specs[object["metadata"].(map[string]any)["name"].(string)] = object["spec"]
		object["apiVersion"] = request["desiredAPIVersion"]
	}
	review["response"] = map[string]any{"uid": request["uid"], "result": map[string]any{"status": "Success"}, "convertedObjects": request["objects"]}
	json.NewEncoder(w).Encode(review)
}

// TestStaleObjectsAgreeWithAPIServer puts objects that an earlier schema allowed into the storage of a real API server, and reads them at
// another version. The webhook must be sent exactly what the corpus says.
func TestStaleObjectsAgreeWithAPIServer(t *testing.T) {
	old, now := defined(t, gadgetsBefore), defined(t, gadgetsNow)
	stale, gaps := now.Generator("v1", 3, nil).Earlier(old)
	effects := map[corpus.StaleEffect]int{}
	for _, s := range stale {
		effects[s.Effect]++
	}
	if len(gaps) > 0 || effects[corpus.Refused] < 8 || effects[corpus.Dropped] < 4 || effects[corpus.Kept] == 0 {
		t.Fatalf("there are %v, and the gaps %v", effects, gaps)
	}
	hook := &conversionAsked{specs: map[string]any{}}
	c := suitetest.Cluster(t, embedded.Options{})
	gadgets := installed(t, c, now.CRD, hook)
	for i, s := range stale {
		name := fmt.Sprintf("gadget-%d", i)
		placeholder := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": map[string]any{"name": name}}}
		if _, err := gadgets("v1").Create(t.Context(), placeholder, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		key := cluster.Key{Group: "example.org", Resource: "gadgets", Name: name}
		stored, err := c.Stored(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(stored.Data, &object); err != nil {
			t.Fatal(err)
		}
		object["spec"] = s.Stored.Object["spec"]
		if err := c.Overwrite(t.Context(), key, encoded(t, object)); err != nil {
			t.Fatal(err)
		}
		if _, err := gadgets("v2").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("%s: reading: %v", s, err)
		}
		hook.mu.Lock()
		got := hook.specs[name]
		hook.mu.Unlock()
		var want any
		if err := json.Unmarshal(encoded(t, s.Object.Object["spec"]), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the webhook got %s, want %s", s, encoded(t, got), encoded(t, want))
		}
	}
	if _, err := gadgets("v2").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing: %v", err)
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// defined is the definition of gadgets with some fields.
func defined(t *testing.T, fields string) *corpus.Definition {
	t.Helper()
	all, _, err := corpus.ReadDefinitions("file.yaml", []byte(strings.ReplaceAll(gadget, "PROPERTIES", fields)))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// installed installs a definition with a webhook, and returns clients of its versions.
func installed(t *testing.T, c *embedded.Cluster, crd *apiextensionsv1.CustomResourceDefinition, handler http.Handler) func(version string) dynamic.ResourceInterface {
	t.Helper()
	hook, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hook.Close() })
	crd = crd.DeepCopy()
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &hook.URL, CABundle: hook.CA},
	}}
	crds, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := crds.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() (bool, error) {
		is, err := definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
		return err == nil && apihelpers.IsCRDConditionTrue(is, apiextensionsv1.Established), err
	}).WithTimeout(30*time.Second).Should(BeTrue(), "the definition is to be established")
	return func(version string) dynamic.ResourceInterface {
		return objects.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
	}
}
