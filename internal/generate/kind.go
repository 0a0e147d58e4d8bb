package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/kindconfig"
)

// kindImages writes docs/kind.md with its table of minors and their images, which follows from the kind configurations.
func kindImages() ([]byte, error) {
	const heading = "| --- | --- | --- | --- |\n"
	head := regexp.MustCompile(`^# Kubernetes (1\.\d+): (.+)\.\n# The image is that of the release notes of kind (v\d+\.\d+\.\d+)\.\n`)
	configs, err := kindconfig.All()
	if err != nil {
		return nil, err
	}
	var table strings.Builder
	slices.Reverse(configs)
	for _, config := range configs {
		found := head.FindSubmatch(config.YAML)
		if found == nil || string(found[1]) != config.Minor {
			return nil, fmt.Errorf("kindconfig/%s.yaml does not begin with what the minor is for and the release of kind, as the others do", config.Minor)
		}
		tag, _, _ := strings.Cut(config.Image, "@")
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", config.Minor, strings.TrimPrefix(tag, "kindest/node:"), found[3], found[2])
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "kind.md"))
	if err != nil {
		return nil, err
	}
	before, rest, found := strings.Cut(string(page), heading)
	end := strings.Index(rest, "\n\n") + 1
	if !found || end == 0 {
		return nil, errors.New("docs/kind.md has no table of minors")
	}
	return []byte(before + heading + table.String() + rest[end:]), nil
}
