package lint

import (
	"encoding/json"
	"io"
)

// JSON writes the findings as one JSON object, with the number of definitions and of findings at each level.
func (r *Report) JSON(w io.Writer) error {
	findings := r.Findings
	if findings == nil {
		findings = []Finding{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Definitions int       `json:"definitions"`
		Errors      int       `json:"errors"`
		Warnings    int       `json:"warnings"`
		Notes       int       `json:"notes"`
		Findings    []Finding `json:"findings"`
	}{r.Definitions, r.Count(Error), r.Count(Warning), r.Count(Note), findings})
}
