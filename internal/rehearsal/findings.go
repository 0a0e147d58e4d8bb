package rehearsal

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// finding is something that an upgrade breaks.
type finding struct {
	id            requirement.ID
	part          requirement.PartName
	kind          *kind  // nil if it is about no definition
	object        string // namespace and name; empty if it is about the definition
	version       string // at which the object was read or written
	field         string
	effect        string // what happened to the field: lost, changed, added; empty if it is about no field
	lacking       bool   // the new schema does not have the field
	before, after string
	message       string
	commands      []string
}

// cause is what findings have in common.
type cause struct {
	reports.LegFinding

	effect  string
	lacking bool
	place   string // the field of all of them
	objects map[string]struct{}
}

// mostOthers is how many names of other objects a cause has.
const mostOthers = 20

// names in messages that differ from object to object.
var (
	quotedName = regexp.MustCompile(`"[^"]*"`)
	number     = regexp.MustCompile(`[0-9]+`)
	gotValue   = regexp.MustCompile(`got &.*`) // as server-side apply prints a value
)

// likeness is what two findings with the same cause have in common.
func (f finding) likeness(s *corpus.Schema) string {
	definition := ""
	if f.kind != nil {
		definition = f.kind.name
	}
	what := f.message
	if f.field != "" {
		what = s.Place(f.field) + " " + f.effect
	} else {
		if _, name := kube.SplitKey(f.object); name != "" {
			what = strings.ReplaceAll(strings.ReplaceAll(what, f.object, "*"), name, "*")
		}
		what = number.ReplaceAllString(quotedName.ReplaceAllString(gotValue.ReplaceAllString(what, "*"), `"*"`), "0")
	}
	return strings.Join([]string{string(f.id), string(f.part), definition, f.version, what}, "\x00")
}

// record is what was seen so far. It performs no I/O.
type record struct {
	subject  string // begins the subjects of results; empty if there is one upgrade only
	selects  func(requirement.ID) bool
	known    func(kind *apiextensionsv1.CustomResourceDefinition, version, path string) (reason string, known bool) // may be nil
	kinds    []*kind
	step     reports.LegStep // the present one
	judged   map[at]*judged
	causes   []*cause
	alike    map[string]*cause // by likeness
	stepping map[at]*judged    // what the present step adds
	stepped  []map[at]*judged  // by step

	unwritable map[written]bool // at a version
	pruned     map[written]bool // at a path, in the place of a version
	steps      []reports.LegStep
	notes      []string
}

// written is an object that cannot be written at a version.
type written struct {
	kind            *kind
	version, object string
}

// at is a requirement of a definition.
type at struct {
	id   requirement.ID
	kind *kind // nil for what is about the whole release
}

// judged is the evidence on a requirement.
type judged struct {
	tried     int
	failed    map[string]struct{} // objects, and "" for what is about none
	worst     requirement.Verdict // of what was found; Unknown if nothing was
	skipped   skipped
	blocked   string // why it could not be tried everywhere
	explained string // the requirements for which what was found is reported instead; empty if all of it is reported here
	why       string // it is reported there
	errored   error
	found     int    // objects that are known to be concerned, as far as they are not among those that failed
	open      string // why it is not known whether it holds, although nothing was found
	step      string // what happens in the first step in which it was judged
}

// skipped is why a requirement was not tried; its zero value if it was.
type skipped struct {
	why        string
	immaterial bool // it says nothing about the release
}

func newRecord(p *Plan, subject string, kinds []*kind) *record {
	r := &record{
		subject: subject, selects: p.Selects, known: p.Lossy, kinds: kinds,
		judged: map[at]*judged{}, alike: map[string]*cause{}, stepping: map[at]*judged{}, unwritable: map[written]bool{}, pruned: map[written]bool{},
	}
	if r.selects == nil {
		r.selects = func(requirement.ID) bool { return true }
	}
	return r
}

func of(all map[at]*judged, a at) *judged {
	if all[a] == nil {
		all[a] = &judged{failed: map[string]struct{}{}}
	}
	return all[a]
}

// each calls a function for the evidence on a requirement, that of all steps and that of this one.
func (r *record) each(id requirement.ID, k *kind, change func(*judged)) {
	if !r.selects(id) {
		return
	}
	for _, all := range []map[at]*judged{r.judged, r.stepping} {
		j := of(all, at{id, k})
		j.step = cmp.Or(j.step, r.step.Title)
		change(j)
	}
}

// tried notes for how many objects a requirement was tried.
func (r *record) tried(id requirement.ID, k *kind, objects int) {
	r.each(id, k, func(j *judged) { j.tried = max(j.tried, objects) })
}

// note adds a note, once.
func (r *record) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if r.subject != "" {
		text = r.subject + ": " + text
	}
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// skip notes why a requirement is not judged although it would say something about the release.
func (r *record) skip(id requirement.ID, k *kind, format string, arguments ...any) {
	r.unjudged(id, k, skipped{why: fmt.Sprintf(format, arguments...)})
}

// spare notes why there is nothing to judge, which says nothing about the release.
func (r *record) spare(id requirement.ID, k *kind, format string, arguments ...any) {
	r.unjudged(id, k, skipped{why: fmt.Sprintf(format, arguments...), immaterial: true})
}

func (r *record) unjudged(id requirement.ID, k *kind, s skipped) {
	r.each(id, k, func(j *judged) { j.skipped = cmp.Or(j.skipped, s) })
}

// blocked notes that a requirement cannot be judged since another one is broken.
func (r *record) blocked(id requirement.ID, k *kind, by requirement.ID) {
	r.each(id, k, func(j *judged) { j.blocked = fmt.Sprintf("cannot be judged while %s fails", by) })
}

// half notes why a requirement cannot be judged everywhere, although nothing is broken.
func (r *record) half(id requirement.ID, k *kind, why string) {
	r.each(id, k, func(j *judged) { j.blocked = why })
}

// explain notes that something was found of a requirement that is reported for others, and why.
func (r *record) explain(id requirement.ID, k *kind, by, why string) {
	r.each(id, k, func(j *judged) { j.explained, j.why = cmp.Or(j.explained, by), cmp.Or(j.why, why) })
}

// open notes why it is not known whether a requirement holds, unless something is found of it.
func (r *record) open(id requirement.ID, k *kind, why string) {
	r.each(id, k, func(j *judged) { j.open = why })
}

// errored notes that a requirement could not be judged.
func (r *record) errored(id requirement.ID, k *kind, err error) {
	r.each(id, k, func(j *judged) { j.errored = err })
}

// skipAll notes why nothing is judged that was not judged yet.
func (r *record) skipAll(why string) {
	for _, id := range IDs() {
		for _, k := range r.about(id) {
			r.skip(id, k, "%s", why)
		}
	}
}

// about returns what a requirement is judged for: each definition, or the release.
func (r *record) about(id requirement.ID) []*kind {
	if id == requirement.UpgradeWebhookStarts {
		return []*kind{nil}
	}
	return r.kinds
}

// find notes a finding.
func (r *record) find(f finding) {
	if !r.selects(f.id) {
		return
	}
	verdict := requirement.SeverityOf(f.id, f.part)
	r.each(f.id, f.kind, func(j *judged) {
		j.failed[f.object] = struct{}{}
		if j.worst != requirement.Failed {
			j.worst = verdict
		}
	})
	var s *corpus.Schema
	if f.kind != nil {
		s = f.kind.schemaOf(f.version)
	}
	like := f.likeness(s)
	c := r.alike[like]
	if c == nil {
		c = r.causeOf(f, verdict, s)
		r.alike[like] = c
	}
	if _, again := c.objects[f.object]; again {
		return
	}
	c.objects[f.object] = struct{}{}
	if c.Count++; c.Count > 1 && len(c.Others) < mostOthers {
		c.Others = append(c.Others, f.object)
	}
}

// causeOf begins a cause.
func (r *record) causeOf(f finding, verdict requirement.Verdict, s *corpus.Schema) *cause {
	c := &cause{effect: f.effect, lacking: f.lacking, objects: map[string]struct{}{}, LegFinding: reports.LegFinding{
		Requirement: f.id, Verdict: verdict, Step: r.step.Name, Version: f.version, Field: f.field, Before: f.before, After: f.after,
		Message: visible.Cut(f.message, 2000), Commands: f.commands,
	}}
	c.Namespace, c.Name = kube.SplitKey(f.object)
	if f.kind != nil {
		c.Definition = f.kind.name
	}
	if f.field != "" {
		c.place = s.Pattern(f.field)
	}
	r.causes = append(r.causes, c)
	return c
}

// forget takes back what was found of a requirement, since others are to blame for it, and notes why.
func (r *record) forget(id requirement.ID, k *kind, why string) {
	r.causes = slices.DeleteFunc(r.causes, func(c *cause) bool {
		return c.Requirement == id && (k == nil || c.Definition == k.name)
	})
	for _, j := range r.everywhere(id, k) {
		*j = judged{failed: map[string]struct{}{}, skipped: skipped{why: why}, step: j.step}
	}
	for like, c := range r.alike {
		if c.Requirement == id && (k == nil || c.Definition == k.name) {
			delete(r.alike, like)
		}
	}
}

// yield takes back what was found of a requirement, since it is reported for others.
func (r *record) yield(id requirement.ID, k *kind, by, why string) {
	tried := map[*judged]int{}
	for _, j := range r.everywhere(id, k) {
		tried[j] = j.tried
	}
	r.forget(id, k, "")
	for j, objects := range tried {
		j.tried, j.explained, j.why = objects, by, why
	}
}

// everywhere returns the evidence on a requirement of each step, and of all steps.
func (r *record) everywhere(id requirement.ID, k *kind) []*judged {
	var all []*judged
	for _, seen := range append(slices.Clone(r.stepped), r.judged) {
		if j := seen[at{id, k}]; j != nil {
			all = append(all, j)
		}
	}
	return all
}

// findingsOf returns the causes of a requirement.
func (r *record) findingsOf(id requirement.ID, k *kind) []*cause {
	var all []*cause
	for _, c := range r.causes {
		if c.Requirement == id && (k == nil || c.Definition == k.name) {
			all = append(all, c)
		}
	}
	return all
}

// broken reports whether something was found of a requirement.
func (r *record) broken(id requirement.ID, k *kind) bool {
	j := r.judged[at{id, k}]
	return j != nil && len(j.failed) > 0
}

// brokenFor reports whether something was found of a requirement for an object.
func (r *record) brokenFor(id requirement.ID, k *kind, object string) bool {
	j := r.judged[at{id, k}]
	if j == nil {
		return false
	}
	_, found := j.failed[object]
	return found
}

// schemaOf returns the schema of a version, the new one if there is one.
func (k *kind) schemaOf(version string) *corpus.Schema {
	if k.new.has(version) {
		return k.new.schema(version)
	}
	if k.old.has(version) {
		return k.old.schema(version)
	}
	return nil
}

// more notes that a cause whose message contains a text has more objects than were reported.
func (r *record) more(id requirement.ID, k *kind, version, text string, objects int) {
	for _, c := range r.findingsOf(id, k) {
		if c.Version == version && strings.Contains(c.Message, text) {
			c.Count = max(c.Count, objects)
			r.each(id, k, func(j *judged) { j.found = max(j.found, objects) })
		}
	}
}
