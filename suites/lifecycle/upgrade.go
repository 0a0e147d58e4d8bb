package lifecycle

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func upgrade(env *suites.Env) {
	Describe("upgrading stored objects", func() {
		upgraded := env.With(fixtures.Webhook)

		upgraded.It(requirement.LifecycleUpgradeStoredVersions,
			"makes v1 the storage version", func(ctx SpecContext, crd *suites.Resource) {
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1beta1", "v1"}))
			})

		upgraded.It(requirement.LifecycleUpgradeRewrite,
			"lists all objects and writes each back", func(ctx SpecContext, crd *suites.Resource) {
				population(ctx, crd, 10)
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.StoredVersions(ctx)).To(Equal([]string{"v1beta1"}))
				Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
				Expect(crd.StoredAll(ctx)).To(HaveLen(10))
				Expect(crd.StoredVersions(ctx)).To(Equal([]string{"v1"}))
			})

		upgraded.It(requirement.LifecycleUpgradeIdempotent,
			"upgrades twice and compares what is in storage", func(ctx SpecContext, crd *suites.Resource) {
				population(ctx, crd, 5)
				crd.Change(ctx, fixtures.StoredAt("v1"))
				env.Require(rewrite(ctx, crd.At("v1")), "upgrading the first time")
				before := crd.StoredAll(ctx)
				Expect(before).To(HaveLen(5))
				Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
				Expect(crd.StoredAll(ctx)).To(Equal(before))
			})

		upgraded.It(requirement.LifecycleUpgradeTrimStatus,
			"removes v1beta1 from the status after the upgrade", func(ctx SpecContext, crd *suites.Resource) {
				population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt("v1"))
				env.Require(rewrite(ctx, crd.At("v1")), "upgrading")
				Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1"}))
				Expect(crd.At("v1").List(ctx)).To(HaveLen(3))
			})

		upgraded.It(requirement.LifecycleUpgradeConcurrent, "upgrades page by page while clients create, update and delete", concurrentUpgrade)
		upgraded.It(requirement.LifecycleUpgradeClientsUnaffected, "lets clients of both versions write before, during and after an upgrade", clientsDuringUpgrade)

		upgraded.It(requirement.LifecycleUpgradeWebhookNotNeeded,
			"breaks the webhook after the upgrade and works at v1", func(ctx SpecContext, crd *suites.Resource) {
				population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt("v1"))
				env.Require(rewrite(ctx, crd.At("v1")), "upgrading")
				crd.Change(ctx, fixtures.Served("v1beta1", false))
				crd.Webhook.Break("drops-connection")
				objects := crd.At("v1")
				Expect(objects.List(ctx)).To(HaveLen(3))
				object, err := objects.Get(ctx, "crontab-0")
				Expect(err).NotTo(HaveOccurred())
				object.Object["port"] = "4321"
				Expect(objects.Update(ctx, object)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
				Expect(objects.MergePatch(ctx, "crontab-1", `{"port": "4321"}`)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
				Expect(objects.Create(ctx, fixtures.LocalCronTab.At("v1"))).Error().NotTo(HaveOccurred())
				Expect(objects.Delete(ctx, "crontab-2")).To(Succeed())
			})
	})
}

// population creates n objects at v1beta1, named crontab-0 and so on.
func population(ctx context.Context, crd *suites.Resource, n int) {
	for i := range n {
		crd.Create(ctx, "v1beta1", named(fmt.Sprintf("crontab-%d", i)))
	}
}

func named(name string) *unstructured.Unstructured {
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetName(name)
	object.SetAnnotations(map[string]string{suites.Count: "0"})
	return object
}

// rewrite is the documents' upgrade: it lists all objects, some at a time, and writes each with the content that it has. An
// object that was written meanwhile is already at the storage version, and one that was deleted no longer exists.
func rewrite(ctx context.Context, objects suites.Objects) error {
	return objects.Each(ctx, 4, func(object *unstructured.Unstructured) error {
		_, err := objects.Update(ctx, object)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func concurrentUpgrade(ctx SpecContext, crd *suites.Resource) {
	const n = 12
	population(ctx, crd, 3*n)
	crd.Change(ctx, fixtures.StoredAt("v1"))

	var clients sync.WaitGroup
	errs := make(chan error, 4)
	clients.Go(func() { errs <- rewrite(ctx, crd.At("v1")) })
	clients.Go(func() {
		errs <- each(n, func(i int) error {
			return suites.ErrorOf(crd.At("v1beta1").Create(ctx, named(fmt.Sprintf("new-%d", i))))
		})
	})
	clients.Go(func() {
		errs <- each(n, func(i int) error { return crd.At("v1beta1").CountUp(ctx, fmt.Sprintf("crontab-%d", i)) })
	})
	clients.Go(func() {
		errs <- each(n, func(i int) error { return crd.At("v1").Delete(ctx, fmt.Sprintf("crontab-%d", n+i)) })
	})
	clients.Wait()
	close(errs)
	for err := range errs {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(crd.FinalVersions(ctx)).To(HaveEach("v1"))
	all, err := crd.At("v1").List(ctx)
	Expect(err).NotTo(HaveOccurred())
	counts := map[string]string{}
	for _, object := range all {
		counts[object.GetName()] = object.GetAnnotations()["count"]
	}
	want := map[string]string{}
	for i := range n {
		want[fmt.Sprintf("crontab-%d", i)] = "1"
		want[fmt.Sprintf("crontab-%d", 2*n+i)] = "0"
		want[fmt.Sprintf("new-%d", i)] = "0"
	}
	Expect(counts).To(Equal(want))
}

func each(n int, do func(i int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

func clientsDuringUpgrade(ctx SpecContext, crd *suites.Resource) {
	population(ctx, crd, 8)
	done := make(chan struct{})
	var clients sync.WaitGroup
	type tally struct {
		counted int
		err     error
	}
	tallies := make(chan tally, 2)
	for _, version := range []string{"v1beta1", "v1"} {
		clients.Go(func() {
			var t tally
			for t.err == nil {
				select {
				case <-done:
					tallies <- t
					return
				default:
					if t.err = crd.At(version).CountUp(ctx, "crontab-0"); t.err == nil {
						t.counted++
					}
				}
			}
			tallies <- t
		})
	}
	crd.Change(ctx, fixtures.StoredAt("v1"))
	upgradeErr := rewrite(ctx, crd.At("v1"))
	trimErr := crd.SetStoredVersions(ctx, "v1")
	close(done)
	clients.Wait()
	close(tallies)
	Expect(upgradeErr).NotTo(HaveOccurred())
	Expect(trimErr).NotTo(HaveOccurred())
	total := 0
	for t := range tallies {
		Expect(t.err).NotTo(HaveOccurred())
		Expect(t.counted).To(BeNumerically(">", 0), "each client must have completed some requests")
		total += t.counted
	}
	for _, version := range []string{"v1beta1", "v1"} {
		Expect(crd.At(version).Get(ctx, "crontab-0")).To(HaveField("GetAnnotations()", HaveKeyWithValue("count", strconv.Itoa(total))))
	}
	Expect(crd.FinalVersions(ctx)).To(And(HaveLen(8), HaveEach("v1")))
}
