// Package subjects runs conversion webhooks of different making as programs, for tests that have to know how a check does
// on webhooks which are not ours: correct ones, and ones with a bug planted.
package subjects

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/wire"
)

//go:embed kubebuilder/*.yaml example/*.yaml operator/*.yaml python/*.yaml python/webhook.py wide/*.yaml frail/*.yaml
var files embed.FS

// patience is how long a program has to end after a signal before it is killed.
const patience = 10 * time.Second

// The names of the programs.
const (
	Kubebuilder = "kubebuilder" // controller-runtime with a hub and two spokes: Widgets
	Example     = "example"     // objects without types, by net/http alone: Jobs
	Python      = "python"      // Python's standard library: Gadgets
	Wide        = "wide"        // 200 fields a version: Panels

	// Frail has bugs that show when it is disrupted only, so Names does not have it: Pumps.
	Frail = "frail"
)

// Names returns the names of all programs.
func Names() []string { return []string{Kubebuilder, Example, Python, Wide} }

// Program is a webhook that is ready to be started.
type Program struct {
	Name    string
	CRD     string // path of the definition, as YAML
	Samples string // path of objects at each version, as YAML

	command []string
}

// Build makes a program ready, which takes seconds for those that must be compiled. What it makes is gone when the test ends.
// The test is skipped when the program needs Python and there is none, unless CRDCONFORM_REQUIRE_TOOLS is set; it fails when
// there is no program of the name.
func Build(tb testing.TB, name string) *Program {
	tb.Helper()
	dir := tb.TempDir()
	p := &Program{
		Name:    name,
		CRD:     extract(tb, dir, name, "crd.yaml"),
		Samples: extract(tb, dir, name, "samples.yaml"),
	}
	if name == Python {
		p.command = []string{python(tb), extract(tb, dir, name, "webhook.py")}
		return p
	}
	p.command = []string{compiled(tb, dir, name)}
	return p
}

// compiled builds a program.
func compiled(tb testing.TB, dir, name string) string {
	tb.Helper()
	binary := filepath.Join(dir, name)
	build := exec.CommandContext(tb.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, "github.com/crdconform/crdconform/internal/test/subjects/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // make build has compiled most of it like this
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return binary
}

// Upgrade is an operator in two releases, and objects of the first.
type Upgrade struct {
	Program           string // path
	Old, New, Objects string // paths of YAML
}

// BuildUpgrade makes the operator ready, as Build does a program.
func BuildUpgrade(tb testing.TB) Upgrade {
	tb.Helper()
	const name = "operator"
	dir := tb.TempDir()
	return Upgrade{
		Program: compiled(tb, dir, name),
		Old:     extract(tb, dir, name, "release-1.yaml"), New: extract(tb, dir, name, "release-2.yaml"), Objects: extract(tb, dir, name, "servers.yaml"),
	}
}

// BuildManager makes an operator for the kubebuilder program's objects ready, as Build does a program, which looks for an API server as
// controller-runtime does. It returns its path, and that of its definition.
func BuildManager(tb testing.TB) (program, crd string) {
	tb.Helper()
	dir := tb.TempDir()
	return compiled(tb, dir, "manager"), extract(tb, dir, Kubebuilder, "crd.yaml")
}

// BuildReleases makes the kubebuilder program ready, as Build does, and writes old.yaml and new.yaml to a folder: its definition as two
// releases have it, which store at v1beta1 and at v1.
func BuildReleases(tb testing.TB, dir string) *Program {
	tb.Helper()
	program := Build(tb, Kubebuilder)
	text, err := os.ReadFile(program.CRD)
	if err != nil {
		tb.Fatal(err)
	}
	for file, stored := range map[string]string{"old.yaml": "v1beta1", "new.yaml": "v1"} {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			tb.Fatal(err)
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == stored
		}
		release, err := yaml.Marshal(crd)
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), release, 0o600)); err != nil {
			tb.Fatal(err)
		}
	}
	return program
}

func extract(tb testing.TB, dir, program, file string) string {
	tb.Helper()
	data, err := files.ReadFile(program + "/" + file)
	if err != nil {
		tb.Fatalf("there is no %s of %q; the programs are %v", file, program, Names())
	}
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func python(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("python3")
	if err == nil {
		return path
	}
	if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
		tb.Fatal("python3 is not on PATH, and CRDCONFORM_REQUIRE_TOOLS is set")
	}
	tb.Skip("python3 is not on PATH")
	return ""
}

// Bugs returns the names of the bugs that can be planted into the program.
func (p *Program) Bugs(tb testing.TB) []string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), p.command[0], slices.Concat(p.command[1:], []string{"--bugs"})...).Output()
	if err != nil {
		tb.Fatalf("%s --bugs: %v", p.Name, err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}

// Serve is the command line that has crdconform start the program, with further arguments.
func (p *Program) Serve(arguments ...string) []string {
	return slices.Concat(p.command, []string{"--port={port}", "--certs={certs}"}, arguments)
}

// Start starts the program with a bug, or without one when bug is empty, and returns where it listens once it does. It is
// stopped when the test ends. Any number can run at a time.
func (p *Program) Start(tb testing.TB, bug string) wire.Endpoint {
	tb.Helper()
	certs, ca := Certs(tb)
	args := slices.Concat(p.command[1:], []string{"--port", "0", "--certs", certs})
	if bug != "" {
		args = append(args, "--bug", bug)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	command := exec.CommandContext(ctx, p.command[0], args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = patience
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		stop()
		tb.Fatalf("%s: %v", p.Name, err)
	}
	url, err := listening(out)
	end := func() {
		stop()
		command.Wait() //nolint:errcheck // that it was stopped is no news
	}
	if err != nil {
		end()
		tb.Fatalf("%s did not start: %v\n%s", p.Name, err, errs.String())
	}
	tb.Cleanup(end)
	return wire.Endpoint{URL: url, CA: ca}
}

// listening reads the line by which a program says that it listens, and returns the URL.
func listening(out io.Reader) (string, error) {
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", err
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		return "", fmt.Errorf("it wrote %q", line)
	}
	return url, nil
}

// Certs writes a certificate for 127.0.0.1 and its key into a directory, as tls.crt and tls.key, and returns the directory
// and the PEM of the authority to verify it by.
func Certs(tb testing.TB) (string, []byte) {
	tb.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		tb.Fatal(err)
	}
	pair, err := authority.Server("127.0.0.1", "localhost")
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for name, data := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir, authority.PEM()
}
