package reports

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// Part is a piece of what a reader wants to know of a result.
type Part struct {
	Name  string // such as "why it matters"
	Text  string // empty when the files are all there is
	Code  bool   // the text is shown as it is, line by line
	Files []File // that have it, or more of it
}

// parts returns all that there is to know of a result beside its requirement's ID, level and statement. They are in the
// order in which they are read: why to care, what was found, how to see it happen, and where it comes from.
func (r Result) parts() []Part {
	parts := []Part{
		{Name: "why it matters", Text: r.Why},
		{Name: r.found(), Text: strings.TrimSpace(r.Reason), Code: true},
		r.object(),
		{Name: "send it again, in the report folder", Text: r.Curl, Code: true, Files: r.named("request.json")},
		{Name: "commands, in order", Files: r.named("reproduce.sh")},
		{Name: "run just it again", Text: r.Rerun, Code: true},
		{Name: "spec", Text: r.spec()},
		{Name: "source", Text: sources(r)},
		{Name: "note", Text: r.Note},
		{Name: "more files", Files: r.others()},
	}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Text == "" && len(p.Files) == 0 })
}

// found is what the reason of the verdict is called.
func (r Result) found() string {
	switch {
	case r.Verdict == requirement.Failed || r.Verdict == requirement.Tolerated || r.Verdict == requirement.KnownFailing:
		return "expected and actual"
	case r.Verdict == requirement.NotApplicable && r.Immaterial:
		return "reason, which takes nothing from the verdict"
	}
	return "reason"
}

// object is the smallest object that shows it, or the one that the commands create. It is told in full when it is short and at hand: a report that was read
// back from JSON has the names of its files only.
func (r Result) object() Part {
	const lines, size = 40, 4000
	p := Part{Name: "smallest object", Code: true, Files: r.named("object.yaml")}
	if len(r.named("reproduce.sh")) > 0 {
		p.Name = "object" // which nobody has made smaller
	}
	if len(p.Files) != 1 {
		return p
	}
	if text := bytes.TrimRight(p.Files[0].Data, "\r\n"); len(text) <= size && strings.Count(Visible(string(text)), "\n") < lines {
		p.Text = string(text)
	}
	return p
}

// named returns the files with a name, wherever they are.
func (r Result) named(names ...string) []File {
	var found []File
	for _, file := range r.Files {
		if slices.Contains(names, path.Base(file.Path)) {
			found = append(found, file)
		}
	}
	return found
}

// others returns the files that have no part of their own.
func (r Result) others() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(file File) bool {
		return slices.Contains([]string{"object.yaml", "request.json", "reproduce.sh"}, path.Base(file.Path))
	})
}

func (r Result) spec() string {
	if r.Spec == "" || r.Location == "" {
		return r.Spec + r.Location
	}
	return fmt.Sprintf("%s (%s)", r.Spec, r.Location)
}

// sources are the places that state the requirement.
func sources(r Result) string {
	texts := make([]string, 0, len(r.Source))
	for _, s := range r.Source {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}

// documents are those that the results name as their sources.
func (r *Report) documents() []requirement.Document {
	named := map[string]bool{}
	for _, result := range r.Results {
		for _, s := range result.Source {
			named[s.Document] = true
		}
	}
	return slices.DeleteFunc(requirement.Documents(), func(d requirement.Document) bool { return !named[d.ID] })
}

// title is a name at the beginning of a line.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
