package corpus_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
)

// enough is how many of 100 fields are to be exercised.
const enough = 98

// project is what definitions that belong together come to.
type project struct {
	name                      string
	definitions, total, plain int // exercised by plain objects
	both                      int // exercised by those and the objects of one field each
	never                     []string
	took                      time.Duration
}

// TestFieldsOfSubjects holds that the fields of the definitions that come with the tests are exercised.
func TestFieldsOfSubjects(t *testing.T) {
	t.Parallel()
	reachSubjects(t, 1)
}

// reachSubjects checks the definitions that come with the tests.
func reachSubjects(t *testing.T, seed int64) {
	t.Helper()
	for _, p := range measured(t, filepath.Join("..", "test", "subjects"), seed) {
		check(t, p, seed)
	}
}

func check(t *testing.T, p *project, seed int64) {
	t.Helper()
	t.Logf("%-20s seed %d: %2d versions, %5d fields, plain %6.2f %%, with singles %6.2f %%, %s", p.name, seed, p.definitions, p.total,
		share(p.plain, p.total), share(p.both, p.total), p.took.Round(time.Millisecond))
	for _, path := range p.never {
		t.Log("    never: " + path)
	}
	if share(p.both, p.total) < enough {
		t.Errorf("%s: %.2f %% of the fields were exercised, want %d", p.name, share(p.both, p.total), enough)
	}
}

func share(part, total int) float64 { return 100 * float64(part) / float64(max(total, 1)) }

// measured measures each folder of a folder.
func measured(t *testing.T, dir string, seed int64) []*project {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var projects []*project
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		p := &project{name: entry.Name()}
		err := filepath.WalkDir(filepath.Join(dir, entry.Name()), func(path string, file fs.DirEntry, err error) error {
			if err != nil || file.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			return p.read(t, path, seed)
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.definitions > 0 {
			projects = append(projects, p)
		}
	}
	return projects
}

// read measures the definitions of a file. Files of other things are left out.
func (p *project) read(t *testing.T, path string, seed int64) error {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "kind: CustomResourceDefinition") {
		return err
	}
	definitions, _, err := corpus.ReadDefinitions("file.yaml", text)
	if err != nil {
		t.Logf("%s is left out: %v", path, err)
	}
	for _, d := range definitions {
		for _, version := range d.Versions() {
			p.measure(d, version, seed)
		}
	}
	return nil
}

// measure measures a version of a definition.
func (p *project) measure(d *corpus.Definition, version string, seed int64) {
	const objects = 50
	began := time.Now()
	g, c := d.Generator(version, seed, nil), corpus.NewCoverage(d.Schema(version))
	for _, object := range g.Objects(corpus.Plain, objects) {
		c.Add(object)
	}
	plain := c.Result(nil)
	for _, single := range g.Singles() {
		c.Add(single.Object)
	}
	both := c.Result(g.Gaps())
	p.definitions++
	p.total += both.Total
	p.plain += plain.Exercised
	p.both += both.Exercised
	p.took += time.Since(began)
	for _, field := range both.Never {
		p.never = append(p.never, fmt.Sprintf("%s %s %s: %.200s", d.Name(), version, field.Path, field.Reason))
	}
	slices.Sort(p.never)
}
