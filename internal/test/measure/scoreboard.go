package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/reports"
)

var (
	//go:embed subjects.yaml
	operators []byte

	//go:embed webhook.go.tmpl
	operatorMain string
)

// subject is an operator.
type subject struct {
	Name     string   `json:"name"`
	Module   string   `json:"module"`
	Version  string   `json:"version"`
	Licence  string   `json:"licence"`
	CRDs     string   `json:"crds"`              // in the module
	From     string   `json:"from,omitempty"`    // module@version with the definition, if it is another
	Packages []string `json:"packages"`          // in the module; with controller-runtime, each has an AddToScheme
	Imports  []string `json:"imports,omitempty"` // in the module, packages that register their types with those

	Setup    string   `json:"setup,omitempty"`    // what the manager does before it serves conversions, in Go; types0 is the first package
	Requires []string `json:"requires,omitempty"` // module@version, newer than the module's go.mod says

	style
	Checked []checkedCause `json:"checked,omitempty"` // what reading the module's source said about each cause
}

// checkedCause is a cause of findings that was compared with the source.
type checkedCause struct {
	Cause   string `json:"cause"`   // how its text begins, such as its field, or one around it; or "any other"
	Verdict string `json:"verdict"` // true, arguable, meant, or false
	How     string `json:"how"`     // file:line, and a sentence
}

// scoreboard builds the conversions of public operators from their modules, checks them, and writes what holds for whom. With names, only
// these operators are checked again. Each report has the command that makes it again.
func scoreboard(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("it requires the program crdconform, and the folder to write to")
	}
	program, folder, only := args[0], args[1], args[2:]
	all, err := read()
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	var errs []error
	var rows []row
	for _, s := range all {
		if len(only) == 0 || slices.Contains(only, s.Name) {
			if err = s.judge(ctx, program, folder); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
				continue
			}
		}
		if r, err := reports.ReadFile(filepath.Join(folder, s.Name)); err == nil {
			spent, _ := os.ReadFile(filepath.Join(folder, s.Name, spentFile))
			rows = append(rows, row{s, r, string(spent)})
		}
	}
	return errors.Join(append(errs, writeBoard(folder, rows))...)
}

func read() ([]subject, error) {
	var all []subject
	return all, yaml.UnmarshalStrict(operators, &all)
}

// spentFile has the seconds of processor time that a check took.
const spentFile = "processor-seconds"

// judge builds and checks a subject.
func (s subject) judge(ctx context.Context, program, folder string) error {
	dir := filepath.Join(folder, s.Name)
	downloaded, err := download(ctx, s.Module+"@"+s.Version)
	if err != nil {
		return err
	}
	modfile, err := s.modfile(ctx, downloaded)
	if err != nil {
		return err
	}
	if err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "go.mod"), []byte(modfile), 0o644)); err != nil { //nolint:gosec // it is to be read
		return err
	}
	source, err := s.source(controllerRuntime(ctx, dir))
	if err != nil {
		return err
	}
	if len(source) > 0 {
		if err = os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil { //nolint:gosec // it is to be read
			return err
		}
	}
	commands, start := s.builds()
	for _, command := range commands {
		if err = inFolder(ctx, dir, command...).Run(); err != nil {
			return err
		}
	}
	if err = s.define(ctx, dir); err != nil {
		return err
	}
	check := inFolder(ctx, dir, append([]string{program, "check", "--crd", "crds.yaml", "--seed", "1", "--report-dir", ".", "--"}, start...)...)
	err = check.Run()
	spent := ""
	if check.ProcessState != nil {
		spent = fmt.Sprintf("%.0f", (check.ProcessState.UserTime() + check.ProcessState.SystemTime()).Seconds())
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, spentFile), []byte(spent), 0o644), unjudged(err)) //nolint:gosec // it is to be read
}

// define writes the definition of a subject.
func (s subject) define(ctx context.Context, dir string) error {
	defining, err := download(ctx, cmp.Or(s.From, s.Module+"@"+s.Version))
	if err != nil {
		return err
	}
	definition, err := os.ReadFile(filepath.Join(defining.Dir, s.CRDs))
	if definition = s.rendered(definition); err == nil && s.Style == "" {
		definition, err = withConversion(definition)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "crds.yaml"), definition, 0o644) //nolint:gosec // it is to be read
}

// withConversion is a definition as it is installed, whose conversion most projects add with kustomize. Without it, nothing says that objects at
// versions that are not served any more are converted.
func withConversion(definition []byte) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	webhook := map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": "system", "name": "webhook-service", "path": "/convert"}}}
	if err := unstructured.SetNestedMap(crd, map[string]any{"strategy": "Webhook", "webhook": webhook}, "spec", "conversion"); err != nil {
		return nil, err
	}
	return yaml.Marshal(crd)
}

// unjudged is an error that says that nothing was found out; that a webhook does not conform is a result.
func unjudged(err error) error {
	if exit, is := errors.AsType[*exec.ExitError](err); is && exit.ExitCode() == 1 {
		return nil
	}
	return err
}

func inFolder(ctx context.Context, dir string, command ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // they are ours
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	return c
}
