// Command generate writes the files that follow from the code, the catalogue and the kind configurations. "make generate" runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/requirement"
)

//go:generate go run .

// here is the path of this package, in whose folder the program and its tests run, and root is the folder of the module.
const (
	here = "github.com/crdconform/crdconform/internal/generate"
	root = "../.."
)

// file is a generated file, by its path in the module.
type file struct {
	path   string
	render func() ([]byte, error)
}

// files returns all that is generated. The schema of reports has comments of ids.go, which therefore comes first.
func files() []file {
	return append(released(), []file{
		{"requirement/ids.go", func() ([]byte, error) { return ids(requirement.All()) }},
		{"internal/explanation/related.go", func() ([]byte, error) { return related(lint.Rules(), webhook.Faults()) }},
		{"docs/sentences.md", func() ([]byte, error) { return sentences(requirement.Documents(), requirement.Sentences()), nil }},
		{"config/schema.json", configSchema},
		{"docs/configuration.md", configurationPage},
		{"README.md", readme},
		{"docs/scenarios.md", scenariosPage},
		{"docs/report.schema.json", reportSchema},
		{"internal/generate/api.txt", api},
		{"docs/kind.md", kindImages},
	}...)
}

func main() {
	for _, f := range files() {
		text, err := f.render()
		if err == nil {
			err = os.WriteFile(filepath.Join(root, f.path), text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

// api lists the public API, so that a review sees a change to it.
func api() ([]byte, error) {
	names, err := exported(root)
	return []byte(strings.Join(names, "\n") + "\n"), err
}
