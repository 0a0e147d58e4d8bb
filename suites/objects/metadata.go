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
		c.stable.It(requirement.ObjectsMetadataRefused, "creates objects with a label that is a number, and one of its digits", func(ctx SpecContext, crd *suites.Resource) {
			post := func(label any) int {
				body, err := crd.Object("v1", put(named("metadata-refused"), label, "metadata", "labels", "number")).MarshalJSON()
				c.env.Require(err, "encoding an object")
				return c.send(ctx, http.MethodPost, crd.Path("v1"), "application/json", body).Status
			}
			Expect(post(int64(42))).To(Equal(http.StatusBadRequest), "a number must be refused")
			Expect(post("42")).To(Equal(http.StatusCreated), "its digits must be accepted")
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
