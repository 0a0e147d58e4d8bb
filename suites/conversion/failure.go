package conversion

import (
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func failure(env *suites.Env, converted suites.Setup) {
	Describe("failure", func() {
		blocked(env, converted)
		spares(converted)
		retries(env)
	})
}

// broken creates an object, returns it as v1 shows it, and makes the webhook fail from then on.
func broken(ctx SpecContext, crd *suites.Resource) *unstructured.Unstructured {
	object := fixtures.LocalCronTab.At("v1beta1")
	if _, found := fixtures.Version(crd.Definition(ctx), "v1").Schema.OpenAPIV3Schema.Properties["spec"]; found {
		object.Object["spec"] = map[string]any{"replicas": int64(1)}
	}
	crd.Create(ctx, "v1beta1", object)
	atV1 := crd.Get(ctx, "v1", "local-crontab")
	crd.Webhook.Break("fails-valid-objects")
	return atV1
}

func blocked(env *suites.Env, converted suites.Setup) {
	converted.It(requirement.ConversionFailureMessage, "has the webhook fail with a message", func(ctx SpecContext, crd *suites.Resource) {
		broken(ctx, crd)
		Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(MatchError(ContainSubstring("remote hosts are not supported")))
	})

	converted.It(requirement.ConversionFailureBlocksReads, "gets and lists while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		broken(ctx, crd)
		Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion())
		Expect(crd.At("v1").List(ctx)).Error().To(failConversion())
	})

	converted.It(requirement.ConversionFailureBlocksWrites, "creates, updates, patches and applies while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
		object := broken(ctx, crd)
		before := crd.Get(ctx, "v1beta1", "local-crontab")
		Expect(crd.At("v1").Create(ctx, fixtures.RemoteCronTab.At("v1"))).Error().To(failConversion())
		Expect(crd.At("v1").Update(ctx, object)).Error().To(failConversion())
		Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"port": "4321"}`)).Error().To(failConversion())
		Expect(crd.At("v1").Apply(ctx, fixtures.LocalCronTab.At("v1"), "crdconform")).Error().To(failConversion())
		Expect(crd.At("v1beta1").List(ctx)).To(ConsistOf(*before), "nothing may have been written")
	})

	converted.It(requirement.ConversionFailureBlocksDeletes, "deletes one object and all objects while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
		broken(ctx, crd)
		Expect(crd.At("v1").Delete(ctx, "local-crontab")).To(failConversion())
		if !env.Cluster.WatchCache() {
			Expect(crd.At("v1").DeleteAll(ctx)).To(failConversion())
		}
		Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("GetDeletionTimestamp()", BeNil()))
	})

	env.With(fixtures.Webhook, fixtures.WithSubresources()).It(requirement.ConversionFailureBlocksSubresources,
		"reads and writes status and scale while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
			object := broken(ctx, crd)
			Expect(crd.At("v1").Get(ctx, "local-crontab", "status")).Error().To(failConversion())
			Expect(crd.At("v1").Update(ctx, object, "status")).Error().To(failConversion())
			Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"status": {"replicas": 1}}`, "status")).Error().To(failConversion())
			Expect(crd.At("v1").Get(ctx, "local-crontab", "scale")).Error().To(failConversion())
			Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"spec": {"replicas": 2}}`, "scale")).Error().To(failConversion())
		})

	converted.It(requirement.ConversionFailureEndsWatch, "changes a watched object while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		watching, err := crd.At("v1").Watch(ctx)
		env.Require(err, "watching at v1")
		defer watching.Stop()
		crd.Webhook.Break("fails-valid-objects")
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		var event watch.Event
		Eventually(ctx, watching.ResultChan()).Should(Receive(&event))
		Expect(event.Type).To(Equal(watch.Error))
		Expect(apierrors.FromObject(event.Object)).To(failConversion())
		Eventually(ctx, watching.ResultChan()).Should(BeClosed(), "the watch must end")
	})
}

func spares(converted suites.Setup) {
	converted.It(requirement.ConversionFailureSparesStorageVersion,
		"creates, reads, updates and deletes at the storage version while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
			broken(ctx, crd)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion())
			created, err := crd.At("v1beta1").Create(ctx, fixtures.RemoteCronTab.At("v1beta1"))
			Expect(err).NotTo(HaveOccurred())
			created.Object["hostPort"] = "example.com:4321"
			Expect(crd.At("v1beta1").Update(ctx, created)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").List(ctx)).To(HaveLen(2))
			Expect(crd.At("v1beta1").Delete(ctx, "local-crontab")).To(Succeed())
		})

	converted.It(requirement.ConversionFailureRecovers,
		"reads and writes at the other version after the webhook was repaired", func(ctx SpecContext, crd *suites.Resource) {
			object := broken(ctx, crd)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion())
			crd.Webhook.Mend()
			Eventually(ctx, func() error { return suites.ErrorOf(crd.At("v1").Get(ctx, "local-crontab")) }).Should(Succeed())
			object.Object["port"] = "4321"
			Expect(crd.At("v1").Update(ctx, object)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
		})
}

func retries(env *suites.Env) {
	counted(env).It(requirement.ConversionFailureRetryAfter,
		"has the webhook answer 503 with Retry-After once", func(ctx SpecContext, crd *suites.Resource) {
			env.SkipWithWatchCache() // which may ask by itself at any time
			crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
			crd.Webhook.Forget()
			var mu sync.Mutex
			var asked []time.Time
			crd.Webhook.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, time.Now())
				mu.Unlock()
				if len(crd.Webhook.Received()) > 1 {
					webhook.Handler().ServeHTTP(w, r)
					return
				}
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("hostPort", "localhost:1234")))
			mu.Lock()
			defer mu.Unlock()
			Expect(asked).To(HaveLen(2))
			Expect(asked[1].Sub(asked[0])).To(BeNumerically(">=", time.Second), "it must wait for as long as the webhook says")
		}, suites.Slow)

	counted(env).It(requirement.ConversionFailureNoOtherRetry,
		"has the webhook answer 429 and 503, and drop the connection", func(ctx SpecContext, crd *suites.Resource) {
			env.SkipWithWatchCache()
			crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
			status := func(code int) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
			}
			drop := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			for name, handler := range map[string]http.Handler{"429": status(429), "503": status(503), "dropped connection": drop} {
				crd.Webhook.Forget()
				crd.Webhook.Serve(handler)
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).Error().To(failConversion(), name)
				Expect(crd.Webhook.Received()).To(HaveLen(1), name)
			}
		})

	env.With(fixtures.Webhook).It(requirement.ConversionFailureClientDeadline,
		"reads with a timeout of a second while the webhook hangs", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			released := make(chan struct{})
			// The API server continues to wait for the webhook after it has answered the client.
			DeferCleanup(func() { close(released) })
			crd.Webhook.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-released
				webhook.Handler().ServeHTTP(w, r)
			}))
			began := time.Now()
			Expect(env.Get(ctx, crd.Path("v1", "local-crontab")+"?timeout=1s").Status).To(Equal(http.StatusGatewayTimeout))
			Expect(time.Since(began)).To(BeNumerically("<", 20*time.Second), "the webhook has 30 seconds, the client gave one")
		}, suites.Slow)
}
