package corpus

import (
	"maps"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// kind is what a node's values are in JSON.
type kind int

const (
	anything kind = iota // it is not said; unknown fields are preserved
	object
	list
	text
	integer
	number
	boolean
	intOrString
)

// node is a place in a schema, with all that holds for its values: allOf is merged, and each choice that anyOf and oneOf
// leave is a variant. Nodes are not changed once the schema is compiled. Nil is a place of which nothing is known.
type node struct {
	id       int
	path     string // with [*] for items, and <key> for the entries of maps
	kind     kind
	nullable bool
	def      any // nil without a default

	mapping
	listing
	limits
	wish
	demands

	variants []*node // what to generate in place of this
	weight   int     // how many nodes there are, with this one
}

// mapping is what objects and maps consist of.
type mapping struct {
	properties []property // sorted by name
	byName     map[string]*node
	entries    *node // of a map
	shallow    bool  // an entry of a map whose entries may be anything: API servers prune what is inside
	preserve   bool
	embedded   bool
	atomic     bool  // it has one owner as a whole
	beyond     *node // what a value has that the schema keeps and does not describe; nil if there is nothing of the kind

	// marks says that a value is there for a reason even if there is nothing in it, as of emptyDir: {}.
	marks bool
}

// listing is what lists consist of.
type listing struct {
	items    *node
	listType string // set, map or empty
	listKeys []string
}

// wish is what a place is for, as far as its name and its description say: the values that people write there.
type wish struct {
	hints    []string // strings like those that the place is for
	precise  bool     // it holds times with fractions of a second
	named    []string // strings that the description has in quotes: many types that are a few words have no enum
	quantity bool
	amount   bool           // it is a quantity, or one with only some of the units
	typical  map[string]any // content of a known type that the schema keeps and does not describe; nil if none is known
}

// demands is what must hold of several fields at once.
type demands struct {
	rules    apiextensionsv1.ValidationRules // in CEL, here
	choices  []presence                      // what else must hold, as far as it is about which fields are there
	demanded []demand                        // the same as the schema says it
	doubtful bool                            // there is more in anyOf, oneOf or not than which fields are there
	forbids  []string
}

// property is a field of an object.
type property struct {
	name     string
	required bool
	*node
}

// limits are value validations that generated values keep to.
type limits struct {
	format                   string
	validated                bool // it is one of those of strings that API servers validate
	patterns                 []*regexp.Regexp
	minLength, maxLength     int64
	minItems, maxItems       int64
	minFields, maxFields     int64
	unique                   bool
	minimum, maximum         *float64
	aboveMinimum, belowLimit bool // exclusive
	multiples                []float64
	enum                     []any // nil without one
	required                 map[string]bool
}

// unlimited is the maximum length of what has none.
const unlimited = int64(1) << 40

// maxNodes is how many nodes a schema may have before choices are not compiled any more. They are found by trying then.
const maxNodes = 30_000

// compiler makes nodes of a structural schema.
type compiler struct {
	nodes    int
	unsure   bool // there is what generated values need not keep to: rules, and choices
	doubt    bool // only validation shows whether a value is valid
	defaults bool // there are defaults
}

// compile makes the nodes of a schema.
func (s *Schema) compile() {
	c := &compiler{}
	s.root = c.place(s.structural, nil, "")
	s.nodes, s.unsure, s.doubt, s.defaults = c.nodes, c.unsure, c.doubt, c.defaults
}

// place compiles a place in a schema, for which further validations hold, with a variant for each combination of its choices.
func (c *compiler) place(s *structuralschema.Structural, more []*structuralschema.NestedValueValidation, path string) *node {
	n, choices := c.node(s, more, path)
	n.variants = c.variants(s, more, path, choices)
	return n
}

// node compiles a place as it is whatever is chosen, and returns what there is to choose.
func (c *compiler) node(s *structuralschema.Structural, more []*structuralschema.NestedValueValidation, path string) (*node, []choice) {
	n := &node{
		id: c.nodes, path: path, kind: kindOf(s), nullable: s.Nullable, def: s.Default.Object,
		mapping: mapping{preserve: s.XPreserveUnknownFields, embedded: s.XEmbeddedResource, atomic: s.XMapType != nil && *s.XMapType == "atomic"}, listing: listing{listKeys: s.XListMapKeys},
	}
	if s.XListType != nil && *s.XListType != "atomic" {
		n.listType = *s.XListType
	}
	c.nodes++
	all, choices := flatten(s.ValueValidation, more)
	n.limits = c.merge(all)
	for _, v := range all {
		if v.Not != nil {
			c.unsure = true
			n.forbids = append(n.forbids, forbidden(v.Not, n.required)...)
		}
		n.demand(v)
	}
	n.rules = slices.Clone(s.XValidations)
	c.unsure = c.unsure || len(n.rules) > 0 || len(choices) > 0
	c.defaults = c.defaults || n.def != nil
	c.inside(n, s, nested(more))
	n.hints = n.hinted(s.Description)
	n.precise = n.isPrecise(s.Description)
	n.named = n.namedIn(s.Description)
	n.typical = n.typically(fieldOf(path), s.Description)
	n.quantity = (n.kind == text || n.kind == intOrString) && len(n.patterns) > 0 && allowsQuantities(n.limits)
	n.amount = n.quantity || (n.kind == text || n.kind == intOrString) && len(n.patterns) > 0 && allowsAmounts(n.limits)
	n.weigh()
	return n, choices
}

func kindOf(s *structuralschema.Structural) kind {
	if s.XIntOrString {
		return intOrString
	}
	return map[string]kind{"object": object, "array": list, "string": text, "integer": integer, "number": number, "boolean": boolean}[s.Type]
}

// nested returns validations with those that their allOf have.
func nested(more []*structuralschema.NestedValueValidation) []*structuralschema.NestedValueValidation {
	var all []*structuralschema.NestedValueValidation
	for _, v := range more {
		all = append(all, v)
		for i := range v.AllOf {
			all = append(all, nested([]*structuralschema.NestedValueValidation{&v.AllOf[i]})...)
		}
	}
	return all
}

// inside compiles what a value consists of.
func (c *compiler) inside(n *node, s *structuralschema.Structural, more []*structuralschema.NestedValueValidation) {
	if s.ValueValidation != nil {
		for i := range s.ValueValidation.AllOf {
			more = append(more, nested([]*structuralschema.NestedValueValidation{&s.ValueValidation.AllOf[i]})...)
		}
	}
	for _, v := range more {
		c.unsure = c.unsure || len(v.XValidations) > 0
		n.rules = append(n.rules, v.XValidations...)
	}
	members := n.members()
	n.byName = make(map[string]*node, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		inner := s.Properties[name]
		var about []*structuralschema.NestedValueValidation
		for _, v := range more {
			if p, ok := v.Properties[name]; ok {
				about = append(about, &p)
			}
		}
		field := c.place(&inner, about, fieldpath.Child(n.path, name))
		n.byName[name] = field
		field.marks = field.marker() && !isMeta(name) && (n.path != "" || !isUsual(name)) || slices.Contains(members, name) || name == emptyDir
		n.properties = append(n.properties, property{name, n.required[name], field})
	}
	if n.preserve {
		n.beyond = &node{kind: anything}
		n.beyond.beyond = n.beyond
	}
	if s.Items != nil {
		about := within(more, func(v *structuralschema.NestedValueValidation) *structuralschema.NestedValueValidation {
			return v.Items
		})
		n.items = c.place(s.Items, about, n.path+"[*]")
	}
	if s.AdditionalProperties == nil {
		return
	}
	if inner := s.AdditionalProperties.Structural; inner != nil {
		about := within(more, func(v *structuralschema.NestedValueValidation) *structuralschema.NestedValueValidation {
			return v.AdditionalProperties
		})
		n.entries = c.place(inner, about, n.path+".<key>")
	} else if s.AdditionalProperties.Bool {
		n.entries = c.place(&structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}, nil, n.path+".<key>")
		n.entries.shallow = true
	}
}

func within(more []*structuralschema.NestedValueValidation, part func(*structuralschema.NestedValueValidation) *structuralschema.NestedValueValidation) []*structuralschema.NestedValueValidation {
	var about []*structuralschema.NestedValueValidation
	for _, v := range more {
		if inner := part(v); inner != nil {
			about = append(about, inner)
		}
	}
	return about
}

// weigh counts the nodes.
func (n *node) weigh() {
	n.weight = 1
	for _, p := range n.properties {
		n.weight += p.weight
	}
	for _, inner := range []*node{n.items, n.entries} {
		if inner != nil {
			n.weight += inner.weight
		}
	}
}

// fieldOf is the name of the field that a path ends with, or of the list or map that it ends in.
func fieldOf(path string) string {
	steps := fieldpath.Split(path)
	for _, step := range slices.Backward(steps) {
		if !step.List && step.Key != "<key>" {
			return step.Key
		}
	}
	return ""
}

// marker reports whether there is never anything in a value, so that all it says is that it is there.
func (n *node) marker() bool {
	return n.kind == object && n.def == nil && n.isLeaf() && !n.preserve && !n.embedded
}

// emptyDir is the source of a volume of Kubernetes that most users leave empty. Their schema does not say that it is one of several.
const emptyDir = "emptyDir"

// isUsual reports whether it is a field that scaffolded types have from the beginning, as a struct that may have no fields yet.
func isUsual(field string) bool { return field == "spec" || field == "status" }

// kept is the node of a field, of a map's entry, or of what the schema keeps and does not describe.
func (n *node) kept(key string) *node {
	if field := n.child(key); field != nil || n == nil {
		return field
	}
	return n.beyond
}

// keptItem is the same for a list's items.
func (n *node) keptItem() *node {
	if item := n.item(); item != nil || n == nil {
		return item
	}
	return n.beyond
}

// child is the node of a field or of a map's entry.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	if field, ok := n.byName[key]; ok {
		return field
	}
	return n.entries
}

// item is the node of a list's items.
func (n *node) item() *node {
	if n == nil {
		return nil
	}
	return n.items
}

// nulls returns the paths of the nulls that API servers drop from an object.
func nulls(n *node, path string, value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			switch inner.(type) { // most are neither, and paths take time to write
			case nil:
				if field := n.child(key); field != nil && !field.shallow && !field.nullable && field.def == nil {
					found = append(found, fieldpath.Child(path, key))
				}
			case map[string]any, []any:
				found = append(found, nulls(n.child(key), fieldpath.Child(path, key), inner)...)
			}
		}
	case []any:
		for i, inner := range value {
			switch inner.(type) {
			case map[string]any, []any:
				found = append(found, nulls(n.item(), fieldpath.Item(path, i), inner)...)
			}
		}
	}
	return found
}
