package defaulting

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func reads(env *suites.Env) {
	plain := fixtures.WithProperty("v1", "late", properties{Type: "string"})
	late := fixtures.WithProperty("v1", "late", text("default"))

	Describe("reads", func() {
		// The object of each spec was there before the default.
		before := func(id requirement.ID, text string, body func(ctx SpecContext, crd *suites.Resource)) {
			env.With(fixtures.Stable, plain).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
				env.Require(suites.ErrorOf(crd.At("v1").Create(ctx, fixtures.CronTab("before", `spec: {replicas: 1}`))), "creating an object")
				crd.Change(ctx, late)
				body(ctx, crd)
			})
		}

		before(requirement.DefaultingReadFilledIn,
			"gets, lists and watches an object that was created before there was a default", func(ctx SpecContext, crd *suites.Resource) {
				filled := have("late", `default`)
				Expect(crd.At("v1").Get(ctx, "before")).To(filled)
				Expect(crd.At("v1").List(ctx)).To(ConsistOf(filled))
				watch, err := crd.At("v1").WatchOne(ctx, "before")
				env.Require(err, "watching the object")
				defer watch.Stop()
				Eventually(ctx, watch.ResultChan()).Should(Receive(HaveField("Object", WithTransform(content, HaveKeyWithValue("late", "default")))))
			})

		before(requirement.DefaultingReadNotWritten,
			"reads an object with a default, and removes the default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Get(ctx, "before")).To(have("late", `default`))
				crd.Change(ctx, plain)
				Expect(crd.At("v1").Get(ctx, "before")).To(haveNo("late"))
			})

		before(requirement.DefaultingReadPersisted,
			"puts an object with a default as it was read, and removes the default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Update(ctx, crd.Get(ctx, "v1", "before"))).To(have("late", `default`))
				crd.Change(ctx, plain)
				Expect(crd.At("v1").Get(ctx, "before")).To(have("late", `default`))
			})
	})
}

// content returns the fields of an object in a watch event.
func content(object any) map[string]any {
	if known, ok := object.(*unstructured.Unstructured); ok {
		return known.Object
	}
	return nil
}
