package lifecycle

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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

		upgraded.It(requirement.LifecycleUpgradeConcurrent, "upgrades page by page while clients create, update and delete", concurrentUpgrade, suites.Slow)
		upgraded.It(requirement.LifecycleUpgradeClientsUnaffected, "lets clients of both versions write before, during and after an upgrade", clientsDuringUpgrade)

		upgraded.It(requirement.LifecycleUpgradeWebhookNotNeeded,
			"breaks the webhook after the upgrade and works at v1", func(ctx SpecContext, crd *suites.Resource) {
				upgradedWithoutWebhook(ctx, env, crd)
				objects := crd.At("v1")
				watching, err := objects.WatchOne(ctx, "crontab-0")
				Expect(err).NotTo(HaveOccurred())
				defer watching.Stop()
				reported := func(port string) {
					GinkgoHelper()
					Eventually(ctx, watching.ResultChan()).Should(Receive(HaveField("Object.Object", HaveKeyWithValue("port", port))), "the watch must report it")
				}
				reported("1234")
				Expect(objects.List(ctx)).To(HaveLen(3))
				object, err := objects.Get(ctx, "crontab-0")
				Expect(err).NotTo(HaveOccurred())
				object.Object["port"] = "4321"
				Expect(objects.Update(ctx, object)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
				reported("4321")
				Expect(objects.MergePatch(ctx, "crontab-1", `{"port": "4321"}`)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
				Expect(objects.Create(ctx, fixtures.LocalCronTab.At("v1"))).Error().NotTo(HaveOccurred())
				Expect(objects.Apply(ctx, fixtures.LocalCronTab.At("v1"), "crdconform")).Error().NotTo(HaveOccurred(), "its managed fields name v1 alone")
				Expect(objects.Delete(ctx, "crontab-2")).To(Succeed())
			})

		upgraded.It(requirement.LifecycleUpgradeApplyNeedsWebhook,
			"applies an upgraded object with and without the webhook, and after its managed fields were reset", func(ctx SpecContext, crd *suites.Resource) {
				upgradedWithoutWebhook(ctx, env, crd)
				applied := fixtures.LocalCronTab.At("v1")
				applied.SetName("crontab-0")
				apply := func() error { return suites.ErrorOf(crd.At("v1").Apply(ctx, applied, "crdconform")) }
				Expect(apply()).To(MatchError(ContainSubstring("conversion webhook for ")), "its managed fields still name v1beta1")
				Expect(crd.At("v1").MergePatch(ctx, "crontab-0", `{"metadata": {"managedFields": [{}]}}`)).
					To(HaveField("GetManagedFields()", BeEmpty()))
				Expect(apply()).To(Succeed(), "its managed fields name v1beta1 no longer")
			})

		env.With(fixtures.None).It(requirement.LifecycleUpgradeNone,
			"upgrades objects of the documents' first definition, and drops v1beta1", func(ctx SpecContext, crd *suites.Resource) {
				content := func(object unstructured.Unstructured) []any {
					return []any{object.GetName(), object.GetUID(), object.GetAnnotations(), object.Object["host"], object.Object["port"]}
				}
				contents := func(version string) (all []any) {
					objects, err := crd.At(version).List(ctx)
					Expect(err).NotTo(HaveOccurred())
					for _, object := range objects {
						all = append(all, content(object))
					}
					return all
				}
				for i := range 5 {
					crd.Create(ctx, "v1beta1", named(fixtures.LocalCronTab.At("v1"), fmt.Sprintf("crontab-%d", i)))
				}
				before := contents("v1beta1")
				Expect(before).To(HaveLen(5))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1beta1", "v1"}))
				Expect(crd.At("v1beta1").Update(ctx, crd.Get(ctx, "v1beta1", "crontab-0"))).Error().NotTo(HaveOccurred(), "clients of the old version may write too")
				Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
				written, err := crd.At("v1").List(ctx)
				env.Require(err, "listing the objects after the upgrade")
				Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
				Expect(crd.At("v1").List(ctx)).To(Equal(written), "a second upgrade must write nothing")
				// The way to look that writes has to come before the version is gone: what managed fields say of it goes with the next write.
				Expect(crd.FinalVersions(ctx)).To(And(HaveLen(5), HaveEach("v1")))
				Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())
				crd.Change(ctx, fixtures.WithVersions("v1"))
				Expect(contents("v1")).To(Equal(before), "nothing may be lost")
			})
	})
}

// upgradedWithoutWebhook upgrades three objects to v1, stops serving v1beta1, and breaks the webhook.
func upgradedWithoutWebhook(ctx SpecContext, env *suites.Env, crd *suites.Resource) {
	GinkgoHelper()
	population(ctx, crd, 3)
	crd.Change(ctx, fixtures.StoredAt("v1"))
	env.Require(rewrite(ctx, crd.At("v1")), "upgrading")
	crd.Change(ctx, fixtures.NotServed("v1beta1"))
	crd.Webhook.Break("drops-connection")
}

// population creates n objects at v1beta1, named crontab-0 and so on.
func population(ctx context.Context, crd *suites.Resource, n int) {
	for i := range n {
		crd.Create(ctx, "v1beta1", named(fixtures.LocalCronTab.At("v1beta1"), fmt.Sprintf("crontab-%d", i)))
	}
}

// named is an object under a name, with a count of nothing.
func named(object *unstructured.Unstructured, name string) *unstructured.Unstructured {
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
			return suites.ErrorOf(crd.At("v1beta1").Create(ctx, named(fixtures.LocalCronTab.At("v1beta1"), fmt.Sprintf("new-%d", i))))
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

// counter is a client that counts up at a version for as long as it may, and takes turns with others.
type counter struct {
	counted atomic.Int64
	err     atomic.Pointer[error]
}

func clientsDuringUpgrade(ctx SpecContext, crd *suites.Resource) {
	population(ctx, crd, 8)
	counting, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	counters := map[string]*counter{"v1beta1": {}, "v1": {}}
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	// They write the same object, so the quicker one would never let the other through.
	ahead := func(client *counter) bool {
		return client.counted.Load() > min(counters["v1beta1"].counted.Load(), counters["v1"].counted.Load())
	}
	for version, client := range counters {
		clients.Go(func() {
			next := time.NewTicker(time.Millisecond)
			defer next.Stop()
			for {
				select {
				case <-done:
					return
				case <-counting.Done():
					return
				case <-next.C:
				}
				if ahead(client) {
					continue
				}
				if err := crd.At(version).CountUp(counting, "crontab-0"); err != nil {
					client.err.Store(&err)
					return
				}
				client.counted.Add(1)
			}
		})
	}
	// write waits until each client has written once more: a request that begins after this was called.
	write := func(when string) {
		GinkgoHelper()
		for version, client := range counters {
			enough := client.counted.Load() + 2
			Eventually(ctx, func() (int64, error) {
				if err := client.err.Load(); err != nil {
					return 0, StopTrying("a client failed").Wrap(*err)
				}
				return client.counted.Load(), nil
			}).Should(BeNumerically(">=", enough), "clients of %s must go on writing %s", version, when)
		}
	}

	write("before the upgrade")
	crd.Change(ctx, fixtures.StoredAt("v1"))
	write("while the upgrade has begun")
	Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
	Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())
	write("after the upgrade")
	close(done)
	clients.Wait()

	var total int64
	for _, client := range counters {
		if err := client.err.Load(); err != nil {
			Expect(*err).NotTo(HaveOccurred())
		}
		total += client.counted.Load()
	}
	for version := range counters {
		Expect(crd.At(version).Get(ctx, "crontab-0")).To(HaveField("GetAnnotations()", HaveKeyWithValue(suites.Count, strconv.FormatInt(total, 10))))
	}
	Expect(crd.FinalVersions(ctx)).To(And(HaveLen(8), HaveEach("v1")))
}
