package proof

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// evidence is all that a verdict follows from. It is judged without I/O.
type evidence struct {
	terms
	course
	strange
	tracked

	present   bits // of the objects of before
	findings  []Finding
	different []different // findings that are about the content of an object
	undecided sample      // objects of which it is not known at which version they are stored
	legible   bool
	weaker    []string
}

// terms are what the migration is to do, and what was known before it.
type terms struct {
	storage  string // version
	retired  string // version, or empty
	trims    bool   // status.storedVersions is to be changed
	mends    bool   // managed fields are to be changed
	others   bool   // other clients may have written
	reported bool   // the migrator said what it wrote
	began    uint32 // when the first object was read before the migration, in seconds since 1970
	own      string // prefix of the names of the writers' own objects
	before   *inventory
}

// course is what happened to the definition, and what clients were answered.
type course struct {
	crd         *apiextensionsv1.CustomResourceDefinition // after the migration
	definitions []change
	history     []history.Operation
	violations  []history.Violation
}

// strange is what others may have done, which is not held against the migrator.
type strange struct {
	excused    map[string]int // objects that others changed, by who wrote to them
	strangers  []stranger
	gone       sample // objects that others may have deleted
	created    sample // objects that others may have created
	recreated  sample // objects that others deleted and created again
	uncompared int    // objects whose owners were not compared
}

// tracked are the objects that somebody changed, and their earlier states.
type tracked struct {
	changed    sample
	followed   []int  // those that were looked at write by write, by their number in before
	unfollowed sample // those of which earlier states could not be listed
	refused    string // why the first of them could not
	undone     []undoing
}

// other begins what is said of an object that differs.
const other = "other content"

// different is a finding, by its number, about the content of an object at a version.
type different struct {
	finding int
	version string
}

// stranger is who wrote to some objects, and to none before: the migrator, or somebody else whose first writes these are.
type stranger struct {
	by       string
	objects  map[string]bool
	findings map[int]bool // what is said of these objects, by number
}

// wroteBy notes that what was found last is about an object that a stranger wrote to.
func (e *evidence) wroteBy(by, key string) {
	i := slices.IndexFunc(e.strangers, func(s stranger) bool { return s.by == by })
	if i < 0 {
		i = len(e.strangers)
		e.strangers = append(e.strangers, stranger{by, map[string]bool{}, map[int]bool{}})
	}
	e.strangers[i].objects[key], e.strangers[i].findings[len(e.findings)-1] = true, true
}

// doubt takes back what was found of objects to which a stranger wrote that has not written to all of them: they were migrated without it, so
// it may be somebody else.
func (e *evidence) doubt() {
	unknown := map[int]bool{}
	for _, s := range e.strangers {
		if len(s.objects) >= e.before.len() {
			continue
		}
		maps.Copy(unknown, s.findings)
		e.excused[s.by] += len(s.objects)
		e.weaker = append(e.weaker, fmt.Sprintf("%s, and %s: %s; it may be the migrator, or another client whose first writes these are",
			visible.Count(len(s.objects), "object differs", "objects differ"), s.by, firsts(slices.Sorted(maps.Keys(s.objects)))))
	}
	var left []Finding
	for n, f := range e.findings {
		if !unknown[n] {
			left = append(left, f)
		}
	}
	e.findings = left
}

// sample is a number of objects with the names of the first.
type sample struct {
	first []string
	count int
}

func (s *sample) add(key string) {
	if s.count++; len(s.first) < maxFindings {
		s.first = append(s.first, key)
	}
}

func (s *sample) String() string { return names(s.first, s.count) }

func firsts(keys []string) *sample {
	s := &sample{}
	for _, key := range keys {
		s.add(key)
	}
	return s
}

// isOwn reports whether an object was created by the writers.
func (e *evidence) isOwn(key string) bool {
	_, name := kube.SplitKey(key)
	return strings.HasPrefix(name, e.own)
}

func (e *evidence) found(id requirement.ID, key, expected, actual string) {
	namespace, name := kube.SplitKey(key)
	e.findings = append(e.findings, Finding{id, namespace, name, expected, actual})
}

// identity judges that an object is one that was there.
func (e *evidence) identity(s seen) {
	if e.present == nil {
		e.present = newBits(e.before.len())
	}
	n := e.before.find(s.key)
	if n < 0 {
		switch {
		case !e.others:
			e.found(requirement.MigrationObjectsKept, s.key, "no object, since nobody but the migrator can have created it", "one")
		case !e.reported && !e.isOwn(s.key):
			e.created.add(s.key)
		}
		return
	}
	e.present.set(n)
	switch {
	case e.before.uids[n] == s.uid:
		if s.dying && !e.before.dying.has(n) && !e.others && !e.deleted(s.key) {
			e.found(requirement.MigrationObjectsKept, s.key, "the object that was there", "one that is being deleted")
		}
	case e.deleted(s.key):
	case e.others && e.reported:
		e.recreated.add(s.key)
	default:
		e.found(requirement.MigrationObjectsKept, s.key, "the UID that it had", "another one: it was deleted and created again")
	}
	switch {
	case s.wrote > number(e.definitions[0].revision) || e.before.uids[n] != s.uid: // it was written since the definition changed
	case e.before.unknown.has(n):
		e.undecided.add(s.key)
	case e.before.elder.has(n) && s.wrote == e.before.wrote[n] && !e.before.legible:
		e.found(requirement.MigrationObjectsStored, s.key, "it to be written at "+e.storage, "it as it was, stored at another version")
	}
}

// same returns which object of before something is, or -1 if it is none of them.
func (e *evidence) same(s seen) int {
	if n := e.before.find(s.key); n >= 0 && e.before.uids[n] == s.uid {
		return n
	}
	return -1
}

// differs reports whether the content of an object at a served version is another one than before, or was meanwhile.
func (e *evidence) differs(version int, s seen) bool {
	n := e.same(s)
	return n >= 0 && e.before.contents[version][n] != 0 && (e.before.contents[version][n] != s.content || version == 0 && e.wavered(n, s))
}

// wavered reports whether an object was changed more often than once, as its generation shows. Storing defaults is one change, and is allowed.
func (e *evidence) wavered(n int, s seen) bool { return s.generation > e.before.generations[n]+1 }

// content judges an object that differs at a served version.
func (e *evidence) content(version int, name string, s seen) {
	n := e.same(s)
	by, excused := e.excuse(n, s)
	if excused {
		if version == 0 {
			e.excused[by]++
		}
		return
	}
	if by != "" {
		by = "; " + by
	}
	actual := other
	switch {
	case e.before.contents[version][n] == s.content:
		actual = fmt.Sprintf("the same after other content: its generation was raised from %d to %d", e.before.generations[n], s.generation)
	case len(e.different) < maxExplained:
		e.different = append(e.different, different{len(e.findings), name})
	}
	e.found(requirement.MigrationObjectsContent, s.key, fmt.Sprintf("at %s the content from before the migration", name), actual+by)
	if isStranger(by) {
		e.wroteBy(strings.TrimPrefix(by, "; "), s.key)
	}
}

// ownership judges who owns which fields of an object.
func (e *evidence) ownership(s seen) {
	n := e.same(s)
	if n < 0 || e.before.owned[n] == s.owned.hash {
		return
	}
	before, known := e.before.owners.all[e.before.owned[n]]
	if !known {
		e.uncompared++
		return
	}
	wrong := unlike(before, s.owned.all, e.goes, e.crd)
	if wrong == "" {
		return
	}
	by, excused := e.excuse(n, s)
	if excused {
		return
	}
	e.found(requirement.MigrationManagedFieldsKept, s.key, "the owners of fields that it had", wrong)
	if isStranger(by) {
		e.wroteBy(by, s.key)
	}
}

// excuse reports whether another client than the migrator may have changed an object, and who wrote to it.
func (e *evidence) excuse(n int, s seen) (by string, excused bool) {
	var authors, strangers []string
	for _, o := range s.owned.all {
		if at := seconds(o.time); at <= e.before.newest[n] && at < e.began {
			continue
		}
		authors = append(authors, o.manager)
		if !e.before.managers[o.manager] {
			strangers = append(strangers, o.manager)
		}
	}
	switch {
	case !e.others, s.wrote == e.before.wrote[n], e.reported && s.wrote == e.before.rewrote[n]: // nobody else wrote it
		return joined(authors, "%s wrote to it"), false
	case e.reported:
		return joined(authors, "%s"), true
	case s.dying && !e.before.dying.has(n):
		return "who deletes them", true
	case len(strangers) == len(authors):
		return joined(strangers, "nobody wrote to it meanwhile but %s"+newcomer), false
	}
	return joined(authors, "%s"), true
}

// newcomer ends what is said of an object to which a stranger alone wrote.
const newcomer = ", who had written to no object before"

func isStranger(by string) bool { return strings.HasSuffix(by, newcomer) }

// joined puts the names of clients into a text; it is empty without any.
func joined(clients []string, format string) string {
	if len(clients) == 0 {
		return ""
	}
	slices.Sort(clients)
	return fmt.Sprintf(format, strings.Join(slices.Compact(clients), ", "))
}

// goes reports whether a version, as in apiVersion, is no longer one that managed fields may name.
func (e *evidence) goes(apiVersion string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == e.crd.Spec.Group && (gv.Version == e.retired || !slices.Contains(kube.ReadableVersions(e.crd), gv.Version))
}

// managed judges that managed fields of an object name versions that remain.
func (e *evidence) managed(s seen) {
	for _, o := range s.owned.all {
		if e.mends && e.goes(o.version) {
			remain := slices.DeleteFunc(kube.ReadableVersions(e.crd), func(version string) bool { return version == e.retired })
			e.found(requirement.MigrationManagedFieldsServed, s.key, "managed fields at "+strings.Join(remain, ", "), fmt.Sprintf("those of %s at %s", o.manager, strings.TrimPrefix(o.version, e.crd.Spec.Group+"/")))
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
	e.doubt()
	e.missing()
	e.clients()
	e.judgeUndone()
	e.definition()
	e.trimmed()
	if e.recreated.count > 0 {
		e.weaker = append(e.weaker, "others deleted objects and created them again: "+e.recreated.String())
	}
	if e.uncompared > 0 {
		e.weaker = append(e.weaker, fmt.Sprintf("of %s it is not known whether fields have the owners that they had: there are too many different managed fields to remember", visible.Count(e.uncompared, "object", "")))
	}
	if e.undecided.count > 0 {
		e.weaker = append(e.weaker, fmt.Sprintf("etcd cannot be read, and %s not written since the definition changed, so it is not known at which version that is stored: %s", visible.Count(e.undecided.count, "object was", "objects were"), &e.undecided))
	}
	return e.findings
}

// missing judges the objects that are not there any more.
func (e *evidence) missing() {
	for n := range e.before.len() {
		if e.present.has(n) {
			continue
		}
		key := e.before.name(n)
		switch {
		case e.deleted(key):
		case e.others:
			e.gone.add(key)
		default:
			e.found(requirement.MigrationObjectsKept, key, "the object that was there", "none")
		}
	}
	if e.gone.count > 0 {
		e.weaker = append(e.weaker, "objects are gone, which others may have deleted: "+e.gone.String())
	}
	if e.created.count > 0 {
		e.weaker = append(e.weaker, "objects are new, which others may have created: "+e.created.String())
	}
}

// definition judges that the definition is as it was, but for status.storedVersions.
func (e *evidence) definition() {
	first := e.definitions[0]
	if e.crd.Generation == first.generation {
		return
	}
	if e.others {
		e.weaker = append(e.weaker, fmt.Sprintf("the definition changed meanwhile (generation %d, now %d)", first.generation, e.crd.Generation))
		return
	}
	e.found(requirement.MigrationDefinitionKept, "", fmt.Sprintf("the definition from before the migration, generation %d", first.generation), fmt.Sprintf("generation %d", e.crd.Generation))
}

// clients judges the answers that the writers got.
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
		if !v.Expected.Exists && (v.Actual != nil && v.Actual.Exists || v.Operation.Outcome == history.Exists) {
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
		if c.elder.count > 0 {
			e.found(requirement.MigrationStoredVersionsLast, "", off+" in status.storedVersions until no object is stored at it", "taken off while these were: "+c.elder.String())
		}
	}
}
