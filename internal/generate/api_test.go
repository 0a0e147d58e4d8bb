package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPublicAPI fails when the public API changes without its list, and when it grows beyond what can be kept.
func TestPublicAPI(t *testing.T) {
	const most = 233
	got, err := exported(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is exported and not in api.txt; unexport it, or run \"make generate\"", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is in api.txt and not exported any more; users lose it. If that is meant, run \"make generate\"", name)
		}
	}
	if len(got) >= most {
		t.Errorf("the public API has %d names, and must have fewer than %d", len(got), most)
	}
}
