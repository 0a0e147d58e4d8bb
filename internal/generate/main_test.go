package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAreUpToDate(t *testing.T) {
	for _, f := range files() {
		want, err := f.render()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, f.path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not follow from what it is made of (%v); run \"make generate\"", f.path, err)
		}
	}
}
