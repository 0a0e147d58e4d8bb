package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/options"
)

// Files returns the files that the names of a key such as crds or samples stand for, sorted and without duplicates. A folder stands for
// its .yaml, .yml and .json files, or only for its kustomization if it has one. If a name or a pattern matches no file, the error says which.
func (c Config) Files(key string, names []string) ([]string, error) {
	var all []string
	var problems []*ProblemError
	for i, name := range names {
		files, err := manifest.Matching(c.Path(name), c.pattern(name))
		if err != nil {
			problems = append(problems, c.at(options.Item(key, i), "%w", err))
		}
		all = append(all, files...)
	}
	if len(problems) > 0 {
		return nil, joined(problems)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// pattern is like Path, for a pattern: it escapes special characters in the folder of the configuration file.
func (c Config) pattern(name string) string {
	if !c.inFile() || filepath.IsAbs(name) {
		return name
	}
	folder := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(filepath.Dir(c.source.name))
	return filepath.Join(folder, name)
}
