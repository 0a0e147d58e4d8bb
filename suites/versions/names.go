package versions

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func names(env *suites.Env, none suites.Setup) {
	Describe("names", func() {
		none.It(requirement.VersionsNamesPublished,
			"looks the names up in discovery", func(ctx SpecContext, crd *suites.Resource) {
				for _, version := range []string{"v1beta1", "v1"} {
					shown := crd.Discovered(ctx, version)
					Expect(shown.SingularName).To(Equal("crontab"))
					Expect(shown.ShortNames).To(Equal([]string{"ct"}))
				}
			})

		env.With(fixtures.None, func(crd *definitionType) { crd.Spec.Names.Singular = "" }).It(requirement.VersionsNamesSingularDefault,
			"installs a definition without a singular name", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Definition(ctx).Spec.Names.Singular).To(Equal("crontab"))
				Expect(crd.Discovered(ctx, "v1").SingularName).To(Equal("crontab"))
			})

		none.It(requirement.VersionsNamesListKindDefault,
			"lists objects of a definition without a list kind", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Definition(ctx).Spec.Names.ListKind).To(Equal("CronTabList"))
				var list struct {
					Kind string `json:"kind"`
				}
				env.Require(json.Unmarshal(env.Get(ctx, crd.Path("v1")).Body, &list), "decoding the list")
				Expect(list.Kind).To(Equal("CronTabList"))
			})
	})
}
