package reporter

import (
	"slices"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Chapter is the results of one area for one subject.
type Chapter struct {
	Name    string // area and subject, such as "webhook, widgets.example.com"; the area alone when there is no subject
	Area    string
	Subject string // definition, see Result
	Results []reports.Result
}

// Chapters returns the results by subject and area, in their order.
func Chapters(r *reports.Report) []Chapter {
	var chapters []Chapter
	at := map[[2]string]int{}
	for _, result := range r.Results {
		key := [2]string{result.Subject, result.ID.Area()}
		i, known := at[key]
		if !known {
			i = len(chapters)
			at[key] = i
			chapters = append(chapters, Chapter{Name: joined(key[1], ", ", key[0]), Area: key[1], Subject: key[0]})
		}
		chapters[i].Results = append(chapters[i].Results, result)
	}
	return chapters
}

// Areas returns the chapters of all definitions added up.
func Areas(r *reports.Report) []Chapter {
	var areas []Chapter
	for _, chapter := range Chapters(r) {
		i := slices.IndexFunc(areas, func(c Chapter) bool { return c.Area == chapter.Area })
		if i < 0 {
			areas = append(areas, chapter)
			continue
		}
		areas[i].Results = append(areas[i].Results, chapter.Results...)
		areas[i].Name = chapter.Area + ", all definitions"
	}
	return areas
}

// joined puts more behind a text, if there is more.
func joined(text, separator, more string) string {
	if more == "" {
		return text
	}
	return text + separator + more
}

// Count returns how many results of a chapter have a verdict.
func (c Chapter) Count(v requirement.Verdict) int {
	n := 0
	for _, result := range c.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// Subjects returns the subjects of the results in order. The empty one stands for results about no
// definition in particular.
func Subjects(r *reports.Report) []string {
	var subjects []string
	known := map[string]bool{}
	for _, result := range r.Results {
		if !known[result.Subject] {
			known[result.Subject] = true
			subjects = append(subjects, result.Subject)
		}
	}
	return subjects
}

// subjectName returns the name of a subject when there are several. Results about no definition are about the API server.
func subjectName(subject string) string {
	if subject == "" {
		return "API server"
	}
	return subject
}
