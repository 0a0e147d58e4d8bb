package process

import (
	"io"
	"slices"
	"testing"
)

// TestLines cuts what is written into lines.
func TestLines(t *testing.T) {
	t.Parallel()
	var lines []string
	w := &Lines{Say: func(line string) { lines = append(lines, line) }}
	for _, text := range []string{"a", "b\n\nc", "\nd"} {
		if n, err := io.WriteString(w, text); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	w.Flush()
	w.Flush()
	if want := []string{"ab", "", "c", "d"}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
