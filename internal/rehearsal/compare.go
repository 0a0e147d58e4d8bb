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
func (l *leg) compare(k *kind, version string, object *unstructured.Unstructured, c comparison) (bool, error) {
	at := page{c.when, version}
	if !k.book.known(at, keyOf(object)) {
		return false, nil
	}
	was, err := k.book.differs(at, object)
	if err != nil || was == nil {
		return true, err
	}
	if by := l.authors(object); len(by) > 0 {
		l.record.note("objects that others (%s) wrote during the rehearsal, such as %s, were not compared", strings.Join(by, ", "), keyOf(object))
		return false, nil
	}
	for _, change := range changes(was, content(object.Object), k.old.schema(version), c.now.schema(version)) {
		if l.lossy(k, version, change.Path) || c.losses && change.effect == "added" {
			continue
		}
		f := finding{
			id: c.content, kind: k, object: keyOf(object), version: version, field: change.Path, effect: change.effect, lacking: change.lacking,
			before: shown(change.Before, change.Added), after: shown(change.After, change.After == nil),
			message:  fmt.Sprintf("read at %s %s: %s", version, c.did, change.Loss),
			commands: []string{k.kubectlGet(version, keyOf(object))},
		}
		here := written{k, change.Path, f.object}
		if c.now == k.new && change.effect != "added" && !change.lacking && l.record.pruned[here] {
			if by := requirement.UpgradeReadPruned; c.pruned != "" {
				l.record.explain(c.content, k, string(by), alike(by))
			}
			continue // it was dropped at the version at which it is stored
		}
		if change.lacking && change.effect == "lost" {
			l.record.pruned[here] = true
			if f.id = c.pruned; c.pruned == "" {
				continue
			}
			f.message = fmt.Sprintf("read at %s %s: %s is gone, since the %s schema of %s does not have the field; it was %s", version, c.did, change.Path, k.ageOf(c.now), version, f.before)
		}
		l.record.find(f)
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

// lossy reports whether a loss is known and right.
func (l *leg) lossy(k *kind, version, path string) bool {
	if l.Lossy == nil {
		return false
	}
	_, known := l.Lossy(k.new.typed, version, path)
	return known
}

// shown is a value as JSON, cut if it is long; empty if there is none.
func shown(value any, missing bool) string {
	const most = 500
	if missing {
		return ""
	}
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
func (l *leg) authors(object *unstructured.Unstructured) []string {
	began := metav1.NewTime(l.began.Truncate(time.Second))
	var by []string
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && !entry.Time.Before(&began) && !strings.HasPrefix(entry.Manager, "crdconform") && !slices.Contains(by, entry.Manager) {
			by = append(by, entry.Manager)
		}
	}
	return by
}
