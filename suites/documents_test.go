package suites_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/suites/resource"
)

// text is that of a file of the module.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPlacesOfSpecs goes to where explain says that a spec is.
func TestPlacesOfSpecs(t *testing.T) {
	t.Parallel()
	for _, spec := range suites.Preview(append(chapters.Run(), resource.Area)) {
		name, number, _ := strings.Cut(spec.Location, ":")
		n, err := strconv.Atoi(number)
		if err != nil || filepath.IsAbs(name) {
			t.Errorf("%s is at %s, want a file of the module and a line", spec.Requirement, spec.Location)
		} else if lines := strings.Count(text(t, name), "\n"); n < 1 || n > lines {
			t.Errorf("%s is at %s, which has %d lines", spec.Requirement, spec.Location, lines)
		}
	}
}

// TestREADMECounts wants the README to have as many requirements as run and check judge.
func TestREADMECounts(t *testing.T) {
	t.Parallel()
	readme := text(t, "README.md")
	for format, areas := range map[string][]suites.Area{"[%[1]d/%[1]d]": chapters.Run(), "of %d requirements failed": chapters.Check()} {
		if want := fmt.Sprintf(format, len(suites.Preview(areas))); !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
