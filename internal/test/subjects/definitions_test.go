package subjects

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/corpus"
)

// TestDefinitions holds that API servers would take the definitions, and the samples with them.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	for _, name := range Names() {
		crd := definitionOf(t, name)
		scheme.Default(crd)
		for i := range crd.Spec.Versions {
			if crd.Spec.Versions[i].Storage { // as API servers do with a new one
				crd.Status.StoredVersions = []string{crd.Spec.Versions[i].Name}
			}
		}
		internal := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Convert(crd, internal, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if errs := apivalidation.ValidateCustomResourceDefinition(t.Context(), internal); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
		c := samplesOf(t, &Program{Samples: name + "/samples.yaml"})
		if len(c.Versions) != len(crd.Spec.Versions) {
			t.Errorf("%s: there are samples at %v only", name, c.Versions)
		}
		for _, v := range internal.Spec.Versions {
			checkSamples(t, name, internal, v, c)
		}
	}
}

func checkSamples(t *testing.T, name string, crd *apiextensions.CustomResourceDefinition, v apiextensions.CustomResourceDefinitionVersion, c corpus.Corpus) {
	t.Helper()
	schema := v.Schema
	if schema == nil {
		schema = crd.Spec.Validation // where the internal type keeps what all versions share
	}
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("%s %s: %v", name, v.Name, err)
	}
	for _, object := range c.Objects(v.Name) {
		if errs := validation.ValidateCustomResource(nil, object.Object, validator); len(errs) > 0 {
			t.Errorf("%s %s %s: %v", name, v.Name, object.GetName(), errs.ToAggregate())
		}
	}
}
