package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// What init writes into a project of kubebuilder.
var (
	//go:embed scaffold/Makefile
	makefilePart []byte

	//go:embed scaffold/test-conversion.yml
	conversionWorkflow []byte
)

// The first words of the part of the Makefile, and its last line.
const (
	partBegins = "# crdconform: begin"
	partEnds   = "# crdconform: end\n"
)

// samplesPattern is where kubebuilder puts a sample of each version.
const samplesPattern = "config/samples/*.yaml"

// conversionWorkflowFile is where the workflow is, beside those of kubebuilder.
var conversionWorkflowFile = filepath.Join(".github", "workflows", "test-conversion.yml")

// project writes the target and the workflow that check the project's webhook, and the configuration, if there is none. A second time it
// changes nothing.
func (i *initializer) project(names []string) error {
	makefile, err := os.ReadFile("Makefile")
	if err == nil {
		_, err = os.Stat("PROJECT")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("--kubebuilder: this is no folder of a kubebuilder project, which has PROJECT and Makefile")
	}
	if err != nil {
		return unjudged(err)
	}
	changed, err := withPart(makefile, bytes.ReplaceAll(makefilePart, []byte("VERSION ?= VERSION"), []byte("VERSION ?= "+installable())))
	if err != nil {
		return err
	}
	if _, missing := os.Stat(i.output); missing != nil || i.force {
		samples, none := filepath.Glob(samplesPattern)
		if err = errors.Join(none, i.run(names, samples)); err != nil {
			return err
		}
	}
	workflow, err := os.ReadFile(conversionWorkflowFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && i.force {
		workflow, err = conversionWorkflow, os.MkdirAll(filepath.Dir(conversionWorkflowFile), 0o755)
	}
	if err == nil {
		err = errors.Join(os.WriteFile("Makefile", changed, 0o644), os.WriteFile(conversionWorkflowFile, workflow, 0o644)) //nolint:gosec // they are to be read
	}
	if err != nil {
		return unjudged(fmt.Errorf("--kubebuilder: %w", err))
	}
	return write(i.out, fmt.Sprintf("crdconform: Makefile has the target test-conversion, and %s runs it\n", filepath.ToSlash(conversionWorkflowFile)))
}

// withPart returns a Makefile with our part, in the place of an earlier one.
func withPart(makefile, part []byte) ([]byte, error) {
	before, rest, found := bytes.Cut(makefile, []byte(partBegins))
	if !found {
		return append(append(bytes.TrimRight(makefile, "\n"), "\n\n"...), part...), nil
	}
	_, after, ended := bytes.Cut(rest, []byte(partEnds))
	if !ended {
		return nil, fmt.Errorf("--kubebuilder: Makefile has no line %q after %q; remove that part", strings.TrimSpace(partEnds), partBegins)
	}
	return bytes.Join([][]byte{before, part, after}, nil), nil
}

// installable is the version of this program, if it is a release that the go command can install.
func installable() string {
	if v := toolVersion(); semver.IsValid(v) && semver.Build(v) == "" && !module.IsPseudoVersion(v) {
		return v
	}
	return "latest"
}
