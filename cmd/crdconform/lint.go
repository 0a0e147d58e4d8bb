package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
)

// linting is what the flags of lint say.
type linting struct {
	old, disabled  []string
	format, output string
	strict, rules  bool
	changed        bool
}

func newLint(s streams) *cobra.Command {
	var l linting
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find problems in definitions from their files alone",
		Long: `lint reads CustomResourceDefinitions from files and reports what API servers will reject, what loses data, and what will
cause trouble later; it needs no cluster and no webhook. A FILE is YAML or JSON, a pattern such as crds/*.yaml, a directory,
or - for standard input. In a directory and its subdirectories, all .yaml, .yml and .json files with definitions are read. What a
kustomization beside a file, or in the folder above, makes of it is judged; patches that no kustomization lists change nothing.

With --old, the definitions are also compared with those they replace. Give it the output of "kubectl get crd NAME -o yaml",
whose status says at which versions objects may be stored. git://REF stands for the same files at a git revision, such as
a branch, and git://REF:PATH for other files; with --changed, files are left out that have not changed since that revision,
and no patch of them has.

The key lint of crdconform.yaml sets other levels for rules, definitions and fields, each with a reason.

The exit code is 0 if there are no errors, 1 if there is an error (or a warning, with --strict), and 2 if a file cannot be read
or no file contains a definition.`,
		Example: `  crdconform lint config/crd
  crdconform lint --old installed.yaml new.yaml
  crdconform lint --old git://origin/main --changed config/crd
  crdconform lint -o sarif --file lint.sarif crds/*.yaml
  kustomize build config/default | crdconform lint -
  crdconform lint --rules`,
		Args: func(_ *cobra.Command, args []string) error {
			if l.rules != (len(args) == 0) {
				return fmt.Errorf("lint requires files with definitions, or only --rules, but got %d files; write - for standard input", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.rules {
				return l.listRules(s)
			}
			return l.run(cmd, s, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&l.old, "old", nil, "old definitions to compare with: files, folders, git://REF or git://REF:PATH")
	flags.BoolVar(&l.changed, "changed", false, "leave out files that have not changed since --old git://REF")
	flags.StringSliceVar(&l.disabled, "disable", nil, "ignore the findings of these rules")
	flags.StringVarP(&l.format, "output", "o", "text", "format: "+listOf(lintForms()))
	flags.StringVar(&l.output, "file", "", "file to write to, instead of standard output")
	flags.BoolVar(&l.strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&l.rules, "rules", false, "list the rules, as text or JSON, and check nothing")
	// It fails for flags that do not exist only.
	_ = cmd.RegisterFlagCompletionFunc("disable", completing(lint.Rules, func(r lint.Rule) (string, string) { return string(r.ID), r.Summary }))
	return cmd
}

func (l *linting) run(cmd *cobra.Command, s streams, args []string) error {
	if err := knownFormat(l.format, lintForms()...); err != nil {
		return err
	}
	if l.changed && !slices.ContainsFunc(l.old, dump.IsGit) {
		return errors.New("--changed requires --old git://REF")
	}
	settings := lint.Options{}
	for _, id := range l.disabled {
		if _, found := lint.Lookup(lint.RuleID(id)); !found {
			return fmt.Errorf("--disable %s: %s", id, lint.Meant(id))
		}
		settings.Disabled = append(settings.Disabled, lint.RuleID(id))
	}
	c, err := l.configure(&settings)
	if err != nil {
		return err
	}
	files, err := readFiles(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if files, err = l.replaced(cmd, args, files, &settings); err != nil {
		return fmt.Errorf("--old: %w", err)
	}
	const unchanged = "no definition has changed\n"
	if l.changed && len(files)+len(settings.Whole) == 0 {
		return l.write(s, unchanged)
	}
	report, err := lint.Check(cmd.Context(), files, settings)
	if err != nil {
		return err
	}
	if l.changed && len(files) == 0 && len(report.Findings) == 0 {
		return l.write(s, unchanged)
	}
	for _, i := range report.Unused {
		fmt.Fprintf(s.err, "crdconform: %s\n", c.At(options.Item("lint", i), "it fits nothing in %s; remove it, or see where the findings of %s are", c.Lint[i].Definition, c.Lint[i].Rule))
	}
	var b bytes.Buffer
	if err := l.render(&b, s, report, len(files)); err != nil {
		return unjudged(err)
	}
	if err := l.write(s, b.String()); err != nil {
		return err
	}
	if report.Count(lint.Error) > 0 || l.strict && report.Count(lint.Warning) > 0 {
		return &exitError{code: exitViolates}
	}
	return nil
}

// configure takes the levels from crdconform.yaml, if there is one.
func (l *linting) configure(to *lint.Options) (config.Config, error) {
	c, err := readConfig("")
	if err != nil {
		return c, err
	}
	for i, one := range c.Lint {
		id := lint.RuleID(one.Rule)
		if _, found := lint.Lookup(id); !found {
			return c, c.At(options.Item("lint", i)+".rule", "%s: %s", one.Rule, lint.Meant(one.Rule))
		}
		exception := lint.Exception{Rule: id, Definition: one.Definition, Level: lint.Level(one.Level)}
		if one.Field.String() != "" {
			exception.Field = &one.Field
		}
		to.Exceptions = append(to.Exceptions, exception)
	}
	return c, nil
}

// replaced reads the old definitions, and returns the files that are to be judged.
func (l *linting) replaced(cmd *cobra.Command, args []string, files []lint.File, options *lint.Options) ([]lint.File, error) {
	var paths []string
	for _, arg := range args {
		names, err := expandPattern(arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, names...)
	}
	for _, old := range l.old {
		if !dump.IsGit(old) {
			more, err := readFiles([]string{old}, cmd.InOrStdin())
			if err != nil {
				return nil, err
			}
			options.Old = append(options.Old, more...)
			continue
		}
		then, err := dump.GitFiles(cmd.Context(), old, paths)
		if err != nil {
			return nil, err
		}
		options.Partial = true
		built, err := asBuilt(cmd.Context(), then)
		if err != nil {
			return nil, err
		}
		options.Old = append(options.Old, built...)
		if !strings.Contains(strings.TrimPrefix(old, "git://"), ":") { // the same files
			options.Whole = slices.Clone(files)
		}
		if !l.changed {
			continue
		}
		patches, err := dump.GitFiles(cmd.Context(), old, patchesOf(files))
		if err != nil {
			return nil, err
		}
		files = changedSince(append(then, patches...), files)
	}
	return files, nil
}

// asBuilt returns files of a revision of git with the kustomizations that they belonged to there.
func asBuilt(ctx context.Context, then []dump.GitFile) (_ []lint.File, err error) {
	if len(then) == 0 {
		return nil, nil
	}
	dir, err := files.TemporaryDir("", "lint-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names, err := dump.GitTree(ctx, then, dir)
	if err != nil {
		return nil, err
	}
	read, err := readFiles(names, nil)
	if err != nil {
		return nil, err
	}
	ref, _, _ := strings.Cut(then[0].Name, ":")
	rename := func(name *string) {
		if inside, is := strings.CutPrefix(*name, filepath.ToSlash(dir)+"/"); is {
			*name = ref + ":" + inside
		}
	}
	renamed := map[*lint.Kustomization]bool{}
	for i := range read {
		rename(&read[i].Name)
		if k := read[i].Kustomization; k != nil && !renamed[k] {
			renamed[k] = true
			rename(&k.Name)
			for _, parts := range [][]lint.File{k.Resources, k.Patches} {
				for j := range parts {
					rename(&parts[j].Name)
				}
			}
		}
	}
	return read, nil
}

// patchesOf returns the names of the patches that change files.
func patchesOf(files []lint.File) []string {
	var names []string
	for _, f := range files {
		if f.Kustomization != nil {
			for _, patch := range f.Kustomization.Patches {
				names = append(names, patch.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changedSince returns the files that are not as they were, or that a patch changes which is not.
func changedSince(then []dump.GitFile, files []lint.File) []lint.File {
	was := map[string][]byte{}
	for _, f := range then {
		was[f.Path] = f.Data
	}
	differs := func(f lint.File) bool {
		before, there := was[f.Name]
		return !there || !bytes.Equal(before, f.Data)
	}
	return slices.DeleteFunc(files, func(f lint.File) bool {
		return !differs(f) && (f.Kustomization == nil || !slices.ContainsFunc(f.Kustomization.Patches, differs))
	})
}

// lintForms are the formats of what lint found.
func lintForms() []string { return []string{"text", "json", "sarif", "github", "gitlab"} }

// write writes to the file that was asked for, or else to the standard output.
func (l *linting) write(s streams, text string) error {
	if l.output == "" {
		return write(s.out, text)
	}
	if err := os.WriteFile(l.output, []byte(text), 0o644); err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	return nil
}

func (l *linting) render(w io.Writer, s streams, report *lint.Report, files int) error {
	switch l.format {
	case "json":
		return report.JSON(w)
	case "sarif":
		return report.SARIF(w, toolVersion())
	case "github":
		return report.GitHub(w)
	case "gitlab":
		return report.GitLab(w)
	}
	if l.output != "" {
		s.color = false
	}
	colors := map[lint.Level]string{lint.Error: reporter.Red, lint.Warning: reporter.Yellow, lint.Note: reporter.Dim}
	for _, f := range report.Findings {
		fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n", visible.Text(f.File), f.Line, f.Column, s.screen().Paint(colors[f.Level], string(f.Level)), visible.Text(f.Message), f.Rule)
	}
	return write(w, fmt.Sprintf("%s in %s: %s, %s, %s\n", visible.Count(report.Definitions, "definition", ""), visible.Count(files, "file", ""),
		visible.Count(report.Count(lint.Error), "error", ""), visible.Count(report.Count(lint.Warning), "warning", ""), visible.Count(report.Count(lint.Note), "note", "")))
}

func (l *linting) listRules(s streams) error {
	var b strings.Builder
	switch l.format {
	case "json":
		if err := writeJSON(&b, lint.Rules()); err != nil {
			return err
		}
	case "text":
		var t visible.Table
		for _, rule := range lint.Rules() {
			t.Add(rule.ID, rule.Level, rule.Summary)
		}
		b.WriteString(t.Text())
	default:
		return fmt.Errorf("--output %s: rules are listed as text or json", l.format)
	}
	return l.write(s, b.String())
}
