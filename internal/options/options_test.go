package options_test

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
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
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
		if ofSubjects && !strings.Contains(string(docs), "| --"+o.Flag+" |\n") {
			t.Errorf("docs/check.md does not have --%s in its table of flags", o.Flag)
		}
	}
	if len(flags) < 40 {
		t.Errorf("there are %d flags", len(flags))
	}
}
