package reports

import (
	"bytes"
	"encoding/json"
	"io"
)

// JSON writes the report as data, from which every other form can be made again.
func (r *Report) JSON(w io.Writer) error { return encodeJSON(w, r) }

// JSON writes the load alone.
func (l *Load) JSON(w io.Writer) error { return encodeJSON(w, l) }

// encodeJSON writes what is written the same when it was read back: bytes that are no UTF-8 get replaced when they are written
// first, and their replacement is written in another way than they are.
func encodeJSON[T any](w io.Writer, v *T) error {
	text, err := indented(v)
	if err == nil && bytes.Contains(text, []byte(`\ufffd`)) {
		read := new(T)
		if err = json.Unmarshal(text, read); err == nil {
			text, err = indented(read)
		}
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}
