package lint

import (
	"context"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkUpstream runs the validation of API servers for new definitions, and notes what no rule has said yet.
func (c *checker) checkUpstream(ctx context.Context) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	defaulted := c.crd.DeepCopy()
	scheme.Default(defaulted)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(defaulted, &internal, nil); err != nil {
		c.found(Refused, specPath(), "API servers cannot parse it: %s", err)
		return
	}
	// What servers write themselves is not theirs to refuse; rules of our own look at storedVersions.
	internal.Status = apiextensions.CustomResourceDefinitionStatus{StoredVersions: c.storageVersions()}
	own := c.errorPaths()
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, &internal) {
		path := written(err.Field)
		if own[path] || strings.HasPrefix(path, "status.") || c.isReported(path) {
			continue
		}
		value, _ := err.BadValue.(string)
		if strings.HasSuffix(path, "selectableFields") && strings.HasPrefix(err.Detail, "may only be set when") && !c.has(SchemaMissing) {
			c.found(Refused, c.fieldPath(path), "API servers reject it, since they mix up versions: schemas and selectableFields must both be the same at all versions, or both differ; make them so")
			continue
		}
		c.found(Refused, c.fieldPath(path), "API servers reject it: %s: %s%s", path, reason(err), templated(value))
	}
}

// reason is what an error says, without a value that would fill the screen.
func reason(err *field.Error) string {
	text := err.ErrorBody()
	if _, short := err.BadValue.(string); err.Detail != "" && (!short || len(text) > 300) {
		text = err.Type.String() + ": " + err.Detail
	}
	return strings.Join(strings.Fields(text), " ")
}

// storageVersions returns the versions that are to be the storage version, which must be one.
func (d *definition) storageVersions() []string {
	var all []string
	for _, v := range d.crd.Spec.Versions {
		if v.Storage {
			all = append(all, v.Name)
		}
	}
	return all
}

// errorPaths returns where rules of our own found errors.
func (c *checker) errorPaths() map[string]bool {
	paths := map[string]bool{}
	for _, f := range c.findings {
		if f.Level == Error {
			paths[f.Path] = true
		}
	}
	return paths
}

// isReported reports whether an error was already reported at another place: servers confuse the fields of a service reference, miss names
// that follow from the kind, and repeat why a schema is not structural.
func (c *checker) isReported(path string) bool {
	names := specPath().Child("names")
	return c.crd.Spec.Names.Kind == "" && (path == names.Child("singular").String() || path == names.Child("listKind").String()) ||
		c.has(ServiceInvalid) && strings.HasPrefix(path, clientPath().Child("service").String()) ||
		c.has(PreserveUnknown) && path == specPath().Child("conversion", "strategy").String() ||
		c.has(SchemaNotStructural) && strings.Contains(path, "openAPIV3Schema") && c.structural(path)
}

// structural reports whether a rule found a schema not to be structural, at a path or above.
func (c *checker) structural(path string) bool {
	for _, f := range c.findings {
		if f.Rule == SchemaNotStructural && strings.HasPrefix(path, f.Path) {
			return true
		}
	}
	return false
}

// written translates a path of the internal type into one of the definition as it is written. What all versions share is
// shown at the first.
func written(path string) string {
	for _, change := range []struct{ internal, written string }{
		{"spec.schema", "spec.versions[0].schema"},
		{"spec.validation", "spec.versions[0].schema"},
		{"spec.subresources", "spec.versions[0].subresources"},
		{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
		{"spec.selectableFields", "spec.versions[0].selectableFields"},
		{"spec.version", "spec.versions[0].name"},
		{"spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"},
		{"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"},
	} {
		if rest, found := strings.CutPrefix(path, change.internal); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			path = change.written + rest
			break
		}
	}
	return strings.ReplaceAll(path, ".JSONPath", ".jsonPath")
}
