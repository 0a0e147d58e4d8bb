package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/visible"
)

func schemaPath(i int) *field.Path {
	return versionsPath().Index(i).Child("schema", "openAPIV3Schema")
}

// schemaOf returns the schema of a version, or nil.
func schemaOf(v apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}

// checkSchemas looks at each schema by itself.
func (c *checker) checkSchemas() {
	for i, v := range c.crd.Spec.Versions {
		s := schemaOf(v)
		if s == nil {
			c.found(SchemaMissing, schemaPath(i), "%s has no schema; add schema.openAPIV3Schema, which every version needs", cmp.Or(v.Name, "a version without a name"))
			continue
		}
		for _, err := range structuralErrors(s, schemaPath(i)) {
			c.found(SchemaNotStructural, c.fieldPath(err.Field), "the schema of %s is not structural: %s", v.Name, reason(err))
		}
	}
}

// checkMetadata notes where objects in objects have metadata of which nothing is kept.
func (c *checker) checkMetadata() {
	for i, v := range c.crd.Spec.Versions {
		s := schemaOf(v)
		if s == nil {
			continue
		}
		var names []string
		var first *field.Path
		nodes, _ := flatten(s, schemaPath(i))
		for _, n := range nodes {
			if strings.HasSuffix(n.name, ".metadata") && n.kind() == "object" && len(n.schema.Properties) == 0 && !n.open() && !n.parent.schema.XEmbeddedResource {
				names, first = append(names, n.String()), cmp.Or(first, n.path)
			}
		}
		if len(names) > 0 {
			c.found(MetadataPruned, first, "API servers drop all labels and annotations in %s at %s, which has no fields; generate them (crd:generateEmbeddedObjectMeta=true), or name those that the program reads", visible.First(names, mostNames), v.Name)
		}
	}
}

// structuralErrors asks upstream's code what keeps a schema from being structural.
func structuralErrors(s *apiextensionsv1.JSONSchemaProps, path *field.Path) field.ErrorList {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	return schema.ValidateStructural(path, structural)
}

// node is a field of a schema: an object's, the items of a list, or the values of a map.
type node struct {
	name     string // as users know it, such as spec.ports[].name
	path     *field.Path
	schema   *apiextensionsv1.JSONSchemaProps
	required bool
	parent   *node
}

// flatten returns the fields of a schema, parents first, without those that every object has.
func flatten(s *apiextensionsv1.JSONSchemaProps, path *field.Path) (all []*node, byName map[string]*node) {
	byName = map[string]*node{}
	var add func(n *node)
	add = func(n *node) {
		all = append(all, n)
		byName[n.name] = n
		for _, child := range n.children() {
			add(child)
		}
	}
	add(&node{path: path, schema: s})
	return all, byName
}

// children returns the fields directly below one, properties by their names.
func (n *node) children() []*node {
	var all []*node
	for _, key := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		if n.parent == nil && (key == "apiVersion" || key == "kind" || key == "metadata") {
			continue
		}
		property := n.schema.Properties[key]
		name := key
		if n.name != "" {
			name = n.name + "." + key
		}
		all = append(all, &node{
			name: name, path: n.path.Child("properties").Key(key), schema: &property, parent: n, required: slices.Contains(n.schema.Required, key),
		})
	}
	if items := n.schema.Items; items != nil && items.Schema != nil {
		all = append(all, &node{name: n.name + "[]", path: n.path.Child("items"), schema: items.Schema, parent: n})
	}
	if values := n.schema.AdditionalProperties; values != nil && values.Schema != nil {
		all = append(all, &node{name: n.name + ".*", path: n.path.Child("additionalProperties"), schema: values.Schema, parent: n})
	}
	return all
}

// open reports whether a field keeps what its schema does not name.
func (n *node) open() bool {
	s := n.schema
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		return true
	}
	return s.AdditionalProperties != nil && (s.AdditionalProperties.Schema != nil || s.AdditionalProperties.Allows)
}

// kind is the type of a field, or nothing where it may be any.
func (n *node) kind() string {
	if n.schema.XIntOrString {
		return "int-or-string"
	}
	return n.schema.Type
}

// fallback is the default of a field as JSON, or nothing.
func (n *node) fallback() string {
	if n.schema.Default == nil {
		return ""
	}
	return canonical(n.schema.Default.Raw)
}

func (n *node) String() string {
	if n.name == "" {
		return "the object itself"
	}
	return n.name
}

// fieldPath makes a path of one that was rendered.
func (c *checker) fieldPath(text string) *field.Path {
	if text == "" {
		return field.NewPath("spec")
	}
	return field.NewPath(text)
}
