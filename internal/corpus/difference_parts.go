package corpus

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// What schemas say of lists, objects and parts of them, compared by differing.

func (d *differing) lists(old, now *node) {
	if old.types()&now.types()&arrays == 0 {
		return
	}
	count := func(value any) int64 {
		items, _ := value.([]any)
		return int64(len(items))
	}
	isList := func(value any) bool { return typeOf(value) == arrays }
	if now.minItems > old.minItems {
		d.add(difference{
			path: old.path, change: fmt.Sprintf("it must have at least %s now%s", visible.Count(now.minItems, "item", ""), before(old.minItems, 0)), effect: Refused, at: old,
			values: func(m, after *maker) []any {
				return slices.Concat(after.listsOf(now, now.minItems-1, old.minItems), m.listsOf(old, now.minItems-1, old.minItems))
			},
			shows: func(value any) bool { return isList(value) && count(value) < now.minItems },
		})
	}
	if now.maxItems < old.maxItems {
		d.add(difference{
			path: old.path, change: fmt.Sprintf("it must have at most %s now%s", visible.Count(now.maxItems, "item", ""), before(old.maxItems, unlimited)), effect: Refused, at: old,
			unmet: tooMany(now.maxItems),
			values: func(m, after *maker) []any {
				return slices.Concat(after.listsOf(now, now.maxItems+1), m.listsOf(old, now.maxItems+1))
			},
			shows: func(value any) bool { return count(value) > now.maxItems },
		})
	}
	d.duplicates(old, now)
}

// tooMany says that there are more items or fields in an object than are made; empty if there are not.
func tooMany(limit int64) string {
	if limit < mostCounted {
		return ""
	}
	return fmt.Sprintf("it takes more than %d", limit)
}

// duplicates compares which items of a list must be distinct.
func (d *differing) duplicates(old, now *node) {
	if old.items == nil || now.items == nil || old.items.types()&now.items.types() == 0 {
		return
	}
	sameKeys := old.listType == now.listType && slices.Equal(old.listKeys, now.listKeys)
	how := ""
	switch {
	case now.listType == "map" && !sameKeys:
		how = fmt.Sprintf("its items must differ in %s now (x-kubernetes-list-type: map)", strings.Join(now.listKeys, ", "))
	case now.listType == "set" && old.listType != "set" && !old.unique:
		how = "its items must be distinct now (x-kubernetes-list-type: set)"
	case now.unique && !old.unique && old.listType != "set":
		how = "its items must be distinct now"
	default:
		return
	}
	d.add(difference{
		path: old.path, change: how, effect: Refused, at: old, values: func(m, after *maker) []any { return slices.Concat(after.twice(now, now), m.twice(old, now)) },
		shows: func(value any) bool {
			items, _ := value.([]any)
			return now.hasTwice(items)
		},
	})
}

// hasTwice reports whether a list has two items that may not both be there.
func (n *node) hasTwice(items []any) bool {
	seen := map[string]bool{}
	for _, item := range items {
		key, ok := encoded(item), true
		if n.listType != "" {
			key, ok = n.identity(item)
		}
		if !ok {
			key = encoded(item)
		}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

func (d *differing) objects(old, now *node) {
	if old.types()&now.types()&objects == 0 {
		return
	}
	count := func(value any) int64 {
		fields, _ := value.(map[string]any)
		return int64(len(fields))
	}
	isObject := func(value any) bool { return typeOf(value) == objects }
	if now.minFields > old.minFields {
		d.add(difference{
			path: old.path, change: fmt.Sprintf("it must have at least %s now%s", visible.Count(now.minFields, "field", ""), before(old.minFields, 0)), effect: Refused, at: old,
			values: func(m, after *maker) []any {
				return slices.Concat(after.mapsOf(now, now.minFields-1), m.mapsOf(old, now.minFields-1))
			},
			shows: func(value any) bool { return isObject(value) && count(value) < now.minFields },
		})
	}
	if now.maxFields < old.maxFields {
		d.add(difference{
			path: old.path, change: fmt.Sprintf("it must have at most %s now%s", visible.Count(now.maxFields, "field", ""), before(old.maxFields, unlimited)), effect: Refused, at: old,
			unmet: tooMany(now.maxFields),
			values: func(m, after *maker) []any {
				return slices.Concat(after.mapsOf(now, now.maxFields+1), m.mapsOf(old, now.maxFields+1))
			},
			shows: func(value any) bool { return count(value) > now.maxFields },
		})
	}
	for _, p := range now.properties {
		if now.required[p.name] {
			d.required(old, now, p.name)
		}
		if now.hasMeta(p.name) || old.byName[p.name] != nil {
			continue
		}
		if old.entries != nil || old.preserve {
			d.described(old, p)
		}
	}
	for _, name := range now.missingNames() {
		d.required(old, now, name)
	}
	if now.embedded && !old.embedded {
		d.add(difference{
			path: old.path, change: "it must be a whole resource now, with apiVersion, kind and metadata", effect: Refused, at: old,
			values: func(m, _ *maker) []any { return m.several(old) }, shows: isObject,
		})
	}
	d.unnamed(old, now)
}

// required adds that a field must be there that need not have been, unless a default makes that no difference.
func (d *differing) required(old, now *node, name string) {
	before, after := old.byName[name], now.byName[name]
	if old.required[name] || now.hasMeta(name) || before != nil && before.def != nil || after != nil && after.def != nil {
		return
	}
	d.add(difference{
		path: childPath(old, name), change: "the field is required now", effect: Refused, at: old,
		values: func(m, _ *maker) []any { return m.without(old, name) }, shows: func(value any) bool { return lacks(value, name) },
	})
}

// described adds that the schema says something of a field that was one of any.
func (d *differing) described(old *node, p property) {
	at := childPath(old, p.name)
	d.add(difference{
		path: at, change: fmt.Sprintf("the schema did not name the field, and it must be %s now", p.typed()), effect: Refused, free: true, at: old,
		values: func(m, _ *maker) []any { return m.with(old, p) },
		shows: func(value any) bool {
			fields, _ := value.(map[string]any)
			given, there := fields[p.name]
			return there && given != nil && !p.admits(given)
		},
	})
}

// admits reports whether a value is of the right type, and keeps to the limits of scalars.
func (n *node) admits(value any) bool {
	return typeOf(value)&n.types() != 0 && n.accepts(value)
}

// unnamed compares what becomes of fields that the schema does not name.
func (d *differing) unnamed(old, now *node) {
	if old.preserve && !now.preserve && now.entries == nil {
		d.add(difference{
			path: old.path, change: "API servers drop fields that the schema does not name now (x-kubernetes-preserve-unknown-fields is gone)", effect: Dropped, at: old,
			values: func(m, _ *maker) []any { return m.several(old) },
			shows: func(value any) bool {
				fields, _ := value.(map[string]any)
				for name := range fields {
					if old.byName[name] == nil && now.byName[name] == nil && !old.hasMeta(name) {
						return true
					}
				}
				return false
			},
		})
	}
	if old.embedded && !now.embedded && !now.preserve && now.entries == nil && now.byName["metadata"] == nil {
		d.add(difference{
			path: old.path, change: "it is no longer a whole resource, so API servers drop its metadata", effect: Dropped, at: old,
			values: func(m, _ *maker) []any { return m.several(old) }, shows: func(value any) bool { return isIn(value, "metadata") },
		})
	}
}

// demand is an anyOf, a oneOf or a not.
type demand struct {
	word     string
	branches []structuralschema.NestedValueValidation
}

// named returns the values that a not names, which random values rarely meet.
func (d demand) named() []any {
	if d.word != "not" {
		return nil
	}
	var values []any
	for _, v := range append(slices.Concat(d.branches[0].AnyOf, d.branches[0].AllOf, d.branches[0].OneOf), d.branches[0]) {
		for _, member := range v.Enum {
			values = append(values, member.Object)
		}
		for _, text := range witnesses(v.Pattern) {
			values = append(values, text)
		}
	}
	return values
}

// demandsOf returns what a validation has in anyOf, oneOf and not.
func demandsOf(v structuralschema.ValueValidation) []demand {
	var all []demand
	if len(v.AnyOf) > 0 {
		all = append(all, demand{"anyOf", v.AnyOf})
	}
	if len(v.OneOf) > 0 {
		all = append(all, demand{"oneOf", v.OneOf})
	}
	if v.Not != nil {
		all = append(all, demand{"not", []structuralschema.NestedValueValidation{*v.Not}})
	}
	return all
}

func (d *differing) choices(old, now *node) {
	for _, one := range now.demanded {
		if slices.ContainsFunc(old.demanded, func(before demand) bool { return reflect.DeepEqual(before, one) }) {
			continue
		}
		change := "there is " + map[string]string{"anyOf": "an anyOf", "oneOf": "a oneOf", "not": "a not"}[one.word] + " now"
		if slices.ContainsFunc(old.demanded, func(before demand) bool { return before.word == one.word }) {
			change = "it has another " + one.word + " now"
		}
		sets, known := old.broken(one)
		if known && len(sets) == 0 {
			continue
		}
		d.add(difference{
			path: old.path, change: change, effect: Refused, at: old,
			values: func(m, _ *maker) []any { return slices.Concat(m.only(old, sets), one.named(), m.several(old)) },
			sign:   func(p Problem) bool { return strings.Contains(p.Message, "("+one.word+")") },
		})
	}
}

// mostTogether is how many fields a choice may name for all sets of them to be tried.
const mostTogether = 10

// broken returns the sets of fields that an earlier schema allowed an object to have, of those that a choice names, and that the choice
// refuses. It is false if the choices say more than which fields are there.
func (n *node) broken(by demand) (sets [][]string, known bool) {
	must, only := by.presence()
	if !only || n.kind != object || n.doubtful {
		return nil, false
	}
	names := must.names()
	for _, before := range n.choices {
		names = append(names, before.names()...)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return n.child(name) == nil && !n.preserve })
	if len(names) > mostTogether {
		return nil, false
	}
	for set := range 1 << len(names) {
		fields := map[string]any{}
		var some []string
		for i, name := range names {
			if set&(1<<i) != 0 {
				fields[name], some = true, append(some, name)
			}
		}
		allowed := !slices.ContainsFunc(names, func(name string) bool {
			return n.required[name] && fields[name] == nil || n.byName[name] != nil && n.byName[name].def != nil && fields[name] == nil
		}) && !slices.ContainsFunc(n.choices, func(before presence) bool { return !before.holds(fields) })
		if allowed && !must.holds(fields) {
			sets = append(sets, some)
		}
	}
	return sets, true
}

// presence is what a demand says of which fields are there. It is false if it says more.
func (d demand) presence() (presence, bool) {
	var v structuralschema.NestedValueValidation
	switch d.word {
	case "anyOf":
		v.AnyOf = d.branches
	case "oneOf":
		v.OneOf = d.branches
	default:
		v.Not = &d.branches[0]
	}
	return presenceOf(&v)
}

// names are the fields that are named.
func (p *presence) names() []string {
	names := slices.Clone(p.required)
	if p.not != nil {
		names = append(names, p.not.names()...)
	}
	for _, some := range [][]presence{p.any, p.one, p.all} {
		for i := range some {
			names = append(names, some[i].names()...)
		}
	}
	return names
}

// meta compares what the schemas say of the name of objects, which is all that they can say of metadata.
func (d *differing) meta(old, now *node) {
	name, before := now.byName["metadata"].child("name"), old.byName["metadata"].child("name")
	if name == nil || before != nil && before.poolKey() == name.poolKey() && equal(before.enum, name.enum) {
		return
	}
	d.add(difference{
		path: fieldpath.Child("metadata", "name"), change: "the schema restricts the names of objects differently now", effect: Refused, free: before == nil,
		values: func(m, _ *maker) []any { return m.names() }, shows: func(value any) bool { return !name.accepts(value) },
	})
}
