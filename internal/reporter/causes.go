package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Cause is what problems have in common: what happens to a field, or else the requirement, or the reason why nothing could be judged.
type Cause struct {
	What         string // such as "spec.port is lost: both versions have it", or a requirement
	Verdict      requirement.Verdict
	Lacking      []string // versions that have no field of that name, so that it may be meant; none if it looks like a bug
	Requirements []string
	Subjects     []string // none if the report has only one
	Pairs        []string // such as "v1 -> v2"; none if it is not about a field
	Example      string   // in a line
	First        reports.Result

	about      []string // subjects, also the one without a name
	field      string
	effects    []string       // of the field
	instead    []string       // what versions have of another type, such as "v1 has spec.config as a string"
	namesakes  []string       // fields of the same name, in other places, to which the same happens, and this one
	below      int            // fields below it that were exercised and lost, if it stands for all of them
	emptied    bool           // a version that lacks these has the field itself
	home       string         // the field of the stored version that shows it
	places     []string       // fields of other versions that have what it has
	from       []string       // versions that have the field
	also       []string       // what else it is about, at other versions
	moved      []string       // fields whose values are in others, and these
	undone     []string       // fields whose edits an annotation undoes, if that is the cause
	when       string         // the circumstances, if these are the cause
	violated   requirement.ID // by responses that the specs of others met
	fields     []string       // to which something happens then
	mutual     bool           // the value of the other is in the first
	kept       bool
	shared     bool // the other versions are known to have what is lost
	made       bool // the content is made up
	severalFor bool // the report has several subjects
}

// Causes returns the causes of all problems: what looks like a bug first, then losses of fields that the other version does not have,
// then what is Tolerated, what could not be judged, and what happens to made-up content last; of each those first that break most requirements
// of most definitions. One cause is one: a field, all that happens to it, and what is below it if the same happens there.
func Causes(r *reports.Report) []Cause {
	var causes []*Cause
	known := map[string]*Cause{}
	several := len(Subjects(r)) > 1
	has, alone := fieldsOf(r.Webhook), between(r)
	for _, result := range r.Results {
		if !Problem(r, result) {
			continue
		}
		findings := result.Findings
		if len(findings) == 0 || result.Verdict == requirement.Errored {
			findings = []reports.FieldFinding{{Message: Brief(result)}}
		}
		for _, f := range findings {
			first := result
			if of := failed(r, result.Subject, f.Violates); of != nil {
				if first = *of; len(of.Findings) == 1 {
					f = of.Findings[0] // which says of what it is
				}
			}
			if one := alone[result.Subject]; one.holds(first.ID, f) {
				f.When = one.words
			}
			key := keyOf(f, result, first)
			c := known[key]
			if c == nil {
				c = &Cause{
					Verdict: result.Verdict, Example: brief(f.Message), First: first, field: f.Field, kept: f.Kept,
					shared: true, made: f.MadeUp, severalFor: several, when: f.When, violated: f.Violates,
				}
				if f.When != "" {
					c.field = "" // it is not about one
				}
				if first.ID != result.ID {
					c.Example = Brief(first)
					put(&c.Requirements, string(first.ID))
				}
				known[key] = c
				causes = append(causes, c)
			}
			c.add(f, result)
			c.shared = c.shared && (f.Effect != "lost" || has[versionField{result.Subject, f.To, f.Field}])
			if f.Annotation {
				put(&c.undone, f.Field)
			}
		}
	}
	causes = namesakes(renamed(combine(r, causes)))
	slices.SortStableFunc(causes, func(a, b *Cause) int {
		return cmp.Or(a.rank()-b.rank(), len(b.Requirements)-len(a.Requirements), len(b.Subjects)-len(a.Subjects))
	})
	all := make([]Cause, 0, len(causes))
	for _, c := range causes {
		c.What = c.what()
		all = append(all, *c)
	}
	return all
}

// keyOf is the same for findings of one cause: first is the result that says what it is.
func keyOf(f reports.FieldFinding, result, first reports.Result) string {
	switch {
	case result.Verdict == requirement.Errored:
		return f.Message
	case f.When != "":
		return "when " + f.When
	case f.Field == "" && first.ID == result.ID && f.Violates != "":
		return "violates " + string(f.Violates)
	case f.Field == "":
		return string(first.ID)
	case f.Annotation:
		return "annotation " + string(result.ID)
	case f.Effect == "moved":
		return fmt.Sprintf("moved %q %q", min(f.Field, f.Instead), max(f.Field, f.Instead))
	}
	return fmt.Sprintf("%q %t %t", f.Field, f.Meant(), f.MadeUp)
}

// failed returns the result of a requirement for a subject, if that failed; otherwise nil.
func failed(r *reports.Report, subject string, id requirement.ID) *reports.Result {
	if id == "" {
		return nil
	}
	at := slices.IndexFunc(r.Results, func(result reports.Result) bool {
		return result.ID == id && result.Subject == subject && result.Verdict == requirement.Failed
	})
	if at < 0 {
		return nil
	}
	return &r.Results[at]
}

// put adds texts to a list that does not have them yet.
func put(list *[]string, texts ...string) {
	for _, text := range texts {
		if text = visible.Text(text); text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
}

// add adds a finding.
func (c *Cause) add(f reports.FieldFinding, result reports.Result) {
	put(&c.Requirements, string(result.ID))
	if c.severalFor {
		put(&c.Subjects, result.Subject)
	}
	if !slices.Contains(c.about, result.Subject) {
		c.about = append(c.about, result.Subject)
	}
	if within([]string{f.Effect}, []string{"differs", "invalid"}) {
		put(&c.from, f.To) // the result is what is wrong
	} else {
		put(&c.from, f.From)
	}
	if c.home == "" {
		c.home = f.Home
	}
	if f.Field != "" || f.When != "" {
		put(&c.effects, f.Effect)
		put(&c.Pairs, f.From+" -> "+f.To)
	}
	if f.When != "" {
		put(&c.fields, cmp.Or(f.Field, "the object"))
		return // what versions have in its place is not why
	}
	if f.Meant() {
		put(&c.Lacking, f.To)
	}
	if f.Effect == "moved" {
		put(&c.moved, f.Field, f.Instead)
		c.mutual = c.mutual || f.Field != c.field
		return
	}
	if f.Instead != "" {
		put(&c.instead, f.To+" has "+f.Instead)
	}
	if f.Place != "" {
		put(&c.places, f.Place)
	}
}

// take adds what another cause has.
func (c *Cause) take(other *Cause) {
	put(&c.Requirements, other.Requirements...)
	put(&c.Subjects, other.Subjects...)
	put(&c.effects, other.effects...)
	put(&c.Pairs, other.Pairs...)
	put(&c.Lacking, other.Lacking...)
	put(&c.instead, other.instead...)
	put(&c.places, other.places...)
	c.shared = c.shared && (other.shared || slices.Contains(above(other.field), c.field))
	for _, subject := range other.about {
		if !slices.Contains(c.about, subject) {
			c.about = append(c.about, subject)
		}
	}
}

// rank orders causes by how much an author can learn from them.
func (c *Cause) rank() int {
	switch {
	case c.made:
		return 4
	case c.Verdict == requirement.Errored:
		return 3
	case c.Verdict == requirement.Tolerated:
		return 2
	case len(c.Lacking) > 0 && !slices.Contains(c.effects, "changed"):
		return 1
	}
	return 0
}

// what says what happens to the field, and whether that looks like a bug.
func (c *Cause) what() string {
	switch {
	case len(c.undone) > 0:
		return "edits of " + visible.First(outermost(c.undone), 1) + " are undone by what the webhook keeps in an annotation"
	case c.when != "":
		return visible.First(outermost(c.fields), 1) + " " + c.does() + " " + c.when + c.alsoThat()
	case c.isOfAnswers():
		return "some answers violate " + string(c.violated)
	case c.field == "":
		return visible.First(c.Requirements, 1)
	case c.mutual:
		return c.moved[0] + " and " + c.moved[1] + " change places"
	case len(c.moved) > 0:
		return c.moved[0] + " is moved to " + c.moved[1]
	}
	text := c.name() + " " + c.does()
	if len(c.namesakes) > 0 {
		text += " " + c.inFields()
	}
	text += c.alsoThat()
	if c.below > 0 {
		text += fmt.Sprintf(" with all of the %d fields below it that were exercised", c.below)
	}
	switch {
	case c.made:
		return text + ": its content is made up, since no schema says what is there"
	case len(c.instead) > 0:
		return text + ": " + listed(c.instead)
	case c.emptied:
		return text + ": " + listed(c.Lacking) + " " + visible.Word(len(c.Lacking), "has", "have") + " no fields of these names"
	case len(c.Lacking) == 1:
		return text + ": " + c.Lacking[0] + " has no field of that name"
	case len(c.Lacking) > 1:
		return text + ": " + listed(c.Lacking) + " have no field of that name"
	case !slices.Contains(c.effects, "lost"):
		return text
	case c.kept:
		return text + ", though other values of it are kept"
	case c.shared:
		return text + ", though both versions have it"
	}
	return text
}

// isOfAnswers reports whether answers to several specs violate a requirement whose own spec did not fail for one.
func (c *Cause) isOfAnswers() bool {
	return c.field == "" && c.when == "" && c.violated != "" && len(c.Requirements) > 1 && !slices.Contains(c.Requirements, string(c.violated))
}

// alsoThat says what else is one with the field, at other versions.
func (c *Cause) alsoThat() string {
	if len(c.also) == 0 {
		return ""
	}
	return ", and so is " + listed(c.also)
}

// does says what happens to the field, or to several.
func (c *Cause) does() string {
	be, verbs := "is ", map[string]string{"differs": "differs", "grows": "grows"}
	if len(outermost(c.fields)) > 1 {
		be, verbs = "are ", map[string]string{"differs": "differ", "grows": "grow"}
	}
	if c.when != "" && c.isOnly("refused") {
		return be + "not converted"
	}
	if c.when != "" && len(c.effects) > 2 {
		return be + "wrong"
	}
	var does, is []string
	for _, effect := range c.effects {
		if verb := verbs[effect]; verb != "" {
			does = append(does, verb)
		} else {
			is = append(is, effect)
		}
	}
	if len(is) > 0 {
		does = append(does, be+strings.Join(is, " or "))
	}
	return strings.Join(does, " or ")
}

// versionField is a field that a definition has at a version.
type versionField struct{ definition, version, path string }

// fieldsOf returns the fields that definitions are known to have: those whose coverage was counted, and what these are in.
func fieldsOf(w *reports.Webhook) map[versionField]bool {
	has := map[versionField]bool{}
	if w == nil {
		return has
	}
	for _, k := range w.Kinds {
		for _, coverage := range k.Coverage {
			for _, f := range coverage.Fields {
				path := strings.ReplaceAll(f.Path, "<key>", "*")
				for _, at := range append(above(path), path) {
					has[versionField{k.Definition, coverage.From, at}] = true
				}
			}
		}
	}
	return has
}

// outermost leaves out paths that are below others.
func outermost(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(above(path), func(at string) bool { return slices.Contains(paths, at) })
	})
}

// Violating returns the requirements, as far as What does not say them.
func (c *Cause) Violating() []string {
	if len(c.Requirements) == 1 && c.What == c.Requirements[0] {
		return nil
	}
	return c.Requirements
}

// Extent says which requirements and definitions a cause concerns, as far as What does not.
func (c *Cause) Extent() string {
	var parts []string
	switch {
	case len(c.Subjects) == 1:
		parts = append(parts, c.Subjects[0])
	case len(c.Subjects) > 1:
		parts = append(parts, fmt.Sprintf("%d definitions", len(c.Subjects)))
	}
	if c.field != "" || c.when != "" || c.isOfAnswers() {
		parts = append(parts, visible.First(c.Requirements, 1))
	}
	return strings.Join(parts, "; ")
}
