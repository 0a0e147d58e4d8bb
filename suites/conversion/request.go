package conversion

import (
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func request(env *suites.Env, converted suites.Setup) {
	Describe("request", func() {
		form(env, converted)
		reviewVersions(env)
		content(env, converted)
		occasions(env, converted)
		spared(env, converted)
	})
}

// reviewsAt sets conversionReviewVersions.
func reviewsAt(versions ...string) fixtures.Option {
	return func(crd *definition) { crd.Spec.Conversion.Webhook.ConversionReviewVersions = versions }
}

// received returns the requests that the webhook gets for everything that clients do on both versions.
func received(ctx SpecContext, env *suites.Env, crd *suites.Resource) []suites.Received {
	env.Require(everyVerb(ctx, crd.At("v1"), fixtures.LocalCronTab.At("v1")), "using v1")
	env.Require(everyVerb(ctx, crd.At("v1beta1"), fixtures.RemoteCronTab.At("v1beta1")), "using v1beta1")
	all := crd.Webhook.Received()
	Expect(all).NotTo(BeEmpty(), "the webhook must have been called at all")
	return all
}

func everyVerb(ctx SpecContext, objects suites.Objects, object *unstructured.Unstructured) error {
	created, err := objects.Create(ctx, object)
	if err != nil {
		return err
	}
	created.SetLabels(map[string]string{"updated": "true"})
	if _, err := objects.Update(ctx, created); err != nil {
		return err
	}
	if _, err := objects.MergePatch(ctx, object.GetName(), `{"metadata": {"labels": {"patched": "true"}}}`); err != nil {
		return err
	}
	if _, err := objects.Apply(ctx, object, "crdconform"); err != nil {
		return err
	}
	if _, err := objects.Get(ctx, object.GetName()); err != nil {
		return err
	}
	if _, err := objects.List(ctx); err != nil {
		return err
	}
	return objects.Delete(ctx, object.GetName())
}

// objectsOf returns the objects of a request.
func objectsOf(env *suites.Env, r suites.Received) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(r.Request.Objects))
	for _, raw := range r.Request.Objects {
		object := &unstructured.Unstructured{}
		env.Require(json.Unmarshal(raw, &object.Object), "decoding an object that the webhook got")
		objects = append(objects, object)
	}
	return objects
}

func form(env *suites.Env, converted suites.Setup) {
	converted.It(requirement.ConversionRequestPost, "looks at the method of every call", func(ctx SpecContext, crd *suites.Resource) {
		Expect(received(ctx, env, crd)).To(HaveEach(HaveField("Method", http.MethodPost)))
	})

	converted.It(requirement.ConversionRequestContentType, "looks at the content type of every call", func(ctx SpecContext, crd *suites.Resource) {
		Expect(received(ctx, env, crd)).To(HaveEach(HaveField("Header", HaveKeyWithValue("Content-Type", []string{"application/json"}))))
	})

	converted.It(requirement.ConversionRequestReview, "decodes the body of every call", func(ctx SpecContext, crd *suites.Resource) {
		for _, r := range received(ctx, env, crd) {
			var review apiextensionsv1.ConversionReview
			Expect(json.Unmarshal(r.Body, &review)).To(Succeed())
			Expect(review.Kind).To(Equal("ConversionReview"))
			Expect(review.APIVersion).To(HavePrefix("apiextensions.k8s.io/"))
			Expect(review.Request).NotTo(BeNil())
		}
	})

	converted.It(requirement.ConversionRequestTimeout, "looks at the query of every call", func(ctx SpecContext, crd *suites.Resource) {
		Expect(received(ctx, env, crd)).To(HaveEach(HaveField("Query", "timeout=30s")))
	})
}

func reviewVersions(env *suites.Env) {
	const at = "spec.conversion.conversionReviewVersions"
	env.Refuses(requirement.ConversionRequestVersionsRequired,
		"submits a webhook without conversionReviewVersions", fixtures.Webhook, reviewsAt(), at)
	env.Refuses(requirement.ConversionRequestVersionsUnique,
		"submits a webhook that names v1 twice", fixtures.Webhook, reviewsAt("v1", "v1"), at+"[1]")
	env.Refuses(requirement.ConversionRequestVersionsNoneSupported,
		"submits a webhook that supports only v2", fixtures.Webhook, reviewsAt("v2"), at)

	env.With(fixtures.Webhook, reviewsAt("v2", "v1beta1", "v1")).It(requirement.ConversionRequestFirstSupportedVersion,
		"has a webhook called that prefers v2, v1beta1 and v1 in this order", func(ctx SpecContext, crd *suites.Resource) {
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(And(Not(BeEmpty()), HaveEach(HaveField("Request.ReviewVersion", "v1beta1"))))
			crd.Change(ctx, reviewsAt("v2", "v1", "v1beta1"))
			crd.Webhook.Forget()
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().NotTo(HaveOccurred())
			Expect(crd.Webhook.Received()).To(And(Not(BeEmpty()), HaveEach(HaveField("Request.ReviewVersion", "v1"))))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionRequestVersionsNoneSupportedStored,
		"puts a definition into storage whose webhook supports only v2", func(ctx SpecContext, crd *suites.Resource) {
			convert(ctx, crd)
			key := cluster.Key{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: crd.Name()}
			stored, err := env.Storage().Stored(ctx, key)
			env.Require(err, "looking for the definition in storage")
			changed := strings.Replace(string(stored.Data), `["v1","v1beta1"]`, `["v2"]`, 1)
			Expect(changed).NotTo(Equal(string(stored.Data)))
			env.Require(env.Storage().Overwrite(ctx, key, []byte(changed)), "changing the definition in storage")
			// With such a definition its objects could not even be deleted.
			DeferCleanup(func(ctx SpecContext) {
				env.Require(crd.Update(ctx, func(d *definition) {
					d.Spec.Conversion.Webhook.ConversionReviewVersions = []string{"v1", "v1beta1"}
				}), "repairing the definition")
			})
			Eventually(ctx, func() error { return suites.ErrorOf(crd.At("v1").Get(ctx, "local-crontab")) }).
				Should(MatchError(ContainSubstring("no supported conversion review versions")))
		})
}

func content(env *suites.Env, converted suites.Setup) {
	converted.It(requirement.ConversionRequestUIDUnique, "compares the uids of all calls", func(ctx SpecContext, crd *suites.Resource) {
		seen := map[string]bool{}
		for _, r := range received(ctx, env, crd) {
			Expect(r.Request.UID).NotTo(BeEmpty())
			Expect(seen).NotTo(HaveKey(r.Request.UID))
			seen[r.Request.UID] = true
		}
		Expect(len(seen)).To(BeNumerically(">", 1), "one call alone proves nothing")
	})

	converted.It(requirement.ConversionRequestDesiredAPIVersion, "reads at v1 and puts at v1", func(ctx SpecContext, crd *suites.Resource) {
		convert(ctx, crd)
		Expect(crd.Webhook.Received()).To(HaveEach(HaveField("Request.DesiredAPIVersion", crd.APIVersion("v1"))))
		crd.Webhook.Forget()
		Expect(crd.At("v1").Update(ctx, crd.Get(ctx, "v1", "local-crontab"))).Error().NotTo(HaveOccurred())
		Expect(crd.Webhook.Received()).To(ContainElement(HaveField("Request.DesiredAPIVersion", crd.APIVersion("v1beta1"))))
	})

	converted.It(requirement.ConversionRequestObjectsPresent, "counts the objects of every call", func(ctx SpecContext, crd *suites.Resource) {
		Expect(received(ctx, env, crd)).To(HaveEach(HaveField("Request.Objects", Not(BeEmpty()))))
	})

	converted.It(requirement.ConversionRequestNoResourceVersion, "looks at the metadata that a read sends", func(ctx SpecContext, crd *suites.Resource) {
		convert(ctx, crd)
		for _, r := range crd.Webhook.Received() {
			for _, object := range objectsOf(env, r) {
				Expect(object.Object).To(HaveKeyWithValue("metadata", And(HaveKey("uid"), Not(HaveKey("resourceVersion")))))
			}
		}
	})

	converted.It(requirement.ConversionRequestNamespace, "looks for the namespace of the objects that a read and a write send", func(ctx SpecContext, crd *suites.Resource) {
		for _, r := range received(ctx, env, crd) {
			for _, object := range objectsOf(env, r) {
				Expect(object.GetNamespace()).To(Equal(suites.Namespace))
			}
		}
	})

	converted.It(requirement.ConversionRequestManagedFields, "looks at the metadata that a read sends", func(ctx SpecContext, crd *suites.Resource) {
		convert(ctx, crd)
		for _, r := range crd.Webhook.Received() {
			for _, object := range objectsOf(env, r) {
				Expect(object.GetManagedFields()).NotTo(BeEmpty())
			}
		}
	})

	converted.It(requirement.ConversionRequestPartialObjects, "has a field manager give up its fields at another version", func(ctx SpecContext, crd *suites.Resource) {
		env.Require(suites.ErrorOf(crd.At("v1beta1").Apply(ctx, fixtures.LocalCronTab.At("v1beta1"), "crdconform")), "applying hostPort at v1beta1")
		labelled := fixtures.LocalCronTab.At("v1")
		labelled.SetLabels(map[string]string{"app": "crontab"})
		delete(labelled.Object, "host")
		delete(labelled.Object, "port")
		crd.Webhook.Forget()
		env.Require(suites.ErrorOf(crd.At("v1").Apply(ctx, labelled, "crdconform")), "applying a label and no other field at v1")
		var bare []*unstructured.Unstructured
		for _, r := range crd.Webhook.Received() {
			for _, object := range objectsOf(env, r) {
				if fields := object.Object; fields["hostPort"] == nil && fields["host"] == nil && fields["port"] == nil {
					bare = append(bare, object)
				}
			}
		}
		Expect(bare).NotTo(BeEmpty(), "every object that was sent had fields of its own")
		Expect(bare).To(HaveEach(HaveField("Object", HaveKey("metadata"))))
	})
}

// counted prepares specs that count calls. Objects are stored at the preferred version, at which garbage collectors and others
// in a cluster read, so that only the spec causes calls of the webhook.
func counted(env *suites.Env) suites.Setup {
	return env.With(fixtures.Webhook, fixtures.StoredAt("v1"))
}

func occasions(env *suites.Env, converted suites.Setup) {
	counted(env).It(requirement.ConversionRequestOnRead, "reads an object at the version it is stored at, and at the other", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
		crd.Webhook.Forget()
		Expect(crd.At("v1").Get(ctx, "local-crontab")).NotTo(BeNil())
		Expect(crd.Webhook.Received()).To(BeEmpty())
		Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).NotTo(BeNil())
		Expect(crd.Webhook.Received()).To(HaveLen(1))
	})

	converted.It(requirement.ConversionRequestOnWatch, "changes an object that is watched at the other version", func(ctx SpecContext, crd *suites.Resource) {
		watching, err := crd.At("v1").Watch(ctx)
		env.Require(err, "watching at v1")
		defer watching.Stop()
		crd.Webhook.Forget()
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		var event watch.Event
		Eventually(ctx, watching.ResultChan()).Should(Receive(&event))
		Expect(event.Type).To(Equal(watch.Added))
		Expect(event.Object).To(HaveField("Object", And(
			HaveKeyWithValue("apiVersion", crd.APIVersion("v1")), HaveKeyWithValue("host", "localhost"))))
		Expect(crd.Webhook.Received()).To(ContainElement(HaveField("Request.DesiredAPIVersion", crd.APIVersion("v1"))))
	})

	counted(env).It(requirement.ConversionRequestOnUpdate, "puts an object at the storage version, and at the other", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		object := crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
		crd.Webhook.Forget()
		object.Object["port"] = "4321"
		Expect(crd.At("v1").Update(ctx, object)).Error().NotTo(HaveOccurred())
		Expect(crd.Webhook.Received()).To(BeEmpty())
		Expect(crd.At("v1beta1").Update(ctx, crd.Get(ctx, "v1beta1", "local-crontab"))).Error().NotTo(HaveOccurred())
		Expect(crd.Webhook.Received()).To(ContainElement(And(
			HaveField("Request.DesiredAPIVersion", crd.APIVersion("v1")),
			HaveField("Body", ContainSubstring(`"hostPort":"localhost:4321"`)))))
	})
}

func spared(env *suites.Env, converted suites.Setup) {
	env.With(fixtures.Webhook).It(requirement.ConversionRequestOnlyOtherVersions, "lists objects that are stored at two versions", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		crd.Change(ctx, fixtures.StoredAt("v1"))
		crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
		for version, name := range map[string]string{"v1": "local-crontab", "v1beta1": "remote-crontab"} {
			// Others in the cluster list the objects too, some time after the definition changed. What the API server sends for a
			// list it sends each time.
			Eventually(ctx, func(g Gomega) {
				crd.Webhook.Forget()
				g.Expect(crd.At(version).List(ctx)).To(HaveLen(2))
				var names []string
				for _, r := range crd.Webhook.Received() {
					g.Expect(r.Request.DesiredAPIVersion).To(Equal(crd.APIVersion(version)))
					for _, object := range objectsOf(env, r) {
						names = append(names, object.GetName())
					}
				}
				g.Expect(names).To(Equal([]string{name}))
			}).Should(Succeed())
		}
	})

	converted.It(requirement.ConversionRequestNoEmptyObjects, "looks for empty objects in every call", func(ctx SpecContext, crd *suites.Resource) {
		for _, r := range received(ctx, env, crd) {
			for _, object := range objectsOf(env, r) {
				Expect(len(object.Object)).To(BeNumerically(">", 2), "the API server sent %v", object.Object)
			}
		}
	})

	counted(env).It(requirement.ConversionRequestNoUnusedVersions, "does everything at the storage version", func(ctx SpecContext, crd *suites.Resource) {
		env.SkipWithWatchCache()
		env.Require(everyVerb(ctx, crd.At("v1"), fixtures.LocalCronTab.At("v1")), "using v1")
		Expect(crd.Webhook.Received()).To(BeEmpty())
		convert(ctx, crd)
		Expect(crd.Webhook.Received()).NotTo(BeEmpty(), "the webhook must be in use at all")
	})
}
