package corpus

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// namespaced is a definition of namespaced objects whose schema limits no names.
func namespaced(tb testing.TB, schema string) *Definition {
	tb.Helper()
	return defined(tb, strings.Replace(widget(schema), "scope: Cluster", "scope: Namespaced", 1))
}

// metadataOf counts what the metadata of objects has.
func metadataOf(tb testing.TB, objects []*unstructured.Unstructured) map[string]int {
	tb.Helper()
	seen := map[string]int{}
	count := func(what string, there bool) {
		if there {
			seen[what]++
		}
	}
	for _, o := range objects {
		if problems := utilvalidation.IsDNS1123Subdomain(o.GetName()); len(problems) > 0 {
			tb.Errorf("API servers refuse the name %q: %v", o.GetName(), problems)
		}
		if problems := utilvalidation.IsDNS1123Label(o.GetNamespace()); len(problems) > 0 && o.GetNamespace() != "" {
			tb.Errorf("API servers refuse the namespace %q: %v", o.GetNamespace(), problems)
		}
		_, labels, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "labels")
		_, annotations, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "annotations")
		count("neither", !labels && !annotations)
		count("labels only", labels && !annotations)
		count("annotations only", !labels && annotations)
		count("busy", len(o.GetFinalizers()) > 0 && len(o.GetOwnerReferences()) > 0 && len(o.GetManagedFields()) == 2)
		count("63", len(o.GetName()) == 63)
		count("253", len(o.GetName()) == 253)
		count("dots", strings.Contains(o.GetName(), ".") && len(o.GetName()) < 63)
		count("generated", o.GetGenerateName() != "" && len(o.GetName()) == len(o.GetGenerateName())+5 && strings.HasPrefix(o.GetName(), o.GetGenerateName()))
		count("namespace", len(o.GetNamespace()) == 63)
		count("usual", len(o.GetName()) < 20 && labels && annotations)
	}
	return seen
}

func TestMetadataVaries(t *testing.T) {
	t.Parallel()
	d := namespaced(t, spec("a: {type: string}"))
	objects := d.Generator("v1", 1, nil).Objects(Plain, 50)
	sound(t, d.Schema("v1"), objects)
	seen := metadataOf(t, objects)
	for _, what := range []string{"neither", "labels only", "annotations only", "busy", "63", "253", "dots", "generated", "namespace", "usual"} {
		if seen[what] < 3 {
			t.Errorf("%s: %d of 50", what, seen[what])
		}
	}
	// What matters most is there when there are few.
	seen = metadataOf(t, objects[:5])
	for _, what := range []string{"neither", "busy", "63", "253", "usual"} {
		if seen[what] == 0 {
			t.Errorf("%s: none of the first five", what)
		}
	}
	if seen = metadataOf(t, []*unstructured.Unstructured{d.Generator("v1", 1, nil).Minimal()}); seen["neither"] != 1 {
		t.Errorf("the minimal object has %v", seen)
	}
}

// TestMetadataOfControllers wants what webhooks lose that rebuild metadata: flags that are false, several owners and finalizers, large numbers, and
// objects that are being deleted, which must have finalizers; and keys of users that look like others.
func TestMetadataOfControllers(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, o := range namespaced(t, spec("a: {type: string}")).Generator("v1", 1, nil).Objects(Plain, 50) {
		controllers := 0
		for _, owner := range o.GetOwnerReferences() {
			if owner.Controller != nil && *owner.Controller {
				controllers++
				seen["controller"]++
			} else if owner.Controller != nil {
				seen["no controller"]++
			}
			if owner.BlockOwnerDeletion != nil {
				seen[fmt.Sprintf("blocks %t", *owner.BlockOwnerDeletion)]++
			}
		}
		if controllers > 1 {
			t.Errorf("API servers refuse %d controllers", controllers)
		}
		if o.GetGeneration() > 1<<31 {
			seen["large generation"]++
		}
		for what, meta := range map[string]map[string]string{"label": o.GetLabels(), "annotation": o.GetAnnotations()} {
			if meta["acme.dev/Team-A"] != "" {
				seen[what+" with capitals"]++
			}
			if meta["console."+o.GroupVersionKind().Group+"/pinned"] != "" {
				seen[what+" below the group"]++
			}
		}
		if len(o.GetFinalizers()) > 2 {
			seen["several finalizers"]++
		}
		if o.GetDeletionTimestamp() != nil {
			seen["deleted"]++
			if len(o.GetFinalizers()) == 0 {
				t.Error("an object is being deleted without a finalizer")
			}
		}
	}
	for _, what := range []string{"controller", "no controller", "blocks true", "blocks false", "large generation", "several finalizers", "deleted", "label with capitals", "annotation with capitals", "label below the group", "annotation below the group"} {
		if seen[what] < 3 {
			t.Errorf("%s: %d of 50", what, seen[what])
		}
	}
}

func TestMetadataKeepsToTheSchema(t *testing.T) {
	t.Parallel()
	d := services(t)
	for _, object := range d.Generator("v1", 1, nil).Objects(Plain, 200) {
		if name := object.GetName(); len(name) > 20 || object.GetNamespace() == "" || object.GetAPIVersion() != "shop.example.com/v1" || object.GetKind() != "ShopService" {
			t.Errorf("got %v", object.Object["metadata"])
		}
	}
	for name, schema := range map[string]string{
		"pattern": "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, pattern: '^x[0-9]{3}$'}}}}}",
		"rule":    "{type: object, x-kubernetes-validations: [{rule: 'size(self.metadata.name) <= 20'}]}",
	} {
		d := defined(t, widget(schema))
		g := d.Generator("v1", 1, nil)
		objects := g.Objects(Plain, 40)
		sound(t, d.Schema("v1"), objects)
		if len(objects) != 40 || len(g.Gaps()) > 0 {
			t.Errorf("%s: %d objects, %v", name, len(objects), g.Gaps())
		}
		for _, object := range objects {
			if object.GetNamespace() != "" || name == "pattern" && !regexp.MustCompile(`^x[0-9]{3}$`).MatchString(object.GetName()) {
				t.Errorf("%s: got %v", name, object.Object["metadata"])
			}
		}
	}
	// A rule that has nothing to do with names leaves them as they are.
	other := defined(t, widget("{type: object, required: [spec], properties: {spec: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}}, x-kubernetes-validations: [{rule: 'self.spec.a <= self.spec.b'}]}"))
	objects := other.Generator("v1", 1, nil).Objects(Plain, 50)
	sound(t, other.Schema("v1"), objects)
	if seen := metadataOf(t, objects); seen["63"] < 2 || seen["253"] < 2 {
		t.Errorf("got %v", seen)
	}
}

func TestMultipliedNamesAreNames(t *testing.T) {
	t.Parallel()
	objects := namespaced(t, spec("a: {type: string}")).Generator("v1", 1, nil).Objects(Plain, 20)
	names := map[string]bool{}
	for _, object := range Multiply(objects, 500) {
		if problems := utilvalidation.IsDNS1123Subdomain(object.GetName()); len(problems) > 0 {
			t.Errorf("%q: %v", object.GetName(), problems)
		}
		names[object.GetName()] = true
	}
	if len(names) != 500 {
		t.Errorf("%d names", len(names))
	}
}

// TestRefusedMetadata has webhooks refuse what is special about metadata: that is learned, and nothing is blamed that is in the spec.
func TestRefusedMetadata(t *testing.T) {
	t.Parallel()
	d := namespaced(t, spec("a: {type: string}, b: {type: string}"))
	long := func(o *unstructured.Unstructured) bool { return len(o.GetName()) > 63 }
	nothing := func(o *unstructured.Unstructured) bool { return o.GetAnnotations() == nil }
	field := func(o *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedString(o.Object, "spec", "b")
		return found
	}
	for name, refuses := range map[string][]func(*unstructured.Unstructured) bool{
		"names": {long}, "annotations": {nothing}, "both": {long, nothing}, "all": {long, nothing, field},
	} {
		g := d.Generator("v1", 1, nil)
		adapted := g.Learn(t.Context(), 40, func(_ context.Context, objects []*unstructured.Unstructured) []string {
			causes := make([]string, len(objects))
			for i, o := range objects {
				if slices.ContainsFunc(refuses, func(refuse func(*unstructured.Unstructured) bool) bool { return refuse(o) }) {
					causes[i] = "refused"
				}
			}
			return causes
		})
		objects, rejections := adapted.Objects, adapted.Rejections
		seen := metadataOf(t, objects)
		if len(objects) != 40 || len(rejections) == 0 || slices.ContainsFunc(rejections, func(r Rejection) bool { return !r.Settled }) {
			t.Errorf("%s: %d objects, %d rejections", name, len(objects), len(rejections))
		}
		if (name == "names") != (seen["neither"] > 0) || (name == "annotations") != (seen["253"] > 0) {
			t.Errorf("%s: the metadata has %v", name, seen)
		}
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return reaches(o.Object, fieldpath.Split("spec.a")) }) ||
			(name == "all") == slices.ContainsFunc(objects, field) {
			t.Errorf("%s: the wrong fields are left out", name)
		}
	}
}
