package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// mostItems is how many items a list or map grows to.
const mostItems = 2_000

// wholeItems is how many items of a large list have all of their fields, if they have at most mostOfWhole of them.
const wholeItems, mostOfWhole = 24, 60

// count is how many items a list or map gets.
func (m *maker) count(least, most int64) int {
	lowest := int(min(least, 1<<16))
	switch {
	case m.minimal, m.style == Zeros && m.chance(50):
		return lowest
	case m.sparse, m.style == Zeros:
		return max(lowest, int(min(1, most)))
	}
	return max(lowest, int(min(int64(1+m.rng.IntN(3)), most)))
}

// list makes a list.
func (m *maker) list(n *node) []any {
	made := []any{}
	if n.items == nil || m.g.places[n.items.id].broken {
		return made
	}
	count, grown, used := m.count(n.minItems, n.maxItems), m.grows(n), 0
	switch {
	case m.single.isMany(n):
		count = int(min(m.many(), n.maxItems))
	case count < 2 && m.mixed && m.style == Plain: // so that there may be a zero in one and not in the other
		count = int(min(2, n.maxItems))
	case count == 0 && m.mustHave(n.items):
		count = 1
	}
	apart := m.g.places[n.id].apart
	distinct := n.unique || n.listType != "" || apart != nil
	seen, fields := map[string]bool{}, map[string]bool{}
	for failed := 0; failed < 60; {
		if enough := len(made) >= count && (!grown || used >= m.share); enough || int64(len(made)) >= n.maxItems || len(made) > mostItems {
			break
		}
		item := m.itemOf(n, len(made)).within(n.items, n.maxItems)
		if distinct && (m.single.isMany(n) || m.growing[n.id]) {
			item = n.numbered(item, len(made))
		}
		if distinct {
			key, field := m.itemKey(n, item, len(made)), ""
			isSame := seen[key] && (n.unique || n.listType != "" || apart.name == "")
			if apart != nil && apart.name != "" {
				field = apart.fieldKey(item, len(made)+failed)
				isSame = isSame || fields[field]
			}
			if isSame {
				failed++
				continue
			}
			seen[key], fields[field] = true, true
		}
		made = append(made, item)
		used += size(item) + 1
	}
	if len(made) > 0 && m.style == Text && int64(len(made)) < n.maxItems && n.items.isFree() { // the same in capitals is another item
		text, _ := made[len(made)-1].(string)
		if upper := strings.ToUpper(text); upper != text && n.items.accepts(upper) && !slices.Contains(made, any(upper)) {
			made = append(made, upper)
		}
	}
	m.doubt = m.doubt || int64(len(made)) < n.minItems
	return made
}

// itemOf returns the maker of an item of a list. Of a large list with nothing else in its object, the first items have all of their fields, since
// programs keep some of these elsewhere, where there may be no room for so many.
func (m *maker) itemOf(n *node, number int) *maker {
	if !m.single.isMany(n) || !m.minimal || m.single.target.style == Large || number >= wholeItems || n.items.weight > mostOfWhole {
		return m
	}
	whole := *m
	whole.single, whole.minimal, whole.full = nil, false, true
	return &whole
}

// many is how many items a large list or map gets.
func (m *maker) many() int64 {
	switch {
	case m.single.target.style == Large:
		return beyondByte
	case m.g.schema.rules != nil:
		return someItems // rules compare items with each other, and are evaluated again and again
	}
	return manyItems
}

// numbered gives an item a number by which it differs from others, if its type allows that.
func (n *node) numbered(item any, i int) any {
	fields, isMap := item.(map[string]any)
	if !isMap || n.listType != "map" {
		return n.items.counting(item, i)
	}
	for _, key := range n.listKeys {
		field := n.items.child(key)
		if field != nil && field.kind == text && fields[key] == nil {
			fields[key] = "item" // the default of a key is not known yet
		}
		if field != nil && field.enum == nil && fields[key] != nil {
			fields[key] = field.counting(fields[key], i)
			break
		}
	}
	return fields
}

// counting gives a text or an integer a number, if that is allowed.
func (n *node) counting(value any, i int) any {
	switch value := value.(type) {
	case string:
		for _, form := range []string{"%.40s-%d", "%.1s-%d", "%.1s%d"} {
			if other := fmt.Sprintf(form, value, i); n.acceptsText(other) {
				return other
			}
		}
	case int64:
		lowest, highest := n.bounds()
		if other := max(lowest, 1) + int64(i); other <= highest && n.allowsInteger(other) {
			return other
		}
	}
	return value
}

// fieldKey identifies an item by one of its fields, which all items but the first get a number in, as far as that is allowed.
func (p *property) fieldKey(item any, i int) string {
	fields, is := item.(map[string]any)
	if !is {
		return ""
	}
	if fields[p.name] == nil {
		fields[p.name] = p.counted(0)
	}
	if i > 0 {
		fields[p.name] = p.counting(fields[p.name], i)
	}
	return p.canonical(fields[p.name])
}

// itemKey identifies an item. Keys of list maps that are free get a number, or there would be too few.
func (m *maker) itemKey(n *node, item any, i int) string {
	fields, ok := item.(map[string]any)
	if n.listType != "map" || !ok {
		return n.items.canonical(item)
	}
	for _, key := range n.listKeys {
		name, isText := fields[key].(string)
		if field := n.items.child(key); i > 2 && isText && field.kind == text && field.isFree() && field.enum == nil && field.maxLength > 60 {
			fields[key] = fmt.Sprintf("%.40s-%d", name, i)
		}
	}
	key, _ := n.identity(item)
	return key
}

// several adds the targets for maps and lists of a few sizes that usual objects do not have, and that are far from large.
func (t *targeting) several(n *node, w way) {
	for _, size := range []int{4, 5, 8} {
		about, value := fmt.Sprint(size, " items"), any(nil)
		switch {
		case n.path == "" || n.enum != nil:
		case n.isMap() && !n.entries.shallow && t.isUsual(n.entries) && len(n.byName) == 0:
			fields := map[string]any{}
			for i := range size {
				fields[words()[i]] = n.entries.counted(i)
			}
			if n.acceptsFields(fields) {
				value = fields
			}
		case n.kind == list && n.items != nil && n.minItems <= int64(size) && int64(size) <= n.maxItems && t.isUsual(n.items):
			items := make([]any, size)
			for i := range items {
				items[i] = n.items.counted(i)
			}
			if !slices.ContainsFunc(items, func(item any) bool { return !n.items.accepts(item) }) {
				value = items
			}
		}
		if value != nil {
			t.add(rankSpecial, about, w.fixing(n.path, value))
		}
	}
}

// namesakes returns two items of a list whose keys differ only in case, nil if there can be none.
func (n *node) namesakes() []any {
	return n.pair(func(key *node) []any {
		if key.kind != text || key.enum != nil {
			return nil
		}
		return []any{"Path", "PATH"}
	})
}

// twins returns two items of a list with several keys that differ in one of these, which has few values, nil if there can be none.
func (n *node) twins() []any {
	if len(n.listKeys) < 2 {
		return nil
	}
	return n.pair(func(key *node) []any { return slices.Concat(key.enum, key.wellKnown()) })
}

// pair returns two items of a list that have the first two of the values of their keys, as far as these are known, nil if there can be none. They
// have no more than they must.
func (n *node) pair(known func(key *node) []any) []any {
	if n.listType != "map" || n.items == nil || n.items.shallow || n.maxItems < 2 || n.minItems > 2 {
		return nil
	}
	var items []any
	for i := range 2 {
		item := map[string]any{}
		for _, p := range n.items.properties {
			values := slices.Concat(p.enum, p.others())
			if slices.Contains(n.listKeys, p.name) {
				if keys := known(p.node); len(keys) > i {
					values = keys[i : i+1]
				} else if !n.items.required[p.name] {
					continue
				}
			} else if !n.items.required[p.name] {
				continue
			}
			at := slices.IndexFunc(values, p.accepts)
			if at < 0 {
				return nil
			}
			item[p.name] = values[at]
		}
		items = append(items, item)
	}
	if _, distinct := n.positions(items); !distinct {
		return nil
	}
	return items
}

// isUsual reports whether a place takes words and numbers as they come.
func (t *targeting) isUsual(n *node) bool {
	place := &t.g.places[n.id]
	return !place.broken && place.level == 0 && n.enum == nil && len(n.hints) == 0 && len(n.rules) == 0
}

// counted is a value for one of several.
func (n *node) counted(i int) any {
	switch n.kind {
	case text:
		return words()[i]
	case integer, intOrString:
		return int64(i + 1)
	default:
		return nil
	}
}
