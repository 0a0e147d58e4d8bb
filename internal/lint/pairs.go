package lint

import (
	"bytes"
	"encoding/json"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/visible"
)

// side is a version in a comparison.
type side struct {
	version string
	all     []*node
	byName  map[string]*node
}

func (c *checker) side(i int) (side, bool) {
	v := c.crd.Spec.Versions[i]
	s := schemaOf(v)
	if s == nil {
		return side{}, false
	}
	all, byName := flatten(s, schemaPath(i))
	return side{version: v.Name, all: all, byName: byName}, true
}

// checkVersionPairs compares each served version with the storage version. Every object goes through that one, so that
// versions which agree with it agree with each other.
func (c *checker) checkVersionPairs() {
	stored := slices.IndexFunc(c.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if stored < 0 || c.has(StorageVersionCount) {
		return
	}
	storage, found := c.side(stored)
	if !found {
		return
	}
	for i, v := range c.crd.Spec.Versions {
		if served, found := c.side(i); found && i != stored && v.Served {
			c.compare(served, storage)
			c.compareLists(served, storage)
		}
	}
}

func (c *checker) compare(served, storage side) {
	if !c.converts() {
		patched := ""
		switch {
		case c.crd.Spec.Conversion != nil:
		case c.built == nil:
			patched = "; as long as nothing adds a webhook, objects are only relabelled; if kustomize adds a webhook, lint its output instead"
		default:
			patched = "; " + c.built.Name + " adds no webhook"
		}
		c.foundFields(NoneLosesFields, lost(served, storage), "strategy None loses fields: an object written at %s loses fields that the storage version %s lacks: %s"+patched, served.version, storage.version)
		c.foundFields(NoneLosesFields, lost(storage, served), "strategy None loses fields: %[2]s lacks fields of the storage version %[1]s, and an object written back at %[2]s loses them: %[3]s"+patched, storage.version, served.version)
		c.foundFields(NoneValidation, pairs(served, storage, validatesDifferently), "with strategy None, an object that is valid at %s may be invalid at %s, or the reverse: %s", served.version, storage.version)
		c.foundFields(NoneRequired, pairs(served, storage, requiredHere), "required at %s and optional without a default at %s, whose objects may lack it: %s; add a default, or require it at both", served.version, storage.version)
		c.foundFields(NoneRequired, pairs(storage, served, requiredHere), "required at %s and optional without a default at %s, whose objects may lack it: %s; add a default, or require it at both", storage.version, served.version)
	}
	typeLevel, defaultLevel, advice := Error, Warning, "; strategy None does not convert it; use a webhook"
	if c.crd.Spec.Conversion == nil {
		advice += " (as long as nothing adds one, objects are only relabelled)"
	}
	if c.converts() {
		typeLevel, defaultLevel, advice = Note, Note, "; the webhook must convert it"
	}
	c.foundFieldsAs(typeLevel, TypeDiffers, pairs(served, storage, typesDiffer), "type differs between %s and %s: %s"+advice, served.version, storage.version)
	c.foundFieldsAs(defaultLevel, DefaultDiffers, pairs(served, storage, defaultsDiffer), "default differs between %s and %s: %s; the same manifest has different meanings", served.version, storage.version)
	c.foundFieldsAs(defaultLevel, DefaultMissing, pairs(served, storage, defaultHereOnly), "required at both, with a default at %s but not at %s: %s; add the default there too", served.version, storage.version)
	c.foundFieldsAs(defaultLevel, DefaultMissing, pairs(storage, served, defaultHereOnly), "required at both, with a default at %s but not at %s: %s; add the default there too", storage.version, served.version)
}

// foundFields notes one finding for all fields that differ in the same way, where the first of them is.
func (c *checker) foundFields(id RuleID, fields []*node, format, from, to string) {
	rule, _ := Lookup(id)
	c.foundFieldsAs(rule.Level, id, fields, format, from, to)
}

func (c *checker) foundFieldsAs(level Level, id RuleID, fields []*node, format, from, to string) {
	for _, alike := range c.apart(id, level, fields) {
		c.foundAs(level, id, alike[0].path, format, from, to, visible.First(visible.Strings(alike), mostNames))
	}
}

// lost returns the fields of one version that are pruned at another, the uppermost of them.
func lost(from, to side) []*node {
	var all []*node
	gone := map[*node]bool{}
	for _, n := range from.all {
		if n.parent == nil {
			if other := to.byName[""]; n.open() && !other.open() {
				all = append(all, &node{name: "fields that no schema describes", path: n.path})
			}
			continue
		}
		above := to.byName[n.parent.name]
		switch other := to.byName[n.name]; {
		case gone[n.parent] || above == nil:
			gone[n] = true
		case other != nil:
			// Below a field of another type nothing is the same; that is noted as what it is.
			gone[n] = typesDiffer(n, other)
			if !gone[n] && n.schema.AdditionalProperties == nil && n.open() && !other.open() && other.kind() != "" {
				all = append(all, &node{name: n.name + ".*", path: n.path})
			}
		default:
			gone[n] = true
			if !above.open() {
				all = append(all, n)
			}
		}
	}
	return all
}

// pairs returns the fields of one version that stand in a relation to the same fields of another.
func pairs(from, to side, related func(here, there *node) bool) []*node {
	var all []*node
	for _, n := range from.all {
		if other := to.byName[n.name]; other != nil && related(n, other) {
			all = append(all, n)
		}
	}
	return all
}

func typesDiffer(here, there *node) bool {
	return here.kind() != there.kind() && here.kind() != "" && there.kind() != ""
}

func requiredHere(here, there *node) bool {
	return here.required && !there.required && here.fallback() == "" && there.fallback() == ""
}

func defaultsDiffer(here, there *node) bool {
	return here.fallback() != "" && there.fallback() != "" && here.fallback() != there.fallback()
}

func defaultHereOnly(here, there *node) bool {
	return here.required && there.required && here.fallback() != "" && there.fallback() == ""
}

// validatesDifferently compares what two fields allow, apart from their type and what is below them.
func validatesDifferently(here, there *node) bool {
	return !typesDiffer(here, there) && constraints(here.schema) != constraints(there.schema)
}

// constraints renders what a schema allows by itself: its own keywords, without texts, defaults and fields.
func constraints(s *apiextensionsv1.JSONSchemaProps) string {
	own := *s
	own.ID, own.Schema, own.Description, own.Title, own.Type = "", "", "", "", ""
	own.Default, own.Example, own.ExternalDocs = nil, nil, nil
	own.Properties, own.Items, own.AdditionalProperties, own.Required = nil, nil, nil, nil
	own.XPreserveUnknownFields, own.XEmbeddedResource = nil, false
	own.Enum = slices.Clone(own.Enum)
	slices.SortFunc(own.Enum, func(a, b apiextensionsv1.JSON) int { return bytes.Compare(a.Raw, b.Raw) })
	var rules apiextensionsv1.ValidationRules
	for _, rule := range own.XValidations {
		rules = append(rules, apiextensionsv1.ValidationRule{Rule: rule.Rule})
	}
	own.XValidations = rules
	text, err := json.Marshal(own)
	if err != nil {
		return "" // what was decoded can be encoded
	}
	return string(text)
}

// canonical renders JSON in one form.
func canonical(text []byte) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	again, err := json.Marshal(value)
	if err != nil {
		return string(text)
	}
	return string(again)
}
