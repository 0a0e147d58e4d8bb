package webhook

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/suites"
)

// definition answers from the samples and the schemas of the subject, without asking the webhook.
type definition struct {
	env *suites.Env
}

// schemaOf returns the schema of a version, nil where it is not known.
func (df *definition) schemaOf(version string) *corpus.Schema {
	if d := df.env.Subject.Corpus.Definition; d != nil {
		return d.Schema(version)
	}
	return nil
}

// generates reports whether objects are generated from the schemas.
func (df *definition) generates() bool {
	return df.env.Subject.Corpus.Definition != nil && df.env.Subject.Objects >= 0
}

// oneWay reports whether API servers convert from the first version of a pair and not to it.
func (df *definition) oneWay(pair corpus.Pair) bool { return df.env.Subject.Corpus.OneWay(pair) }

// isStored reports whether a version is the one at which the definition stores objects.
func (df *definition) isStored(version string) bool {
	d := df.env.Subject.Corpus.Definition
	return d != nil && kube.StorageVersion(d.CRD) == version
}

// hasStatus reports whether status is a subresource of a version.
func (df *definition) hasStatus(version string) bool {
	d := df.env.Subject.Corpus.Definition
	return d != nil && slices.ContainsFunc(d.CRD.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Subresources != nil && v.Subresources.Status != nil
	})
}

// needsSchemas skips a spec where only samples are known.
func (df *definition) needsSchemas(what string) {
	if df.env.Subject.Corpus.Definition == nil {
		Skip(what + " is not known from samples; give the CustomResourceDefinition too")
	}
}

// needsGenerated skips a spec that generates objects where that can't be, or is not wanted.
func (df *definition) needsGenerated(what string) {
	df.needsSchemas(what)
	if df.env.Subject.Objects < 0 {
		Skip("it needs generated objects, and none are requested")
	}
}

// onlyDocumented skips a spec that knows the documents' CronTabs alone.
func (df *definition) onlyDocumented(what string) {
	if !df.env.Subject.Corpus.Documented {
		df.env.Inapplicable(what + " is known for the CronTabs of the documents only")
	}
}

// needsFields skips a spec that had nothing to try, which would hold whatever the webhook does.
func (df *definition) needsFields(n int, what string) {
	GinkgoHelper()
	if n == 0 {
		df.env.Inapplicable("the schemas have no field for " + what)
	}
}
