package objects

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) writing() {
	Describe("writing", func() {
		c.refused()
		c.kept()
		c.forms()
		c.together()
	})
}

func (c chapter) refused() {
	c.stable.It(requirement.ObjectsWriteMalformed, "creates objects without what every object has, and with it", func(ctx SpecContext, crd *suites.Resource) {
		const form = "application/json"
		Expect(c.send(ctx, http.MethodPost, crd.Path("v1"), form, []byte(`{"metadata": {"name": "malformed"}}`)).Status).
			To(Equal(http.StatusBadRequest), "without apiVersion and kind it must be refused")
		kind := `{"apiVersion": "` + crd.APIVersion("v1") + `", "kind": "CronTab"`
		Expect(c.send(ctx, http.MethodPost, crd.Path("v1"), form, []byte(kind+`}`)).Status).To(Equal(http.StatusUnprocessableEntity), "without a name it must be refused")
		Expect(c.send(ctx, http.MethodPost, crd.Path("v1"), form, []byte(kind+`, "metadata": {"name": "malformed"}}`)).Status).To(Equal(http.StatusCreated), "with everything it must be created")
	})

	c.stable.It(requirement.ObjectsWriteNamespace, "creates objects outside of a namespace and in one, and lists them", func(ctx SpecContext, crd *suites.Resource) {
		path := "/apis/" + crd.APIVersion("v1") + "/crontabs"
		body, err := crd.Object("v1", named("outside")).MarshalJSON()
		c.env.Require(err, "encoding an object")
		Expect(c.send(ctx, http.MethodPost, path, "application/json", body).Status).To(BeElementOf(http.StatusNotFound, http.StatusMethodNotAllowed), "nothing must be created")
		Expect(c.send(ctx, http.MethodPost, crd.Path("v1"), "application/json", body).Status).To(Equal(http.StatusCreated), "it must be created in a namespace")
		answer := c.env.Get(ctx, path)
		Expect(answer.Status).To(Equal(http.StatusOK), "they must be listed")
		Expect(answer.Body).To(ContainSubstring(`"name":"outside"`), "they must be listed")
	})

	c.stable.It(requirement.ObjectsWriteSize, "creates objects of more than three mebibytes, and of one kibibyte", func(ctx SpecContext, crd *suites.Resource) {
		post := func(form, name string, length int) int {
			head := `{"apiVersion": "` + crd.APIVersion("v1") + `", "kind": "CronTab", "metadata": {"name": "` + name + `"}, "spec": {"image": "`
			return c.send(ctx, http.MethodPost, crd.Path("v1"), form, append(append([]byte(head), bytes.Repeat([]byte("a"), length)...), []byte(`"}}`)...)).Status
		}
		for form, name := range map[string]string{"application/json": "large", "application/yaml": "large-yaml"} {
			Expect(post(form, name, 3<<20)).To(Equal(http.StatusRequestEntityTooLarge), "it must be refused as %s", form)
			Expect(post(form, name, 1<<10)).To(Equal(http.StatusCreated), "a smaller one must be accepted as %s", form)
		}
	})

	c.stable.It(requirement.ObjectsWriteNull, "applies null to fields that may and may not be null, without and with a value", func(ctx SpecContext, crd *suites.Resource) {
		null, full := HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("owner", BeNil()))), map[string]any{"name": "somebody"}
		Expect(crd.At("v1").Apply(ctx, put(named("null"), nil, "spec", "owner"), "crdconform")).
			To(null, "nullable fields must be null")
		c.env.Require(suites.ErrorOf(crd.At("v1").Apply(ctx, put(named("cleared"), full, "spec", "owner"), "crdconform")), "applying a value")
		Expect(crd.At("v1").Apply(ctx, put(named("cleared"), nil, "spec", "owner"), "crdconform")).To(null, "null must take the place of a value")
		Expect(crd.At("v1").Apply(ctx, put(named("null"), nil, "spec", "place"), "crdconform")).Error().To(suites.BeInvalidAt(), "null must be rejected where it is not allowed")
		c.env.Require(suites.ErrorOf(crd.At("v1").Apply(ctx, put(named("full"), full, "spec", "place"), "crdconform")), "applying a value")
		Expect(crd.At("v1").Apply(ctx, put(named("full"), nil, "spec", "place"), "crdconform")).Error().To(suites.BeInvalidAt(), "null must be rejected in place of a value, too")
	})

	c.stable.It(requirement.ObjectsListsUnique, "creates and updates objects with equal items", func(ctx SpecContext, crd *suites.Resource) {
		item := func(name, value string) any { return map[string]any{"name": name, "value": value} }
		good := put(put(named("unique"), []any{"a", "b"}, "spec", "set"), []any{item("a", "1"), item("b", "1")}, "spec", "map")
		set := func(o *unstructured.Unstructured) *unstructured.Unstructured {
			return put(o, []any{"a", "b", "a"}, "spec", "set")
		}
		keyed := func(o *unstructured.Unstructured) *unstructured.Unstructured {
			return put(o, []any{item("a", "1"), item("a", "2")}, "spec", "map")
		}
		Expect(crd.At("v1").Create(ctx, set(good.DeepCopy()))).Error().To(suites.BeInvalidAt("spec.set[2]"), "equal items must be refused")
		Expect(crd.At("v1").Create(ctx, keyed(good.DeepCopy()))).Error().To(suites.BeInvalidAt("spec.map[1]"), "equal keys must be refused")
		created, err := crd.At("v1").Create(ctx, good)
		Expect(err).NotTo(HaveOccurred(), "different items must be accepted")
		Expect(crd.At("v1").Update(ctx, set(created.DeepCopy()))).Error().To(suites.BeInvalidAt("spec.set[2]"), "equal items must be refused")
		Expect(crd.At("v1").Update(ctx, keyed(created.DeepCopy()))).Error().To(suites.BeInvalidAt("spec.map[1]"), "equal keys must be refused")
	})
}

func (c chapter) kept() {
	c.env.With(fixtures.StableSubresources).It(requirement.ObjectsWriteStrategic, "patches an object and its subresources by strategic merges, and by merges", func(ctx SpecContext, crd *suites.Resource) {
		scalable := fixtures.Scalable.At("v1")
		scalable.SetName("strategic")
		crd.Create(ctx, "v1", scalable)
		patch := func(form, sub string) int {
			return c.env.Do(ctx, http.MethodPatch, crd.Path("v1", "strategic")+sub, []byte(`{"spec": {"replicas": 4}}`), http.Header{"Content-Type": {form}}).Status
		}
		for _, sub := range []string{"", "/status", "/scale"} {
			Expect(patch(string(types.StrategicMergePatchType), sub)).To(Equal(http.StatusUnsupportedMediaType), "it must be refused for %q", sub)
			Expect(patch(string(types.MergePatchType), sub)).To(Equal(http.StatusOK), "a JSON merge patch must be accepted for %q", sub)
		}
	})

	c.stable.It(requirement.ObjectsWriteIntegers, "creates an object with the largest and the smallest integer", func(ctx SpecContext, crd *suites.Resource) {
		for name, n := range map[string]int64{"largest": 9223372036854775807, "smallest": -9223372036854775808} {
			crd.Create(ctx, "v1", put(named(name), n, "spec", "replicas"))
			Expect(crd.At("v1").Get(ctx, name)).To(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("replicas", n))), "it must be as it was")
		}
	})

	c.stable.It(requirement.ObjectsWriteNoOp, "patches an object without a change", func(ctx SpecContext, crd *suites.Resource) {
		created := create(ctx, crd, "no-op")
		Expect(crd.At("v1").MergePatch(ctx, "no-op", `{"spec": {"image": "my-awesome-cron-image"}}`)).
			To(HaveField("GetResourceVersion()", created.GetResourceVersion()), "the resource version must stay")
		Expect(crd.At("v1").MergePatch(ctx, "no-op", `{"spec": {"image": "other"}}`)).
			NotTo(HaveField("GetResourceVersion()", created.GetResourceVersion()), "a change must show")
	})

	c.stable.It(requirement.ObjectsWriteConflict, "patches an object by an old resource version", func(ctx SpecContext, crd *suites.Resource) {
		created := create(ctx, crd, "conflict")
		_, err := crd.At("v1").MergePatch(ctx, "conflict", `{"spec": {"image": "other"}}`)
		c.env.Require(err, "changing the object")
		Expect(crd.At("v1").MergePatch(ctx, "conflict", `{"metadata": {"resourceVersion": "`+created.GetResourceVersion()+`"}, "spec": {"image": "third"}}`)).
			Error().To(MatchError(apierrors.IsConflict, "IsConflict"))
	})
}

func (c chapter) forms() {
	c.stable.It(requirement.ObjectsWriteYaml, "does everything in YAML", func(ctx SpecContext, crd *suites.Resource) {
		const form = "application/yaml"
		body, err := yaml.Marshal(crd.Object("v1", named("yaml")).Object)
		c.env.Require(err, "encoding an object")
		answers := func(status int, method, path string, body []byte) *unstructured.Unstructured {
			GinkgoHelper()
			answer := c.send(ctx, method, path, form, body)
			Expect(answer.Status).To(Equal(status), "%s", answer.Body)
			Expect(json.Valid(answer.Body)).To(BeFalse(), "it must be YAML")
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(answer.Body, &object.Object)).To(Succeed(), "it must be YAML")
			return object
		}
		one := crd.Path("v1", "yaml")
		created := answers(http.StatusCreated, http.MethodPost, crd.Path("v1"), body)
		Expect(answers(http.StatusOK, http.MethodGet, one, nil).GetUID()).To(Equal(created.GetUID()), "it must be read")
		Expect(answers(http.StatusOK, http.MethodGet, crd.Path("v1"), nil).GetKind()).To(Equal("CronTabList"), "it must be listed")
		body, err = yaml.Marshal(put(created, "other", "spec", "image").Object)
		c.env.Require(err, "encoding an object")
		Expect(answers(http.StatusOK, http.MethodPut, one, body).Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("image", "other")), "it must be updated")
		Expect(answers(http.StatusNotFound, http.MethodGet, crd.Path("v1", "none"), nil).GetKind()).To(Equal("Status"), "errors must be so too")
		Expect(answers(http.StatusOK, http.MethodGet, "/apis/"+crd.APIVersion("v1"), nil).GetKind()).To(Equal("APIResourceList"), "discovery must be so too")
	})
}

func (c chapter) together() {
	c.stable.It(requirement.ObjectsListsApplied, "applies lists as two managers, of whom one gives up items", func(ctx SpecContext, crd *suites.Resource) {
		item := func(name string) any { return map[string]any{"name": name, "value": "any"} }
		apply := func(manager string, names ...string) (set, keyed, atomic any) {
			GinkgoHelper()
			var plain, items []any
			for _, name := range names {
				plain, items = append(plain, name), append(items, item(name))
			}
			object := put(put(put(named("lists-applied"), plain, "spec", "set"), items, "spec", "map"), slices.Clone(plain), "spec", "atomic")
			applied, err := crd.At("v1").Apply(ctx, object, manager)
			Expect(err).NotTo(HaveOccurred())
			spec, _ := applied.Object["spec"].(map[string]any)
			return spec["set"], spec["map"], spec["atomic"]
		}
		apply("first", "a", "b")
		set, keyed, atomic := apply("second", "c")
		Expect(set).To(ConsistOf("a", "b", "c"), "a set must have the items of both")
		Expect(keyed).To(ConsistOf(item("a"), item("b"), item("c")), "a map must have the items of both")
		Expect(atomic).To(ConsistOf("c"), "an atomic list must be that of the last")
		set, keyed, atomic = apply("first", "a")
		Expect(set).To(ConsistOf("a", "c"), "what one gives up must be removed from a set, and nothing else")
		Expect(keyed).To(ConsistOf(item("a"), item("c")), "what one gives up must be removed from a map, and nothing else")
		Expect(atomic).To(ConsistOf("a"), "an atomic list must be that of the last")
	})

	c.stable.It(requirement.ObjectsWriteOwners, "applies a field that another has changed", func(ctx SpecContext, crd *suites.Resource) {
		objects := crd.Everywhere("v1").Namespace(suites.Namespace)
		apply := func(options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
			return objects.Apply(ctx, "owners", crd.Object("v1", named("owners")), options)
		}
		_, err := apply(metav1.ApplyOptions{FieldManager: "author"})
		c.env.Require(err, "applying the object the first time")
		_, err = crd.At("v1").MergePatch(ctx, "owners", `{"spec": {"image": "other"}}`)
		c.env.Require(err, "changing the object")
		Expect(apply(metav1.ApplyOptions{FieldManager: "author"})).Error().To(MatchError(apierrors.IsConflict, "IsConflict"), "it must be a conflict")
		Expect(apply(metav1.ApplyOptions{FieldManager: "author", Force: true})).To(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("image", "my-awesome-cron-image"))), "it must be forced")
	})
}

// lists adds to the spec lists of types, an object that may be null, and one that may not.
func lists(crd *definition) {
	text := schema{Type: "string"}
	fields := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	fields["owner"] = schema{Type: "object", Nullable: true, Properties: map[string]schema{"name": text}}
	fields["place"] = schema{Type: "object", Properties: map[string]schema{"name": text}}
	fields["atomic"] = schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}}
	fields["set"] = schema{Type: "array", XListType: new("set"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}}
	fields["map"] = schema{Type: "array", XListType: new("map"), XListMapKeys: []string{"name"}, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{
		Type: "object", Required: []string{"name"}, Properties: map[string]schema{"name": text, "value": text},
	}}}
}
