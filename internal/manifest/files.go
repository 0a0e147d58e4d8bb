// Package manifest reads manifests: files of YAML and JSON, folders of them, patterns, and kustomizations. It is the one place that
// knows what a document is, and where it is in its file. Package dump reads objects by the thousand with what is here.
package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/files"
)

// Files returns the files that a name stands for, sorted. The name may be that of a file, of a folder with .yaml, .yml and .json
// files, or a pattern such as *.yaml for either. A kustomization stands for its whole folder. It fails if there is no file.
func Files(name string) ([]string, error) { return Matching(name, name) }

// Matching is like Files, for a name whose pattern is written otherwise, since the folder that it is relative to has special characters.
func Matching(name, pattern string) ([]string, error) {
	found := []string{name}
	if _, err := os.Stat(name); err != nil { // a name that exists is no pattern, whatever is in it
		if found, err = filepath.Glob(pattern); err != nil {
			return nil, fmt.Errorf("%q is not a pattern; a [ needs a ]", name)
		}
	}
	var all []string
	for _, one := range found {
		more, err := opened(filepath.Clean(one))
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	kustomized := map[string]bool{}
	for _, file := range all {
		kustomized[filepath.Dir(file)] = kustomized[filepath.Dir(file)] || IsKustomization(file)
	}
	all = slices.DeleteFunc(all, func(file string) bool { return kustomized[filepath.Dir(file)] && !IsKustomization(file) })
	switch {
	case len(all) > 0:
		slices.Sort(all)
		return slices.Compact(all), nil
	case len(found) > 0:
		return nil, fmt.Errorf("no .yaml, .yml or .json file in %s", name)
	case strings.ContainsAny(name, `*?[`):
		return nil, fmt.Errorf("no file matches %s", name)
	}
	return nil, Missing(name)
}

// Missing is the error for the name of a file that does not exist. kubectl takes URLs as well.
func Missing(name string) error {
	if strings.Contains(name, "://") {
		return fmt.Errorf("%s is a URL, not a file; download it, and give the file", name)
	}
	return fmt.Errorf("there is no file %s", name)
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
	var all []string
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		// Keep entries that cannot be examined, so that reading them reports why.
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		if IsFile(path) || IsKustomization(path) {
			all = append(all, path)
		}
	}
	return all, nil
}

// Below returns the files of a folder and of the folders in it that a name is right for, in the order of their names. Folders whose names
// begin with a dot are left out, and so are links to folders, sockets, pipes and devices. A link that leads nowhere is one of the files, so
// that reading it fails.
func Below(folder string, right func(name string) bool) ([]string, error) {
	var all []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(folder, filepath.FromSlash(name))
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", folder, err)
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !right(path):
			return nil
		}
		if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
			all = append(all, path)
		}
		return nil
	})
	return all, err
}

// IsFile reports whether a file is of YAML or JSON, by its name.
func IsFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// Read reads a file of 32 MiB at most. Of a kustomization it returns what that builds.
func Read(file string) ([]byte, error) {
	if IsKustomization(file) {
		return build(filepath.Dir(file))
	}
	return files.Read(file, files.Objects)
}
