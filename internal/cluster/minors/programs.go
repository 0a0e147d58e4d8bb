package minors

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/requirement"
)

// sources are the program and the modules of each minor. A folder with a go.mod could not be embedded. The names of files that are for
// older minors only begin with _, so that Go does not look for what they import in today's modules, as "go mod tidy" does.
//
//go:embed all:apiserver
var sources embed.FS

// BuiltIn is the minor of the API server that is in this program.
func BuiltIn() requirement.Minor {
	minor, _ := requirement.ParseMinor(embedded.Release()) // it is a version
	return minor
}

// All returns the minors for which there is a program, the oldest first.
func All() []requirement.Minor {
	files, err := fs.Glob(sources, "apiserver/*.mod")
	if err != nil {
		return nil // the pattern is right
	}
	var all []requirement.Minor
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "apiserver/"), ".mod")
		if minor, err := requirement.ParseMinor(name); err == nil {
			all = append(all, minor)
		}
	}
	slices.SortFunc(all, func(a, b requirement.Minor) int {
		return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor))
	})
	return all
}

// Release returns the release of a minor whose modules the program is built with, such as v1.31.14, and whether there is one.
func Release(minor requirement.Minor) (string, bool) {
	modules, err := sources.ReadFile("apiserver/" + minor.String() + ".mod")
	if err != nil {
		return "", false
	}
	found := regexp.MustCompile(`k8s\.io/apiextensions-apiserver v0(\.[0-9]+\.[0-9]+)`).FindSubmatch(modules)
	if found == nil {
		return "", false
	}
	return "v1" + string(found[1]), true
}

// Programs is a folder with API servers as programs, one for each minor.
type Programs struct {
	Dir string // empty for the folder crdconform/minors in the user's cache folder
}

// dir returns the folder.
func (p Programs) dir() (string, error) {
	if p.Dir != "" {
		return filepath.Abs(p.Dir)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for programs: %w; set HOME to a folder", err)
	}
	return filepath.Join(caches, "crdconform", "minors"), nil
}

// Path returns where the program of a minor is, if it was built. The name has a digest of whatever it is built from, so that a
// program is never taken for that of another version of crdconform.
func (p Programs) Path(minor requirement.Minor) (string, error) {
	release, known := Release(minor)
	if !known {
		return "", unknown(minor)
	}
	dir, err := p.dir()
	if err != nil {
		return "", err
	}
	files, err := Module(minor)
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	for _, f := range files {
		fmt.Fprintf(digest, "%s %d\n%s", f.Name, len(f.Text), f.Text)
	}
	name := fmt.Sprintf("apiserver-%s-%x", release, digest.Sum(nil)[:6])
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name), nil
}

func unknown(minor requirement.Minor) error {
	var names []string
	for _, m := range All() {
		names = append(names, m.String())
	}
	return fmt.Errorf("no embedded API server of Kubernetes %s (want %s)", minor, strings.Join(names, ", "))
}

// ErrNotBuilt says that the program of a minor is not there. What wraps it says by which command it is built.
var ErrNotBuilt = errors.New("not built yet")

// Find returns the path of the program of a minor. When it is not there, the error is an ErrNotBuilt.
func (p Programs) Find(minor requirement.Minor) (string, error) {
	path, err := p.Path(minor)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the API server of Kubernetes %s is %w: \"crdconform matrix minors build %s\" builds it in a few minutes, which requires Go; it would be in %s", minor, ErrNotBuilt, minor, filepath.Dir(path))
	case err != nil:
		return "", fmt.Errorf("the API server of Kubernetes %s: %w", minor, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("the API server of Kubernetes %s: %s is not a file; remove it", minor, path)
	}
	return path, nil
}

// File is a file of the program's module.
type File struct {
	Name string
	Text []byte
}

// Module returns the module of a minor, in the order of the names of its files in the repository.
func Module(minor requirement.Minor) ([]File, error) {
	entries, err := sources.ReadDir("apiserver")
	if err != nil {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		name := entry.Name()
		text, err := sources.ReadFile("apiserver/" + name)
		if err != nil {
			return nil, err
		}
		switch {
		case name == minor.String()+".mod", name == minor.String()+".sum":
			files = append(files, File{"go" + filepath.Ext(name), text})
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, File{strings.TrimPrefix(name, "_"), text})
		}
	}
	return files, nil
}

// goGrace is how long Go may take to stop what it runs.
const goGrace = 10 * time.Second

// Build builds the program of a minor with the go command, unless it is there, and returns its path. What Go says, such as what it
// downloads, goes to log. Programs of the minor that an earlier version of crdconform built are removed.
func (p Programs) Build(ctx context.Context, minor requirement.Minor, log io.Writer) (string, error) {
	path, err := p.Find(minor)
	if err == nil || !errors.Is(err, ErrNotBuilt) {
		return path, err
	}
	if path, err = p.Path(minor); err != nil {
		return "", err
	}
	if err := p.build(ctx, minor, path, log); err != nil {
		return "", fmt.Errorf("building the API server of Kubernetes %s: %w", minor, err)
	}
	return path, nil
}

func (Programs) build(ctx context.Context, minor requirement.Minor, path string, log io.Writer) (err error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("the go command is required, see https://go.dev/dl: %w", err)
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := Module(minor)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err = os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o600); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, filepath.Base(path))
	var said bytes.Buffer
	command := exec.CommandContext(ctx, tool, "build", "-mod=readonly", "-buildvcs=false", "-tags="+tags(minor), "-ldflags="+linkerFlags(minor), "-o", program, ".")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stdout, command.Stderr = io.MultiWriter(log, &said), io.MultiWriter(log, &said)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = goGrace
	if err = command.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("go build: %w\n%s", err, strings.TrimSpace(said.String()))
	}
	release, _ := Release(minor)
	old, err := fs.Glob(os.DirFS(filepath.Dir(path)), "apiserver-"+release[:strings.LastIndex(release, ".")]+".*")
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(filepath.Dir(path), name)); err != nil {
			return err
		}
	}
	return os.Rename(program, path)
}

// tags are the build tags of a minor, which say what upstream has not changed yet: before_1_34 and so on, up to the minor that is
// built in, which is built without a tag.
func tags(minor requirement.Minor) string {
	var all []string
	for next := minor.Minor + 1; next <= BuiltIn().Minor; next++ {
		all = append(all, fmt.Sprintf("before_%d_%d", minor.Major, next))
	}
	return strings.Join(all, ",")
}

// linkerFlags make the program name its release, as upstream's own builds do.
func linkerFlags(minor requirement.Minor) string {
	release, _ := Release(minor)
	const in = " -X k8s.io/component-base/version."
	return "-s -w" + in + "gitVersion=" + release + in + fmt.Sprintf("gitMajor=%d", minor.Major) + in + fmt.Sprintf("gitMinor=%d", minor.Minor) + in + "gitTreeState="
}
