package webhook

import (
	"fmt"
	"strconv"
	"strings"
)

// lacks says that a version has no field for a loss, which may be meant then; empty if it has one.
func (p *prober) lacks(version, path string) string {
	if schema := p.schemaOf(version); schema == nil || schema.Has(path) {
		return ""
	}
	return fmt.Sprintf(" (%s has no field of that name)", version)
}

// attachLossy attaches what crdconform.yaml can declare of what was found, for losses that are meant.
func (p *prober) attachLossy(all []found) {
	c := p.env.Subject.Corpus
	var b strings.Builder
	b.WriteString("# Losses that are meant can be declared in crdconform.yaml. Keep only those, and give each a reason.\nlossy:\n")
	places := 0
	for _, f := range all {
		if f.path == "" {
			continue
		}
		places++
		reason := "TODO: both versions have the field, so this looks like a bug"
		if p.lacks(f.pair.To, f.path) != "" {
			reason = fmt.Sprintf("TODO: %s has no field of that name", f.pair.To)
		}
		fmt.Fprintf(&b, "- path: %s\n  group: %s\n  kind: %s\n  from: %s\n  through: %s\n  reason: %s\n",
			strconv.Quote(p.schemaOf(f.pair.From).Pattern(f.path)), c.Group, c.Kind, f.pair.From, f.pair.To, strconv.Quote(reason))
	}
	if places > 0 {
		p.env.Attach("lossy.yaml", []byte(b.String()))
	}
}

// keptEach is the property of all objects to come back as they were, with a file that declares what does not.
func (p *prober) keptEach() property {
	what := p.kept(p.each)
	what.explain = p.attachLossy
	return what
}
