package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
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
	CRDs     string   `json:"crds"`     // in the module
	Packages []string `json:"packages"` // in the module, each with an AddToScheme
}

// scoreboard builds the conversions of public operators from their modules, checks them, and writes what holds for whom. Each report has the
// command that makes it again.
func scoreboard(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("it requires the program crdconform, and the folder to write to")
	}
	program, folder := args[0], args[1]
	all, err := read()
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	var board strings.Builder
	fmt.Fprintf(&board, "# Scoreboard\n\nWhat crdconform found in the conversions of public operators, on %s. The conversions are those of the modules, served as their managers serve them.\n\n", time.Now().UTC().Format(time.DateOnly))
	board.WriteString("| operator | version | licence | outcome | passed | failed | tolerated | report |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	var errs []error
	for _, s := range all {
		r, err := s.judged(ctx, program, folder)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
			continue
		}
		fmt.Fprintf(&board, "| [%s](https://pkg.go.dev/%s@%s) | %[3]s | %s | %s | %d | %d | %d | [%[1]s/report.html](%[1]s/report.html) |\n",
			s.Name, s.Module, s.Version, s.Licence, reporter.Headline(r), r.Counts[requirement.Passed], r.Counts[requirement.Failed], r.Counts[requirement.Tolerated])
	}
	board.WriteString("\nEach folder has its webhook; `go build` there, and the command in the report, make it again.\n")
	return errors.Join(append(errs, os.WriteFile(filepath.Join(folder, "README.md"), []byte(board.String()), 0o644))...) //nolint:gosec // it is to be read
}

func read() ([]subject, error) {
	var all []subject
	return all, yaml.UnmarshalStrict(operators, &all)
}

// judged builds and checks a subject.
func (s subject) judged(ctx context.Context, program, folder string) (*reports.Report, error) {
	dir := filepath.Join(folder, s.Name)
	source, err := s.source()
	if err != nil {
		return nil, err
	}
	module := fmt.Sprintf("module scoreboard/%s\n\ngo 1.26.0\n\nrequire (\n\t%s %s\n\tsigs.k8s.io/controller-runtime %s\n)\n", s.Name, s.Module, s.Version, required("sigs.k8s.io/controller-runtime"))
	if err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644), os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o644)); err != nil { //nolint:gosec // it is to be read
		return nil, err
	}
	for _, command := range [][]string{{"go", "get", "."}, {"go", "build", "-o", "webhook", "."}} {
		if err = inFolder(ctx, dir, command...); err != nil {
			return nil, err
		}
	}
	where, err := exec.CommandContext(ctx, "go", "-C", dir, "list", "-m", "-f", "{{.Dir}}", s.Module).Output()
	if err != nil {
		return nil, err
	}
	definitions, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(where)), s.CRDs))
	if err != nil {
		return nil, err
	}
	if err = os.WriteFile(filepath.Join(dir, "crds.yaml"), definitions, 0o644); err != nil { //nolint:gosec // it is to be read
		return nil, err
	}
	checked := inFolder(ctx, dir, program, "check", "--crd", "crds.yaml", "--seed", "1", "--report-dir", ".", "--", "./webhook", "--port={port}", "--certs={certs}")
	r, err := reports.ReadFile(dir)
	return r, errors.Join(err, unjudged(checked))
}

// source is the webhook of a subject.
func (s subject) source() ([]byte, error) {
	t, err := template.New("webhook").Parse(operatorMain)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = t.Execute(&b, s)
	return []byte(b.String()), err
}

// unjudged is an error that says that nothing was found out; that a webhook does not conform is a result.
func unjudged(err error) error {
	if exit, is := errors.AsType[*exec.ExitError](err); is && exit.ExitCode() == 1 {
		return nil
	}
	return err
}

// required is the version of a module that crdconform itself is built with.
func required(module string) string {
	build, _ := debug.ReadBuildInfo()
	for _, d := range build.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "latest"
}

func inFolder(ctx context.Context, dir string, command ...string) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // they are ours
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	return c.Run()
}
