package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
)

// TestOptions wants every option of the table to be a key of the file, to be declared once, and to explain its flag.
func TestOptions(t *testing.T) {
	t.Parallel()
	docs, upgrades := documented(t, "check.md"), documented(t, "upgrades.md")
	flags, keys := map[string]bool{}, map[string]bool{}
	for _, o := range options.All() {
		var c config.Config
		if keys[o.Key+strings.Join(o.Commands, " ")] || !strings.Contains(o.Key, "[*]") && o.In(&c) == nil {
			t.Errorf("%s is not a key, or it is there twice", o.Key)
		}
		keys[o.Key+strings.Join(o.Commands, " ")] = true
		if o.Flag == "" {
			continue
		}
		for _, command := range o.Commands {
			if flags[command+" "+o.Flag] {
				t.Errorf("%s --%s is there twice", command, o.Flag)
			}
			flags[command+" "+o.Flag] = true
		}
		if o.Help == "" || strings.HasSuffix(o.Help, ".") {
			t.Errorf("--%s is explained as %q", o.Flag, o.Help)
		}
		ofSubjects := o.Flag == "cluster" || slices.Contains(o.Commands, "check") || slices.Contains(o.Commands, "load")
		if ofSubjects && !strings.Contains(docs, "| --"+o.Flag+" |\n") {
			t.Errorf("docs/check.md does not have --%s in its table of flags", o.Flag)
		}
		if slices.Contains(o.Commands, "rehearse") && !strings.Contains(upgrades, "| --"+o.Flag+" | "+o.Key+" |") {
			t.Errorf("docs/upgrades.md does not have --%s with the key %s in its table of flags", o.Flag, o.Key)
		}
	}
	if len(flags) < 40 {
		t.Errorf("there are %d flags", len(flags))
	}
}

// documented is a page of docs.
func documented(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
