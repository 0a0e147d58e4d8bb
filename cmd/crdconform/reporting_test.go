package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGivenFlags has them come out as they can go in again.
func TestGivenFlags(t *testing.T) {
	cmd := newRun(streams{})
	if got := givenFlags(cmd.Flags()); len(got) > 0 {
		t.Errorf("without any: %q", got)
	}
	args := []string{"--filter", "storage,*.uid", "--filter=versions", "--strict", "--load-duration", "90s", "--report-dir", "my reports"}
	check(t, cmd.ParseFlags(args))
	want := []string{"--filter='storage,*.uid,versions'", "--load-duration=1m30s", "--report-dir='my reports'", "--strict=true"}
	if got := givenFlags(cmd.Flags()); !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLogKeepsNoSecrets writes a log in pieces. It is about the file alone: the log itself is the whole process's.
func TestLogKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "apiserver.log")
	if _, err := openLog(path); err == nil || !strings.HasPrefix(err.Error(), "the log of the API server: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	path = filepath.Join(t.TempDir(), "apiserver.log")
	log, err := openLog(path)
	check(t, err)
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
