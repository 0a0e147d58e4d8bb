package corpus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// maker makes the values of one object.
type maker struct {
	g       *Generator
	rng     *rand.Rand
	style   Style
	sparse  bool         // hardly anything that is optional
	minimal bool         // nothing that is optional
	full    bool         // everything that is optional
	mixed   bool         // of the style Zeros, or as in Plain: each value by chance, lists and objects mostly as in Plain
	share   int          // bytes for each place that can grow, in the style Huge
	growing map[int]bool // the IDs of the nodes that can; nil for all
	doubt   bool         // what was made may be invalid
	single  *way         // what the object is about, if that is one field
	solving int          // how many rules are being solved, one around the other
}

// chance is true in so many of 100 cases.
func (m *maker) chance(percent int) bool { return m.rng.IntN(100) < percent }

// one returns one of several.
func one[T any](m *maker, values []T) T { return values[m.rng.IntN(len(values))] }

// fields makes the fields of an object but apiVersion, kind and metadata.
func (m *maker) fields() map[string]any {
	made, _ := m.value(m.g.schema.root).(map[string]any)
	for field := range made {
		if isMeta(field) {
			delete(made, field)
		}
	}
	return made
}

// value makes a value for a place that is not broken.
func (m *maker) value(n *node) any {
	if value, is := m.given(n); is {
		return value
	}
	if len(n.rules) == 0 {
		return m.raw(n)
	}
	return m.solve(n, m.raw(n))
}

// raw makes a value without a look at the rules of the place.
func (m *maker) raw(n *node) any {
	if m.mixed {
		style := m.style
		defer func() { m.style = style }()
		zeros := 50
		if n.kind == object || n.kind == list { // an empty one has no places in it
			zeros = 15
		}
		if m.style = Plain; m.chance(zeros) {
			m.style = Zeros
		}
	}
	if len(n.variants) > 0 {
		n = m.variant(n)
	}
	if m.style == Nulls && n.allowsNull() && m.chance(m.nullable(n)) {
		return nil
	}
	if n.enum != nil {
		return m.choose(n)
	}
	if p := &m.g.places[n.id]; len(p.samples) > 0 && m.likesSample(n, p) {
		return one(m, p.samples)
	}
	switch n.kind {
	case object:
		return m.object(n)
	case list:
		return m.list(n)
	case text:
		return m.text(n)
	case integer:
		return m.integer(n)
	case number:
		return m.number(n)
	case boolean:
		return m.style != Zeros
	case intOrString:
		return m.intOrString(n)
	case anything:
	}
	if len(n.properties) > 0 || n.embedded {
		return m.object(n)
	}
	if known := m.undescribed(n); known != nil {
		return known
	}
	return m.anything(n)
}

// nullable is in how many of 100 cases there is null: less often where it hides something.
func (m *maker) nullable(n *node) int {
	if n.weight > 1 {
		return 40
	}
	return 85
}

// likesSample reports whether to use a value of the samples. In other styles than Plain they would hide what the style is
// about.
func (m *maker) likesSample(n *node, p *place) bool {
	switch {
	case n.hasSampleSort() && p.level == samplesSort, n.kind == text && !n.isFree() && len(p.pool) == 0:
		return true
	case m.style == Plain && !m.minimal && p.level == 0:
		return m.chance(30)
	}
	return false
}

// variant returns one of those that are not broken.
func (m *maker) variant(n *node) *node {
	if branch := m.branch(n); branch != nil {
		return branch
	}
	for _, at := range m.rng.Perm(len(n.variants)) {
		if variant := n.variants[at]; !m.g.places[variant.id].broken {
			return variant
		}
	}
	return n
}

// choose returns a value of an enum: an empty one only where the style requires it, or when there is no other.
func (m *maker) choose(n *node) any {
	p := &m.g.places[n.id]
	switch {
	case len(p.empty) > 0 && (m.style == Zeros || len(p.full) == 0):
		return one(m, p.empty)
	case len(p.full) == 0:
		return nil
	}
	return one(m, p.full)
}

// sortEnum separates the empty values of an enum from the others; null is in neither.
func (p *place) sortEnum(n *node) {
	for _, value := range n.enum {
		switch {
		case value == nil || !n.accepts(value):
		case IsZero(value):
			p.empty = append(p.empty, value)
		default:
			p.full = append(p.full, value)
		}
	}
}

// IsZero reports whether a value is 0, false or "".
func IsZero(value any) bool {
	return value == "" || value == false || value == int64(0) || value == float64(0)
}

// noTime is a duration that means 0.
const noTime = "0s"

// IsNothing reports whether a value is IsZero or a duration of 0.
func IsNothing(value any) bool { return IsZero(value) || value == noTime }

// IsEmpty reports whether a value means the same as none: it is IsZero, null, or has nothing in it.
func IsEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return IsZero(value)
}

// object makes an object with fields, or a map.
func (m *maker) object(n *node) map[string]any {
	made := map[string]any{}
	if n.embedded {
		m.embed(n, made)
	}
	for _, p := range n.properties {
		if m.mustHave(p.node) || m.can(n, p) && (n.required[p.name] || m.g.places[p.id].wanted || m.chance(m.presence(p.node))) {
			made[p.name] = m.value(p.node)
		}
	}
	for _, name := range n.missingNames() {
		if n.entries != nil && !m.g.places[n.entries.id].broken {
			made[name] = m.value(n.entries)
		} else {
			made[name] = one(m, m.g.words)
		}
	}
	if n.entries != nil {
		m.fillMap(n, made)
	}
	if n.preserve && !m.minimal && !m.sparse && int64(len(made)) < n.maxFields {
		if known := m.undescribed(n); known != nil {
			maps.Copy(made, known)
		} else {
			made["unstructured"] = m.anything(n)
		}
	}
	m.atLeast(n, made)
	m.atMost(n, made)
	return made
}

// missingNames returns fields that are required but not described, sorted as in the schema.
func (n *node) missingNames() []string {
	var names []string
	for name := range n.required {
		if n.byName[name] == nil && !n.hasMeta(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hasMeta reports whether it is a field that every kind has, of the object itself or an embedded one.
func (n *node) hasMeta(field string) bool { return (n.embedded || n.path == "") && isMeta(field) }

// can reports whether a field may be set.
func (m *maker) can(n *node, p property) bool {
	return !m.g.places[p.id].broken && !slices.Contains(n.forbids, p.name) && !n.hasMeta(p.name)
}

// presence is in how many of 100 cases an optional field is there. Large parts of large schemas are there less often, or
// objects would be as large.
func (m *maker) presence(n *node) int {
	const large, manyNodes = 100, 600
	switch {
	case m.minimal:
		return 0
	case m.full:
		return 100
	case m.sparse:
		return 8
	case m.style == Huge, !strings.ContainsAny(n.path, ".["):
		return 95
	case n.weight > large && m.g.schema.nodes > manyNodes:
		return 30
	}
	return 70
}

// atLeast adds fields until there are enough; where nothing should be empty, one is enough.
func (m *maker) atLeast(n *node, made map[string]any) {
	least := int(min(n.minFields, 1<<16))
	if least == 0 && !m.minimal && !m.sparse && m.style != Zeros {
		least = 1
	}
	for _, at := range m.rng.Perm(len(n.properties)) {
		if len(made) >= least {
			return
		}
		if p := n.properties[at]; m.can(n, p) {
			if _, there := made[p.name]; !there {
				made[p.name] = m.value(p.node)
			}
		}
	}
	if n.preserve && len(n.properties) == 0 {
		for i := 0; len(made) < least; i++ {
			made[fmt.Sprintf("unstructured%d", i)] = one(m, m.g.words)
		}
	}
	m.doubt = m.doubt || int64(len(made)) < n.minFields
}

// atMost takes optional fields away until there are few enough: others each time, since often just one may be there.
func (m *maker) atMost(n *node, made map[string]any) {
	if int64(len(made)) <= n.maxFields {
		return
	}
	for _, at := range m.rng.Perm(len(n.properties)) {
		if p := n.properties[at]; !n.required[p.name] && !n.hasMeta(p.name) && !m.mustHave(p.node) {
			delete(made, p.name)
		}
		if int64(len(made)) <= n.maxFields {
			return
		}
	}
	m.doubt = true
}

// embed gives an embedded resource what all have.
func (m *maker) embed(n *node, made map[string]any) {
	made["apiVersion"], made["kind"] = "v1", "ConfigMap"
	for _, field := range []string{"apiVersion", "kind"} {
		if p := n.byName[field]; p != nil && (!p.isFree() || p.enum != nil) && !m.g.places[p.id].broken {
			plain := *m
			plain.style, plain.mixed = Plain, false
			made[field] = plain.value(p)
		}
	}
	name := one(m, m.g.words)
	if metadata := n.byName["metadata"]; metadata != nil {
		if limits := metadata.byName["name"]; limits != nil && !limits.accepts(name) && len(m.g.places[limits.id].pool) > 0 {
			name = one(m, m.g.places[limits.id].pool)
		}
	}
	metadata := map[string]any{"name": name}
	for field, value := range map[string]any{"labels": map[string]any{"app": "embedded"}, "annotations": map[string]any{noteKey: "made by crdconform"}} {
		if described := n.byName["metadata"]; !m.minimal && (described == nil || described.byName[field] == nil) {
			metadata[field] = value
		}
	}
	made["metadata"] = metadata
}

// fillMap adds entries to a map.
func (m *maker) fillMap(n *node, made map[string]any) {
	if m.g.places[n.entries.id].broken {
		return
	}
	count := m.count(n.minFields, n.maxFields)
	switch {
	case m.single.isMany(n):
		count = int(min(m.many(), n.maxFields))
	case count == 0 && m.mustHave(n.entries):
		count = 1
	}
	grown, used := m.grows(n), 0
	for tries := 0; tries < 3*count+20; tries++ {
		if enough := len(made) >= count && (!grown || used >= m.share); enough || int64(len(made)) >= n.maxFields || len(made) > mostItems {
			return
		}
		key := m.key(n, len(made))
		if grown {
			key, tries = fmt.Sprintf("%s-%d", key, len(made)), 0
		}
		if _, there := made[key]; there || slices.Contains(n.forbids, key) {
			continue
		}
		made[key] = m.within(n.entries, n.maxFields)
		used += size(made[key]) + len(key) + 4
	}
	m.doubt = m.doubt || int64(len(made)) < n.minFields
}

// key makes a key for a map.
func (m *maker) key(n *node, i int) string {
	key := one(m, m.g.words)
	if m.style == Text && m.g.places[n.id].level == 0 {
		return m.strange(0, 60)
	}
	if n.minFields > 20 || i > 20 {
		key = fmt.Sprintf("%s-%d", key, i)
	}
	return key
}

// grows reports whether a value grows to its share.
func (m *maker) grows(n *node) bool {
	return m.style == Huge && m.share > 0 && (m.growing == nil || m.growing[n.id])
}

// within makes the items of what grows. Each grows to a part of the share, or the first would take all, unless few are allowed.
func (m *maker) within(n *node, most int64) any {
	const few, parts = 16, 100
	share := m.share
	if most > few {
		m.share /= int(min(most, parts))
	}
	defer func() { m.share = share }()
	return m.value(n)
}

// anything makes JSON for where the schema does not say what there is.
func (m *maker) anything(n *node) any {
	made := map[string]any{"text": one(m, m.g.words), "count": int64(1 + m.rng.IntN(99)), "list": []any{"a", int64(2), true}, "nested": map[string]any{"key": one(m, m.g.words)}}
	switch m.style {
	case Text:
		made["text"] = m.strange(0, 60)
	case Integers:
		made["count"] = int64(9007199254740993)
		made["ratio"] = 0.1
	case Zeros:
		return map[string]any{"text": "", "count": int64(0), "flag": false, "list": []any{}, "nested": map[string]any{}}
	case Nulls:
		made["nothing"] = nil
	case Huge:
		if m.grows(n) {
			made["text"] = strings.Repeat("unstructured text ", 1+m.share/18)
		}
	case Plain, Large:
	}
	return made
}

// size is about how many bytes a value has as JSON.
func size(value any) int {
	switch value := value.(type) {
	case string:
		return len(value) + 2
	case map[string]any:
		total := 2
		for key, inner := range value {
			total += len(key) + 4 + size(inner)
		}
		return total
	case []any:
		total := 2
		for _, inner := range value {
			total += 1 + size(inner)
		}
		return total
	}
	return 6
}
