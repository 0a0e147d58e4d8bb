package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/reports"
)

// Coverage counts which fields of a schema objects have, and with which kinds of values. It is for one goroutine at a time.
type Coverage struct {
	schema   *Schema
	objects  int
	metadata map[string]int
	fields   map[string]*covered // by path
}

// covered is the evidence on a field.
type covered struct {
	exercised bool
	seen      map[string]int
}

// The kinds of values. Beside them there are those of members of enums, such as is "A", and of branches, such as branch 1 of 2.
const (
	seenAbsent   = "absent"
	seenNull     = "null"
	seenEmpty    = "empty" // "", 0, false, {} and []
	seenDefault  = "default"
	seenOther    = "other" // neither null nor empty nor the default
	seenLowest   = "lowest"
	seenHighest  = "highest"
	seenShort    = "short" // at most 3 characters
	seenLong     = "long"  // more than 63 characters
	seenInteger  = "integer"
	seenString   = "string"
	seenOne      = "one inside"     // a list or map of one
	seenSeveral  = "several inside" // a list or map of more
	seenAsLong   = "as long as another list beside it"
	seenUnlike   = "not as long as another list beside it"
	seenFraction = "fraction"
	seenMany     = "many inside" // more than 16 items or entries
	seenInexact  = "beyond 2^53" // floating point numbers have gaps there
	seenNegative = "negative"
)

// The kinds of metadata.
const (
	withoutBoth        = "neither labels nor annotations"
	withoutLabels      = "no labels"
	withoutAnnotations = "no annotations"
	withOwner          = "an owner, a finalizer and managed fields"
	withGenerateName   = "a generated name"
	withDots           = "a name with dots"
	withLongLabel      = "a name of 63 characters"
	withLongName       = "a name of 253 characters"
	withLongNamespace  = "a namespace of 63 characters"
	withSize           = "300 KiB or more"
)

// NewCoverage returns what counts for a schema, which must not be nil.
func NewCoverage(s *Schema) *Coverage {
	c := &Coverage{schema: s, metadata: map[string]int{}, fields: map[string]*covered{}}
	c.expect(s.root)
	return c
}

// expect notes the fields below a node. Variants have no others.
func (c *Coverage) expect(n *node) {
	for _, inner := range n.parts() {
		if !inner.shallow {
			c.fields[inner.path] = &covered{seen: map[string]int{}}
			c.expect(inner)
		}
	}
}

// parts returns what a value consists of, without what all kinds have.
func (n *node) parts() []*node {
	var parts []*node
	for _, p := range n.properties {
		if !n.hasMeta(p.name) {
			parts = append(parts, p.node)
		}
	}
	for _, one := range []*node{n.items, n.entries} {
		if one != nil {
			parts = append(parts, one)
		}
	}
	return parts
}

// counting says what an object is counted as.
type counting int

const (
	met      counting = iota // it was sent
	returned                 // it came back intact
)

// Add counts what an object has that came back. The object must be valid.
func (c *Coverage) Add(object *unstructured.Unstructured) {
	c.objects++
	c.count(object, returned)
}

// Meet counts the kinds of values of an object that was not checked for coming back intact. Its fields are not exercised by that.
func (c *Coverage) Meet(object *unstructured.Unstructured) { c.count(object, met) }

func (c *Coverage) count(object *unstructured.Unstructured, as counting) {
	for _, sort := range kindsOfMetadata(object) {
		c.metadata[sort]++
	}
	c.inside(c.schema.root, object.Object, as)
}

// kindsOfMetadata returns the kinds of metadata that an object has.
func kindsOfMetadata(object *unstructured.Unstructured) []string {
	labels, annotations := len(object.GetLabels()) > 0, len(object.GetAnnotations()) > 0
	var sorts []string
	for _, sort := range []struct {
		name string
		is   bool
	}{
		{withoutBoth, !labels && !annotations},
		{withoutLabels, !labels && annotations},
		{withoutAnnotations, labels && !annotations},
		{withOwner, len(object.GetOwnerReferences()) > 0 && len(object.GetFinalizers()) > 0 && len(object.GetManagedFields()) > 0},
		{withGenerateName, object.GetGenerateName() != ""},
		{withDots, strings.Contains(object.GetName(), ".")},
		{withLongLabel, len(object.GetName()) == longestLabel},
		{withLongName, len(object.GetName()) == longestName},
		{withLongNamespace, len(object.GetNamespace()) == longestLabel},
		{withSize, size(object.Object) >= hugeLeast},
	} {
		if sort.is {
			sorts = append(sorts, sort.name)
		}
	}
	return sorts
}

// see counts a value of a field, and what is inside it.
func (c *Coverage) see(n *node, value any, as counting) {
	field := c.fields[n.path]
	if field == nil {
		return
	}
	for _, sort := range n.sortsOfValue(value) {
		field.seen[sort]++
	}
	field.exercised = field.exercised || as == returned && (noticed(n, value) || n.isDull())
	c.inside(n, value, as)
}

// inside counts the values that one consists of.
func (c *Coverage) inside(n *node, value any, as counting) {
	switch value := value.(type) {
	case map[string]any:
		for _, p := range n.properties {
			if inner, there := value[p.name]; there {
				c.see(p.node, inner, as)
				c.compareLists(n, p, inner, value)
			} else if field := c.fields[p.path]; field != nil {
				field.seen[seenAbsent]++
			}
		}
		for key, inner := range value {
			if n.entries != nil && n.byName[key] == nil {
				c.see(n.entries, inner, as)
			}
		}
	case []any:
		for _, inner := range value {
			if n.items != nil {
				c.see(n.items, inner, as)
			}
		}
	}
}

// compareLists counts how long a list is in comparison with others in the same object.
func (c *Coverage) compareLists(n *node, p property, value any, around map[string]any) {
	list, field := []any(nil), c.fields[p.path]
	if list, _ = value.([]any); list == nil || field == nil {
		return
	}
	for _, other := range n.properties {
		if beside, ok := around[other.name].([]any); ok && other.node != p.node {
			if len(beside) == len(list) {
				field.seen[seenAsLong]++
			} else {
				field.seen[seenUnlike]++
			}
		}
	}
}

// sortsOfValue are the sorts that a value belongs to.
func (n *node) sortsOfValue(value any) []string {
	if value == nil {
		return []string{seenNull}
	}
	sorts := n.sortsOfContents(value)
	isDefault := n.def != nil && reflect.DeepEqual(n.def, value)
	if isDefault {
		sorts = append(sorts, seenDefault)
	}
	if empty := slices.Contains(sorts, seenEmpty); !empty && !isDefault {
		sorts = append(sorts, seenOther)
	}
	if n.enum != nil {
		sorts = append(sorts, "is "+shown(value))
	}
	for i, variant := range n.variants {
		if variant.fits(value) {
			sorts = append(sorts, fmt.Sprintf("branch %d of %d", i+1, len(n.variants)))
		}
	}
	return sorts
}

// sortsOfContents are the sorts that a value belongs to by its type and size.
func (n *node) sortsOfContents(value any) []string {
	var sorts []string
	add := func(sort string, is bool) {
		if is {
			sorts = append(sorts, sort)
		}
	}
	sized := func(size, lowest, highest int64) {
		add(seenEmpty, size == 0)
		add(seenLowest, lowest > 0 && size == lowest)
		add(seenHighest, highest < unlimited && size == highest)
	}
	switch value := value.(type) {
	case string:
		length := int64(utf8.RuneCountInString(value))
		sized(length, n.minLength, n.maxLength)
		add(seenShort, length > 0 && length <= 3)
		add(seenLong, length > longestLabel)
		add(seenString, n.kind == intOrString)
	case []any:
		sized(int64(len(value)), n.minItems, n.maxItems)
		add(seenOne, len(value) == 1)
		add(seenSeveral, len(value) > 1)
		add(seenMany, len(value) >= someItems)
	case map[string]any:
		sized(int64(len(value)), n.minFields, n.maxFields)
		add(seenOne, n.entries != nil && len(value) == 1)
		add(seenSeveral, n.entries != nil && len(value) > 1)
		add(seenMany, n.entries != nil && len(value) >= someItems)
	case int64:
		lowest, highest := n.bounds()
		add(seenEmpty, value == 0)
		add(seenLowest, value == lowest)
		add(seenHighest, value == highest)
		add(seenNegative, value < 0)
		add(seenInexact, value > 1<<53 || value < -1<<53)
		add(seenInteger, n.kind == intOrString)
	case float64:
		add(seenEmpty, value == 0)
		add(seenNegative, value < 0)
		sorts = append(sorts, seenFraction)
	case bool:
		add(seenEmpty, !value)
	}
	return sorts
}

// fits reports whether a value seems to be of a variant: it has what that requires, and nothing that it refuses.
func (n *node) fits(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return n.accepts(value)
	}
	for name := range n.required {
		if _, there := fields[name]; !there {
			return false
		}
	}
	for name, inner := range fields {
		if field := n.byName[name]; field != nil && !field.accepts(inner) || slices.Contains(n.forbids, name) {
			return false
		}
	}
	return true
}

// isDull reports whether a value can only be empty or the default, so that any will do.
func (n *node) isDull() bool {
	switch {
	case n.enum != nil:
		return !slices.ContainsFunc(n.enum, func(value any) bool { return n.accepts(value) && noticed(n, value) })
	case n.kind == object:
		return n.def == nil && (n.maxFields == 0 || n.isLeaf() && !n.preserve && !n.embedded)
	case n.kind == list:
		return n.maxItems == 0
	case n.kind == text:
		return n.maxLength == 0
	case n.kind == integer:
		lowest, highest := n.bounds()
		return lowest == highest
	}
	return false
}

// Result returns what was counted, without the versions. The gaps are those of the generator of the objects: they say why fields have no values.
func (c *Coverage) Result(gaps []Gap) reports.Coverage {
	result := reports.Coverage{Objects: c.objects, Metadata: maps.Clone(c.metadata), Fields: []reports.FieldCoverage{}}
	impossible := c.impossible()
	for _, path := range slices.Sorted(maps.Keys(c.fields)) {
		field := c.fields[path]
		if reason, never := impossible[path]; never && !field.exercised {
			result.Impossible = append(result.Impossible, reports.FieldNote{Path: path, Reason: reason})
			continue
		}
		result.Total++
		result.Fields = append(result.Fields, reports.FieldCoverage{Path: path, Seen: maps.Clone(field.seen)})
		if field.exercised {
			result.Exercised++
		} else {
			reason := reasonOf(path, gaps)
			if reason == "" && field.seen[seenDefault]+field.seen[seenEmpty] > 0 { // such as false where the default is true, which is for specs about zeros
				reason = "it only had its default, or was empty"
			}
			result.Never = append(result.Never, reports.FieldNote{Path: path, Reason: reason})
		}
	}
	return result
}

// impossible are the fields that no valid object has, with the reasons.
func (c *Coverage) impossible() map[string]string {
	reasons := map[string]string{}
	var below func(n *node, reason string)
	below = func(n *node, reason string) {
		for _, inner := range n.parts() {
			why := cmp.Or(reason, n.full(), inner.impossible(), inner.requires(), c.schema.ruledOut(n, inner))
			if why != "" && !inner.shallow {
				reasons[inner.path] = why
			}
			below(inner, why)
		}
	}
	below(c.schema.root, "")
	return reasons
}

// mostProved is how many values a field may have at most for each to be tried.
const mostProved = 100

// ruledOut returns why the rules in CEL leave a field no value whose loss would be seen: one forbids the field, or each value that it may
// have is refused. It is empty where that is not proved.
func (s *Schema) ruledOut(around, n *node) string {
	for _, p := range around.properties {
		if p.node != n {
			continue
		}
		for _, rule := range around.rules {
			if strings.Join(strings.Fields(rule.Rule), "") == "!has(self."+p.name+")" {
				return "a rule forbids it: " + rule.Rule
			}
		}
	}
	known := s.rulings()[n.path]
	values := slices.DeleteFunc(n.domain(), func(value any) bool { return !n.accepts(value) || !noticed(n, value) })
	if known == nil || len(values) == 0 || slices.ContainsFunc(values, func(value any) bool {
		failures, _ := known.broken(value)
		return failures == 0
	}) {
		return ""
	}
	return "its rules refuse every value but empty ones and its default"
}

// domain returns all values that a field may have, besides null; none if they are many.
func (n *node) domain() []any {
	switch lowest, highest := n.bounds(); {
	case len(n.variants) > 0:
	case n.enum != nil:
		return slices.Clone(n.enum)
	case n.kind == boolean:
		return []any{false, true}
	case n.kind == integer && lowest > -mostProved && highest < mostProved && highest-lowest < mostProved:
		var values []any
		for value := lowest; value <= highest; value++ {
			values = append(values, value)
		}
		return values
	}
	return nil
}

// requires returns why there can be no value, if that is for something that is required in it.
func (n *node) requires() string {
	for _, p := range n.properties {
		if p.required && !n.hasMeta(p.name) {
			if why := cmp.Or(p.impossible(), p.requires()); why != "" {
				return fmt.Sprintf("it requires %s: %s", p.name, why)
			}
		}
	}
	if n.items != nil && n.minItems > 0 {
		return n.items.impossible()
	}
	return ""
}

// reasonOf is what gaps say of a path, of what is around it, or of what is inside it, and else of all objects.
func reasonOf(path string, gaps []Gap) string {
	reason, nearest := "", -1
	for _, gap := range gaps {
		switch {
		case gap.style != "" && gap.style != Plain:
		case gap.Path == path:
			return gap.Reason
		case isBelow(path, gap.Path) && len(gap.Path) > nearest:
			reason, nearest = gap.Reason, len(gap.Path)
			if gap.Path != "" {
				reason = gap.Path + ": " + gap.Reason
			}
		case isBelow(gap.Path, path) && nearest < 0 && reason == "":
			reason = gap.Path + ": " + gap.Reason
		}
	}
	return reason
}

// isBelow reports whether a path is inside another.
func isBelow(path, other string) bool {
	rest, below := strings.CutPrefix(path, other)
	return below && (other == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}
