package webhook

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// A place is edited once, in the first object that has it. A note about its value may be in another one only: a webhook that turns 5m into 300
// seconds keeps the text of that, and none of 30s, which is what every object has by default. So an object about one field is edited in that
// field once more, if the webhook noted something that it had not in the others.

const (
	// editsPerOwn is how many places of an object about one field are edited because of its notes, and ownTries how many are tried for that.
	editsPerOwn = 2
	ownTries    = 4
)

// owning knows what the objects about one field have of their own.
type owning struct {
	singles int
	values  map[string]int             // how many of these have a value, by its place and text
	noted   map[string]map[string]bool // what was noted in objects that were edited, by the place of the edit
	tried   map[string]int             // how often a place was tried because of notes
}

// newOwning counts the values of objects about one field.
func newOwning(singles []*unstructured.Unstructured) *owning {
	own := &owning{singles: len(singles), values: map[string]int{}, noted: map[string]map[string]bool{}, tried: map[string]int{}}
	for _, object := range singles {
		for _, path := range corpus.Leaves(object) {
			own.values[valueAt(object, path)]++
		}
	}
	return own
}

// converted returns what the objects about one field become at the second version of a pair.
func (ed *editing) converted(pair corpus.Pair, objects []*unstructured.Unstructured, trips []trip) []*unstructured.Unstructured {
	var singles []*unstructured.Unstructured
	for i, t := range trips {
		if t.there.object != nil && ed.stock.isSingle(pair.From, i) {
			singles = append(singles, corpus.Restored(objects[i], t.there.object))
		}
	}
	return singles
}

// valueAt is a text for a value and its place.
func valueAt(object *unstructured.Unstructured, path string) string {
	value, _ := corpus.Value(object.Object, path)
	return fmt.Sprintf("%s = %v", fieldpath.Generalize(path), value)
}

// note remembers what is noted in objects that were edited.
func (own *owning) note(edits []edit, notes []string) {
	for _, e := range edits {
		place := fieldpath.Generalize(e.path)
		if own.noted[place] == nil {
			own.noted[place] = map[string]bool{}
		}
		for _, noted := range notes {
			own.noted[place][noted] = true
		}
	}
}

// isNew reports whether something is noted that was not in any object that was edited at a place.
func (own *owning) isNew(path string, notes []string) bool {
	for _, noted := range notes {
		if !own.noted[fieldpath.Generalize(path)][noted] {
			return true
		}
	}
	return false
}

// notesOf returns what the annotations are about that an original did not have: their names, and the fields of those that are JSON.
func notesOf(object, original *unstructured.Unstructured) []string {
	had := original.GetAnnotations()
	var notes []string
	for name, text := range object.GetAnnotations() {
		if _, is := had[name]; is {
			continue
		}
		var fields map[string]any
		_ = json.Unmarshal([]byte(text), &fields) // others have no fields
		notes = append(notes, name)
		for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: fields}) {
			notes = append(notes, name+" "+fieldpath.Generalize(path))
		}
	}
	return notes
}

// ownEdits returns edits that change, and edits that remove, what an object about one field has of its own.
func (ed *editing) ownEdits(version string, origin int, object *unstructured.Unstructured, others []*unstructured.Unstructured, notes []string, own *owning) (changes, removals []edit) {
	schema := ed.definition.schemaOf(version)
	problems, tries := schema.Problems(object.Object), 0
	for _, path := range corpus.Leaves(object) {
		place := fieldpath.Generalize(path)
		if own.values[valueAt(object, path)] > max(1, own.singles/2) || !own.isNew(path, notes) || len(changes) == editsPerOwn || tries == ownTries || own.tried[place] == ownTries || !corpus.MaySolve(problems, path) {
			continue
		}
		tries++
		own.tried[place]++
		variant := changed(schema, object, others, path)
		if variant == nil {
			continue
		}
		changes = append(changes, ed.edited(version, object, variant, origin, path))
		if e, is := ed.removal(version, origin, object, path); is {
			removals = append(removals, e)
		}
	}
	own.note(changes, notes)
	return changes, removals
}
