package suites_test

import (
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
