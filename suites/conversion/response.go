package conversion

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func response(env *suites.Env, converted suites.Setup) {
	Describe("response", func() {
		converted.It(requirement.ConversionResponseControlsRead,
			"reads fields that a webhook invents", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				crd.Webhook.Serve(webhook.Changing(func(object map[string]any) { object["host"] = "made.up.example.com" }))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "made.up.example.com")))
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("hostPort", "localhost:1234")))
			})

		failing := func(id requirement.ID, text string, faults ...string) { failingWith(converted, id, text, faults...) }
		statuses(converted)
		env.With(fixtures.Webhook).It(requirement.ConversionResponseReviewVersion,
			"has the webhook answer v1 in the other version, and in none, and v1beta1 in v1", func(ctx SpecContext, crd *suites.Resource) {
				convert(ctx, crd)
				failsOver(ctx, crd, "other-review-version", "review-version-none")
				crd.Change(ctx, reviewsAt("v1beta1"))
				failsOver(ctx, crd, "other-review-version")
			})
		failing(requirement.ConversionResponseStanza,
			"has the webhook answer without a response", "no-response")
		failing(requirement.ConversionResponseUID,
			"has the webhook answer with another uid, and without one", "wrong-uid", "no-uid")
		failing(requirement.ConversionResponseStatus,
			"has the webhook answer success for Success, and nothing", "status-lower-case", "status-none", "status-failed")
		documentedStatus(env)
		failing(requirement.ConversionResponseAllObjects,
			"has the webhook return one object too few, and one too many", "loses-object", "no-objects", "repeats-object")
		failing(requirement.ConversionResponseAPIVersion,
			"has the webhook leave apiVersion as it is", "keeps-api-version")
		failing(requirement.ConversionResponseKind,
			"has the webhook change the kind", "changes-kind")
		failing(requirement.ConversionResponseBody,
			"has the webhook answer with 204, with nothing, with HTML and with half a body", "status-204", "empty-body", "not-json", "half-body")

		converted.It(requirement.ConversionResponseContentTypeLenient,
			"has the webhook answer as text/plain, and without a content type", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				for _, fault := range []string{"content-type-text", "content-type-none"} {
					crd.Webhook.Break(fault)
					Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "localhost")), fault)
				}
			})

		converted.It(requirement.ConversionResponseExtraFieldsAccepted,
			"has the webhook repeat the request and add a field of its own", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				crd.Webhook.Break("echoes-request")
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "localhost")))
				crd.Webhook.Serve(addingField(webhook.Handler()))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "localhost")))
			})

		converted.It(requirement.ConversionResponseNotValidated,
			"reads an object whose port the webhook returns as a number", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				crd.Webhook.Break("port-as-number")
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("port", BeNumerically("==", 1234))))
			})
	})
}

// statuses is about the HTTP status of responses that are right apart from it.
func statuses(converted suites.Setup) {
	converted.It(requirement.ConversionResponseHTTPStatus,
		"has the webhook answer with status after status, and redirect", func(ctx SpecContext, crd *suites.Resource) {
			convert(ctx, crd)
			elsewhere := "/" + crd.Group() + "/elsewhere"
			crd.Webhook.Also(elsewhere)
			answering := func(status int, location string) error {
				crd.Webhook.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if location != "" && r.URL.Path != location {
						http.Redirect(w, r, location, status)
						return
					}
					converted := httptest.NewRecorder()
					webhook.Handler().ServeHTTP(converted, r)
					w.Header().Set("Content-Type", "application/json")
					if location == "" {
						w.WriteHeader(status)
					}
					_, _ = w.Write(converted.Body.Bytes()) // the API server notices what is missing
				}))
				return suites.ErrorOf(crd.At("v1").Get(ctx, "local-crontab"))
			}
			for _, status := range []int{200, 201, 202, 203, 205, 206} {
				Expect(answering(status, "")).To(Succeed(), "%d must do", status)
			}
			for _, status := range []int{207, 226, 300, 400, 404, 500, 503} {
				Expect(answering(status, "")).To(failConversion(), "%d must fail", status)
			}
			for _, status := range []int{307, 308} {
				Expect(answering(status, elsewhere)).To(Succeed(), "a redirect by %d must be followed", status)
				Expect(answering(status, "/"+crd.Group()+"/nowhere")).To(failConversion(), "a redirect by %d that leads nowhere must fail", status)
			}
		})
}

// failingWith declares a spec in which a webhook with each of the faults in turn is to fail the client's request, which
// succeeds before and after.
func failingWith(converted suites.Setup, id requirement.ID, text string, faults ...string) {
	converted.It(id, text, func(ctx SpecContext, crd *suites.Resource) {
		convert(ctx, crd)
		failsOver(ctx, crd, faults...)
	})
}

// failsOver expects that reads of what convert created fail with each fault of the webhook, and succeed afterwards.
func failsOver(ctx SpecContext, crd *suites.Resource, faults ...string) {
	for _, fault := range faults {
		crd.Webhook.Break(fault)
		Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion(), fault)
	}
	crd.Webhook.Mend()
	Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().NotTo(HaveOccurred())
}

// addingField puts an unknown field in front of the ConversionReview of another handler.
func addingField(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(&fieldAdder{ResponseWriter: w}, r)
	})
}

type fieldAdder struct {
	http.ResponseWriter
	started bool
}

func (f *fieldAdder) WriteHeader(status int) {
	f.Header().Del("Content-Length")
	f.ResponseWriter.WriteHeader(status)
}

func (f *fieldAdder) Write(body []byte) (int, error) {
	if f.started || len(body) == 0 {
		return f.ResponseWriter.Write(body)
	}
	f.started = true
	if _, err := f.ResponseWriter.Write([]byte(`{"comment": "nobody knows this field", `)); err != nil {
		return 0, err
	}
	n, err := f.ResponseWriter.Write(body[1:])
	return n + 1, err
}

// documentedStatus is about the documents' example of a success, which they print with the status of a failure.
func documentedStatus(env *suites.Env) {
	// as answers with the objects that were asked for, and with everything else as an example has it.
	as := func(example []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var good, answer apiextensionsv1beta1.ConversionReview
			converted := httptest.NewRecorder()
			webhook.Handler().ServeHTTP(converted, r)
			if err := errors.Join(json.Unmarshal(converted.Body.Bytes(), &good), json.Unmarshal(example, &answer)); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			answer.Response.UID, answer.Response.ConvertedObjects = good.Response.UID, good.Response.ConvertedObjects
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // the API server notices what is missing
		})
	}
	env.With(fixtures.Webhook, reviewsAt("v1beta1")).It(requirement.ConversionResponseDocumentedStatus,
		"has the webhook answer as the documents print it, and as they mean it", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			crd.Webhook.Serve(as(fixtures.ReviewLiteral()))
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(MatchError(apierrors.IsInternalError, "IsInternalError"), "as printed it must fail")
			crd.Webhook.Serve(as(fixtures.ReviewSuccess("v1beta1")))
			Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "localhost")), "as meant it must convert")
		})
}
