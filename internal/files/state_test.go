package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestState keeps something, replaces it and removes it, and takes no other file for it.
func TestState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "state.json")
	var got map[string]int
	if found, err := LoadState(file, &got); found || err != nil {
		t.Errorf("there is no file: %v, %v", found, err)
	}
	for n := range 2 {
		if err := SaveState(file, map[string]int{"n": n}); err != nil {
			t.Fatal(err)
		}
		if found, err := LoadState(file, &got); !found || err != nil || got["n"] != n {
			t.Errorf("%v, %v, %v", found, err, got)
		}
	}
	if err := os.WriteFile(file, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadState(file, &got); !errors.Is(err, ErrNoState) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(RemoveState(file), RemoveState(file)); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
