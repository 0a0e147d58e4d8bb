package reporter

import (
	"encoding/json"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// mostMismatches is how many fields of a result the page has as a table. All of them are in the reason.
const mostMismatches = 50

// pagePart is a part as the page shows it.
type pagePart struct {
	Part
	Found      upgradeFindings      // in place of the reason
	Mismatches []mismatch           // of the reason, path by path
	Copied     bool                 // it is a command, for a shell
	Sources    []requirement.Source // with links
}

// pageParts returns all information about a result as the page shows it.
func pageParts(report *reports.Report, r reports.Result) []pagePart {
	var parts []pagePart
	for _, part := range resultParts(r) {
		p := pagePart{Part: part}
		switch {
		case !part.Code && part.Text == sources(r):
			p.Sources = r.Source
			parts = append(parts, pagePart{Part: Part{Name: "level", Text: string(r.Level)}})
		case part.Code && part.Text == strings.TrimSpace(r.Reason):
			if p.Found = findingsOf(report, r); len(p.Found.Listed) == 0 {
				p.Mismatches = mismatches(part.Text)
			}
		case part.Code:
			p.Copied = part.Text != "" && (part.Text == r.Curl || part.Text == r.Rerun)
		}
		parts = append(parts, p)
	}
	return parts
}

// mismatch is a field that is not what was expected.
type mismatch struct {
	Where            string // such as "v1 -> v2 -> v1"; may be empty
	Also             string // where else it is so
	Field            string // such as spec.port, or response.uid; empty for the whole
	Expected, Actual string
	Remark           string // on the actual value, such as "v2 has no field of that name"
}

// mismatches returns the lines of a reason that say which field has another value than expected, as in
// "v1 -> v2 -> v1: spec.port: expected 80, got nothing". There are none if the reason says something else.
func mismatches(reason string) []mismatch {
	const expects, got = ": expected ", ", got "
	var all []mismatch
	intro := "" // a line that says where the following ones are
	for line := range strings.Lines(reason) {
		line = strings.TrimSpace(line)
		if also, found := strings.CutPrefix(line, "also "); found && len(all) > 0 {
			all[len(all)-1].Also = also
			continue
		}
		place, values, found := strings.Cut(line, expects)
		if where, ends := strings.CutSuffix(line, ":"); ends && !found {
			intro = where
		}
		if !found || len(all) == mostMismatches {
			continue
		}
		at := expectedEnd(values, got)
		if at < 0 {
			continue
		}
		d := mismatch{Where: intro, Field: place, Expected: values[:at]}
		d.Actual, d.Remark = remarked(values[at+len(got):])
		if i := strings.LastIndex(place, ": "); i >= 0 {
			d.Where, d.Field = place[:i], place[i+2:]
		}
		if strings.Contains(d.Field, " ") { // which says where, as no field does
			d.Where, d.Field = place, ""
		}
		all = append(all, d)
	}
	return all
}

// remarked parts an actual value, JSON or nothing, from a remark on it: ", which becomes the default 1", " (v2 has no field of that name)".
func remarked(text string) (value, remark string) {
	end := len("nothing")
	if !strings.HasPrefix(text, "nothing") {
		decoder := json.NewDecoder(strings.NewReader(text))
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return text, ""
		}
		end = int(decoder.InputOffset())
	}
	switch rest := text[end:]; {
	case strings.HasPrefix(rest, ", "):
		return text[:end], rest[len(", "):]
	case strings.HasPrefix(rest, " (") && strings.HasSuffix(rest, ")"):
		return text[:end], rest[len(" (") : len(rest)-1]
	}
	return text, ""
}

// expectedEnd returns where the expected value ends, before what parts it from the actual one; -1 if that is not there. A value may
// contain the same words.
func expectedEnd(values, parting string) int {
	decoder := json.NewDecoder(strings.NewReader(values))
	var value json.RawMessage
	if decoder.Decode(&value) == nil {
		if rest, err := io.ReadAll(decoder.Buffered()); err == nil && strings.HasPrefix(string(rest), parting) {
			return len(values) - len(rest)
		}
	}
	return strings.Index(values, parting)
}

// references are what texts name and pages can link to: issues and changes at GitHub, and pages of Kubernetes. Nothing else becomes a
// link, as texts come from outside too.
var references = regexp.MustCompile(`https://github\.com/[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+/(?:issues|pull)/[0-9]+\b` +
	`|https://kubernetes\.io/[A-Za-z0-9_/#-]+` +
	`|\b[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+#[0-9]+\b`)

// linked is a text with links to what it refers to.
func linked(text string) template.HTML {
	var b strings.Builder
	at := 0
	for _, found := range references.FindAllStringIndex(text, -1) {
		name := text[found[0]:found[1]]
		address := name
		if project, number, short := strings.Cut(name, "#"); short && !strings.HasPrefix(name, "https://") {
			address = "https://github.com/" + project + "/issues/" + number
		}
		b.WriteString(template.HTMLEscapeString(text[at:found[0]]) + `<a href="` + template.HTMLEscapeString(address) + `" rel="noreferrer">` + template.HTMLEscapeString(name) + "</a>")
		at = found[1]
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(b.String()) //nolint:gosec // everything is escaped, and addresses are of few characters
}
