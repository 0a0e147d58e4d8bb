package reports

import (
	"encoding/json"
	"io"
)

// JSON writes the report as data, from which every other form can be made again.
func (r *Report) JSON(w io.Writer) error { return encodeJSON(w, r) }

// JSON writes the load alone.
func (l *Load) JSON(w io.Writer) error { return encodeJSON(w, l) }

func encodeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
