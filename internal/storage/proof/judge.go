package proof

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/requirement"
)

// evidence is all that a verdict follows from. It is judged without I/O.
type evidence struct {
	storage string // version
	retired string // version, or empty
	trims   bool   // status.storedVersions is to be changed
	others  bool   // other clients may have written
	own     string // prefix of the names of the writers' own objects
	before  *inventory
	crd     *apiextensionsv1.CustomResourceDefinition // after

	definitions []change

	history    []history.Operation
	violations []history.Violation

	present   []uint64 // a bit for each object of before
	findings  []Finding
	excused   int // objects that others changed
	undecided int // objects of which it is not known at which version they are stored
	legible   bool
	weaker    []string
}

// author is who wrote to an object last, as its managed fields say.
type author struct {
	manager string
	time    string // RFC 3339; empty if it was before the migration
	version string // API version of the entry
}

// isOwn reports whether an object was created by the writers.
func (e *evidence) isOwn(key string) bool {
	_, name := split(key)
	return strings.HasPrefix(name, e.own)
}

func (e *evidence) found(id requirement.ID, key, expected, actual string) {
	namespace, name := split(key)
	e.findings = append(e.findings, Finding{id, namespace, name, expected, actual})
}

// identity judges that an object is the one that was there.
func (e *evidence) identity(s seen) {
	if e.present == nil {
		e.present = make([]uint64, e.before.len()/64+1)
	}
	n := e.before.find(s.key)
	if n < 0 {
		return
	}
	e.present[n/64] |= 1 << (n % 64)
	if e.before.uids[n] != s.uid && !e.deleted(s.key) {
		e.found(requirement.MigrationObjectsKept, s.key, "the UID that it had", "another one: it was deleted and created again")
	}
	if e.before.elder == nil && s.wrote <= number(e.definitions[0].revision) {
		e.undecided++
	}
}

// content judges the content of an object at a served version. Authors are those who wrote to it meanwhile.
func (e *evidence) content(version int, name string, s seen, authors []author) {
	n := e.before.find(s.key)
	if n < 0 || e.before.contents[version][n] == 0 || e.before.contents[version][n] == s.content || e.before.uids[n] != s.uid {
		return
	}
	if e.others && len(authors) > 0 {
		e.excused++
		return
	}
	var by strings.Builder
	for _, a := range authors {
		fmt.Fprintf(&by, "; %s wrote to it at %s", a.manager, a.time)
	}
	e.found(requirement.MigrationObjectsContent, s.key, fmt.Sprintf("at %s the content of before, hash %016x", name, e.before.contents[version][n]), fmt.Sprintf("hash %016x%s", s.content, by.String()))
}

// managed judges that managed fields of an object name versions that remain.
func (e *evidence) managed(key string, authors []author) {
	remain := slices.DeleteFunc(servedOf(e.crd), func(version string) bool { return version == e.retired })
	for _, a := range authors {
		gv, err := schema.ParseGroupVersion(a.version)
		if err == nil && gv.Group == e.crd.Spec.Group && !slices.Contains(remain, gv.Version) {
			e.found(requirement.MigrationManagedFieldsServed, key, "managed fields at "+strings.Join(remain, ", "), fmt.Sprintf("those of %s at %s", a.manager, gv.Version))
			return
		}
	}
}

// stored judges at which version an object is in etcd.
func (e *evidence) stored(s storedAs) {
	switch {
	case s.version == "":
		e.legible = false
	case s.version != e.storage:
		e.found(requirement.MigrationObjectsStored, s.key, "it at "+e.storage+" in etcd", s.version)
	}
}

// deleted reports whether a writer deleted an object, or may have.
func (e *evidence) deleted(key string) bool {
	return slices.ContainsFunc(e.history, func(o history.Operation) bool {
		return o.Object == key && o.Kind == history.Delete && (o.Outcome == history.Acknowledged || o.Outcome == history.Unknown)
	})
}

// judge returns what is wrong, when everything was looked at.
func judge(e *evidence) []Finding {
	e.missing()
	e.clients()
	e.trimmed()
	if e.undecided > 0 {
		e.weaker = append(e.weaker, fmt.Sprintf("etcd cannot be read, and %d objects were not written since the definition changed, so it is not known at which version they are stored", e.undecided))
	}
	return e.findings
}

// missing judges the objects that are not there any more.
func (e *evidence) missing() {
	var gone []string
	for n := range e.before.len() {
		if e.present != nil && e.present[n/64]&(1<<(n%64)) != 0 {
			continue
		}
		key := e.before.name(n)
		switch {
		case e.deleted(key):
		case e.others:
			gone = append(gone, key)
		default:
			e.found(requirement.MigrationObjectsKept, key, "the object that was there", "none")
		}
	}
	if len(gone) > 0 {
		e.weaker = append(e.weaker, "objects are gone, which others may have deleted: "+names(gone, len(gone)))
	}
}

// clients judges what the writers were told.
func (e *evidence) clients() {
	for _, v := range e.violations {
		if v.Undecided {
			e.weaker = append(e.weaker, v.String())
			continue
		}
		actual := string(v.Operation.Outcome)
		if v.Actual != nil {
			actual = v.Actual.String()
		}
		id := requirement.MigrationClientsWrites
		if !v.Expected.Exists && v.Actual != nil && v.Actual.Exists {
			id = requirement.MigrationClientsDeletions
		}
		expected := v.Expected.String()
		if n := len(v.Before); n > 0 {
			expected += fmt.Sprintf(" after %s", v.Before[n-1])
		}
		e.found(id, v.Object, expected, fmt.Sprintf("%s by %s", actual, v.Operation))
	}
}

// trimmed judges status.storedVersions, in the end and when versions were taken off.
func (e *evidence) trimmed() {
	exact := []string{e.storage}
	if now := e.crd.Status.StoredVersions; e.trims && !slices.Equal(now, exact) {
		e.found(requirement.MigrationStoredVersionsExact, "", fmt.Sprintf("status.storedVersions %v", exact), fmt.Sprint(now))
	}
	flipped := false
	if first := e.definitions[0]; e.crd.Generation != first.generation {
		e.weaker = append(e.weaker, fmt.Sprintf("the definition changed meanwhile (generation %d, now %d)", first.generation, e.crd.Generation))
	}
	for _, c := range e.definitions {
		if c.storage != e.storage {
			flipped = true
		}
		if len(c.trimmed) == 0 {
			continue
		}
		off := strings.Join(c.trimmed, ", ")
		if flipped {
			e.found(requirement.MigrationDefinitionFlipped, "", "status.storedVersions left as it was, since the storage version changed meanwhile", fmt.Sprintf("%v, without %s", c.stored, off))
		}
		if c.unknown != "" {
			e.weaker = append(e.weaker, fmt.Sprintf("it is not known whether objects were left when %s was taken off status.storedVersions: %s", off, c.unknown))
		}
		if c.elders > 0 {
			e.found(requirement.MigrationStoredVersionsLast, "", off+" in status.storedVersions until no object is stored at it", "taken off while these were: "+names(c.elder, c.elders))
		}
	}
}
