package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/manifest"
)

// standardInput is what stands for it among files.
const standardInput = "-"

// readFiles reads what the arguments name: files, patterns, directories and the standard input.
func readFiles(args []string, in io.Reader) ([]lint.File, error) {
	var all, piped []lint.File
	var folders []string
	for _, arg := range args {
		if arg == standardInput {
			data, err := files.ReadAll(in, "standard input", files.Objects)
			if err != nil {
				return nil, err
			}
			piped = append(piped, lint.File{Name: "stdin", Data: data})
			continue
		}
		names, err := expandPattern(arg)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			more, folder, err := readPath(name)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
			if folder {
				folders = append(folders, name)
			}
		}
	}
	all = withKustomizations(all, folders)
	for i, file := range all {
		all[i].InChart = inChart(file.Name)
	}
	return unique(append(all, piped...)), nil
}

// inChart reports whether a file is in the folder crds of a chart, or below that.
func inChart(name string) bool {
	folder := filepath.Dir(name)
	for filepath.Base(folder) != "crds" {
		above := filepath.Dir(folder)
		if above == folder {
			return false
		}
		folder = above
	}
	_, err := os.Stat(filepath.Join(folder, "..", "Chart.yaml"))
	return err == nil
}

// unique leaves out files that were named twice.
func unique(files []lint.File) []lint.File {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f lint.File) bool {
		again := seen[f.Name]
		seen[f.Name] = true
		return again
	})
}

// expandPattern returns the files that match a pattern, or the argument itself if it is the name of one.
func expandPattern(arg string) ([]string, error) {
	if _, err := os.Lstat(arg); err == nil || !strings.ContainsAny(arg, "*?[") {
		return []string{arg}, nil
	}
	names, err := filepath.Glob(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: malformed pattern; use * for any characters", arg)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file matches the pattern", arg)
	}
	return names, nil
}

// readPath reads a file, or the files below a folder.
func readPath(name string) (read []lint.File, folder bool, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, manifest.Missing(name)
	}
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		data, unread := files.Read(name, files.Objects)
		return []lint.File{{Name: displayed(name), Data: data}}, false, unread
	}
	below, err := manifest.Below(name, manifest.IsFile)
	if err != nil {
		return nil, true, err
	}
	var all []lint.File
	for _, path := range below {
		data, unread := files.Read(path, files.Objects)
		if unread != nil && !errors.Is(unread, fs.ErrNotExist) { // a link may lead nowhere
			return nil, true, unread
		}
		if bytes.Contains(data, []byte("CustomResourceDefinition")) {
			all = append(all, lint.File{Name: displayed(path), Data: data})
		}
	}
	if len(all) == 0 && manifest.KustomizationIn(name) == "" {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file below it has a CustomResourceDefinition", name)
	}
	return all, true, err
}

// displayed is the name of a file relative to the working directory, if it is below that.
func displayed(name string) string {
	if !filepath.IsAbs(name) {
		return filepath.ToSlash(filepath.Clean(name))
	}
	here, err := os.Getwd()
	if err != nil {
		return name
	}
	if relative, err := filepath.Rel(here, name); err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return name
}
