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
		variant := c.node(s, chosen, path, false)
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
		c.unsure = c.unsure || l.format != "" && l.format != v.Format
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

// matches reports whether all patterns do.
func (l *limits) matches(value string) bool {
	return !slices.ContainsFunc(l.patterns, func(pattern *regexp.Regexp) bool { return !pattern.MatchString(value) })
}
