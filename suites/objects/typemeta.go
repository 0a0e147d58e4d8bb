package objects

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// typeMeta is about the field apiVersion of custom objects; their kind is checked by chapter versions.
func (c chapter) typeMeta() {
	c.stable.It(requirement.ObjectsWriteAPIVersion, "creates and updates objects with the apiVersion of another version, of another group, and of their own", func(ctx SpecContext, crd *suites.Resource) {
		send := func(method, path, apiVersion string) int {
			object := named("api-version")
			if method == http.MethodPut {
				object = crd.Get(ctx, "v1", "api-version")
			}
			object.SetAPIVersion(apiVersion)
			body, err := object.MarshalJSON()
			c.env.Require(err, "encoding an object")
			return c.send(ctx, method, path, "application/json", body).Status
		}
		others := []string{crd.Group() + "/v2", "other." + crd.APIVersion("v1"), "v1"}
		for _, other := range others {
			Expect(send(http.MethodPost, crd.Path("v1"), other)).To(Equal(http.StatusBadRequest), "%s must be refused", other)
		}
		Expect(send(http.MethodPost, crd.Path("v1"), crd.APIVersion("v1"))).To(Equal(http.StatusCreated), "its own must be accepted")
		for _, other := range others {
			Expect(send(http.MethodPut, crd.Path("v1", "api-version"), other)).To(Equal(http.StatusBadRequest), "%s must be refused by an update", other)
		}
	})
}
