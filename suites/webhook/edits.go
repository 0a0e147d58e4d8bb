package webhook

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// editing has the specs that change objects at another version before they come back.
type editing struct {
	judging
}

const (
	// editedObjects and editsPerObject bound how many changes are tried at each pair of versions, and as many removals but for those beside
	// lists of several.
	editedObjects  = 10
	editsPerObject = 24

	// editsPerSingle is how many changes are tried of an object that is about one field. Webhooks that keep no notes need none: they have
	// nothing that a change could contradict.
	editsPerSingle = 2

	// editTries is for how many objects a place is tried that no valid change was found for.
	editTries = 2
)

// edit is an object that a client has changed at one place.
type edit struct {
	read   *unstructured.Unstructured // as the client reads it
	object *unstructured.Unstructured // as the client writes it
	origin int                        // the object that the client read was converted from: index into what was checked
	path   string                     // the place
}

// edited is an edit as API servers store it: another resourceVersion, and the next generation unless what changed is metadata, or status
// where that is a subresource. By these a webhook may know that what it keeps in annotations is out of date.
func (ed *editing) edited(version string, read, written *unstructured.Unstructured, origin int, path string) edit {
	field := fieldpath.Split(path)[0].Key
	if field != "metadata" && (field != "status" || !ed.definition.hasStatus(version)) {
		written.SetGeneration(read.GetGeneration() + 1)
	}
	written.SetResourceVersion(read.GetResourceVersion() + "0")
	return edit{read, written, origin, path}
}

// edits is the property of objects to keep what a client changes at the other version. An object at the second version of
// the pair comes from the first, as it does for a client, is changed in one field, loses it or gets one, and goes back and forth.
func (ed *editing) edits() property {
	return property{mutual: true, objects: ed.stock.each, reversed: true, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		others := ed.stock.styled(ctx, pair.To, corpus.Plain, editedObjects)
		most := editsPerObject
		if len(objects) == 1 {
			most = math.MaxInt // what was found in it must be found again
		}
		samples := len(ed.env.Subject.Corpus.Objects(pair.From)) // which come first, and take no place away from what was generated
		triedOf := map[[2]bool]map[string]int{}                  // of samples and others, with notes and without
		var changes, removals, settings, firsts []edit
		home := ed.homeEdits(ctx, pair.From, objects)
		trips := ed.journeys.roundTrip(ctx, pair, objects)
		own := sync.OnceValue(func() *owning { return newOwning(ed.converted(pair, objects, trips)) })
		for i, t := range trips {
			if t.there.object == nil || ed.budget.spent() {
				continue
			}
			converted := corpus.Restored(objects[i], t.there.object)
			if t.back.object != nil && annotated(t.back.object) > annotated(objects[i].Object) { // what was kept is there still, and may be stale
				ed.addHome(home, pair, i, most, objects[i], corpus.Restored(objects[i], t.back.object))
			}
			beside := ""
			noted, nth, notes := len(converted.GetAnnotations()) > len(objects[i].GetAnnotations()), i, notesOf(converted, objects[i])
			of := [2]bool{i < samples, noted}
			if triedOf[of] == nil {
				triedOf[of] = map[string]int{}
			}
			tried := triedOf[of]
			if i >= samples {
				nth -= samples
			}
			some := 0
			switch {
			case nth < editedObjects:
				some = most
			case noted && ed.stock.isSingle(pair.From, i): // it is about one field, which those before may not have
				some = editsPerSingle
			}
			if some > 0 {
				at := showsAll
				if noted && items(converted) < items(objects[i]) {
					at = hidesItems
				}
				these := ed.changes(pair.To, i, converted, others, some, tried, at)
				if noted {
					own().note(these, notes)
				}
				changes = append(changes, these...)
			}
			if noted && ed.stock.isSingle(pair.From, i) {
				more, less := ed.ownEdits(pair.To, i, converted, others, notes, own())
				changes, removals = append(changes, more...), append(removals, less...)
			}
			if some > 0 && noted { // what is set can only be dropped because of notes
				settings = append(settings, ed.settings(pair.To, i, converted, others, some, tried)...)
			}
			if noted {
				firsts = append(firsts, ed.itemRemovals(pair.To, i, converted, tried)...)
			}
			if nth >= editedObjects {
				if beside = company(objects[i]); beside == "" {
					continue
				}
			}
			if noted { // what is removed can only come back from there
				removals = append(removals, ed.removals(pair.To, i, converted, beside, most, tried)...)
			}
		}
		written := ed.journeys.roundTrip(ctx, reverse(pair), objectsOf(changes))
		return slices.Concat(ed.undone(ctx, pair, objects, trips, changes, written), ed.forgotten(ctx, pair, objects, trips, changes, written),
			ed.returned(ctx, pair, objects, removals), ed.atHome(ctx, pair, objects, home), ed.dropped(ctx, pair, objects, settings), ed.astray(ctx, pair, objects, trips, firsts))
	}}
}

// company returns the first list of an object that has several items, empty if there is none. Where the other version has room for one of
// them, the others may come back when it is removed.
func company(object *unstructured.Unstructured) string {
	for _, path := range corpus.Leaves(object) {
		if head, inSecond := strings.CutSuffix(path, "[1]"); inSecond {
			return head
		}
		if head, _, inSecond := strings.Cut(path, "[1]."); inSecond {
			return head
		}
	}
	return ""
}

// undone returns the changes that did not survive the way to the first version of a pair and back, and those that do not show there.
func (ed *editing) undone(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, read []trip, changes []edit, written []trip) []finding {
	other, usual := reverse(pair), ed.keeping.usual(ctx)
	var findings []finding
	var hidden []edit
	for j, t := range written {
		e := changes[j]
		if t.back.object == nil {
			continue
		}
		ed.effort.tried++
		before := len(findings)
		for _, l := range ed.losses.lost(other, e.object.Object, t.back.object) {
			if l.After == nil || strings.HasPrefix(l.Path, "metadata.") {
				continue // what is lost whole is lost without any change too, and metadata is the webhook's
			}
			f := finding{e.origin, there(other), ed.definition.schemaOf(other.From).Place(l.Path), l.String(), partOf(l), t.back.x, ed.losses.effectOf(other.From, l)}
			was, _ := corpus.Value(e.read.Object, l.Path)
			restored := fieldpath.Within(l.Path, e.path) && reflect.DeepEqual(was, l.After)
			if usual[f.place()] && !restored {
				continue // it is lost without any change too
			}
			if !ed.losesAlone(ctx, other, e.object, &f) {
				continue // it is because of the others in the request
			}
			bare := f
			plain, always := ed.lossAlone(ctx, other, withoutNotes(e.object, objects[e.origin]), &bare, l.Path)
			converts := bare.x.request.UID != "" && bare.x.judgement.Rejected() == nil
			if restored && converts && !reflect.DeepEqual(was, plain.After) {
				always = false // nothing but an annotation has what was there before
			} else if usual[f.place()] {
				continue
			}
			if always && l.Before == false {
				continue // no annotation is why, and webhook.conversion.zero-values says so
			}
			f.effect.noted = !always && converts
			f.trip = fmt.Sprintf("%s, changed there -> %s -> %s", pair, pair.From, pair.To)
			findings = append(findings, f)
		}
		first := read[e.origin].back.object
		if len(findings) == before && first != nil && len(apart(ed.definition.schemaOf(pair.From), first, t.there.object)) == 0 && !ed.losses.declared(other, e.path) {
			hidden = append(hidden, e)
		}
	}
	return append(findings, ed.overridden(ctx, pair, objects, hidden)...)
}

// overridden returns the changes that do not show at the first version of a pair, although they do without what the webhook keeps in
// annotations: it restores what was there before. That another annotation brings the change back at the second version does not help
// the clients of the first.
func (ed *editing) overridden(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, hidden []edit) []finding {
	other, schema := reverse(pair), ed.definition.schemaOf(pair.From)
	var plain []*unstructured.Unstructured
	for _, e := range hidden {
		for _, object := range []*unstructured.Unstructured{e.read, e.object} {
			without := object.DeepCopy()
			without.SetAnnotations(objects[e.origin].GetAnnotations())
			plain = append(plain, without)
		}
	}
	var findings []finding
	outcomes := ed.talk.convert(ctx, other, plain)
	for j, e := range hidden {
		before, after := outcomes[2*j].object, outcomes[2*j+1].object
		if before == nil || after == nil {
			continue
		}
		shown := apart(schema, after, before)
		if len(shown) == 0 {
			continue
		}
		read := ed.talk.convert(ctx, other, []*unstructured.Unstructured{e.read})[0]
		written := ed.talk.convert(ctx, other, []*unstructured.Unstructured{e.object})[0]
		if read.object == nil || written.object == nil {
			continue
		}
		for _, l := range shown {
			if ed.losses.declared(pair, l.Path) || !sameAt(schema, l.Path, before, read.object) || !sameAt(schema, l.Path, before, written.object) {
				continue // something else than the annotations makes the difference
			}
			written.x.before = &read.x
			way := fmt.Sprintf("%s, changed there -> %s", pair, pair.From)
			message := fmt.Sprintf("%s: the change does not show at %s: %s, restored from an annotation", e.path, pair.From, l)
			findings = append(findings, finding{e.origin, way, ed.definition.schemaOf(other.From).Place(e.path), message, none, written.x, effect{sort: "changed", noted: true}})
			break
		}
	}
	return findings
}

// sameAt reports whether two objects have the same at a path.
func sameAt(schema *corpus.Schema, path string, a, b map[string]any) bool {
	return !slices.ContainsFunc(apart(schema, a, b), func(l corpus.Loss) bool { return strings.HasPrefix(l.Path, path) || strings.HasPrefix(path, l.Path) })
}

// returned returns the removed values that are there again after the way to the first version of a pair and back, unless they come
// without what the webhook keeps in annotations, too: then it derives or adds them. Those that come because of the others in
// the request do not count either.
func (ed *editing) returned(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, removals []edit) []finding {
	other := reverse(pair)
	var findings []finding
	for j, t := range ed.journeys.roundTrip(ctx, other, objectsOf(removals)) {
		e := removals[j]
		if t.back.object == nil {
			continue
		}
		ed.effort.tried++
		value, isBack := corpus.Value(t.back.object, e.path)
		if !isBack || corpus.IsEmpty(value) || ed.losses.declared(other, e.path) || ed.losses.declared(pair, e.path) {
			continue
		}
		alone, always, x := ed.besideNotes(ctx, other, e, objects[e.origin])
		if x == nil || !alone || always {
			continue
		}
		message := corpus.Loss{Path: e.path, After: value, Added: true}.String()
		way := fmt.Sprintf("%s, removed there -> %s -> %s", pair, pair.From, pair.To)
		findings = append(findings, finding{e.origin, way, ed.definition.schemaOf(other.From).Place(e.path), message, none, *x, effect{sort: added, noted: true}})
	}
	return findings
}

// besideNotes reports whether an edited object that is asked for alone comes back with something at the place of the edit: as it is, and
// without what the webhook noted in annotations when it converted the original. The exchange is nil if either does not come back.
func (ed *editing) besideNotes(ctx context.Context, pair corpus.Pair, e edit, original *unstructured.Unstructured) (noted, plain bool, x *exchange) {
	bare := e.object.DeepCopy()
	bare.SetAnnotations(original.GetAnnotations())
	noted, x = ed.returns(ctx, pair, e.object, e.path)
	plain, without := ed.returns(ctx, pair, bare, e.path)
	if without == nil {
		return false, false, nil
	}
	return noted, plain, x
}

// returns reports whether an object that is asked for alone comes back with something at a path. The exchange is nil if it does not come
// back.
func (ed *editing) returns(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, path string) (bool, *exchange) {
	t := ed.journeys.roundTrip(ctx, pair, []*unstructured.Unstructured{object})[0]
	if t.back.object == nil {
		return false, nil
	}
	value, _ := corpus.Value(t.back.object, path)
	return !corpus.IsEmpty(value), &t.back.x
}

func objectsOf(edits []edit) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(edits))
	for _, e := range edits {
		objects = append(objects, e.object)
	}
	return objects
}

// losesAlone reports whether an object loses the same when it is asked for alone, and has the finding show that.
func (ed *editing) losesAlone(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, f *finding) bool {
	_, loses := ed.lossAlone(ctx, pair, object, f, "")
	return loses
}

// lossAlone returns what an object loses in the place of a finding when it is asked for alone, at a path if it does there, and has the finding show that.
func (ed *editing) lossAlone(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, f *finding, path string) (corpus.Loss, bool) {
	t := ed.journeys.roundTrip(ctx, pair, []*unstructured.Unstructured{object})[0]
	f.x = t.back.x
	if t.back.object == nil {
		return corpus.Loss{}, false
	}
	lost := ed.losses.lost(pair, object.Object, t.back.object)
	at := slices.IndexFunc(lost, func(l corpus.Loss) bool { return l.Path == path })
	if at < 0 {
		at = slices.IndexFunc(lost, func(l corpus.Loss) bool { return ed.definition.schemaOf(pair.From).Place(l.Path) == f.path })
	}
	if at < 0 {
		return corpus.Loss{}, false
	}
	return lost[at], true
}

// items is how many items the lists of an object have.
func items(object *unstructured.Unstructured) int {
	seen := map[string]bool{}
	for _, path := range corpus.Leaves(object) {
		for i, step := range fieldpath.Split(path) {
			if step.List {
				seen[fieldpath.Join(fieldpath.Split(path)[:i+1])] = true
			}
		}
	}
	return len(seen)
}

// fruitless is in how many fields an object that is not valid is changed, as long as API servers would refuse all of these.
const fruitless = 40

// view says whether a version shows all items of an object.
type view int

const (
	showsAll view = iota
	hidesItems
)

// changes returns edits of an object that give one leaf the value that some other object has there, or else one like its own. Each place is
// changed once, a boolean from either value, and once more if there are items that the version does not show.
func (ed *editing) changes(version string, origin int, object *unstructured.Unstructured, others []*unstructured.Unstructured, most int, tried map[string]int, at view) []edit {
	var edits []edit
	schema := ed.definition.schemaOf(version)
	problems, failed := schema.Problems(object.Object), 0
	for _, path := range corpus.Leaves(object) {
		if len(problems) > 0 && len(edits) == 0 && failed == fruitless {
			break // API servers take no change of one field
		}
		place := "changed " + fieldpath.Generalize(path)
		if at == hidesItems {
			place += " beside others"
		}
		if value, _ := corpus.Value(object.Object, path); value == true || value == false {
			place += fmt.Sprint(" from ", value)
		}
		if tried[place] >= editTries || len(edits) == most || !corpus.MaySolve(problems, path) && !areRatcheted(object, problems, path) {
			continue
		}
		tried[place]++
		if variant := changedBeside(schema, object, others, path, problems); variant != nil {
			tried[place] = editTries
			edits = append(edits, ed.edited(version, object, variant, origin, path))
		} else {
			failed++
		}
	}
	return edits
}

// isRatcheted reports whether API servers put up with a problem of an object when what is at a path is changed, as validation.fields.ratcheting has it:
// the field, or what lacks it, stays as it is, with the whole of a list. A rule may look at anything.
func isRatcheted(object *unstructured.Unstructured, p corpus.Problem, path string) bool {
	way := fieldpath.Split(p.Path)
	if _, has := fieldpath.Value(object.Object, way); !has && len(way) > 0 {
		way = way[:len(way)-1]
	}
	if first := slices.IndexFunc(way, func(s fieldpath.Step) bool { return s.List }); first >= 0 {
		way = way[:first]
	}
	at := fieldpath.Join(way)
	return p.Sort != corpus.Rule && at != "" && !fieldpath.Within(at, path) && !fieldpath.Within(path, at)
}

// areRatcheted reports whether they put up with all of some problems.
func areRatcheted(object *unstructured.Unstructured, problems []corpus.Problem, path string) bool {
	return !slices.ContainsFunc(problems, func(p corpus.Problem) bool { return !isRatcheted(object, p, path) })
}

// changed returns a valid copy of an object with another value at a path, nil if none was found.
func changed(schema *corpus.Schema, object *unstructured.Unstructured, others []*unstructured.Unstructured, path string) *unstructured.Unstructured {
	return changedBeside(schema, object, others, path, nil)
}

// changedBeside returns a copy of an object with another value at a path that has no problems but those of the object that API servers put up with, nil
// if none was found.
func changedBeside(schema *corpus.Schema, object *unstructured.Unstructured, others []*unstructured.Unstructured, path string, problems []corpus.Problem) *unstructured.Unstructured {
	isValid := func(variant *unstructured.Unstructured) bool {
		return !slices.ContainsFunc(schema.Problems(variant.Object), func(p corpus.Problem) bool {
			return !slices.Contains(problems, p) || !isRatcheted(object, p, path)
		})
	}
	for _, other := range others {
		if variant, different := corpus.Exchange(object, other, path); different && isValid(variant) {
			return variant
		}
	}
	variants := schema.Altered(object, path)
	if value, _ := corpus.Value(object.Object, path); value == true {
		variants = append(variants, corpus.With(object, path, false))
	}
	if at := slices.IndexFunc(variants, isValid); at >= 0 {
		return variants[at]
	}
	return nil
}

// removals returns edits of an object that remove one leaf that API servers give no default. Each place is removed once, and once beside
// each list that the original has several items in.
func (ed *editing) removals(version string, origin int, object *unstructured.Unstructured, beside string, most int, tried map[string]int) []edit {
	var edits []edit
	for _, path := range corpus.Leaves(object) {
		place := "removed " + fieldpath.Generalize(path) + " beside " + fieldpath.Generalize(beside)
		value, _ := corpus.Value(object.Object, path)
		if tried[place] >= editTries || len(edits) == most || corpus.IsEmpty(value) {
			continue
		}
		tried[place]++
		if e, is := ed.removal(version, origin, object, path); is {
			tried[place] = editTries
			edits = append(edits, e)
		}
	}
	return edits
}

// removal returns an edit of an object that removes what is at a path; none if API servers give it a default, or refuse what is left.
func (ed *editing) removal(version string, origin int, object *unstructured.Unstructured, path string) (edit, bool) {
	schema, variant := ed.definition.schemaOf(version), corpus.Without(object, path)
	schema.Prepare(variant.Object)
	if _, isDefault := corpus.Value(variant.Object, path); isDefault || len(schema.Problems(variant.Object)) > 0 {
		return edit{}, false
	}
	return ed.edited(version, object, variant, origin, path), true
}
