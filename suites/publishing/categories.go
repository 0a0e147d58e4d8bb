package publishing

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) categories() {
	Describe("categories", func() {
		c.env.With(fixtures.None, func(crd *definition) {
			crd.Spec.Names.Categories = fixtures.StableCategories.New().Spec.Names.Categories
		}).It(requirement.PublishingCategoriesDiscovery, "looks the categories up in discovery", func(ctx SpecContext, crd *suites.Resource) {
			for _, version := range []string{"v1beta1", "v1"} {
				Expect(crd.Discovered(ctx, version).Categories).To(Equal([]string{"all"}), "%s must have the categories", version)
			}
		})

		c.env.Refuses(requirement.PublishingCategoriesForm, "submits a category with a blank", fixtures.StableCategories, func(crd *definition) {
			crd.Spec.Names.Categories = append(crd.Spec.Names.Categories, "all of them")
		}, "spec.names.categories[1]")
	})
}
