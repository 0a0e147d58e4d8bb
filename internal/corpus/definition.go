package corpus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// Definition is a CustomResourceDefinition whose schemas are compiled as API servers compile them.
type Definition struct {
	CRD *apiextensionsv1.CustomResourceDefinition // as it was read

	schemas map[string]*Schema // by version
}

// ReadDefinitions reads the CustomResourceDefinitions of a file, or of lists in it. Objects of other kinds are left out and
// counted, so there may be no definition. Errors name the document, the definition, the version and the place in the schema.
func ReadDefinitions(file string, data []byte) (definitions []*Definition, others int, err error) {
	err = eachObject(file, data, func(object *unstructured.Unstructured) error {
		definition, problem := readDefinition(object)
		switch {
		case definition != nil:
			definitions = append(definitions, definition)
		case problem == nil:
			others++
		}
		return problem
	})
	return definitions, others, err
}

// readDefinition returns nil for objects of other kinds.
func readDefinition(object *unstructured.Unstructured) (*Definition, error) {
	gvk := object.GroupVersionKind()
	if gvk.Group != apiextensionsv1.GroupName || gvk.Kind != "CustomResourceDefinition" {
		return nil, nil
	}
	if gvk.Version != "v1" && gvk.Version != "v1beta1" {
		return nil, fmt.Errorf("definition %s is at %s, which does not exist; write %s", object.GetName(), object.GetAPIVersion(), apiextensionsv1.SchemeGroupVersion)
	}
	if gvk.Version != "v1" {
		return nil, fmt.Errorf("definition %s is at %s, which API servers have not supported since 1.22; convert it to %s", object.GetName(), object.GetAPIVersion(), apiextensionsv1.SchemeGroupVersion)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if wrong := fieldpath.Mismatches(object.Object, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); len(wrong) > 0 {
		return nil, fmt.Errorf("definition%s: %s%s", withName(object), wrong[0], andMore(len(wrong)-1))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
		return nil, fmt.Errorf("definition %s is invalid: %w", object.GetName(), err)
	}
	return NewDefinition(crd)
}

// withName is the name of an object in a message, with a space before it; empty if it has none.
func withName(object *unstructured.Unstructured) string {
	if name := object.GetName(); name != "" {
		return " " + name
	}
	return ""
}

// andMore says how many more things are wrong; nothing if there are none.
func andMore(n int) string {
	if n > 0 {
		return " (" + visible.More(n) + ")"
	}
	return ""
}

// NewDefinition compiles the schemas of a definition, which the caller must not change any more. It fails with what API
// servers would say of the schemas. What else they check in a definition is not looked at.
func NewDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	d := &Definition{CRD: crd, schemas: map[string]*Schema{}}
	if err := d.complete(); err != nil {
		return nil, fmt.Errorf("definition %s: %w", d.Name(), err)
	}
	if err := d.accepted(); err != nil {
		return nil, fmt.Errorf("definition %s: %w", d.Name(), err)
	}
	for _, version := range crd.Spec.Versions {
		s, err := newSchema(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("definition %s: version %s: %w", d.Name(), version.Name, err)
		}
		d.schemas[version.Name] = s
	}
	return d, nil
}

// complete reports whether the definition has what is needed to make objects.
func (d *Definition) complete() error {
	spec := d.CRD.Spec
	switch {
	case spec.Group == "" || spec.Names.Kind == "" || spec.Names.Plural == "":
		return errors.New("spec.group, spec.names.kind and spec.names.plural are required; add what is missing")
	case spec.PreserveUnknownFields:
		return errors.New("spec.preserveUnknownFields is true, so the fields are unknown; set it to false and describe them in the schemas")
	case len(spec.Versions) == 0:
		return errors.New("spec.versions is empty; add the versions with their schemas")
	}
	seen := map[string]bool{}
	for i, version := range spec.Versions {
		if version.Name == "" {
			return fmt.Errorf("spec.versions[%d].name is empty", i)
		}
		if seen[version.Name] {
			return fmt.Errorf("version %s is duplicated; remove one", version.Name)
		}
		seen[version.Name] = true
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			return fmt.Errorf("version %s: spec.versions[%d].schema.openAPIV3Schema is missing; describe the fields there", version.Name, i)
		}
	}
	if len(d.Versions()) == 0 {
		return errors.New("no version is served or stored; set served or storage to true for one")
	}
	return nil
}

// accepted asks upstream's validation whether API servers would accept the schemas.
func (d *Definition) accepted() error {
	crd := d.CRD.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		return fmt.Errorf("a schema has a default, an example or an enum that is not JSON: %w", err)
	}
	var problems []error
	for _, problem := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
		if version, path, ok := d.ofSchema(problem.Field); ok {
			problem.Field = path
			problems = append(problems, fmt.Errorf("version %s: API servers would reject the schema: %w", version, shortened(problem)))
		}
	}
	return errors.Join(problems...)
}

// ofSchema returns the version and the path in the schema that a path in the definition is of. Upstream moves a schema
// that all versions have to spec.validation before it looks.
func (d *Definition) ofSchema(path string) (version, inSchema string, ok bool) {
	if rest, common := strings.CutPrefix(path, "spec.validation.openAPIV3Schema"); common {
		return strings.Join(d.all(), ", "), strings.TrimPrefix(rest, "."), true
	}
	for i, v := range d.CRD.Spec.Versions {
		prefix := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)
		if rest, here := strings.CutPrefix(path, prefix); here {
			return v.Name, strings.TrimPrefix(rest, "."), true
		}
	}
	return "", "", false
}

// shortened is a problem without the value, which may be a whole schema. The path of a schema itself is empty.
func shortened(problem *field.Error) error {
	place := problem.Field
	if place == "" {
		place = "openAPIV3Schema"
	}
	if problem.Detail == "" {
		return fmt.Errorf("%s: %s", place, strings.ToLower(problem.Type.String()))
	}
	return fmt.Errorf("%s: %s", place, problem.Detail)
}

// Name returns the name of the definition, such as widgets.example.com.
func (d *Definition) Name() string {
	if d.CRD.Name != "" {
		return d.CRD.Name
	}
	return d.CRD.Spec.Names.Plural + "." + d.CRD.Spec.Group
}

// Versions returns the versions that are served or stored, in the definition's order.
func (d *Definition) Versions() []string {
	var versions []string
	for _, version := range d.CRD.Spec.Versions {
		if version.Served || version.Storage {
			versions = append(versions, version.Name)
		}
	}
	return versions
}

// Unserved returns the versions that are neither served nor stored, at which objects may have been stored before: all of them, unless
// the status says which versions objects are stored at.
func (d *Definition) Unserved() []string {
	stored := d.CRD.Status.StoredVersions
	return slices.DeleteFunc(d.all(), func(version string) bool {
		return d.has(version) || len(stored) > 0 && !slices.Contains(stored, version)
	})
}

// Converts reports whether API servers have anything to convert: there are two versions, and one is served.
func (d *Definition) Converts() bool {
	return len(d.Versions())+len(d.Unserved()) > 1 && slices.ContainsFunc(d.Versions(), d.serves)
}

// Stores reports whether the status says that objects are stored at a version.
func (d *Definition) Stores(version string) bool {
	return slices.Contains(d.CRD.Status.StoredVersions, version)
}

// serves reports whether a version is served.
func (d *Definition) serves(version string) bool {
	return slices.ContainsFunc(d.CRD.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}

// all returns every version.
func (d *Definition) all() []string {
	var versions []string
	for _, version := range d.CRD.Spec.Versions {
		versions = append(versions, version.Name)
	}
	return versions
}

// Schema returns the schema of a version. It panics for versions that the definition does not have.
func (d *Definition) Schema(version string) *Schema {
	s, ok := d.schemas[version]
	if !ok {
		panic(fmt.Sprintf("corpus: definition %s has no version %s, only %v", d.Name(), version, d.all()))
	}
	return s
}

// has reports whether a version is served or stored.
func (d *Definition) has(version string) bool { return slices.Contains(d.Versions(), version) }
