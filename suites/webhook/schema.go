package webhook

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/crdconform/crdconform/fixtures"
)

// schema validates by the API server's own code, which does so on writes but not for what a webhook returns on reads.
func (p *prober) schema(ctx SpecContext) {
	p.onlyDocumented("the schema")
	schemas := map[string]*validator{}
	for version, shape := range map[string]string{"v1alpha1": "v1beta1", "v1beta1": "v1beta1", "v1": "v1"} {
		v, err := newValidator(fixtures.Version(fixtures.Webhook.New(), shape).Schema.OpenAPIV3Schema)
		p.env.Require(err, "reading the documents' schema of %s", shape)
		schemas[version] = v
	}
	p.sound(ctx)
	for _, x := range p.standard(ctx) {
		for i, raw := range x.judgement.Objects {
			object := p.decode(raw)
			to := x.request.DesiredAPIVersion[len(p.env.Subject.Corpus.Group)+1:]
			if problem := schemas[to].problem(object); problem != "" {
				p.fail(x, fmt.Sprintf("%s: object %d: expected one that is valid at %s, got %s", x.what, i, to, problem))
			}
		}
	}
}

// validator validates objects by the schema of one version.
type validator struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
}

func newValidator(v1 *apiextensionsv1.JSONSchemaProps) (*validator, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	schema, _, err := validation.NewSchemaValidator(internal)
	return &validator{structural, schema}, err
}

// problem says what is wrong with an object, or nothing.
func (v *validator) problem(object map[string]any) string {
	if errs := validation.ValidateCustomResource(nil, object, v.schema); len(errs) > 0 {
		return errs.ToAggregate().Error()
	}
	unknown := pruning.PruneWithOptions(object, v.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return fmt.Sprintf("fields that it does not have: %v", unknown)
	}
	return ""
}
