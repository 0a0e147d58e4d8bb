// Package kindconfig provides a kind configuration for each Kubernetes minor version that is supported upstream, and for older ones
// at which a requirement begins or ceases to apply, or which a document describes. The comment at the top of each file says which.
package kindconfig

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Config is a kind configuration for a cluster of one Kubernetes minor version.
type Config struct {
	// Minor is the Kubernetes minor version, such as "1.36".
	Minor string

	// Image is the node image, with its digest.
	Image string

	// YAML is the configuration as a file for kind. The caller owns it.
	YAML []byte

	// Cluster is the decoded YAML. The caller owns it.
	Cluster v1alpha4.Cluster
}

// For returns the configuration for a minor version, such as "1.36". For an unknown version, the error lists the known ones.
func For(minor string) (Config, error) {
	number, err := parse(minor)
	if err != nil {
		return Config{}, err
	}
	known, err := minors()
	if err != nil {
		return Config{}, err
	}
	if !slices.Contains(known, number) {
		names := make([]string, 0, len(known))
		for _, one := range known {
			names = append(names, name(one))
		}
		return Config{}, fmt.Errorf("no kind configuration for Kubernetes %s (want %s)", minor, strings.Join(names, ", "))
	}
	return load(number)
}

// All returns all configurations, oldest minor first.
func All() ([]Config, error) {
	known, err := minors()
	if err != nil {
		return nil, err
	}
	all := make([]Config, 0, len(known))
	for _, minor := range known {
		config, err := load(minor)
		if err != nil {
			return nil, err
		}
		all = append(all, config)
	}
	return all, nil
}

func name(minor int) string { return "1." + strconv.Itoa(minor) }

// parse returns the number after "1.".
func parse(minor string) (int, error) {
	text, found := strings.CutPrefix(minor, "1.")
	number, err := strconv.Atoi(text)
	if !found || err != nil || name(number) != minor {
		return 0, fmt.Errorf("%q is not a Kubernetes minor (want, for example, 1.36)", minor)
	}
	return number, nil
}

// minors returns the minor versions that have a file, in ascending order.
func minors() ([]int, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	known := make([]int, 0, len(entries))
	for _, entry := range entries {
		number, err := parse(strings.TrimSuffix(entry.Name(), ".yaml"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		known = append(known, number)
	}
	slices.Sort(known)
	return known, nil
}

func load(minor int) (Config, error) {
	file := name(minor) + ".yaml"
	raw, err := files.ReadFile(file)
	if err != nil {
		return Config{}, err
	}
	config := Config{Minor: name(minor), YAML: raw}
	if err := yaml.UnmarshalStrict(raw, &config.Cluster); err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(config.Cluster.Nodes) == 0 || config.Cluster.Nodes[0].Image == "" {
		return Config{}, fmt.Errorf("%s: no image", file)
	}
	config.Image = config.Cluster.Nodes[0].Image
	return config, nil
}
