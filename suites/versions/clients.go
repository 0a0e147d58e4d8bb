package versions

import (
	"context"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func clients(env *suites.Env) {
	Describe("clients", func() {
		env.With(fixtures.Webhook).It(requirement.VersionsClientsBothVersions,
			"lets four clients on two versions count up one object and reads it at both", func(ctx SpecContext, crd *suites.Resource) {
				const each = 10
				object := fixtures.LocalCronTab.At("v1beta1")
				object.SetAnnotations(map[string]string{suites.Count: "0"})
				crd.Create(ctx, "v1beta1", object)
				var writers sync.WaitGroup
				errs := make(chan error, 4)
				for _, version := range []string{"v1beta1", "v1", "v1beta1", "v1"} {
					writers.Go(func() { errs <- countUp(ctx, crd.At(version), each) })
				}
				writers.Wait()
				close(errs)
				for err := range errs {
					Expect(err).NotTo(HaveOccurred())
				}
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(And(
					HaveField("GetAnnotations()", HaveKeyWithValue(suites.Count, strconv.Itoa(4*each))),
					HaveField("Object", HaveKeyWithValue("hostPort", "localhost:1234"))))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(
					HaveField("GetAnnotations()", HaveKeyWithValue(suites.Count, strconv.Itoa(4*each))),
					HaveField("Object", HaveKeyWithValue("host", "localhost"))))
			}, suites.Slow)
	})
}

// countUp counts an object up, n times.
func countUp(ctx context.Context, objects suites.Objects, n int) error {
	for range n {
		if err := objects.CountUp(ctx, "local-crontab"); err != nil {
			return err
		}
	}
	return nil
}
