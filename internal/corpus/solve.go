package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// How many changes are tried at most until a value keeps to the rules of its place.
const (
	mostSteps = 80
	hugeSteps = 2 // of large objects
)

// unsolved is how many rules are being solved, one around the other, when a value is no longer changed for another.
const unsolved = 3

// solve changes a value until it keeps to the rules of its place, as far as that can be done: one of the fields that a broken rule
// talks about gets another value, is taken away or is added, and what breaks fewer rules is kept.
func (m *maker) solve(n *node, value any) any {
	known := m.g.rulings[n.path]
	if known == nil || value == nil {
		return value
	}
	if fields, ok := value.(map[string]any); ok && n.path == "" { // rules of objects may ask for these
		fields["apiVersion"], fields["kind"] = m.g.definition.CRD.Spec.Group+"/"+m.g.version, m.g.definition.CRD.Spec.Names.Kind
		fields["metadata"] = map[string]any{"name": m.g.name(m.style, 0)}
	}
	if m.solving >= unsolved {
		return value
	}
	count, broken := known.broken(value)
	if len(broken) == 0 {
		return value
	}
	m.solving++
	defer func() { m.solving-- }()
	steps := mostSteps
	switch {
	case m.solving >= unsolved:
		return value
	case m.style == Huge, m.single != nil && m.single.target.rank == rankLarge: // rules take long for large values, and these are made again and again
		steps = hugeSteps
	case m.solving > 1: // it is a part of a value that is one of many to try
		steps /= 8
	}
	at := &node{kind: object, mapping: mapping{byName: map[string]*node{"self": n}}, limits: limits{required: map[string]bool{"self": true}}}
	best, least := value, count
	for i := range steps {
		trial := map[string]any{"self": k8sruntime.DeepCopyJSONValue(best)}
		if i > 0 || !m.agree(n, trial["self"]) {
			m.step(at, n, trial, one(m, broken))
		}
		changed, there := trial["self"]
		if !there || changed == nil {
			continue
		}
		now, left := known.broken(changed)
		switch {
		case now < least:
			best, least, broken = changed, now, left
		case now == least && len(left) > 0 && m.chance(40):
			best, broken = changed, left
		}
		if len(broken) == 0 {
			break
		}
	}
	return best
}

// agree makes unions of an object consistent: the field that a discriminator names is there, and those that its other values name
// are not. It is false if there are no unions.
func (m *maker) agree(n *node, value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	agreed := false
	for _, p := range n.properties {
		chosen, isText := fields[p.name].(string)
		if len(p.enum) == 0 || !isText {
			continue
		}
		for _, other := range n.properties {
			if !slices.ContainsFunc(p.enum, func(value any) bool { return discriminates(fmt.Sprint(value), other.name) }) || n.required[other.name] {
				continue
			}
			agreed = true
			_, there := fields[other.name]
			switch named := discriminates(chosen, other.name); {
			case !named && !m.mustHave(other.node):
				delete(fields, other.name)
			case named && !there && m.can(n, other):
				fields[other.name] = m.value(other.node)
			}
		}
	}
	return agreed
}

// spot is a place in a value where there is something, or could be.
type spot struct {
	n      *node
	around *node
	fields map[string]any // it is a field of these
	key    string
	items  []any // or one of these
	at     int
	there  bool
}

// spots finds the places of a path in a value.
func spots(around *node, value any, way []fieldpath.Step) []spot {
	var found []spot
	switch value := value.(type) {
	case map[string]any:
		if way[0].Key != "<key>" || around.byName["<key>"] != nil {
			n := around.child(way[0].Key)
			inner, there := value[way[0].Key]
			if len(way) == 1 || !there {
				return []spot{{n: n, around: around, fields: value, key: way[0].Key, there: there}}
			}
			return spots(n, inner, way[1:])
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if around.byName[key] != nil {
				continue
			}
			if len(way) == 1 {
				found = append(found, spot{n: around.entries, around: around, fields: value, key: key, there: true})
			} else if around.entries != nil {
				found = append(found, spots(around.entries, value[key], way[1:])...)
			}
		}
	case []any:
		for i, inner := range value {
			if len(way) == 1 {
				found = append(found, spot{n: around.item(), around: around, items: value, at: i, there: true})
			} else if around.item() != nil {
				found = append(found, spots(around.item(), inner, way[1:])...)
			}
		}
	}
	return found
}

func (s spot) value() any {
	if s.items != nil {
		return s.items[s.at]
	}
	return s.fields[s.key]
}

func (s spot) put(value any) {
	if s.items != nil {
		s.items[s.at] = value
	} else {
		s.fields[s.key] = value
	}
}

// canGo reports whether there may be nothing at a spot.
func (m *maker) canGo(s spot) bool {
	return s.fields != nil && s.there && !s.around.required[s.key] && !m.mustHave(s.n)
}

// step makes one change to a value, of what a rule talks about.
func (m *maker) step(at, n *node, value map[string]any, about *rule) {
	all := m.mentioned(at, n, value, about)
	if len(all) == 0 {
		all = []spot{{n: n, around: at, fields: value, key: "self", there: true}}
	}
	s := one(m, all)
	if m.chance(15) {
		m.leaveOnly(s, all)
		return
	}
	m.alter(s, all, about)
}

// mentioned returns the places in a value that a rule talks about.
func (m *maker) mentioned(at, n *node, value map[string]any, about *rule) []spot {
	var all []spot
	for _, mentioned := range about.fields {
		rest, below := strings.CutPrefix(mentioned.path, n.path)
		if !below || isMeta(strings.TrimPrefix(mentioned.path, ".")) {
			continue
		}
		for _, s := range spots(at, value, append([]fieldpath.Step{{Key: "self"}}, fieldpath.Split(rest)...)) {
			if s.n == nil || s.n.shallow || s.fields != nil && s.around.hasMeta(s.key) || m.g.places[s.n.id].broken && !s.there {
				continue
			}
			all = append(all, s)
		}
	}
	return all
}

// leaveOnly takes away the other fields beside one that a rule talks about, for exactly one may have to be there.
func (m *maker) leaveOnly(s spot, all []spot) {
	if !s.there && s.n != nil {
		s.put(m.value(s.n))
	}
	for _, other := range all {
		if other.fields != nil && s.fields != nil && other.key != s.key && other.around == s.around && m.canGo(other) && len(other.n.enum) == 0 {
			delete(other.fields, other.key)
		}
	}
}

// alter changes what is at a spot.
func (m *maker) alter(s spot, all []spot, about *rule) {
	if m.single != nil {
		if _, fixed := m.single.fixed[s.n.path]; fixed && s.there {
			return
		}
	}
	if m.canGo(s) && m.chance(30) {
		delete(s.fields, s.key)
		return
	}
	if !s.there && m.chance(50) {
		s.put(m.value(s.n))
		return
	}
	switch value := s.value().(type) {
	case []any:
		s.put(m.otherList(s.n, value))
		return
	case map[string]any:
		m.otherMap(s, value, about)
		return
	}
	if others := m.otherScalars(s.n, all, about); len(others) > 0 {
		s.put(one(m, others))
		return
	}
	s.put(m.value(s.n))
}

// otherList is a list with fewer items, with another one, or another list.
func (m *maker) otherList(n *node, list []any) any {
	switch pick := m.rng.IntN(4); {
	case pick == 0 && len(list) > 1:
		return list[:1]
	case pick == 1 && n.minItems == 0 && !m.mustHave(n.items):
		return []any{}
	case pick == 2 && n.items != nil && int64(len(list)) < n.maxItems && n.listType == "":
		return append(slices.Clone(list), m.value(n.items))
	}
	return m.value(n)
}

// otherMap changes a key of a map, or makes another map.
func (m *maker) otherMap(s spot, fields map[string]any, about *rule) {
	if s.n.entries == nil || len(fields) == 0 || m.chance(20) {
		s.put(m.value(s.n))
		return
	}
	keys := slices.Sorted(maps.Keys(fields))
	key, other := one(m, keys), one(m, about.candidates(m))
	if _, there := fields[other]; !there && s.n.byName[key] == nil && s.n.byName[other] == nil {
		fields[other] = fields[key]
		delete(fields, key)
	}
}

// otherScalars returns values to try at a place: those that the rule names, that are like those, or that other fields have.
func (m *maker) otherScalars(n *node, all []spot, about *rule) []any {
	var values []any
	keep := func(value any) {
		if n.accepts(value) && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if n.enum != nil {
		for _, value := range n.enum {
			keep(value)
		}
		return values
	}
	switch n.kind {
	case boolean:
		return []any{true, false}
	case integer, number, intOrString:
		for _, number := range about.numbers {
			keep(number)
			keep(number + 1)
			keep(number - 1)
		}
		for _, s := range all {
			if number, ok := s.value().(int64); s.there && ok {
				for _, near := range []int64{number, number + 1, number - 1} {
					if near != 0 {
						keep(near)
					}
				}
			}
		}
		keep(m.integer(n))
	case text, object, list, anything:
	}
	if n.kind == text || n.kind == intOrString {
		for _, candidate := range about.candidates(m) {
			keep(candidate)
		}
		for _, candidate := range m.g.places[n.id].pool {
			keep(candidate)
		}
		for _, s := range all {
			if same, ok := s.value().(string); s.there && ok {
				keep(same)
			}
		}
	}
	return values
}

// candidates returns strings that may satisfy a rule, by the functions that it calls and the strings that it has.
func (r *rule) candidates(m *maker) []string {
	word := one(m, m.g.words)
	all := []string{word}
	for _, name := range slices.Sorted(maps.Keys(r.functions)) {
		texts := r.functions[name]
		all = append(all, likeFunction(name)...)
		for _, given := range texts {
			switch name {
			case "startsWith":
				all = append(all, given+word, given+"/"+word, given)
			case "endsWith":
				all = append(all, word+given, given)
			case "contains", "indexOf", "lastIndexOf":
				all = append(all, word+given+word, given+word, word+given)
			case "split":
				all = append(all, word+given+word)
				for _, part := range r.texts {
					all = append(all, part+given+word, word+given+part, part+given+r.texts[len(r.texts)-1])
				}
			case "matches", "find", "findAll":
				all = append(all, patterned(given)...)
			}
		}
	}
	all = append(all, r.texts...)
	for _, number := range r.numbers {
		all = append(all, strconv.FormatInt(number, 10))
		if number > 0 && number < 1<<12 {
			all = append(all, fitted(word, number, number), fitted(word, number-1, number-1), fitted(word, number+1, number+1))
		}
	}
	return all
}

// likeFunction returns strings that a function takes.
func likeFunction(name string) []string {
	switch name {
	case "duration":
		return formats()["duration"]
	case "timestamp":
		return times()
	case "quantity", "isQuantity":
		return quantities()
	case "url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath":
		return formats()["uri"]
	case "ip", "isIP", "family", "isCanonical":
		return slices.Concat(formats()["ipv4"], formats()["ipv6"])
	case "cidr", "isCIDR", "containsIP", "containsCIDR":
		return formats()["cidr"]
	case "semver", "isSemver":
		return []string{"1.2.3", "2.0.0", "1.30.2-rc.1"}
	case "int", "uint", "double":
		return []string{"1", "8080", "42", "7"}
	case "dns1123Label", "dns1035Label", "qualifiedName", "dns1123Subdomain":
		return []string{"web-server", "example.com", "app"}
	case "lowerAscii", "upperAscii":
		return []string{"lower", "UPPER"}
	}
	return nil
}

// patterned returns strings that a pattern matches: of the usual ones, and those that are made from it.
func patterned(pattern string) []string {
	n := &node{kind: text, limits: limits{maxLength: unlimited}}
	(&compiler{}).pattern(&n.limits, pattern)
	if len(n.patterns) == 0 {
		return nil
	}
	return n.strings()
}
