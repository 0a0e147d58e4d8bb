package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

// CRDFiles returns the files that crds names, sorted and without duplicates. A folder stands for its .yaml, .yml and .json files, or
// only for its kustomization if it has one. If a name or a pattern matches no file, the error says which.
func (c Config) CRDFiles() ([]string, error) { return c.files("crds", c.CRDs) }

// SampleFiles returns the files that samples names, like CRDFiles.
func (c Config) SampleFiles() ([]string, error) { return c.files("samples", c.Samples) }

func (c Config) files(key string, names []string) ([]string, error) {
	var all []string
	var problems []*ProblemError
	for i, name := range names {
		files, err := expand(c.Path(name), c.pattern(name))
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

// Expand returns the files that a name stands for, sorted. The name may be that of a file, of a folder with .yaml, .yml and .json
// files, or a pattern such as *.yaml for either. A kustomization stands for its whole folder. Expand fails if there is no file.
func Expand(name string) ([]string, error) { return expand(name, name) }

// pattern is like Path, for a pattern: it escapes special characters in the folder of the configuration file.
func (c Config) pattern(name string) string {
	if !c.inFile() || filepath.IsAbs(name) {
		return name
	}
	folder := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(filepath.Dir(c.source.name))
	return filepath.Join(folder, name)
}

func expand(name, pattern string) ([]string, error) {
	found := []string{name}
	if _, err := os.Stat(name); err != nil { // a name that exists is no pattern, whatever is in it
		if found, err = filepath.Glob(pattern); err != nil {
			return nil, fmt.Errorf("%q is not a pattern; a [ needs a ]", name)
		}
	}
	var files []string
	for _, one := range found {
		more, err := opened(filepath.Clean(one))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	kustomized := map[string]bool{}
	for _, file := range files {
		kustomized[filepath.Dir(file)] = kustomized[filepath.Dir(file)] || isKustomization(file)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return kustomized[filepath.Dir(file)] && !isKustomization(file) })
	switch {
	case len(files) > 0:
		slices.Sort(files)
		return slices.Compact(files), nil
	case len(found) > 0:
		return nil, fmt.Errorf("no .yaml, .yml or .json file in %s", name)
	case strings.ContainsAny(name, `*?[`):
		return nil, fmt.Errorf("no file matches %s", name)
	}
	return nil, fmt.Errorf("there is no file %s", name)
}

// opened returns a file, or the files in a folder.
func opened(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		// Keep entries that cannot be examined, so that reading them reports why.
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		switch filepath.Ext(entry.Name()) {
		case ".yaml", ".yml", ".json":
			files = append(files, path)
		default:
			if isKustomization(path) {
				files = append(files, path)
			}
		}
	}
	return files, nil
}

// isKustomization reports whether kustomize would build a file.
func isKustomization(file string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, filepath.Base(file))
}
