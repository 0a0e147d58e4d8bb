package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
)

// TestOptions wants every option of the table to be a key of the file, to be declared once, and to explain its flag.
func TestOptions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
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
		key := strings.ReplaceAll(strings.ReplaceAll(o.Key, "[0].", "[*]."), "[0]", "")
		_, row, found := strings.Cut(string(page), "\n| `"+key+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if !found || !strings.Contains(row, "`--"+o.Flag+"` (") {
			t.Errorf("docs/configuration.md does not have --%s with the key %s", o.Flag, key)
		}
	}
	if len(flags) < 40 {
		t.Errorf("there are %d flags", len(flags))
	}
}
