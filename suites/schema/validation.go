package schema

import (
	"bytes"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// post posts an object at a version and asks for a field validation, or for none if that is empty.
func post(ctx SpecContext, env *suites.Env, crd *suites.Resource, version, validation string, object *unstructured.Unstructured) suites.Answer {
	body, err := crd.Object(version, object).MarshalJSON()
	env.Require(err, "encoding an object")
	return send(ctx, env, crd, version, validation, body)
}

// send posts what may be no object at all.
func send(ctx SpecContext, env *suites.Env, crd *suites.Resource, version, validation string, body []byte) suites.Answer {
	query := ""
	if validation != "" {
		query = "?fieldValidation=" + validation
	}
	return env.Do(ctx, http.MethodPost, crd.Path(version)+query, body, http.Header{"Content-Type": {"application/json"}})
}

func fieldValidation(env *suites.Env) {
	created := HaveField("Status", http.StatusCreated)
	unknown := func(name string) *unstructured.Unstructured {
		object := fixtures.UnknownField.At("v1")
		object.SetName(name)
		return object
	}

	Describe("field validation", func() {
		stable := env.With(fixtures.Stable).Together()

		stable.It(requirement.SchemaPruningStrict,
			"creates objects with and without an unknown field, strictly", func(ctx SpecContext, crd *suites.Resource) {
				Expect(post(ctx, env, crd, "v1", "Strict", fixtures.CronTab("strict", `spec: {replicas: 1}`))).To(created)
				Expect(post(ctx, env, crd, "v1", "Strict", unknown("refused"))).To(And(
					HaveField("Status", http.StatusBadRequest), HaveField("Body", ContainSubstring("spec.someRandomField"))))
				Expect(crd.At("v1").Get(ctx, "refused")).Error().To(HaveOccurred(), "it must not be there")
			})

		stable.It(requirement.SchemaPruningStrictMetadata,
			"creates objects with and without an unknown field in their metadata, strictly", func(ctx SpecContext, crd *suites.Resource) {
				object := fixtures.CronTab("strict-metadata", `spec: {replicas: 1}`)
				Expect(post(ctx, env, crd, "v1", "Strict", object)).To(created)
				object.SetName("refused-metadata")
				env.Require(unstructured.SetNestedField(object.Object, "x", "metadata", "unknown"), "setting a field of the metadata")
				Expect(post(ctx, env, crd, "v1", "Strict", object)).To(And(
					HaveField("Status", http.StatusBadRequest), HaveField("Body", ContainSubstring("metadata.unknown"))))
			})

		stable.It(requirement.SchemaPruningStrictDuplicates,
			"creates an object with a field that is there twice, strictly and not", func(ctx SpecContext, crd *suites.Resource) {
				once, err := crd.Object("v1", fixtures.CronTab("twice", `spec: {image: first}`)).MarshalJSON()
				env.Require(err, "encoding an object")
				twice := bytes.Replace(once, []byte(`"image":"first"`), []byte(`"image":"first","image":"second"`), 1)
				Expect(twice).NotTo(Equal(once), "the field must be there twice")
				Expect(send(ctx, env, crd, "v1", "Strict", twice)).To(And(
					HaveField("Status", http.StatusBadRequest), HaveField("Body", ContainSubstring("spec.image"))))
				Expect(send(ctx, env, crd, "v1", "Ignore", twice)).To(created)
				Expect(crd.At("v1").Get(ctx, "twice")).To(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("image", "second"))))
			})

		stable.It(requirement.SchemaPruningWarn,
			"creates objects with an unknown field, with warnings asked for and without", func(ctx SpecContext, crd *suites.Resource) {
				warned := HaveField("Header", HaveKeyWithValue("Warning", ConsistOf(ContainSubstring("spec.someRandomField"))))
				Expect(post(ctx, env, crd, "v1", "Warn", unknown("warned"))).To(And(created, warned))
				Expect(post(ctx, env, crd, "v1", "", unknown("warned-by-default"))).To(And(created, warned))
			})

		stable.It(requirement.SchemaPruningIgnore,
			"creates objects with an unknown field, with warnings not asked for, asked for, and strictly", func(ctx SpecContext, crd *suites.Resource) {
				answer := post(ctx, env, crd, "v1", "Ignore", unknown("ignored"))
				Expect(answer).To(And(created, HaveField("Header", Not(HaveKey("Warning")))))
				Expect(string(answer.Body)).NotTo(ContainSubstring("someRandomField"), "it is pruned all the same")
				Expect(string(answer.Body)).To(ContainSubstring("my-awesome-cron-image"), "known fields are kept")
				Expect(post(ctx, env, crd, "v1", "Warn", unknown("not-ignored")).Header).To(HaveKey("Warning"), "it must be for what was asked that there is no warning")
				Expect(post(ctx, env, crd, "v1", "Strict", unknown("not-ignored"))).To(HaveField("Status", http.StatusBadRequest), "it must be for what was asked that it is accepted")
			})
	})
}
