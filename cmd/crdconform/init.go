package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/manifest"
)

// initializer is the command init.
type initializer struct {
	streams
	output      string
	force       bool
	kubebuilder bool
}

func newInit(s streams) *cobra.Command {
	i := &initializer{streams: s}
	cmd := &cobra.Command{
		Use:   "init [CRD...]",
		Short: "Write a configuration file for your definitions",
		Long: `init writes crdconform.yaml for the CustomResourceDefinitions in files, folders or patterns. It derives the location of the
webhook from spec.conversion, and shows other settings in comments. Files with objects of these definitions become its samples.
It does not overwrite an existing file.

With --kubebuilder, in the folder of a kubebuilder project, it also adds the target test-conversion to the Makefile, and a GitHub
workflow that runs it. CRD is config/crd then, unless given, and samples are what is filled in of config/samples. What is there
already stays, so it can be run again, such as with a newer release: only its own part of the Makefile is written anew.`,
		Example: `  crdconform init config/crd/bases
  crdconform init widgets.yaml gadgets.yaml --file deploy/crdconform.yaml
  crdconform init 'crds/*.yaml' --file -
  crdconform init --kubebuilder`,
		Args: func(_ *cobra.Command, args []string) error {
			if i.kubebuilder && i.output != config.FileName {
				return errors.New("--kubebuilder writes " + config.FileName + "; leave out --file")
			}
			if len(args) == 0 && !i.kubebuilder {
				return errors.New("init requires the files or folders with your CustomResourceDefinitions, such as config/crd/bases")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !i.kubebuilder {
				return i.run(args, nil)
			}
			if len(args) == 0 {
				args = []string{"config/crd"}
			}
			return i.project(args)
		},
	}
	cmd.Flags().StringVar(&i.output, "file", config.FileName, "file to write; - for standard output")
	cmd.Flags().BoolVar(&i.force, "force", false, "overwrite an existing file")
	cmd.Flags().BoolVar(&i.kubebuilder, "kubebuilder", false, "add a Makefile target and a GitHub workflow to the kubebuilder project of this folder")
	return cmd
}

// run writes the configuration for definitions, and for those samples that are of these and filled in.
func (i *initializer) run(names, samples []string) error {
	var files []config.File
	for _, name := range names {
		found, err := i.files(name)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	for _, name := range samples {
		data, err := os.ReadFile(name)
		if err != nil {
			return unjudged(err)
		}
		with := append(slices.Clone(files), config.File{Name: name, Entry: filepath.ToSlash(name), Data: data})
		if _, err = config.Init(with); err == nil {
			files = with
			continue
		}
		for _, d := range manifest.Documents(name, data) { // what is not filled in, or no object of these definitions, is to be left out
			if _, err = d.JSON(); err != nil {
				fmt.Fprintf(i.err, "crdconform: left out %s, which cannot be read as YAML: %v; mend it, then add it to samples\n", name, err)
				break
			}
		}
	}
	text, err := config.Init(files)
	if err != nil {
		return err
	}
	if i.output == "-" {
		return write(i.out, string(text))
	}
	if err := i.save(text); err != nil {
		return err
	}
	next := `look through it, then run "crdconform check"`
	if !bytes.Contains(text, []byte("\nwebhook:\n")) {
		next = `say in it where the webhook is, or run "crdconform check -- PROGRAM"`
	}
	return write(i.out, fmt.Sprintf("crdconform: wrote %s; %s\n", i.output, next))
}

// files reads the files that an argument stands for.
func (i *initializer) files(name string) ([]config.File, error) {
	if name == "" {
		return nil, errors.New("the name of a file is empty; give one, such as config/crd/bases")
	}
	entry, err := i.entry(name)
	if err != nil {
		return nil, unjudged(err)
	}
	found, err := manifest.Files(name)
	if err != nil {
		return nil, err
	}
	var files []config.File
	for _, one := range found {
		data, err := manifest.Read(one)
		if err != nil {
			return nil, err
		}
		files = append(files, config.File{Name: one, Entry: entry, Data: data})
	}
	return files, nil
}

// entry returns how the configuration names a file: relative to the folder that it is written to.
func (i *initializer) entry(name string) (string, error) {
	if filepath.IsAbs(name) || i.output == "-" {
		return name, nil
	}
	from, err := filepath.Abs(filepath.Dir(i.output))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	entry, err := filepath.Rel(from, to)
	return filepath.ToSlash(entry), err
}

// save writes the file. It overwrites an existing one only on request.
func (i *initializer) save(text []byte) error {
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if i.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(i.output, how, 0o644)
	if info, statErr := os.Stat(i.output); err != nil && statErr == nil && info.IsDir() {
		return fmt.Errorf("--file %s: a folder; give a file, such as %s", i.output, filepath.Join(i.output, config.FileName))
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists; give --force to overwrite it, or --file to write elsewhere", i.output)
	}
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return unjudged(fmt.Errorf("output: %w", err))
	}
	return nil
}
