package corpus

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// The values that are tried at the place of a difference. They need not show it, nor be allowed: the caller checks that.

// anyOf is a list of values of any type.
func anyOf[T any](values []T) []any {
	all := make([]any, 0, len(values))
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

// runes is the length of a string as schemas count it.
func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// hasFormat reports whether a string has the format of a place.
func (n *node) hasFormat(s string) bool { return !n.validated || strfmt.Default.Validates(n.format, s) }

// several makes values of all kinds for a place: small ones first.
func (m *maker) several(n *node) []any {
	var values []any
	for i := range 14 {
		other := m.g.maker(Plain, i, 0)
		switch {
		case i == 0:
			other.minimal = true
		case i < 4:
			other.sparse = true
		case i == 7:
			other.full = m.g.schema.nodes <= fullNodes
		case i == 13:
			other.style = Zeros
		}
		if !m.g.places[n.id].broken {
			values = append(values, other.value(n))
		}
	}
	return values
}

// ofTypes makes values for a place that have one of some types.
func (m *maker) ofTypes(n *node, wanted types) []any {
	values := m.several(n)
	for _, value := range m.everything() {
		if n.types() == allTypes || n.accepts(value) {
			values = append(values, value)
		}
	}
	return slices.DeleteFunc(values, func(value any) bool { return typeOf(value)&wanted == 0 })
}

// everything returns a value of each type, what programs write most first.
func (m *maker) everything() []any {
	return []any{one(m, m.g.words), int64(1 + m.rng.IntN(99)), true, 0.5, []any{one(m, m.g.words)}, map[string]any{"key": one(m, m.g.words)}}
}

// scalars makes values that one schema allows at a place, near to what another does.
func (m *maker) scalars(old, now *node) []any {
	var values []any
	if old.types()&strs != 0 {
		values = append(values, m.texts(old)...)
	}
	if old.types()&integers != 0 {
		values = append(values, anyOf(nearTo(now))...)
		values = append(values, anyOf(nearTo(old))...)
	}
	if old.types()&fractions != 0 {
		for _, value := range append(old.anyNumber(), now.anyNumber()...) {
			values = append(values, whole(value), whole(value-0.5), whole(value+0.5), whole(value/3))
		}
	}
	if old.types()&bools != 0 {
		values = append(values, true, false)
	}
	return slices.DeleteFunc(values, func(value any) bool { return !old.accepts(value) })
}

// texts makes strings for a place: those that a webhook is known to take first, then others that it may take.
func (m *maker) texts(n *node) []any {
	place := &m.g.places[n.id]
	var all []string
	if sorts := sortsOfText(); place.level > samplesSort && place.level <= samplesSort+len(sorts) {
		all = append(all, sorts[place.level-samplesSort-1]...)
	}
	for _, sample := range place.samples {
		if text, is := sample.(string); is {
			all = append(all, text)
		}
	}
	all = append(all, n.hints...)
	all = append(all, place.pool...)
	all = append(all, m.word(n.minLength, n.maxLength), one(m, m.g.words), one(m, m.g.words))
	all = append(all, usual()...)
	all = append(all, "two words", "a_b", "-a", "a-", ".", "a..b", "/", "UPPER", "ñ", "")
	return anyOf(all)
}

// sized makes strings of lengths that a place allows: the given ones as far as they are possible, and others between them.
func (m *maker) sized(n *node, lengths ...int64) []any {
	var all []string
	for _, text := range m.texts(n) {
		short, _ := text.(string)
		for _, length := range lengths {
			all = append(all, stretch(short, length)...)
		}
		all = append(all, short)
	}
	return slices.DeleteFunc(anyOf(all), func(value any) bool { return !n.accepts(value) })
}

// stretch returns strings of a length that are like a shorter or longer one.
func stretch(text string, length int64) []string {
	if length < 0 || length > mostStretched {
		return nil
	}
	letters := []rune(text)
	have := int64(len(letters))
	switch {
	case have == length:
		return nil
	case have > length:
		return []string{string(letters[:length]), string(letters[have-length:])}
	case have == 0:
		return []string{strings.Repeat("a", int(length))}
	}
	short, middle := int(length-have), have/2
	return []string{
		text + strings.Repeat("x", short), text + strings.Repeat(string(letters[have-1]), short), string(letters[:middle]) + strings.Repeat(string(letters[middle]), short) + string(letters[middle:]),
		strings.Repeat(text, int(length/have)) + string(letters[:length%have]),
	}
}

// How long a string is made at most, and how many items or fields there are.
const (
	mostStretched = 64 << 10
	mostCounted   = 5000
)

// nearTo returns integers just within and just beyond the limits of a place, and small ones.
func nearTo(n *node) []int64 {
	lowest, highest := n.bounds()
	var near []int64
	if lowest > math.MinInt64 {
		near = append(near, lowest-1, lowest)
	}
	if highest < math.MaxInt64 {
		near = append(near, highest+1, highest)
	}
	step := n.step()
	return append(near, 1, 2, 3, 5, 7, 11, step+1, 2*step+1, 0, -1, math.MaxInt32+1)
}

// listsOf makes lists of some lengths, which are shorter where there are too few values for distinct items.
func (m *maker) listsOf(n *node, lengths ...int64) []any {
	var values []any
	for _, length := range lengths {
		if length < 0 || length > mostCounted || length > 0 && (n.items == nil || m.g.places[n.items.id].broken) {
			continue
		}
		list, seen := []any{}, map[string]bool{}
		for tries := 0; int64(len(list)) < length && tries < 3*int(length)+20; tries++ {
			small := m.g.maker(Plain, tries, 1)
			small.minimal = true
			item := small.value(n.items)
			if n.unique || n.listType != "" {
				item = n.numbered(item, len(list))
				key := m.itemKey(n, item, len(list))
				if seen[key] {
					continue
				}
				seen[key] = true
			}
			list = append(list, item)
		}
		values = append(values, list)
	}
	return values
}

// mapsOf makes objects with so many fields, as far as there are enough, from the ones that are required on.
func (m *maker) mapsOf(n *node, size int64) []any {
	if size < 0 || size > mostCounted {
		return nil
	}
	small := m.g.maker(Plain, 0, 1)
	small.minimal = true
	fields, is := small.value(n).(map[string]any)
	if !is {
		return nil
	}
	small.minimal, small.sparse = false, true
	for _, p := range n.properties {
		if _, there := fields[p.name]; !there && int64(len(fields)) < size && small.can(n, p) {
			fields[p.name] = small.value(p.node)
		}
	}
	for i := 0; n.entries != nil && !m.g.places[n.entries.id].broken && int64(len(fields)) < size; i++ {
		fields[fmt.Sprintf("%s-%d", m.g.words[i%len(m.g.words)], i)] = small.value(n.entries)
	}
	return []any{fields}
}

// twice makes lists with two items that another schema takes for the same.
func (m *maker) twice(old, now *node) []any {
	if old.items == nil || m.g.places[old.items.id].broken {
		return nil
	}
	first, second := m.several(old.items), m.several(old.items)
	slices.Reverse(second)
	var values []any
	for i, item := range first {
		fields, isMap := item.(map[string]any)
		others, isOther := second[i].(map[string]any)
		if now.listType == "map" && isMap && isOther {
			for _, key := range now.listKeys {
				if field := old.items.child(key); fields[key] == nil && field != nil && !m.g.places[field.id].broken {
					fields[key] = m.value(field)
				}
				others[key] = k8sruntime.DeepCopyJSONValue(fields[key])
			}
			values = append(values, []any{fields, others})
		}
		values = append(values, []any{item, k8sruntime.DeepCopyJSONValue(item)})
	}
	return values
}

// without makes values for a place that lack a field.
func (m *maker) without(n *node, name string) []any {
	values := m.several(n)
	for _, value := range values {
		if fields, is := value.(map[string]any); is {
			delete(fields, name)
		}
	}
	return values
}

// with makes values for a place that have a field which its schema does not name, of whatever it may be.
func (m *maker) with(n *node, p property) []any {
	small := m.g.maker(Plain, 0, 0)
	small.minimal = true
	inside := m.everything()
	if n.entries != nil && !n.entries.shallow && !m.g.places[n.entries.id].broken {
		inside = m.several(n.entries)
	}
	var values []any
	for _, value := range append(inside, anyOf(nearTo(p.node))...) {
		if fields, is := small.value(n).(map[string]any); is {
			fields[p.name] = value
			values = append(values, fields)
		}
	}
	return values
}

// only makes objects that have exactly some sets of fields, of those that any of the sets has.
func (m *maker) only(n *node, sets [][]string) []any {
	named := map[string]bool{}
	for _, set := range sets {
		for _, name := range set {
			named[name] = true
		}
	}
	var values []any
	for i, set := range sets {
		small := m.g.maker(Plain, i, 0)
		small.minimal = i%2 == 0
		small.sparse = true
		fields, is := small.value(n).(map[string]any)
		if !is {
			continue
		}
		for name := range named {
			delete(fields, name)
		}
		for _, name := range set {
			if field := n.child(name); field == nil {
				fields[name] = one(m, m.g.words)
			} else if !m.g.places[field.id].broken {
				fields[name] = small.value(field)
			}
		}
		values = append(values, fields)
	}
	return values
}

// names returns names for objects, of all forms that API servers take.
func (m *maker) names() []any {
	all := []string{
		"other", "web-server", one(m, m.g.words), "a.example.com", "1st", "a", strings.ToLower(m.g.definition.CRD.Spec.Names.Kind) + "-1",
		fitted("a-name-of-some-length-", longestLabel, longestLabel), fitted("a-name-of-some-length-", longestName, longestName),
	}
	before := m.g.schema.root.byName["metadata"].child("name")
	if before != nil {
		all = append(all, m.g.places[before.id].pool...)
		for _, value := range before.enum {
			if text, is := value.(string); is {
				all = append(all, text)
			}
		}
	}
	return anyOf(slices.DeleteFunc(all, func(name string) bool {
		return len(validation.NameIsDNSSubdomain(name, false)) > 0 || before != nil && !before.accepts(name)
	}))
}
