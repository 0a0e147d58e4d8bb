package corpus

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// The sizes of objects of the style Huge, in bytes of JSON. API servers take 3 MiB, and etcd 1.5 MiB.
const (
	hugeLeast = 300 << 10
	hugeMost  = 1 << 20
)

// fullNodes is how many nodes a schema has at most whose first object has every field.
const fullNodes = 6000

// attempts is how often an object is restarted when the result cannot be made valid, and hugeAttempts a large one, which takes long to
// validate.
const (
	attempts     = 4
	hugeAttempts = 2
)

// one makes an object.
func (g *Generator) one(style Style, number int) result {
	var last result
	for attempt := range attempts {
		m := g.maker(style, number, attempt)
		m.sparse = style == Plain && number%8 == 7 || attempt == attempts-1
		m.mixed = style == Zeros && number%2 == 1
		m.full = style == Plain && number == 0 && attempt == 0 && g.schema.nodes <= fullNodes
		if style == Huge && attempt == hugeAttempts {
			break
		}
		if style == Huge {
			last = g.huge(m, number)
		} else {
			last = g.mended(m, number, m.fields())
		}
		if last.object != nil {
			return last
		}
	}
	if style == Plain && len(g.samples) > 0 {
		m := g.maker(style, number, attempts)
		sample := one(m, g.samples).DeepCopy()
		g.schema.Prepare(sample.Object)
		sample.SetName(g.name(style, number))
		if len(g.schema.Problems(sample.Object)) == 0 {
			g.addGap(Gap{Path: last.failed.Path, Reason: "samples take the place of some objects: " + last.failed.Reason})
			return result{object: complete(sample, number)}
		}
	}
	return last
}

// huge makes an object whose parts get larger until the size is right, or nothing more can grow.
func (g *Generator) huge(m *maker, number int) result {
	const room = 32 << 10 // for metadata, and for what making it valid changes
	best, bytes, share := map[string]any(nil), 0, 4<<10
	for share <= hugeMost && bytes < hugeLeast+room {
		again := g.maker(Huge, number, 0)
		again.share, again.sparse = share, m.sparse
		fields := again.fields()
		if made := size(fields); made >= bytes && made < hugeMost-room {
			best, bytes = fields, made
			m.doubt = again.doubt
		} else if made >= hugeMost-room {
			share -= share / 3
			if share < 1<<10 {
				break
			}
			continue
		}
		share += share / 4
	}
	if best == nil {
		return result{failed: Gap{Path: "", Reason: "every object of the style huge is larger than 1 MiB", style: Huge}}
	}
	m.share = share
	made := g.mended(m, number, best)
	if made.object != nil && bytes < hugeLeast {
		g.addGap(Gap{Path: "", Reason: "the limits do not allow objects of 300 KiB, so some objects of the style huge are smaller", style: Huge})
	}
	return made
}

// around makes an object of its fields.
func (g *Generator) around(m *maker, number int, fields map[string]any) *unstructured.Unstructured {
	spec := g.definition.CRD.Spec
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(spec.Group + "/" + g.version)
	object.SetKind(spec.Names.Kind)
	style := m.style
	switch {
	case m.single != nil:
		style = "single"
	case m.minimal:
		style = "minimal"
	}
	object.SetName(g.name(style, number))
	if spec.Scope != apiextensionsv1.ClusterScoped {
		object.SetNamespace("default")
	}
	if style == Plain {
		g.vary(object, number)
		return complete(object, number)
	}
	if style == m.style || g.usual.has(bare) {
		describe(object)
	}
	if m.style == Text {
		object.SetAnnotations(map[string]string{noteKey: m.strange(0, 200)})
	}
	return complete(object, number)
}

// mended makes an object of its fields, and changes it until it is valid.
func (g *Generator) mended(m *maker, number int, fields map[string]any) result {
	object := g.around(m, number, fields)
	g.defaults(object.Object)
	if !g.schema.unsure && !m.doubt {
		return result{object: object}
	}
	r := &repair{m: m, object: object.Object, tried: map[string]int{}, dropped: map[Gap]bool{}}
	last, ok := r.run()
	if !ok {
		failed := Gap{Path: generalOf(g, last.Path), Reason: "no values were found that match the schema: " + last.Message}
		if failed.Path == "" {
			failed.style = m.style
		}
		return result{failed: failed}
	}
	return result{object: object, dropped: r.dropped}
}

func (g *Generator) defaults(object map[string]any) {
	if g.schema.defaults {
		defaulting.Default(object, g.schema.structural)
	}
}

// generalOf is the path of a node, if there is one at a path.
func generalOf(g *Generator, path string) string {
	if n, _ := g.walk(fieldpath.Split(path)); n != nil {
		return n.path
	}
	return fieldpath.Generalize(path)
}

// repair changes an object until it is valid: a place with a problem gets other values, sparse ones, those of samples, and is
// finally left out; if that does not help, the same is done with the place around it.
type repair struct {
	m       *maker
	object  map[string]any
	tried   map[string]int // by path
	dropped map[Gap]bool
	special map[string]any // the metadata, if a usual one is tried in its place
}

// How often a place gets other values, and how many changes there are at most.
const (
	otherValues  = 12 // with those of small parts
	sparseValues = 8
	mostChanges  = 70
	hugeChanges  = 10 // of large objects
)

// run returns a problem that is left when it fails.
func (r *repair) run() (Problem, bool) {
	var problems []Problem
	changes := mostChanges
	switch {
	case r.m.single != nil && r.m.single.target.rank == rankLarge:
		changes = 1 // it is valid, or there is none
	case r.m.single != nil:
		changes /= 2
	case r.m.style == Huge:
		changes = hugeChanges
	}
	for range changes {
		problems = r.m.g.schema.Problems(r.object)
		if len(problems) == 0 {
			r.respecial()
			return Problem{}, true
		}
		slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path+a.Message, b.Path+b.Message) })
		if !r.changeAll(problems) {
			break
		}
		r.m.g.defaults(r.object)
	}
	return problems[0], false
}

// respecial gives a valid object its special metadata again, unless it is invalid for that.
func (r *repair) respecial() {
	if r.special == nil {
		return
	}
	usual := r.object["metadata"]
	if r.object["metadata"] = r.special; len(r.m.g.schema.Problems(r.object)) > 0 {
		r.object["metadata"] = usual
	}
}

// changeAll changes something for each problem, but nothing that was just changed. It is false when there is nothing more
// to try for any.
func (r *repair) changeAll(problems []Problem) bool {
	var changed []string
	for _, problem := range problems {
		if slices.ContainsFunc(changed, func(path string) bool { return strings.HasPrefix(problem.Path, path) }) {
			continue
		}
		if path, ok := r.change(fieldpath.Split(problem.Path), problem); ok {
			changed = append(changed, path)
		}
	}
	return len(changed) > 0
}

// change changes something at a path or around it, and returns the path of what it changed. It is false when there is
// nothing more to try.
func (r *repair) change(path []fieldpath.Step, problem Problem) (string, bool) {
	if (len(path) == 0 || isMeta(path[0].Key)) && r.special == nil && r.m.style == Plain {
		r.special, _ = runtime.DeepCopyJSON(r.object)["metadata"].(map[string]any)
		if r.m.g.rename(&unstructured.Unstructured{Object: r.object}) {
			return "metadata", true
		}
	}
	for ; len(path) > 0; path = path[:len(path)-1] {
		n, parent := r.m.g.walk(path)
		if _, there := fieldpath.Value(r.object, path); !there || n == nil || isMeta(path[0].Key) {
			continue
		}
		key := fieldpath.Join(path)
		r.tried[key]++
		trees := r.m.g.places[n.id].trees
		switch tries := r.tried[key]; {
		case tries <= r.small(n, path):
			return key, true
		case tries <= otherValues+sparseValues:
			fieldpath.Put(r.object, path, r.again(n, tries))
			return key, true
		case tries <= otherValues+sparseValues+len(trees):
			fieldpath.Put(r.object, path, runtime.DeepCopyJSONValue(trees[tries-otherValues-sparseValues-1]))
			return key, true
		case tries == otherValues+sparseValues+len(trees)+1 && r.drop(path, parent, n):
			r.dropped[Gap{Path: n.path, Reason: "it is left out, because no value was found that matches the schema: " + problem.Message}] = true
			return key, true
		}
	}
	return "", false
}

// small gives one of the small parts of an object another value, which is often enough for a rule about them. It returns
// how often that is worth trying.
func (r *repair) small(n *node, path []fieldpath.Step) int {
	const worth = 6
	inside, _ := fieldpath.Value(r.object, path)
	fields, ok := inside.(map[string]any)
	var present []property
	for _, p := range n.properties {
		if _, there := fields[p.name]; ok && there && p.weight == 1 && r.m.can(n, p) {
			present = append(present, p)
		}
	}
	if len(present) == 0 || r.tried[fieldpath.Join(path)] > worth {
		return 0
	}
	p := one(r.m, present)
	fields[p.name] = r.m.value(p.node)
	return worth
}

// again makes another value: of the style at first, then plain, then with one optional field or hardly anything in it.
func (r *repair) again(n *node, tries int) any {
	m := *r.m
	if n.kind == object && len(n.properties) > 0 && tries > otherValues && tries%4 > 0 {
		m.style, m.mixed, m.minimal = Plain, false, true
		return m.union(n)
	}
	if m.single != nil && m.minimal && n.kind == object && tries%3 > 0 {
		return m.union(n)
	}
	if tries > otherValues*2/3 && m.style != Text {
		m.style, m.mixed = Plain, false
	}
	m.sparse = m.sparse || tries > otherValues
	m.minimal = m.minimal || tries == otherValues+sparseValues
	return m.value(n)
}

// union makes an object with one optional field. Rules often say that the one whose name is the value of another field must be
// there, and no other.
func (m *maker) union(n *node) map[string]any {
	if len(n.variants) > 0 {
		n = m.variant(n)
	}
	made := m.object(n)
	var optional, named []property
	for _, p := range n.properties {
		if _, there := made[p.name]; there || !m.can(n, p) {
			continue
		}
		optional = append(optional, p)
		for _, value := range made {
			if text, ok := value.(string); ok && strings.EqualFold(text, p.name) {
				named = append(named, p)
			}
		}
	}
	if len(named) > 0 {
		optional = named
	}
	if len(optional) > 0 {
		p := one(m, optional)
		m.minimal = false
		made[p.name] = m.value(p.node)
	}
	return made
}

// drop leaves out what is optional.
func (r *repair) drop(path []fieldpath.Step, parent, n *node) bool {
	last := path[len(path)-1]
	around, _ := fieldpath.Value(r.object, path[:len(path)-1])
	switch around := around.(type) {
	case map[string]any:
		if !parent.canLack(n) || parent.required[last.Key] || r.m.mustHave(n) {
			return false
		}
		delete(around, last.Key)
		return true
	case []any:
		if int64(len(around)) <= parent.minItems || len(path) < 2 || len(around) == 1 && r.m.mustHave(n) {
			return false
		}
		fieldpath.Put(r.object, path[:len(path)-1], slices.Delete(slices.Clone(around), last.At, last.At+1))
		return true
	}
	return false
}
