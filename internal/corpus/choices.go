package corpus

import (
	"reflect"
	"regexp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// choice is an anyOf or a oneOf.
type choice struct {
	branches []structuralschema.NestedValueValidation
	oneOnly  bool
}

// maxVariants is how many combinations of choices are compiled at one place.
const maxVariants = 12

// flatten returns the validations that hold, with what is in allOf, and the choices among them.
func flatten(v *structuralschema.ValueValidation, more []*structuralschema.NestedValueValidation) ([]*structuralschema.ValueValidation, []choice) {
	var all []*structuralschema.ValueValidation
	var choices []choice
	var add func(v *structuralschema.ValueValidation)
	add = func(v *structuralschema.ValueValidation) {
		all = append(all, v)
		if len(v.AnyOf) > 0 && !onlyTypes(v.AnyOf) {
			choices = append(choices, choice{v.AnyOf, false})
		}
		if len(v.OneOf) > 0 {
			choices = append(choices, choice{v.OneOf, true})
		}
		for i := range v.AllOf {
			add(&v.AllOf[i].ValueValidation)
		}
	}
	if v != nil {
		add(v)
	}
	for _, inner := range more {
		add(&inner.ValueValidation)
	}
	return all, choices
}

// onlyTypes reports whether it is the anyOf of integer and string that comes with x-kubernetes-int-or-string.
func onlyTypes(branches []structuralschema.NestedValueValidation) bool {
	return !slices.ContainsFunc(branches, func(v structuralschema.NestedValueValidation) bool {
		v.ForbiddenGenerics.Type = ""
		return !reflect.DeepEqual(v, structuralschema.NestedValueValidation{})
	})
}

// variants compiles a place once for each combination of choices.
func (c *compiler) variants(s *structuralschema.Structural, more []*structuralschema.NestedValueValidation, path string, choices []choice) []*node {
	if len(choices) == 0 || c.nodes > maxNodes {
		return nil
	}
	combinations := [][]int{{}}
	for _, one := range choices {
		var longer [][]int
		for _, combination := range combinations {
			for i := range one.branches {
				longer = append(longer, append(slices.Clone(combination), i))
			}
		}
		if len(longer) > maxVariants {
			break
		}
		combinations = longer
	}
	var variants []*node
	for _, combination := range combinations {
		chosen := slices.Clone(more)
		for i, at := range combination {
			chosen = append(chosen, &choices[i].branches[at])
		}
		variant, _ := c.node(s, chosen, path)
		for i, at := range combination {
			if choices[i].oneOnly {
				variant.forbids = append(variant.forbids, others(choices[i].branches, at, variant.required)...)
			}
		}
		variants = append(variants, variant)
	}
	return variants
}

// others returns a required field of each branch but one, so that without those fields the others do not hold.
func others(branches []structuralschema.NestedValueValidation, but int, required map[string]bool) []string {
	var names []string
	for i := range branches {
		if i != but {
			names = append(names, avoidable(branches[i].Required, required)...)
		}
	}
	return names
}

// forbidden returns fields without which what must not hold doesn't.
func forbidden(not *structuralschema.NestedValueValidation, required map[string]bool) []string {
	names := avoidable(not.Required, required)
	for i := range not.AnyOf {
		names = append(names, forbidden(&not.AnyOf[i], required)...)
	}
	return names
}

// avoidable returns the last of some names that is not required, if any is.
func avoidable(names []string, required map[string]bool) []string {
	for _, name := range slices.Backward(names) {
		if !required[name] {
			return []string{name}
		}
	}
	return nil
}

// merge returns the limits that all of the validations set.
func (c *compiler) merge(all []*structuralschema.ValueValidation) limits {
	l := limits{maxLength: unlimited, maxItems: unlimited, maxFields: unlimited, required: map[string]bool{}}
	for _, v := range all {
		c.strings(&l, v)
		l.numbers(v)
		raise(&l.minItems, v.MinItems)
		lower(&l.maxItems, v.MaxItems)
		raise(&l.minFields, v.MinProperties)
		lower(&l.maxFields, v.MaxProperties)
		l.unique = l.unique || v.UniqueItems
		for _, name := range v.Required {
			l.required[name] = true
		}
		if len(v.Enum) > 0 {
			l.choose(v.Enum)
		}
	}
	return l
}

func raise(limit *int64, to *int64) {
	if to != nil {
		*limit = max(*limit, *to)
	}
}

func lower(limit *int64, to *int64) {
	if to != nil {
		*limit = min(*limit, *to)
	}
}

func (c *compiler) strings(l *limits, v *structuralschema.ValueValidation) {
	raise(&l.minLength, v.MinLength)
	lower(&l.maxLength, v.MaxLength)
	if v.Pattern != "" {
		c.pattern(l, v.Pattern)
	}
	if v.Format != "" {
		c.doubt = c.doubt || l.format != "" && l.format != v.Format
		c.unsure = c.unsure || c.doubt
		l.format, l.validated = v.Format, formats()[plainFormat(v.Format)] != nil
	}
}

func (c *compiler) pattern(l *limits, text string) {
	if pattern, err := regexp.Compile(text); err == nil {
		l.patterns = append(l.patterns, pattern)
	}
}

func (l *limits) numbers(v *structuralschema.ValueValidation) {
	if v.Minimum != nil && (l.minimum == nil || *v.Minimum > *l.minimum || *v.Minimum == *l.minimum && v.ExclusiveMinimum) {
		l.minimum, l.aboveMinimum = v.Minimum, v.ExclusiveMinimum
	}
	if v.Maximum != nil && (l.maximum == nil || *v.Maximum < *l.maximum || *v.Maximum == *l.maximum && v.ExclusiveMaximum) {
		l.maximum, l.belowLimit = v.Maximum, v.ExclusiveMaximum
	}
	if v.MultipleOf != nil {
		l.multiples = append(l.multiples, *v.MultipleOf)
	}
}

// choose leaves the values that are in an enum, and in the enums before.
func (l *limits) choose(enum []structuralschema.JSON) {
	values := []any{}
	for _, value := range enum {
		same := func(other any) bool { return reflect.DeepEqual(other, value.Object) }
		if l.enum == nil || slices.ContainsFunc(l.enum, same) {
			values = append(values, value.Object)
		}
	}
	l.enum = values
}

// allowsQuantities reports whether the patterns are for quantities.
func allowsQuantities(l limits) bool {
	refused := func(example string) bool { return !l.matches(example) }
	return !slices.ContainsFunc([]string{"100m", "1Gi", "1.5", "2Ki", "5"}, refused) &&
		!slices.ContainsFunc([]string{"abc", "1x", "10s", "1h"}, l.matches)
}

// allowsAmounts reports whether the patterns are for quantities with some of their units.
func allowsAmounts(l limits) bool {
	const least = 2
	units := slices.DeleteFunc([]string{"1Ki", "1Mi", "1Gi", "1Ti", "1k", "1M", "1G", "1T"}, func(unit string) bool { return !l.matches(unit) })
	return len(units) >= least && !slices.ContainsFunc([]string{"abc", "1x", "10s", "1h", "1GB", "a1"}, l.matches)
}

// matches reports whether all patterns do.
func (l *limits) matches(value string) bool {
	return !slices.ContainsFunc(l.patterns, func(pattern *regexp.Regexp) bool { return !pattern.MatchString(value) })
}

// presence is what must hold of which fields are there.
type presence struct {
	required []string
	not      *presence
	any      []presence // one of these at least, if there are any
	one      []presence // one of these and no other, if there are any
	all      []presence
}

// demand notes what a validation says in anyOf, oneOf and not. What it says otherwise is in the limits, and what allOf says is noted by
// itself.
func (n *node) demand(v *structuralschema.ValueValidation) {
	bare := structuralschema.ValueValidation{Not: v.Not, OneOf: v.OneOf}
	if !onlyTypes(v.AnyOf) {
		bare.AnyOf = v.AnyOf
	}
	if bare.Not == nil && len(bare.OneOf) == 0 && len(bare.AnyOf) == 0 {
		return
	}
	n.demanded = append(n.demanded, demandsOf(bare)...)
	demanded, all := presenceOf(&structuralschema.NestedValueValidation{ValueValidation: bare})
	if !all || n.kind != object {
		n.doubtful = true
		return
	}
	n.choices = append(n.choices, demanded)
}

// members returns the fields that an anyOf or a oneOf chooses from by which are there.
func (n *node) members() []string {
	var names []string
	for _, one := range n.demanded {
		if one.word != "not" {
			chosen, _ := one.presence()
			names = append(names, chosen.names()...)
		}
	}
	return names
}

// presenceOf is what a validation says of which fields are there. It is false if the validation says more than that.
func presenceOf(v *structuralschema.NestedValueValidation) (presence, bool) {
	p := presence{required: v.Required}
	rest := *v
	rest.Required, rest.Not, rest.AnyOf, rest.OneOf, rest.AllOf = nil, nil, nil, nil, nil
	only := reflect.DeepEqual(rest, structuralschema.NestedValueValidation{})
	if v.Not != nil {
		not, all := presenceOf(v.Not)
		p.not, only = &not, only && all
	}
	of := func(branches []structuralschema.NestedValueValidation) []presence {
		var found []presence
		for i := range branches {
			inner, all := presenceOf(&branches[i])
			found, only = append(found, inner), only && all
		}
		return found
	}
	p.any, p.one, p.all = of(v.AnyOf), of(v.OneOf), of(v.AllOf)
	return p, only
}

// holds reports whether the right fields are there.
func (p *presence) holds(fields map[string]any) bool {
	for _, name := range p.required {
		if _, there := fields[name]; !there {
			return false
		}
	}
	count := func(branches []presence) int {
		holding := 0
		for i := range branches {
			if branches[i].holds(fields) {
				holding++
			}
		}
		return holding
	}
	return (p.not == nil || !p.not.holds(fields)) &&
		(len(p.any) == 0 || count(p.any) > 0) && (len(p.one) == 0 || count(p.one) == 1) && count(p.all) == len(p.all)
}
