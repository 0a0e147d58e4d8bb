package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// release matches where a page or an example names a release of crdconform, up to the version.
var release = regexp.MustCompile(`(crdconform/crdconform[@/]|version: |rev: |refs/tags/|such as )v\d+\.\d+\.\d+(?:-[0-9a-z.]+)?`)

// released are the files that name a release.
func released() []file {
	var all []file
	for _, path := range []string{"docs/install.md", "action.yml", "deploy/gitlab-component.yaml"} {
		all = append(all, file{path, func() ([]byte, error) { return withRelease(path) }})
	}
	return all
}

// withRelease returns a file with the release that VERSION names.
func withRelease(path string) ([]byte, error) {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err == nil && !release.Match(text) {
		err = fmt.Errorf("%s names no release", path)
	}
	return release.ReplaceAll(text, append([]byte("${1}"), bytes.TrimSpace(version)...)), err
}
