package reports

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// Chapter is the results of one area.
type Chapter struct {
	Name    string
	Results []Result
}

// Chapters returns the results by area, in the order of the catalogue.
func (r *Report) Chapters() []Chapter {
	var chapters []Chapter
	for _, result := range r.Results {
		name := result.ID.Area()
		if len(chapters) == 0 || chapters[len(chapters)-1].Name != name {
			chapters = append(chapters, Chapter{Name: name})
		}
		last := &chapters[len(chapters)-1]
		last.Results = append(last.Results, result)
	}
	return chapters
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

// With returns the results with one of the verdicts, in their order.
func (r *Report) With(verdicts ...requirement.Verdict) []Result {
	var found []Result
	for _, result := range r.Results {
		if slices.Contains(verdicts, result.Verdict) {
			found = append(found, result)
		}
	}
	return found
}
