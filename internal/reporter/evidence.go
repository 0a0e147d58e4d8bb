package reporter

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Part is a piece of information about a result.
type Part struct {
	Name  string         // such as "why it matters"
	Text  string         // empty when the files are all there is
	Code  bool           // the text is shown as it is, line by line
	Files []reports.File // that have it, or more of it
}

// resultParts returns all information about a result besides its requirement's ID, level and statement, in reading order: what
// was found, why it matters, what to do, how to reproduce it, and its source.
func resultParts(r reports.Result) []Part {
	parts := []Part{
		{Name: reasonName(r), Text: strings.TrimSpace(r.Reason), Code: true},
		objectPart(r),
		{Name: "why it matters", Text: r.Why},
		{Name: "what to do", Text: remedy(r)},
		scriptPart(r),
		{Name: "re-run this requirement only", Text: r.Rerun, Code: true},
		{Name: "spec", Text: specText(r)},
		{Name: "source", Text: sources(r)},
		{Name: "note", Text: r.Note},
		{Name: "more files", Files: otherFiles(r)},
	}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Text == "" && len(p.Files) == 0 })
}

// scriptPart is what shows it once more: a request, or commands in order, and the script that has them.
func scriptPart(r reports.Result) Part {
	p := Part{Name: "send it again, in the report folder", Text: r.Curl, Code: r.Curl != "", Files: filesNamed(r, "request.json", "reproduce.sh")}
	if r.Curl == "" && len(filesNamed(r, "request.json")) == 0 {
		p.Name = "commands, in order"
	}
	return p
}

// remedy says what to do about a violation.
func remedy(r reports.Result) string {
	switch r.Verdict {
	case requirement.Failed, requirement.Tolerated, requirement.KnownFailing:
		return explanation.Remedy(r.Requirement)
	default:
		return ""
	}
}

// reasonName is what the reason of the verdict is called.
func reasonName(r reports.Result) string {
	switch {
	case r.Verdict == requirement.Failed || r.Verdict == requirement.Tolerated || r.Verdict == requirement.KnownFailing:
		return "expected and actual"
	case r.Verdict == requirement.NotApplicable && r.Immaterial:
		return "reason (does not affect the verdict)"
	}
	return "reason"
}

// objectPart is the smallest object that shows it, or the one that the commands create. It is shown in full when it is short and at hand:
// a report that was read back from JSON has only the names of its files.
func objectPart(r reports.Result) Part {
	const lines, size = 40, 4000
	p := Part{Name: "smallest object", Code: true, Files: filesNamed(r, "object.yaml")}
	if len(filesNamed(r, "request.json")) == 0 && len(filesNamed(r, "reproduce.sh")) > 0 {
		p.Name = "object" // which nobody has made smaller
	}
	if len(p.Files) != 1 {
		return p
	}
	if text := bytes.TrimRight(p.Files[0].Data, "\r\n"); len(text) <= size && strings.Count(visible.Text(string(text)), "\n") < lines {
		p.Text = own(string(text), r.Reason)
	}
	return p
}

// own leaves out of an object in YAML what API servers fill in, unless the reason is about it.
func own(object, reason string) string {
	var kept []string
	inMetadata := false
	for line := range strings.SplitSeq(object, "\n") {
		if !strings.HasPrefix(line, " ") {
			inMetadata = line == "metadata:"
		}
		field, _, _ := strings.Cut(strings.TrimPrefix(line, "  "), ":")
		filledIn := slices.Contains([]string{"creationTimestamp", "generation", "resourceVersion", "uid"}, field)
		if inMetadata && filledIn && !strings.Contains(reason, "metadata."+field) {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// filesNamed returns the files with a name, wherever they are.
func filesNamed(r reports.Result, names ...string) []reports.File {
	var found []reports.File
	for _, file := range r.Files {
		if slices.Contains(names, path.Base(file.Path)) {
			found = append(found, file)
		}
	}
	return found
}

// otherFiles returns the files that have no part of their own.
func otherFiles(r reports.Result) []reports.File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(file reports.File) bool {
		return slices.Contains([]string{"object.yaml", "request.json", "reproduce.sh"}, path.Base(file.Path))
	})
}

func specText(r reports.Result) string {
	if r.Spec == "" || r.Location == "" {
		return r.Spec + r.Location
	}
	return fmt.Sprintf("%s (%s)", r.Spec, r.Location)
}

// sources are the places that state the requirement.
func sources(r reports.Result) string {
	return strings.Join(visible.Strings(r.Source), "; ")
}

// documents returns the documents that the results name as sources.
func documents(r *reports.Report) []requirement.Document {
	named := map[string]bool{}
	for _, result := range r.Results {
		for _, s := range result.Source {
			named[s.Document] = true
		}
	}
	return slices.DeleteFunc(requirement.Documents(), func(d requirement.Document) bool { return !named[d.ID] })
}

// place is where the page of a document states requirements.
type place struct {
	Number     int // from 1
	URL, Title string
}

// placesOf returns the places online that the results name as sources, each once, and what returns the numbers of those of a result.
func placesOf(r *reports.Report) (places []place, of func(reports.Result) []int) {
	numbers := map[string]int{} // by URL
	for _, result := range r.Results {
		for _, s := range result.Source {
			if at := s.URL(); at != "" && numbers[at] == 0 {
				numbers[at] = len(places) + 1
				places = append(places, place{Number: numbers[at], URL: at, Title: s.Document + ": " + s.Section})
			}
		}
	}
	return places, func(result reports.Result) []int {
		var all []int
		for _, s := range result.Source {
			if n := numbers[s.URL()]; n > 0 && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
		slices.Sort(all)
		return all
	}
}

// title is a name at the beginning of a line.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
