// Package kindconfig has a configuration of kind for each Kubernetes minor: the ones that are supported upstream, and older
// ones at which a requirement begins or ends to hold, or of which a document is.
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

// oldestSupported is the oldest minor that is supported upstream.
const oldestSupported = 34

// Config is how kind is to make a cluster of a minor.
type Config struct {
	// Minor is the Kubernetes minor, such as "1.36".
	Minor string

	// Image is the node image, with its digest.
	Image string

	// Supported tells whether the minor is supported upstream. kind v0.33.0 has images of its own for those. The images of
	// the others are of older releases of kind, and have not been tried.
	Supported bool

	// YAML is the configuration as a file for kind.
	YAML []byte

	// Cluster is the same, decoded. The caller owns it.
	Cluster v1alpha4.Cluster
}

// For returns the configuration for a minor, such as "1.36". The error for one that there is none for lists the others.
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
		return Config{}, fmt.Errorf("there is no kind configuration for Kubernetes %s; there is one for %s", minor, strings.Join(names, ", "))
	}
	return load(number)
}

// All returns the configurations, the one of the oldest minor first.
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
		return 0, fmt.Errorf("%q is no Kubernetes minor; write it as 1.36", minor)
	}
	return number, nil
}

// minors returns the minors that there is a file for, in order.
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
	config := Config{Minor: name(minor), Supported: minor >= oldestSupported, YAML: raw}
	if err := yaml.UnmarshalStrict(raw, &config.Cluster); err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(config.Cluster.Nodes) == 0 || config.Cluster.Nodes[0].Image == "" {
		return Config{}, fmt.Errorf("%s: it names no image", file)
	}
	config.Image = config.Cluster.Nodes[0].Image
	return config, nil
}
