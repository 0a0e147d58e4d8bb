package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

func TestNumbersWrites(t *testing.T) {
	t.Parallel()
	s := new(serials)
	becomes := func(raw, desired string) string {
		converted, err := s.convertAll(program.Review{Desired: desired, Objects: []json.RawMessage{json.RawMessage(raw)}})
		if err != nil {
			t.Fatal(err)
		}
		return string(converted[0])
	}
	old := `{"apiVersion":"` + older + `","metadata":{"name":"a"}}`
	written := becomes(old, newer)
	if !strings.Contains(written, `"annotations":{"`+serial+`":"1"}`) {
		t.Errorf("got %s", written)
	}
	if again := becomes(becomes(written, older), newer); again != written {
		t.Errorf("got %s, want %s", again, written)
	}
	if other := becomes(old, newer); !strings.Contains(other, `"2"`) {
		t.Errorf("got %s", other)
	}
}
