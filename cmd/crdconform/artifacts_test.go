package main

import (
	"path/filepath"
	"testing"
)

// TestLogKeepsNoSecrets writes a log in pieces.
func TestLogKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apiserver.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"it answered: tok", "en=hidden-value\nand so", " on"} {
		if _, err := log.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if got := string(read(t, path)); got != "it answered: token=[redacted]\nand so on\n" {
		t.Errorf("got %q", got)
	}
}
