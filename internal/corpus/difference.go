package corpus

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// difference is something that an earlier schema allowed at a place and a newer one does not, or not in the same way.
type difference struct {
	path    string // of the field that it is about
	change  string
	effect  StaleEffect
	free    bool // see Stale
	creates bool // see Stale

	named  bool                             // the name of objects may show it, too
	at     *node                            // of the earlier schema: the place whose values show the difference; nil for the name of objects
	values func(before, after *maker) []any // of either schema, to try at the place, the likeliest first
	shows  func(value any) bool             // whether a value at the place shows the difference; nil if only the newer schema can show it
	sign   func(Problem) bool               // whether it is what the newer schema says of the difference; nil if anything that it says of the path is
	all    bool                             // the values are all that there are, so if none shows the difference, it makes none
	unmet  string                           // why no value may be found; empty if there is nothing special to be said of that
}

// differing compares two schemas.
type differing struct {
	found []difference
	moved map[string][]string // paths that only the newer schema has, by the name of the field
	now   *Schema
}

// differences returns what an earlier schema allowed that a newer one does not, in the order of the fields. What the newer one allows
// besides is not among it.
func differences(old, now *Schema) []difference {
	d := &differing{moved: map[string][]string{}, now: now}
	d.added(old.root, now.root)
	d.meta(old.root, now.root)
	d.compare(old.root, now.root)
	return d.found
}

func (d *differing) add(one difference) { d.found = append(d.found, one) }

// added notes the fields that only the newer schema has.
func (d *differing) added(old, now *node) {
	for _, p := range now.properties {
		before := old.child(p.name)
		if before == nil && (old == nil || !isMeta(p.name)) {
			d.moved[p.name] = append(d.moved[p.name], p.path)
		}
		d.added(before, p.node)
	}
	if now.items != nil {
		d.added(old.item(), now.items)
	}
	if now.entries != nil && old != nil {
		d.added(old.entries, now.entries)
	}
}

// compare adds the differences at a place and below it.
func (d *differing) compare(old, now *node) {
	if !d.types(old, now) {
		return
	}
	d.nulls(old, now)
	d.defaults(old, now)
	d.enums(old, now)
	d.texts(old, now)
	d.numbers(old, now)
	d.lists(old, now)
	d.objects(old, now)
	d.rules(old, now)
	d.choices(old, now)
	d.fields(old, now)
	if old.items != nil && now.items != nil {
		d.compare(old.items, now.items)
	}
}

// types compares the types of values. It is false if no value can be of both, so that nothing else is left to compare.
func (d *differing) types(old, now *node) bool {
	gone := old.types() &^ now.types()
	if gone == 0 {
		return true
	}
	d.add(difference{
		path: old.path, change: fmt.Sprintf("it was %s and must be %s now", old.typed(), now.typed()), effect: Refused,
		free: old.types() == allTypes, at: old, values: func(m, _ *maker) []any { return m.ofTypes(old, gone) },
		shows: func(value any) bool { return value != nil && typeOf(value)&now.types() == 0 },
	})
	return old.types()&now.types() != 0
}

// types is a set of the types of JSON, without null. Numbers with a fraction are one of their own.
type types uint8

const (
	objects types = 1 << iota
	arrays
	strs
	bools
	integers
	fractions

	allTypes = objects | arrays | strs | bools | integers | fractions
)

// types are those that a place allows.
func (n *node) types() types {
	if n.shallow {
		return allTypes
	}
	return map[kind]types{
		anything: allTypes, object: objects, list: arrays, text: strs, integer: integers, number: integers | fractions, boolean: bools, intOrString: integers | strs,
	}[n.kind]
}

// typeOf is the type of a value, none of null.
func typeOf(value any) types {
	switch value := value.(type) {
	case map[string]any:
		return objects
	case []any:
		return arrays
	case string:
		return strs
	case bool:
		return bools
	case int64:
		return integers
	case float64:
		if _, is := whole(value).(int64); is {
			return integers
		}
		return fractions
	}
	return 0
}

// typed names the type of a place.
func (n *node) typed() string {
	if n.shallow {
		return "any value"
	}
	return map[kind]string{
		anything: "any value", object: "an object", list: "a list", text: "a string", integer: "an integer", number: "a number",
		boolean: "a boolean", intOrString: "an integer or a string",
	}[n.kind]
}

func (d *differing) nulls(old, now *node) {
	if !old.allowsNull() || now.allowsNull() || now.kind == anything {
		return
	}
	one := difference{
		path: old.path, change: "null is no longer allowed", effect: Refused, at: old,
		values: func(_, _ *maker) []any { return []any{nil} }, shows: func(value any) bool { return value == nil },
	}
	if !strings.HasSuffix(old.path, "[*]") { // of lists, null stays an item
		one.effect = Dropped
		one.change += ", so API servers drop it"
		if now.def != nil {
			one.change = "null is no longer allowed, so API servers put the default " + shown(now.def) + " in its place"
		}
	}
	d.add(one)
}

func (d *differing) defaults(old, now *node) {
	if old.def == nil || equal(old.def, now.def) || isMeta(old.path) {
		return
	}
	change := fmt.Sprintf("the default was %s and is %s now", shown(old.def), shown(now.def))
	if now.def == nil {
		change = fmt.Sprintf("the default was %s, and there is none now", shown(old.def))
	}
	d.add(difference{
		path: old.path, change: change, effect: Kept, at: old,
		values: func(_, _ *maker) []any { return []any{old.def} }, shows: func(value any) bool { return equal(value, old.def) },
	})
}

func (d *differing) enums(old, now *node) {
	switch {
	case now.enum == nil:
	case old.enum == nil && old.kind != boolean:
		var allowed []string
		for _, value := range now.enum {
			allowed = append(allowed, shown(value))
		}
		const most = 6
		if more := len(allowed) - most; more > 1 {
			allowed = append(allowed[:most], fmt.Sprintf("%d more", more))
		}
		d.add(difference{
			path: old.path, change: "only these values are allowed now: " + strings.Join(allowed, ", "), effect: Refused, free: true, at: old,
			values: func(m, _ *maker) []any { return m.scalars(old, now) }, shows: func(value any) bool { return value != nil && !now.lists(value) },
		})
	default:
		before := old.enum
		if before == nil {
			before = []any{true, false}
		}
		for _, value := range before {
			if value == nil || now.lists(value) {
				continue
			}
			d.add(difference{
				path: old.path, change: fmt.Sprintf("the value %s is no longer allowed", shown(value)), effect: Refused, at: old,
				values: func(_, _ *maker) []any { return []any{value} }, shows: func(other any) bool { return equal(value, other) },
				all: true,
			})
		}
	}
}

// lists reports whether an enum has a value.
func (n *node) lists(value any) bool {
	return slices.ContainsFunc(n.enum, func(one any) bool { return equal(one, value) || encoded(one) == encoded(value) })
}

// scalarly adds a difference in the limits of scalars: it sets the values to try, with extra ones. Those of an enum are known, so it is
// settled whether any of them shows the difference.
func (d *differing) scalarly(one difference, now *node, extra func(*maker) []any) {
	old := one.at
	one.path, one.effect = old.path, Refused
	switch {
	case old.enum != nil:
		one.values = func(_, _ *maker) []any { return old.enum }
		one.all = true
	case one.free:
		one.values = func(m, _ *maker) []any { return slices.Concat(m.scalars(old, now), extra(m)) }
	default:
		one.values = func(m, _ *maker) []any { return slices.Concat(extra(m), m.scalars(old, now)) }
	}
	d.add(one)
}

func none(*maker) []any { return nil }

func (d *differing) texts(old, now *node) {
	if old.kind != text && old.kind != intOrString && old.kind != anything || now.kind != text && now.kind != intOrString && now.kind != anything {
		return
	}
	aText := func(holds func(string) bool) func(any) bool {
		return func(value any) bool {
			given, is := value.(string)
			return is && !holds(given)
		}
	}
	for _, pattern := range now.patterns {
		if !slices.ContainsFunc(old.patterns, func(before *regexp.Regexp) bool { return before.String() == pattern.String() }) {
			d.pattern(old, now, pattern, aText(pattern.MatchString))
		}
	}
	if now.validated && plainFormat(now.format) != plainFormat(old.format) {
		free := !old.validated && len(old.patterns) == 0
		d.scalarly(difference{at: old, change: "it must have the format " + now.format + " now", free: free, shows: aText(func(s string) bool { return now.hasFormat(s) })}, now, none)
	}
	if now.minLength > old.minLength {
		d.length(old, now, fmt.Sprintf("it must be at least %s long now%s", visible.Count(now.minLength, "character", ""), before(old.minLength, 0)),
			now.minLength, unlimited, now.minLength-1, old.minLength)
	}
	if now.maxLength < old.maxLength {
		d.length(old, now, fmt.Sprintf("it must be at most %s long now%s", visible.Count(now.maxLength, "character", ""), before(old.maxLength, unlimited)),
			0, now.maxLength, now.maxLength+1, min(old.maxLength, now.maxLength+longLength))
	}
}

// length adds that strings must have another length. Strings of some lengths are likely to show that.
func (d *differing) length(old, now *node, change string, least, most int64, likely ...int64) {
	var found []string
	if len(old.patterns) > 0 && least <= mostRepeated && (most <= mostRepeated || most == unlimited) {
		end := ""
		if most != unlimited {
			end = strconv.FormatInt(most, 10)
		}
		settled := false
		found, settled = beyond(old, regexp.MustCompile(fmt.Sprintf("(?s)^.{%d,%s}$", least, end)))
		if settled && len(found) == 0 && old.types() == strs {
			return
		}
	}
	d.scalarly(difference{at: old, change: change, shows: func(value any) bool {
		text, is := value.(string)
		return is && (runes(text) < least || runes(text) > most)
	}}, now, func(m *maker) []any { return slices.Concat(m.sized(old, likely...), anyOf(found)) })
}

// mostRepeated is how often a part of a pattern may be repeated.
const mostRepeated = 1000

// pattern adds that there is another pattern. Strings that only the patterns before match are looked for exactly, so none may be found
// because there is none.
func (d *differing) pattern(old, now *node, pattern *regexp.Regexp, shows func(any) bool) {
	change := "it must match " + pattern.String() + " now"
	if len(old.patterns) == 1 {
		change += ", and not only " + old.patterns[0].String()
	}
	beyond, settled := beyond(old, pattern)
	if settled && len(beyond) == 0 && old.types() == strs {
		return
	}
	d.scalarly(difference{at: old, change: change, free: len(old.patterns) == 0 && !old.validated, shows: shows}, now, func(*maker) []any { return anyOf(beyond) })
}

// before says what a limit was, unless there was none.
func before(limit, unlimited int64) string {
	if limit == unlimited {
		return ""
	}
	return ", and not " + strconv.FormatInt(limit, 10)
}

func (d *differing) numbers(old, now *node) {
	numeric := func(n *node) bool {
		return n.kind == integer || n.kind == number || n.kind == intOrString || n.kind == anything
	}
	if !numeric(old) || !numeric(now) {
		return
	}
	above, below := floatOf(now.minimum, now.aboveMinimum, "more than ", "at least "), floatOf(now.maximum, now.belowLimit, "less than ", "at most ")
	if now.minimum != nil && (old.minimum == nil || *now.minimum > *old.minimum || *now.minimum == *old.minimum && now.aboveMinimum && !old.aboveMinimum) {
		d.scalarly(difference{at: old, change: "it must be " + above + " now", free: old.minimum == nil, shows: aNumber(func(v float64) bool {
			return v > *now.minimum || v == *now.minimum && !now.aboveMinimum
		})}, now, none)
	}
	if now.maximum != nil && (old.maximum == nil || *now.maximum < *old.maximum || *now.maximum == *old.maximum && now.belowLimit && !old.belowLimit) {
		d.scalarly(difference{at: old, change: "it must be " + below + " now", free: old.maximum == nil, shows: aNumber(func(v float64) bool {
			return v < *now.maximum || v == *now.maximum && !now.belowLimit
		})}, now, none)
	}
	for _, factor := range now.multiples {
		if !slices.Contains(old.multiples, factor) {
			one := &node{kind: number, limits: limits{multiples: []float64{factor}}}
			d.scalarly(difference{
				at: old, change: "it must be a multiple of " + strconv.FormatFloat(factor, 'g', -1, 64) + " now", free: len(old.multiples) == 0,
				shows: func(value any) bool { return !one.isMultiple(value) },
			}, now, none)
		}
	}
	if now.format == "int32" && old.format != "int32" && (old.kind == integer || old.kind == number) {
		d.scalarly(difference{at: old, change: "it must fit into 32 bits now", shows: func(value any) bool {
			given, is := value.(int64)
			return is && given != int64(int32(given)) //nolint:gosec // that it may not fit is what it is about
		}}, now, none)
	}
}

func floatOf(limit *float64, exclusive bool, strict, lax string) string {
	if limit == nil {
		return ""
	}
	if exclusive {
		lax = strict
	}
	return lax + strconv.FormatFloat(*limit, 'f', -1, 64)
}

func aNumber(holds func(float64) bool) func(any) bool {
	return func(value any) bool {
		switch value := value.(type) {
		case int64:
			return !holds(float64(value))
		case float64:
			return !holds(value)
		}
		return false
	}
}

// fields compares what an object consists of.
func (d *differing) fields(old, now *node) {
	for _, p := range old.properties {
		after := now.child(p.name)
		switch {
		case old.hasMeta(p.name):
		case after != nil:
			d.compare(p.node, after)
		case !now.preserve:
			d.add(dropped(p.node, "the field is no longer in the schema, so API servers drop it"+d.hint(p.name)))
		}
	}
	switch {
	case old.entries == nil:
	case now.entries != nil:
		d.compare(old.entries, now.entries)
	case !now.preserve:
		d.add(dropped(old.entries, "arbitrary keys are no longer allowed, so API servers drop what the schema does not name"))
	}
}

// dropped is the difference that there is no place any more for what is at a node.
func dropped(at *node, change string) difference {
	return difference{path: at.path, change: change, effect: Dropped, at: at, values: func(m, _ *maker) []any { return m.several(at) }, shows: func(value any) bool { return !IsEmpty(value) }}
}

// hint says where a field may have gone.
func (d *differing) hint(name string) string {
	if places := d.moved[name]; len(places) == 1 {
		return "; " + places[0] + " is new and has the same name"
	}
	return ""
}

// isIn reports whether a value is a map with a key.
func isIn(value any, key string) bool {
	fields, is := value.(map[string]any)
	if !is {
		return false
	}
	_, there := fields[key]
	return there
}

// lacks reports whether a value is a map without a key.
func lacks(value any, key string) bool {
	_, is := value.(map[string]any)
	return is && !isIn(value, key)
}

// childPath is the path of a field of a node.
func childPath(n *node, name string) string { return fieldpath.Child(n.path, name) }
