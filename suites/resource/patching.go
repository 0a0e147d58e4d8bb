package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// mostPatches is how many patches an object gets at a version.
	mostPatches = 16

	// enoughPatched is on how many objects of a version a field is patched at a version; each gets it from another one. Of what one form of patches
	// has changed, the next leaves all but one out. What an edit does hangs on the field, its values and what was there;
	// webhook.conversion.edits has many more of these.
	enoughPatched = 2
)

// edit gives a field another value. Its path has the names of the fields.
type edit struct {
	path  []string
	value any
}

// patching is a form of patches.
type patching struct {
	form  string                                                                                              // as in kubectl patch --type
	body  func(o *object, edits []edit) any                                                                   // what is sent
	send  func(ctx context.Context, at suites.Objects, name, body string) (*unstructured.Unstructured, error) // a request
	value func(before, sent any) any                                                                          // what a field becomes
}

// verb is what reports call such patches.
func (p patching) verb() string { return p.form + " patch" }

func jsonPatch() patching {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	escaped := strings.NewReplacer("~", "~0", "/", "~1")
	return patching{
		form: "json",
		body: func(o *object, edits []edit) any {
			operations := []operation{{"test", "/metadata/name", o.name}}
			for _, e := range edits {
				var pointer strings.Builder
				for _, field := range e.path {
					pointer.WriteString("/" + escaped.Replace(field))
				}
				operations = append(operations, operation{"add", pointer.String(), e.value})
			}
			return operations
		},
		send: func(ctx context.Context, at suites.Objects, name, body string) (*unstructured.Unstructured, error) {
			return at.JSONPatch(ctx, name, body)
		},
		value: func(_, sent any) any { return sent },
	}
}

func mergePatch() patching {
	return patching{
		form: "merge",
		body: func(_ *object, edits []edit) any {
			body := map[string]any{}
			for _, e := range edits {
				place := body
				for _, field := range e.path[:len(e.path)-1] {
					inner, ok := place[field].(map[string]any)
					if !ok {
						inner = map[string]any{}
						place[field] = inner
					}
					place = inner
				}
				place[e.path[len(e.path)-1]] = e.value
			}
			return body
		},
		send: func(ctx context.Context, at suites.Objects, name, body string) (*unstructured.Unstructured, error) {
			return at.MergePatch(ctx, name, body)
		},
		value: merged,
	}
}

// merged is what a merge patch makes of a value, as RFC 7386 has it.
func merged(before, sent any) any {
	fields, ok := sent.(map[string]any)
	if !ok {
		return sent
	}
	after, ok := before.(map[string]any)
	if !ok {
		after = map[string]any{}
	}
	after = maps.Clone(after)
	for field, value := range fields {
		if value == nil {
			delete(after, field)
			continue
		}
		after[field] = merged(after[field], value)
	}
	return after
}

// instead is a value for a merge patch that leaves nothing of another: it has null for what the value lacks.
func instead(of, value any) any {
	was, ok1 := of.(map[string]any)
	is, ok2 := value.(map[string]any)
	if !ok1 || !ok2 {
		return value
	}
	is = maps.Clone(is)
	for field, inner := range was {
		if left, has := is[field]; !has {
			is[field] = nil
		} else {
			is[field] = instead(inner, left)
		}
	}
	return is
}

// change is the means to change objects by such patches.
func (p patching) change(ctx context.Context, r *round, o *object, version string, _ *unstructured.Unstructured, fields, annotations map[string]any) (*unstructured.Unstructured, error) {
	var edits []edit
	for key, value := range fields {
		edits = append(edits, edit{[]string{key}, value})
	}
	for key, value := range annotations {
		edits = append(edits, edit{[]string{"metadata", "annotations", key}, value})
	}
	return p.sendEdits(ctx, r, o, version, edits)
}

// sendEdits sends edits, and returns what has become of the object.
func (p patching) sendEdits(ctx context.Context, r *round, o *object, version string, edits []edit) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(p.body(o, edits))
	r.require(err, "writing a patch")
	got, err := p.send(ctx, r.crd.At(version), o.name, string(body))
	r.journal.add(o.name, "kubectl patch %s --type=%s -o yaml -p %s", r.address(version, o.name), p.form, shell.Quote(string(body)))
	return got, err
}

// patch changes objects by patches: an annotation and all fields at their own version, and then, at each version, fields that there
// are at that one.
func (r *round) patch(ctx context.Context, by patching) {
	GinkgoHelper()
	r.change(ctx, by.change, func(context.Context, *object) {}) // what it does beyond that takes fresh objects
	writes := map[gift][]string{}
	for _, version := range r.served() {
		all := r.create(ctx, version, mostWritten)
		patchedAt := map[string]map[string]int{} // by version and field, how many objects
		for _, at := range r.served() {
			patchedAt[at] = r.patchedBefore(by, version, at)
		}
		if len(patchedAt[version]) > 0 {
			slices.Reverse(all) // the other form began at the front
		}
		for i, o := range all {
			if !r.sound(ctx, o) {
				continue
			}
			var now map[string]*unstructured.Unstructured
			for nth, at := range r.served() {
				p := patched{
					by: by, o: o, version: at, left: mostPatches, later: len(all) - 1 - i, turn: i + nth, now: now, writes: writes, given: map[gift]bool{},
					done: map[string]bool{}, before: patchedAt[at],
				}
				r.patchAll(ctx, &p)
				now = p.now
				for field := range p.done {
					patchedAt[at][field]++
				}
			}
		}
		if r.trial == nil {
			for at, fields := range patchedAt {
				r.patched[pass{version, at, r.generated}] = formed{by.form, fields}
			}
		}
	}
}

// pass is the version of objects that got patches, and the version at which they did.
type pass struct {
	version, at string
	generated   bool // see round
}

// formed is on how many objects a form of patches has changed each field.
type formed struct {
	form   string
	fields map[string]int
}

// patchedBefore counts the fields that another form of patches has changed as changed on all objects but one. A webhook sees no difference between
// forms, but API servers may make one, so each form changes each field.
func (r *round) patchedBefore(by patching, version, at string) map[string]int {
	before := map[string]int{}
	if other := r.patched[pass{version, at, r.generated}]; r.trial == nil && other.form != by.form {
		for field := range other.fields {
			before[field] = enoughPatched - 1
		}
	}
	return before
}

// patchAll gives an object fields of others, as long as there are any for which the objects after it are too few.
func (r *round) patchAll(ctx context.Context, p *patched) {
	GinkgoHelper()
	var readable bool
	if p.now, readable = r.readEverywhere(ctx, p.o, p.now); !readable {
		return
	}
	var donors []map[string]any
	for _, donor := range r.donors(ctx, p.version) {
		donors = append(donors, r.fields(p.version, donor.Object))
	}
	for first := true; p.left > 0; first = false {
		before := r.fields(p.version, p.now[p.version].Object)
		edits, due := p.choose(r.definition.Schema(p.version), before, donors)
		if len(edits) == 0 || !first && !due {
			return
		}
		// Switches are written by themselves, both ways: what is only lost when one is changed must not be put down to what is written beside it. The
		// others are written in two parts, by a digit of their number that is another one each turn: so two fields are not always written together.
		var parts [4][]edit
		n, digit := 0, p.turn%max(1, bits.Len(uint(len(edits)-1)))
		for _, e := range edits {
			on, isSwitch := e.value.(bool)
			_, isSet, _ := unstructured.NestedFieldNoCopy(before, e.path...)
			switch {
			case isSwitch:
				if !isSet { // or it is written the other way already
					parts[0] = append(parts[0], edit{e.path, !on})
				}
				parts[1] = append(parts[1], e)
			default:
				part := 2 + n>>digit%2
				parts[part] = append(parts[part], e)
				n++
			}
		}
		for _, part := range parts {
			r.patchWith(ctx, p, part)
		}
	}
}

// patched is an object that is patched several times at a version.
type patched struct {
	by      patching
	o       *object
	version string                                // at which it is patched
	left    int                                   // how many more patches it may get
	later   int                                   // how many other objects of its version come after it
	turn    int                                   // with which donor it begins, so that what was patched at one version is patched again at the next
	now     map[string]*unstructured.Unstructured // what it is at each version, where that is known
	writes  map[gift][]string                     // what edits write, for all objects
	given   map[gift]bool                         // the edits that it got
	done    map[string]bool                       // the fields that were changed
	before  map[string]int                        // on how many objects of its version each field was changed
}

// gift is an edit that gives an object a field of a donor at a version.
type gift struct {
	version string
	donor   int
	path    string
}

// choose returns an edit for each field: of those that write anything that was not changed before, or on enough other objects, the one that writes
// most of it. A patch takes as long for one field as for many. It also reports whether the objects to come are too few for any of it. A union
// takes one edit for each member.
func (p *patched) choose(schema *corpus.Schema, before map[string]any, donors []map[string]any) (chosen []edit, due bool) {
	best, most, of := map[string]edit{}, map[string]int{}, map[string]gift{}
	for i := range donors {
		donor := (p.turn + 1 + i) % len(donors)
		for _, e := range edits(before, donors[donor]) {
			path := strings.Join(e.path, "\x00")
			g := gift{p.version, donor, path}
			if p.given[g] {
				continue
			}
			if p.writes[g] == nil {
				p.writes[g] = e.fields(schema)
			}
			news := 0
			for _, field := range p.writes[g] {
				if !p.done[field] && p.before[field] < enoughPatched {
					news++
					due = due || p.before[field]+p.later < enoughPatched
				}
			}
			if news > most[path] {
				best[path], most[path], of[path] = e, news, g
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(best)) {
		if whole, _, inner := strings.Cut(path, "\x00"); inner && most[whole] > 0 {
			continue
		}
		p.given[of[path]] = true
		chosen = append(chosen, best[path])
	}
	return chosen, due
}

// fields are what an edit writes: the field, and those in its value whose loss would be seen.
func (e edit) fields(schema *corpus.Schema) []string {
	whole := map[string]any{}
	_ = unstructured.SetNestedField(whole, e.value, e.path...)
	fields := []string{strings.Join(e.path, "\x00")}
	for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: whole}) {
		if value, _ := corpus.Value(whole, path); schema.Notices(path, value) {
			fields = append(fields, schema.Pattern(path))
		}
	}
	return fields
}

// edits returns what gives an object the fields of another, each field of spec and the like by itself.
func edits(before, after map[string]any) []edit {
	var edits []edit
	for _, key := range slices.Sorted(maps.Keys(after)) {
		was, ok1 := before[key].(map[string]any)
		is, ok2 := after[key].(map[string]any)
		switch {
		case after[key] == nil:
		case !ok1 || !ok2:
			edits = append(edits, edit{[]string{key}, after[key]})
		default:
			for _, field := range slices.Sorted(maps.Keys(is)) {
				if is[field] != nil && !reflect.DeepEqual(was[field], is[field]) {
					edits = append(edits, edit{[]string{key, field}, is[field]})
				}
			}
		}
	}
	return edits
}

// patchWith patches an object with edits, and looks at it at each version. Where API servers or the webhook do not take all of them
// together, it tries each half.
func (r *round) patchWith(ctx context.Context, p *patched, edits []edit) {
	GinkgoHelper()
	if len(edits) == 0 || p.left == 0 {
		return
	}
	p.left--
	by, o, version, before := p.by, p.o, p.version, maps.Clone(p.now)
	plain, edited := r.fields(version, before[version].Object), r.own(version, before[version].Object)
	for _, e := range edits {
		was, _, _ := unstructured.NestedFieldNoCopy(edited, e.path...)
		r.require(unstructured.SetNestedField(edited, by.value(was, e.value), e.path...), "editing what was read at %s", version)
	}
	if len(r.definition.Schema(version).Differences(plain, edited)) == 0 {
		return // nothing would change
	}
	effects, known := r.effects(ctx, version, plain, edited, before)
	var answer *unstructured.Unstructured
	var err error
	if known {
		answer, err = by.sendEdits(ctx, r, o, version, edits)
	}
	switch {
	case !known || refused(err):
		if len(edits) > 1 { // there may be rules about fields that go together, and fields that are immutable
			r.patchWith(ctx, p, edits[:len(edits)/2])
			r.patchWith(ctx, p, edits[len(edits)/2:])
		} else if by.form == "merge" {
			now, _, _ := unstructured.NestedFieldNoCopy(plain, edits[0].path...)
			if value := instead(now, edits[0].value); !reflect.DeepEqual(value, edits[0].value) { // of a union, it has another member
				r.patchWith(ctx, p, []edit{{edits[0].path, value}})
			}
		}
		if err != nil {
			r.env.Fruitless("the API server refuses patches at %s, the first: %v", version, err)
		}
		return
	case r.unconverted(ctx, err):
		r.fail(ctx, o, "patching fields at %s of what was created at %s (stored at %s): expected them to be changed, got: %v", version, o.version, r.storage, err)
	}
	r.require(err, "patching %s at %s", o.name, version)
	written := map[string]any{}
	for _, e := range edits {
		for _, field := range e.fields(r.definition.Schema(version)) {
			p.done[field] = true
		}
		r.require(unstructured.SetNestedField(written, e.value, e.path...), "noting what was patched at %s", version)
	}
	r.wrote(by.verb(), version, written)
	if version != o.version || len(r.served()) == 1 {
		r.env.Tried(1)
	}
	views, _ := r.readEverywhere(ctx, o, map[string]*unstructured.Unstructured{version: answer})
	for _, at := range r.served() {
		effect := effects[at]
		got := views[at]
		if got == nil {
			p.left, p.now = 0, nil
			return
		}
		p.now[at] = got
		undone, _ := r.losses(at, effect.after, r.fields(at, got.Object))
		shown := r.changed(at, before[at].Object, got.Object)
		undone = slices.DeleteFunc(undone, func(l corpus.Loss) bool {
			return !touches(effect.places, l.Path) || at != version && (touches(effect.partial, l.Path) && touches(shown, l.Path) ||
				isElsewhere(l, edits, before[at].Object, got.Object, shown) || keepsOrder(l, before[at].Object, views[version]))
		})
		if len(undone) > 0 && r.soundAfresh(ctx, o, version, edited) {
			r.failLosing(ctx, o, at, undone, "created at %s, fields patched at %s, read at %s (stored at %s): the patch did not take effect", o.version, version, at, r.storage)
		}
		if at != version && at != o.version {
			continue // what only the object's own version has may be kept for that one alone
		}
		removed, _ := r.losses(at, r.fields(at, before[at].Object), r.fields(at, got.Object))
		removed = slices.DeleteFunc(removed, func(l corpus.Loss) bool {
			return touches(effect.places, l.Path) || at != version && touches(effect.partial, l.Path) && r.replaces(ctx, version, edits, at, l.Path)
		})
		if len(removed) > 0 && r.soundAfresh(ctx, o, version, edited) {
			r.failLosing(ctx, o, at, removed, "created at %s, other fields patched at %s, read at %s before and after (stored at %s)", o.version, version, at, r.storage)
		}
	}
}

// soundAfresh reports whether an object that is created with fields is sound. Otherwise it is not the patch that spoils them.
func (r *round) soundAfresh(ctx context.Context, o *object, version string, fields map[string]any) bool {
	GinkgoHelper()
	r.afresh++
	again := clean(r.bare(version, fields), fmt.Sprintf("%s-%s-%d", o.name, version, r.afresh))
	fresh := r.of(version, again)
	r.removeAfter(fresh.name)
	_, err := r.crd.At(version).Create(ctx, again)
	r.journal.addWith(version, again, fresh.name, "kubectl create")
	switch {
	case r.unconverted(ctx, err):
		r.block(requirement.ResourceCreateEveryVersion, "creating an object at %s (stored at %s): expected it to be created, got: %v", version, r.storage, err)
		return false // which may be meant for what no other object has
	case refused(err):
		return false // it is unknown
	}
	r.require(err, "creating %s at %s", fresh.name, version)
	return r.sound(ctx, fresh)
}
