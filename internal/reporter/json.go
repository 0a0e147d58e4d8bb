package reporter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// JSON writes a report, or a part of one, as data. It is written the same when it was read back: bytes that are no UTF-8 get replaced
// when they are written first, and their replacement is written in another way than they are.
func JSON[T any](v *T, w io.Writer) error {
	text, err := encoded(v)
	if err == nil && bytes.Contains(text, []byte(`\ufffd`)) {
		read := new(T)
		if err = json.Unmarshal(text, read); err == nil {
			text, err = encoded(read)
		}
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return spelled(b.Bytes()), err
}

// spelled returns JSON with invisible characters spelled out, as Visible knows them. Encoders leave some of them, and a terminal that
// shows the file obeys them. All of them are in strings.
func spelled(text []byte) []byte {
	hidden := func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}
