package corpus

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// What Singles has whatever the seed: texts that programs take apart, values that they take for granted, values of Kubernetes' own types,
// fields that matter together, null, and what is too large for a limit that programs have of their own.

const (
	// mostCombined is how many objects there are at most for fields that matter together.
	mostCombined = 300

	// mostEdges is how many objects there are at most for texts that programs take apart, but for leastEdges for each field.
	mostEdges, leastEdges = 1500, 3

	// mostLarge is how many bytes the objects of the style Large have together at most.
	mostLarge = 4 << 20

	// mostMembers is how many values of one field are put together with those of others.
	mostMembers = 5
)

// usual adds the targets for values that programs take for granted, and for those that Kubernetes' own types have.
func (t *targeting) usual(n *node, w way) {
	if t.g.places[n.id].level == 0 {
		for _, value := range n.wellKnown() {
			t.add(rankEnum, "the value "+shown(value), w.fixing(n.path, value))
		}
	}
	if n.kind == integer && n.enum == nil && n.accepts(int64(1)) && !equal(int64(1), n.def) {
		t.add(rankTogether, "the number 1", w.fixing(n.path, int64(1))) // which many leave out
	}
	if items := n.namesakes(); items != nil {
		t.add(rankSpecial, "keys that differ only in case", w.fixing(n.path, items))
	}
	if items := n.twins(); items != nil {
		t.add(rankSpecial, "keys of which all but one are the same", w.fixing(n.path, items))
	}
	if n.isSelector() && n.accepts(map[string]any{}) {
		t.add(rankSpecial, "the selector of everything", w.fixing(n.path, map[string]any{})) // no selector selects nothing
	}
	if n.kind == list && n.minItems == 0 && n.items != nil && n.items.kind == text && n.path != "" {
		t.add(rankSpecial, "to have no items", w.fixing(n.path, []any{})) // which is one item, "", once it is joined and split
	}
	if zeros := t.g.zeros(n); zeros != "" {
		t.add(rankEnum, "digits that are all 0", w.fixing(n.path, zeros))
	}
	t.keyed(n, w)
	t.several(n, w)
	if n.kind == intOrString && n.enum == nil && !strings.HasSuffix(strings.ToLower(n.path), "port") && n.acceptsText(beyondAll) {
		t.add(rankSpecial, "more than all", w.fixing(n.path, beyondAll)).style = Text
	}
	if n.precise && n.acceptsText(fraction) {
		t.add(rankSpecial, "a fraction of a second", w.fixing(n.path, fraction))
	}
	for _, part := range n.knownParts() {
		t.add(rankEnum, "the part "+shown(part), w.fixing(n.path, part))
	}
	if known := t.g.knownAt(n); len(known) > 0 && n.isLeaf() {
		if content := widened(known[0]); content != nil {
			t.add(rankSpecial, "large numbers", w.fixing(n.path, content)).style = Integers
		}
	}
	if n.nullable && n.path != "" {
		t.add(rankSpecial, "null", w.fixing(n.path, nil)).style = Nulls
	}
}

// zeros returns a string that a pattern allows and in which all digits are 0, as in 00:00 for the beginning of a day; empty if there is none.
func (g *Generator) zeros(n *node) string {
	if len(n.patterns) == 0 || n.quantity {
		return ""
	}
	digit := func(r rune) bool { return '0' <= r && r <= '9' }
	for _, text := range g.places[n.id].pool {
		zeros := strings.Map(func(r rune) rune {
			if digit(r) {
				return '0'
			}
			return r
		}, text)
		if strings.ContainsFunc(zeros, digit) && n.acceptsText(zeros) {
			return zeros
		}
	}
	return ""
}

// wellKnown returns the values that a field of that name often has, as far as they are allowed.
func (n *node) wellKnown() []any {
	if n.kind != text && n.kind != integer && n.kind != intOrString || n.enum != nil || len(n.hints) > 0 {
		return nil
	}
	field := strings.ToLower(fieldOf(n.path))
	for name, values := range wellKnown() {
		if strings.HasSuffix(field, name) || strings.HasSuffix(field, name+"s") {
			return slices.DeleteFunc(values, func(value any) bool { return !n.accepts(value) || equal(value, n.def) })
		}
	}
	return nil
}

// keyed adds the targets for maps with keys and texts that programs take for others. What they refuse is not held against them where the
// style is Text.
func (t *targeting) keyed(n *node, w way) {
	if !n.isMap() || n.entries.shallow || t.g.places[n.entries.id].broken || t.g.places[n.entries.id].level > 0 {
		return
	}
	if words := wordsOfYAML(); n.acceptsFields(words) {
		t.add(rankSpecial, "words of YAML", w.fixing(n.path, words))
	}
	for _, keys := range tellingKeys() {
		for _, values := range [][2]any{{"One", "Two"}, {"2", "1"}, {int64(2), int64(1)}} {
			fields := map[string]any{keys.one: values[0], keys.other: values[1]}
			if n.acceptsFields(fields) {
				t.add(rankSpecial, keys.about, w.fixing(n.path, fields)).style = Text
				break
			}
		}
	}
}

// acceptsFields reports whether a map may have so many entries, with these keys and values.
func (n *node) acceptsFields(fields map[string]any) bool {
	for key, value := range fields {
		if slices.Contains(n.forbids, key) || len(n.entries.hints) > 0 || !n.entries.accepts(value) {
			return false
		}
	}
	return n.minFields <= int64(len(fields)) && int64(len(fields)) <= n.maxFields
}

// knownParts returns values of a type of Kubernetes that an object seems to be of.
func (n *node) knownParts() []any {
	if n.kind != object || n.entries != nil {
		return nil
	}
	var parts []any
	for fields, values := range knownParts() {
		if slices.ContainsFunc(strings.Fields(fields), func(name string) bool { return n.byName[name] == nil }) {
			continue
		}
		for _, value := range values {
			allowed := true
			for name, inner := range value {
				field := n.byName[name]
				allowed = allowed && field != nil && (field.kind == list || field.accepts(inner))
			}
			if allowed {
				parts = append(parts, value)
			}
		}
	}
	return parts
}

const (
	// beyondAll is a share of more than all, which some fields allow.
	beyondAll = "150%"

	// fraction is a time with microseconds, as many as Kubernetes writes.
	fraction = "2024-02-29T23:59:59.123456Z"
)

// off is what a number is that limits nothing, or switches something off, where no other number below 0 is allowed.
const off = -1

// hasSwitch reports whether a number is at least that.
func (n *node) hasSwitch() bool { return n.minimum != nil && *n.minimum == off && !n.aboveMinimum }

// option is a field that has one of a few values, or none where that is nil.
type option struct {
	*node

	values []any
}

// together adds the targets for the fields of an object that have few values: any two of them meet with each of their values. Fields that
// are there or not, and no more, meet in any few objects.
func (t *targeting) together(n *node, w way) {
	t.equals(n, w)
	var options []option
	var sizes []int
	several := false
	for _, p := range n.properties {
		place := &t.g.places[p.id]
		if place.broken || n.hasMeta(p.name) || len(p.variants) > 0 || slices.Contains(n.forbids, p.name) || place.level > 0 {
			continue
		}
		one := option{node: p.node}
		switch {
		case p.enum != nil:
			one.values = slices.Clone(place.full[:min(len(place.full), mostMembers)])
		case p.kind == boolean:
			if one.values = []any{p.def != true}; p.def == nil { // false may mean something else than nothing
				one.values = append(one.values, false)
			}
		case p.kind == integer:
			if one.values = p.wellKnown(); p.hasSwitch() {
				one.values = append(one.values, int64(off))
			}
		}
		if len(one.values) == 0 {
			continue
		}
		several = several || len(one.values) > 1 && p.kind != boolean
		if !p.required {
			one.values = append(one.values, nil)
		}
		options, sizes = append(options, one), append(sizes, len(one.values))
	}
	if len(options) < 2 || !several {
		return
	}
	rows := choicesOfTwo(sizes)
	for i, row := range rows {
		to, style := w.to(n), Plain
		for j, at := range row {
			if value := options[j].values[at]; value != nil {
				to = to.fixing(options[j].path, value)
				to.with[options[j].path] = true
				if IsZero(value) {
					style = Zeros
				}
			}
		}
		t.add(rankTogether, fmt.Sprintf("fields together, %d of %d", i+1, len(rows)), to).style = style
	}
}

// equals adds the targets for the numbers of an object that are all the same, and its texts.
func (t *targeting) equals(n *node, w way) {
	for _, value := range []any{int64(17), "same"} {
		to, fields := w.to(n), 0
		for _, p := range n.properties {
			place := &t.g.places[p.id]
			if place.broken || n.hasMeta(p.name) || len(p.variants) > 0 || slices.Contains(n.forbids, p.name) || place.level > 0 || p.enum != nil || len(p.hints) > 0 {
				continue
			}
			if (p.kind == integer || p.kind == text) && p.accepts(value) {
				to = to.fixing(p.path, value)
				to.with[p.path] = true
				fields++
			}
		}
		if fields > 1 {
			t.add(rankTogether, fmt.Sprintf("fields that are all %v", value), to)
		}
	}
}

// choicesOfTwo returns choices among so many values each, so that any two values meet in one of them.
func choicesOfTwo(sizes []int) [][]int {
	type meeting struct{ i, a, j, b int }
	open := map[meeting]bool{}
	var all []meeting
	for i := range sizes {
		for j := i + 1; j < len(sizes); j++ {
			for a := range sizes[i] {
				for b := range sizes[j] {
					all = append(all, meeting{i, a, j, b})
					open[meeting{i, a, j, b}] = true
				}
			}
		}
	}
	var rows [][]int
	for _, first := range all {
		if !open[first] {
			continue
		}
		row := slices.Repeat([]int{-1}, len(sizes))
		row[first.i], row[first.j] = first.a, first.b
		for k := range row {
			if row[k] >= 0 {
				continue
			}
			most := -1
			for c := range sizes[k] {
				news := 0
				for l, d := range row {
					if d >= 0 && (l < k && open[meeting{l, d, k, c}] || l > k && open[meeting{k, c, l, d}]) {
						news++
					}
				}
				if news > most {
					most, row[k] = news, c
				}
			}
		}
		for _, one := range all {
			if row[one.i] == one.a && row[one.j] == one.b {
				delete(open, one)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// edge is an object with a text at a place, in which other texts take the place of that.
type edge struct {
	Single

	node *node
	text string
}

// edgeOf returns the text of an object that is about one, and reports whether other texts are to take its place.
func (g *Generator) edgeOf(t *target, made Single) (edge, bool) {
	one := edge{Single: made, node: t.ways[0].node}
	if one.node.kind != text || one.node.enum != nil {
		return one, false
	}
	isFree := one.node.isFree() && len(one.node.hints) == 0 && g.places[one.node.id].level == 0
	if isFree != (t.rank == rankSpecial && t.style == Text) || !isFree && t.rank != rankLeaf {
		return one, false
	}
	found := g.schema.anyAt(t.path, made.Object.Object, func(value any) bool {
		given, is := value.(string)
		one.text = given
		return is && given != ""
	})
	return one, found
}

// edges returns objects like some that are about a text, with texts that programs take apart.
func (g *Generator) edges(bases []edge) []Single {
	each := leastEdges
	if len(bases) > 0 {
		each = max(each, mostEdges/len(bases))
	}
	var singles []Single
	for i, base := range bases {
		texts := g.tellingAt(base.node)
		for k := range min(each, len(texts)) {
			text := texts[(i+k)%len(texts)] // others at each, if not all are tried
			object := base.Object.DeepCopy()
			put(object.Object, fieldpath.Split(base.Path), base.text, text)
			style := Text
			if slices.Contains(plainWords(), text) {
				style = Plain
			}
			if !g.schema.unsure || len(g.schema.Problems(object.Object)) == 0 {
				singles = append(singles, Single{base.Path, "the text " + shown(text), style, object})
			}
		}
	}
	return singles
}

// put replaces a text in a value, wherever it is at a path.
func put(value any, way []fieldpath.Step, before, after string) any {
	if len(way) == 0 {
		if value == before {
			return after
		}
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if key == way[0].Key || way[0].Key == "<key>" {
				value[key] = put(inner, way[1:], before, after)
			}
		}
	case []any:
		for i, inner := range value {
			if way[0].List {
				value[i] = put(inner, way[1:], before, after)
			}
		}
	}
	return value
}

// tellingAt returns the texts for a place that programs take apart: all, or those that are like what the place is for.
func (g *Generator) tellingAt(n *node) []string {
	var versions []string
	for _, version := range g.definition.Versions() {
		versions = append(versions, g.definition.CRD.Spec.Group+"/"+version)
	}
	all := append([]string{strings.Join(versions, ", ")}, telling()...)
	like := n.hints
	switch sort := g.places[n.id].level - samplesSort - 1; {
	case !n.isFree():
		all = slices.Concat(formats()[plainFormat(n.format)], zoned(), n.spaced(), all)
	case sort >= len(sortsOfText()):
		return nil
	case sort >= 0:
		like = sortsOfText()[sort]
	case sort == -1:
		return nil // nothing but values of samples
	}
	return slices.DeleteFunc(all, func(s string) bool { return !n.acceptsText(s) || len(like) > 0 && !isLike(s, like) })
}

// isLike reports whether a text is what all of some others are.
func isLike(s string, others []string) bool {
	means := []func(string) bool{func(s string) bool { _, _, err := net.SplitHostPort(s); return err == nil && !strings.Contains(s, "/") }}
	for _, one := range meanings() {
		means = append(means, one.is)
	}
	return slices.ContainsFunc(means, func(is func(string) bool) bool {
		return is(s) && !slices.ContainsFunc(others, func(other string) bool { return !is(other) })
	})
}

// ownVersions gives an object labels and annotations that name its kind's versions, as tools that keep a copy or an owner do, and others
// whose domain is below that of its group, which are not the webhook's.
func (g *Generator) ownVersions(object *unstructured.Unstructured) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	for _, version := range g.definition.Versions() {
		own := g.definition.CRD.Spec.Group + "/" + version
		labels[own] = "used"
		annotations["example.com/uses-"+version] = own
	}
	below := "console." + g.definition.CRD.Spec.Group + "/pinned"
	labels[below], annotations[below] = "yes", "yes"
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}
