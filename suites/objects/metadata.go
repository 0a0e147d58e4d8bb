package objects

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) metadata() {
	Describe("metadata", func() {
		c.stable.It(requirement.ObjectsMetadataRefused, "creates objects whose metadata has a value of the wrong type, and one with the right types", func(ctx SpecContext, crd *suites.Resource) {
			post := func(metadata string) int {
				body := `{"apiVersion": "` + crd.APIVersion("v1") + `", "kind": "CronTab", "metadata": ` + metadata + `}`
				return c.send(ctx, http.MethodPost, crd.Path("v1"), "application/json", []byte(body)).Status
			}
			for _, wrong := range []string{
				`"labels": {"number": 42}`, `"labels": ["list"]`, `"annotations": {"boolean": true}`, `"annotations": {"object": {}}`,
				`"finalizers": "example.com/text"`, `"finalizers": [42]`, `"ownerReferences": {}`, `"ownerReferences": [{"uid": 42}]`,
				`"generateName": 42`, `"resourceVersion": 42`, `"generation": "text"`, `"creationTimestamp": 42`, `"managedFields": "text"`,
			} {
				Expect(post(`{"name": "metadata-refused", `+wrong+`}`)).To(Equal(http.StatusBadRequest), "%s must be refused", wrong)
			}
			Expect(post(`{"name": 42}`)).To(Equal(http.StatusBadRequest), "a name that is a number must be refused")
			Expect(post(`{"name": "metadata-refused", "labels": {"number": "42"}, "annotations": {"boolean": "true"}, "finalizers": [], "ownerReferences": []}`)).
				To(Equal(http.StatusCreated), "the right types must be accepted")
		})

		c.stable.It(requirement.ObjectsMetadataUnknown, "creates an object with an unknown metadata field, and with a known one", func(ctx SpecContext, crd *suites.Resource) {
			object := put(named("metadata-unknown"), int64(42), "metadata", "unknown")
			object.SetLabels(map[string]string{"known": "label"})
			dropped := HaveField("Object", HaveKeyWithValue("metadata", And(Not(HaveKey("unknown")), HaveKeyWithValue("labels", HaveKey("known")))))
			Expect(crd.At("v1").Create(ctx, object)).To(dropped, "it must be dropped, and nothing else")
			Expect(crd.At("v1").Get(ctx, "metadata-unknown")).To(dropped, "it must be dropped, and nothing else")
		})

		c.stable.It(requirement.ObjectsMetadataStored, "puts an object with a label that is a number into storage", func(ctx SpecContext, crd *suites.Resource) {
			object := named("metadata-stored")
			object.SetLabels(map[string]string{"good": "label", "wrong": "number"})
			crd.Create(ctx, "v1", object)
			stored := crd.Stored(ctx, "metadata-stored")
			changed := strings.Replace(string(stored.Data), `"wrong":"number"`, `"wrong":42`, 1)
			Expect(changed).NotTo(Equal(string(stored.Data)), "the label must be in storage")
			key := cluster.Key{Group: crd.Group(), Resource: "crontabs", Namespace: suites.Namespace, Name: "metadata-stored"}
			c.env.Require(c.env.Storage().Overwrite(ctx, key, []byte(changed)), "changing the object in storage")
			Eventually(ctx, func() (map[string]string, error) {
				read, err := crd.At("v1").Get(ctx, "metadata-stored")
				if err != nil {
					return nil, err
				}
				return read.GetLabels(), nil
			}).ShouldNot(HaveKey("wrong"), "it must be read without the label")
			Expect(crd.At("v1").List(ctx)).To(ContainElement(HaveField("GetName()", "metadata-stored")), "it must be listed")
		})
	})
}
