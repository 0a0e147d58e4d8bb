package lint

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// checkSubresources compares the subresources of the versions, and looks the paths of scale up in the schemas.
func (c *checker) checkSubresources() {
	var first *apiextensionsv1.CustomResourceDefinitionVersion
	for i := range c.crd.Spec.Versions {
		v := &c.crd.Spec.Versions[i]
		path := versionsPath().Index(i).Child("subresources")
		c.checkScale(v, path.Child("scale"))
		if !v.Served {
			continue
		}
		if first == nil {
			first = v
			continue
		}
		if hasStatus(v) != hasStatus(first) {
			with, without := v.Name, first.Name
			if hasStatus(first) {
				with, without = first.Name, v.Name
			}
			c.found(StatusDiffers, path, "%s has the status subresource and %s does not, so a write there also changes the status; add it to both", with, without)
		}
		if scaleOf(v) != scaleOf(first) {
			c.found(ScaleDiffers, path, "%s and %s have different scale subresources; make sure that both denote the same fields", first.Name, v.Name)
		}
	}
}

func hasStatus(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return v.Subresources != nil && v.Subresources.Status != nil
}

// scaleOf returns the paths of the scale subresource.
func scaleOf(v *apiextensionsv1.CustomResourceDefinitionVersion) [3]string {
	if v.Subresources == nil || v.Subresources.Scale == nil {
		return [3]string{}
	}
	scale := v.Subresources.Scale
	paths := [3]string{scale.SpecReplicasPath, scale.StatusReplicasPath}
	if scale.LabelSelectorPath != nil {
		paths[2] = *scale.LabelSelectorPath
	}
	return paths
}

func (c *checker) checkScale(v *apiextensionsv1.CustomResourceDefinitionVersion, path *field.Path) {
	s := schemaOf(*v)
	if s == nil {
		return
	}
	for i, jsonPath := range scaleOf(v) {
		name := []string{"specReplicasPath", "statusReplicasPath", "labelSelectorPath"}[i]
		keys := strings.Split(strings.TrimPrefix(jsonPath, "."), ".")
		if !strings.HasPrefix(jsonPath, ".") || slices.Contains(keys, "") {
			continue // refused, or none
		}
		if !within(s, keys) {
			c.foundAt(jsonPath, ScalePath, path.Child(name), "%s is not in the schema of %s; add the field, or correct the path", jsonPath, v.Name)
			continue
		}
		want, advice := "integer", "replicas are integers"
		if i == 2 {
			want, advice = "string", "lead it to a string with the serialized selector"
		}
		if is := typeAt(s, keys); is != "" && is != want {
			c.foundAt(jsonPath, ScaleType, path.Child(name), "%s is of type %s at %s and must be of type %s: API servers refuse writes with such a value, and autoscalers do nothing; %s", jsonPath, is, v.Name, want, advice)
		}
	}
}

// within reports whether the schema lets a path of keys be.
func within(s *apiextensionsv1.JSONSchemaProps, keys []string) bool {
	for _, key := range keys {
		next, known := below(s, key)
		if !known {
			return next
		}
		s = child(s, key)
	}
	return true
}

// typeAt returns the type of the field at a path of keys, or nothing if that is not known.
func typeAt(s *apiextensionsv1.JSONSchemaProps, keys []string) string {
	for _, key := range keys {
		if _, known := below(s, key); !known {
			return ""
		}
		s = child(s, key)
	}
	return (&node{schema: s}).kind()
}

// below reports whether a schema has a field of a name, and whether what is below the field is known as well.
func below(s *apiextensionsv1.JSONSchemaProps, key string) (there, known bool) {
	if _, named := s.Properties[key]; named {
		return true, true
	}
	n := node{schema: s}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return true, true
	}
	return n.open() || s.XEmbeddedResource || s.XIntOrString, false
}

// checkColumns looks the paths of printer columns up in the schemas.
func (c *checker) checkColumns() {
	for i, v := range c.crd.Spec.Versions {
		s := schemaOf(v)
		if s == nil {
			continue
		}
		for j, column := range v.AdditionalPrinterColumns {
			if exists(s, column.JSONPath) {
				continue
			}
			path := versionsPath().Index(i).Child("additionalPrinterColumns").Index(j).Child("jsonPath")
			c.foundAt(column.JSONPath, ColumnPath, path, "the column %q of %s shows %s, which is not in the schema of the version, so it is always empty; correct the path", column.Name, v.Name, column.JSONPath)
		}
	}
}

// exists reports whether a JSONPath may lead to something. It does so too when the path is beyond what is understood here.
func exists(s *apiextensionsv1.JSONSchemaProps, path string) bool {
	parser, err := jsonpath.Parse("column", "{"+path+"}")
	if err != nil || len(parser.Root.Nodes) != 1 {
		return true // what cannot be parsed is refused for that
	}
	list, ok := parser.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return true
	}
	at := s
	for i, step := range list.Nodes {
		switch n := step.(type) {
		case *jsonpath.FieldNode:
			if i == 0 && (n.Value == "metadata" || n.Value == "apiVersion" || n.Value == "kind") {
				return true
			}
			if n.Value == "" {
				continue
			}
			there, known := below(at, n.Value)
			if !known {
				return there
			}
			at = child(at, n.Value)
		case *jsonpath.ArrayNode, *jsonpath.FilterNode, *jsonpath.WildcardNode:
			next := element(at)
			if next == nil {
				return true
			}
			at = next
		default:
			return true
		}
	}
	return true
}

// child returns the schema of a field that is known to be there.
func child(s *apiextensionsv1.JSONSchemaProps, key string) *apiextensionsv1.JSONSchemaProps {
	if property, named := s.Properties[key]; named {
		return &property
	}
	return s.AdditionalProperties.Schema
}

// element returns the schema of what a list or a map holds, or nil if that is not known.
func element(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return s.Items.Schema
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}
