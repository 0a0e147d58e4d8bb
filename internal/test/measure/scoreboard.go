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
	"runtime/debug"
	"strings"
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
	CRDs     string   `json:"crds"`           // in the module
	From     string   `json:"from,omitempty"` // module@version with the definition, if it is another
	Packages []string `json:"packages"`       // in the module; with controller-runtime, each has an AddToScheme

	style
	Checked []checkedCause `json:"checked,omitempty"` // what reading the module's source said about each cause
}

// checkedCause is a cause of findings that was compared with the source.
type checkedCause struct {
	Cause   string `json:"cause"`
	Verdict string `json:"verdict"` // true, arguable, meant, or false
	How     string `json:"how"`     // file:line, and a sentence
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
	downloaded, err := download(ctx, s.Module+"@"+s.Version)
	if err != nil {
		return nil, err
	}
	modfile, err := s.modfile(ctx, downloaded)
	if err != nil {
		return nil, err
	}
	if err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "go.mod"), []byte(modfile), 0o644)); err != nil { //nolint:gosec // it is to be read
		return nil, err
	}
	if len(source) > 0 {
		if err = os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil { //nolint:gosec // it is to be read
			return nil, err
		}
	}
	commands, start := s.builds()
	for _, command := range commands {
		if err = inFolder(ctx, dir, command...); err != nil {
			return nil, err
		}
	}
	defining, err := download(ctx, cmp.Or(s.From, s.Module+"@"+s.Version))
	if err != nil {
		return nil, err
	}
	definitions, err := os.ReadFile(filepath.Join(defining.Dir, s.CRDs))
	if err != nil {
		return nil, err
	}
	if err = os.WriteFile(filepath.Join(dir, "crds.yaml"), s.rendered(definitions), 0o644); err != nil { //nolint:gosec // it is to be read
		return nil, err
	}
	checked := inFolder(ctx, dir, append([]string{program, "check", "--crd", "crds.yaml", "--seed", "1", "--report-dir", ".", "--"}, start...)...)
	r, err := reports.ReadFile(dir)
	return r, errors.Join(err, unjudged(checked))
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
