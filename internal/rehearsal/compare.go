package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// comparison is how what objects show is compared with what they showed before.
type comparison struct {
	when    string // with what: before or after the upgrade
	content requirement.ID
	pruned  requirement.ID // for what the schema does not have any more; empty where that is reported elsewhere
	now     *side          // whose schemas hold
	did     string         // what was done, such as "after the upgrade"
	losses  bool           // what is added does not matter
}

// compare notes what differs in an object from what it showed, and reports whether it could be compared.
func (r *reader) compare(k *kind, version string, object *unstructured.Unstructured, c comparison) (bool, error) {
	at := page{c.when, version}
	if !k.book.known(at, keyOf(object)) {
		return false, nil
	}
	was, err := k.book.differs(at, object)
	if err != nil || was == nil {
		return true, err
	}
	if by := r.authors(object); len(by) > 0 {
		r.record.note("objects that others (%s) wrote during the rehearsal, such as %s, were not compared", strings.Join(by, ", "), keyOf(object))
		return false, nil
	}
	for _, change := range changes(was, content(object.Object), k.old.schema(version), c.now.schema(version)) {
		if r.record.lossy(k, version, change) || c.losses && change.effect == "added" {
			continue
		}
		f := change.finding(c.content, k, version, object)
		f.message = fmt.Sprintf("read at %s %s: %s", version, c.did, change.Loss)
		f.commands = []string{k.kubectlGet(version, f.object)}
		here := written{k, change.Path, f.object}
		if c.now == k.new && change.effect != "added" && !change.lacking && r.record.pruned[here] {
			if by := requirement.UpgradeReadPruned; c.pruned != "" {
				r.record.explain(c.content, k, string(by), alike(by))
			}
			continue // it was dropped at the version at which it is stored
		}
		if change.lacking && change.effect == "lost" {
			r.record.pruned[here] = true
			if f.id = c.pruned; c.pruned == "" {
				continue
			}
			f.message = fmt.Sprintf("read at %s %s: %s is gone, since the %s schema of %s does not have the field; it was %s", version, c.did, change.Path, k.ageOf(c.now), version, f.before)
		}
		r.record.find(f)
	}
	return true, nil
}

// ageOf says which release a side of the definition is of.
func (k *kind) ageOf(s *side) string {
	if s == k.new {
		return "new"
	}
	return "old"
}

// lossy reports whether a loss is known and right. Of another value that takes the place of what was there, nobody said that.
func (r *record) lossy(k *kind, version string, c change) bool {
	if r.known == nil || c.effect == "changed" && k.new.schema(version).Replaces(c.Loss) {
		return false
	}
	_, known := r.known(k.new.typed, version, c.Path)
	return known
}

// finding is that an object differs.
func (c change) finding(id requirement.ID, k *kind, version string, object *unstructured.Unstructured) finding {
	f := finding{id: id, kind: k, object: keyOf(object), version: version, field: c.Path, effect: c.effect, lacking: c.lacking}
	if !c.Added {
		f.before = shown(c.Before)
	}
	if c.After != nil {
		f.after = shown(c.After)
	}
	return f
}

// shown is a value as JSON, cut if it is long.
func shown(value any) string {
	const most = 500
	text, err := corpus.Encode(value)
	if err != nil {
		return ""
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// authors are the managers that wrote to an object since the rehearsal began, but for the rehearsal itself.
func (r *reader) authors(object *unstructured.Unstructured) []string {
	began := metav1.NewTime(r.began.Truncate(time.Second))
	var by []string
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && !entry.Time.Before(&began) && !strings.HasPrefix(entry.Manager, "crdconform") && !slices.Contains(by, entry.Manager) {
			by = append(by, entry.Manager)
		}
	}
	return by
}

// unchanged notes what a write changes that is to change nothing.
func (r *record) unchanged(k *kind, version string, sent, got *unstructured.Unstructured) {
	for _, change := range changes(content(sent.Object), content(got.Object), k.new.schema(version), k.new.schema(version)) {
		if r.lossy(k, version, change) {
			continue
		}
		f := change.finding(requirement.UpgradeWriteNoOp, k, version, sent)
		f.message = fmt.Sprintf("written at %s as it was read there, it changes: %s", version, change.Loss)
		f.commands = []string{k.kubectlReplace(version, f.object, "-o yaml")}
		r.find(f)
	}
}

// once takes back what was found of a requirement if all of it was found of others as well, and says why: it is reported once.
func (r *record) once(k *kind, id requirement.ID, why string, others ...requirement.ID) {
	found := r.findingsOf(id, k)
	if len(found) == 0 {
		return
	}
	var by []string
	for _, c := range found {
		same := func(other *cause) bool {
			return other.Version == c.Version && other.place == c.place && other.effect == c.effect && (c.Field != "" || tail(other.Message) == tail(c.Message))
		}
		i := slices.IndexFunc(others, func(other requirement.ID) bool { return slices.ContainsFunc(r.findingsOf(other, k), same) })
		if i < 0 {
			return
		}
		if other := string(others[i]); !slices.Contains(by, other) {
			by = append(by, other)
		}
	}
	r.yield(id, k, strings.Join(by, ", "), why)
}

// tail is what an API server says of it, behind what was done.
func tail(message string) string {
	if i := strings.IndexByte(message, ':'); i >= 0 {
		return number.ReplaceAllString(quotedName.ReplaceAllString(message[i:], ""), "")
	}
	return message
}
