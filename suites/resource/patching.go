package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

	// enoughPatched is on how many objects of a version a field is patched at a version; each gets it from another one. What an edit does hangs on
	// the field, its values and what was there; webhook.conversion.edits has many more of these.
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
func (p patching) change(ctx context.Context, r *round, o *object, version string, fields, annotations map[string]any) error {
	var edits []edit
	for key, value := range fields {
		edits = append(edits, edit{[]string{key}, value})
	}
	for key, value := range annotations {
		edits = append(edits, edit{[]string{"metadata", "annotations", key}, value})
	}
	return p.sendEdits(ctx, r, o, version, edits)
}

func (p patching) sendEdits(ctx context.Context, r *round, o *object, version string, edits []edit) error {
	body, err := json.Marshal(p.body(o, edits))
	r.require(err, "writing a patch")
	_, err = p.send(ctx, r.crd.At(version), o.name, string(body))
	r.journal.add(o.name, "kubectl patch %s --type=%s -p %s", r.address(version, o.name), p.form, shell.Quote(string(body)))
	return err
}

// patch changes objects by patches: an annotation and all fields at their own version, and then, at each version, fields that there
// are at that one, first every other field and then the rest.
func (r *round) patch(ctx context.Context, by patching) {
	GinkgoHelper()
	r.change(ctx, by.change, func(context.Context, *object) {}) // what it does beyond that takes fresh objects
	for _, version := range r.served() {
		all := r.create(ctx, version, mostWritten)
		patchedAt := map[string]map[string]int{} // by version and field, how many objects
		for i, o := range all {
			if !r.sound(ctx, o) {
				continue
			}
			for nth, at := range r.served() {
				if patchedAt[at] == nil {
					patchedAt[at] = map[string]int{}
				}
				for field := range r.patchAt(ctx, by, o, at, i+nth, patchedAt[at]) {
					patchedAt[at][field]++
				}
			}
		}
	}
}

// patchAt gives an object fields of others at a version: each field that any of them has, of the first that has it otherwise, if it was not
// patched on enough objects before. With which of them it begins depends on the turn, so that what was patched at one version is patched again
// at the next. It returns the fields.
func (r *round) patchAt(ctx context.Context, by patching, o *object, version string, turn int, before map[string]int) map[string]bool {
	GinkgoHelper()
	p := patched{by: by, o: o, version: version, left: mostPatches, done: map[string]bool{}, before: before}
	var readable bool
	if p.now, readable = r.readEverywhere(ctx, o); !readable {
		return nil
	}
	donors := r.donors(ctx, version)
	for i := range donors {
		donor := donors[(turn+1+i)%len(donors)]
		// Switches are written by themselves, both ways: what is only lost when one is changed must not be put down to what is written beside it.
		var parts [4][]edit
		n := 0
		before := r.own(version, p.now[version].Object)
		for _, e := range edits(before, r.own(version, donor.Object)) {
			on, isSwitch := e.value.(bool)
			_, isSet, _ := unstructured.NestedFieldNoCopy(before, e.path...)
			switch {
			case p.wrote(r.definition.Schema(version), e):
			case isSwitch:
				if !isSet { // or it is written the other way already
					parts[0] = append(parts[0], edit{e.path, !on})
				}
				parts[1] = append(parts[1], e)
			default:
				parts[2+n%2] = append(parts[2+n%2], e)
				n++
			}
		}
		for _, part := range parts {
			r.patchWith(ctx, &p, part)
		}
	}
	return p.done
}

// patched is an object that is patched several times at a version.
type patched struct {
	by      patching
	o       *object
	version string                                // at which it is patched
	left    int                                   // how many more patches it may get
	now     map[string]*unstructured.Unstructured // what it is at each version
	done    map[string]bool                       // the fields that were changed
	before  map[string]int                        // on how many objects of its version each field was changed
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

// wrote reports whether all that an edit writes was changed before, or on enough other objects. A union takes one edit for each member.
func (p *patched) wrote(schema *corpus.Schema, e edit) bool {
	return !slices.ContainsFunc(e.fields(schema), func(field string) bool { return !p.done[field] && p.before[field] < enoughPatched })
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
				if is[field] != nil && fmt.Sprint(was[field]) != fmt.Sprint(is[field]) {
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
	plain := (&unstructured.Unstructured{Object: r.own(version, before[version].Object)}).DeepCopy().Object
	edited := (&unstructured.Unstructured{Object: plain}).DeepCopy().Object
	for _, e := range edits {
		was, _, _ := unstructured.NestedFieldNoCopy(edited, e.path...)
		r.require(unstructured.SetNestedField(edited, by.value(was, e.value), e.path...), "editing what was read at %s", version)
	}
	if len(r.definition.Schema(version).Differences(plain, edited)) == 0 {
		return // nothing would change
	}
	effects, known := r.effects(ctx, version, plain, edited, before)
	var err error
	if known {
		err = by.sendEdits(ctx, r, o, version, edits)
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
	views, _ := r.readEverywhere(ctx, o)
	for _, at := range r.served() {
		effect := effects[at]
		got := views[at]
		if got == nil {
			p.left = 0
			return
		}
		p.now[at] = got
		undone, _ := r.losses(at, effect.after, r.own(at, got.Object))
		shown := r.changed(at, before[at].Object, got.Object)
		undone = slices.DeleteFunc(undone, func(l corpus.Loss) bool {
			return !touches(effect.places, l.Path) || at != version && touches(effect.partial, l.Path) && touches(shown, l.Path)
		})
		if len(undone) > 0 && r.soundAfresh(ctx, o, version, edited) {
			r.failLosing(ctx, o, at, undone, "created at %s, fields patched at %s, read at %s (stored at %s): the patch did not take effect", o.version, version, at, r.storage)
		}
		if at != version && at != o.version {
			continue // what only the object's own version has may be kept for that one alone
		}
		removed, _ := r.losses(at, r.own(at, before[at].Object), r.own(at, got.Object))
		if removed = slices.DeleteFunc(removed, func(l corpus.Loss) bool { return touches(effect.places, l.Path) }); len(removed) > 0 && r.soundAfresh(ctx, o, version, edited) {
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
		r.blame(ctx, requirement.ResourceCreateEveryVersion, fresh, "creating an object at %s (stored at %s): expected it to be created, got: %v", version, r.storage, err)
		return false
	case refused(err):
		return false // it is unknown
	}
	r.require(err, "creating %s at %s", fresh.name, version)
	return r.sound(ctx, fresh)
}

// effect is what an edit does to objects without a history at a version.
type effect struct {
	after  map[string]any
	places []string // of what becomes another value

	// partial are the places where the object has more, or otherwise, than the version of the edit can hold: what is there after the edit is up
	// to the webhook, which may merge both, but for that the edit shows.
	partial []string
}

// touches reports whether any of some places is at a path, above it or below it. Lists are a whole: their items may move.
func touches(places []string, path string) bool {
	path = listOf(path)
	return slices.ContainsFunc(places, func(place string) bool {
		return path == place || strings.HasPrefix(path, place+".") || strings.HasPrefix(place, path+".")
	})
}

// changed returns the places of what two objects have differently at a version. What one of them lacks is a place as a whole, since the other may
// have more there than is known: the entry of a map with all of its fields, or a part of the object.
func (r *round) changed(version string, before, after map[string]any) []string {
	schema, was, is := r.definition.Schema(version), r.own(version, before), r.own(version, after)
	var places []string
	for _, l := range schema.Losses(was, is) {
		places = append(places, listOf(corpus.Vacant(is, l.Path)))
	}
	for _, l := range schema.Losses(is, was) {
		places = append(places, listOf(corpus.Vacant(was, l.Path)))
	}
	return places
}

// listOf is a path up to the first list, or key of a map, in it.
func listOf(path string) string {
	list, _, _ := strings.Cut(path, "[")
	return list
}

// effects asks the webhook for an object before and after an edit, without the annotations in which it keeps what was, and returns what the
// edit does at each version. It is false when the webhook does not convert these. What the object really is at each version shows what it
// has beyond that.
func (r *round) effects(ctx context.Context, version string, before, after map[string]any, now map[string]*unstructured.Unstructured) (map[string]effect, bool) {
	stored := []*unstructured.Unstructured{r.bare(version, before), r.bare(version, after)}
	if version != r.storage {
		stored, _ = r.convertAll(ctx, r.storage, stored)
	}
	effects := map[string]effect{}
	for _, at := range r.served() {
		shown := stored
		if at != r.storage && stored != nil {
			shown, _ = r.convertAll(ctx, at, stored)
		}
		if shown == nil {
			r.require(context.Cause(ctx), "asking the webhook")
			return nil, false
		}
		was, is := shown[0].DeepCopy().Object, shown[1].DeepCopy().Object
		schema := r.definition.Schema(at)
		schema.Prepare(was)
		schema.Prepare(is)
		effects[at] = effect{after: r.own(at, is), places: r.changed(at, was, is), partial: r.changed(at, was, now[at].Object)}
	}
	return effects, true
}

// bare is an object at a version with nothing but a name and fields.
func (r *round) bare(version string, fields map[string]any) *unstructured.Unstructured {
	o := r.crd.Object(version, r.placed(&unstructured.Unstructured{Object: fields}))
	o.SetKind(r.definition.CRD.Spec.Names.Kind)
	o.SetName("edited")
	return o
}
