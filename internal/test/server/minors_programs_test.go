package server_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/requirement"
)

func minor(n int) requirement.Minor { return requirement.Minor{Major: 1, Minor: n} }

func TestMinorsAll(t *testing.T) {
	t.Parallel()
	all := minors.All()
	if len(all) < 5 || !slices.IsSortedFunc(all, func(a, b requirement.Minor) int { return a.Minor - b.Minor }) {
		t.Errorf("the minors are %v", all)
	}
	for _, m := range all {
		release, known := minors.Release(m)
		if !known || !strings.HasPrefix(release, "v"+m.String()+".") {
			t.Errorf("%s is %s", m, release)
		}
		files, err := minors.Module(m)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		for _, want := range []string{"go.mod", "go.sum", "main.go", "server.go"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s has no %s: %v", m, want, names)
			}
		}
	}
	if release, known := minors.Release(minor(5)); known {
		t.Error(release)
	}
}

func TestMinorsFind(t *testing.T) {
	t.Parallel()
	p := minors.Programs{Dir: t.TempDir()}
	_, err := p.Find(minor(31))
	if !errors.Is(err, minors.ErrNotBuilt) || !strings.Contains(err.Error(), `"crdconform matrix minors build 1.31"`) || !strings.Contains(err.Error(), p.Dir) {
		t.Error(err)
	}
	path, err := p.Path(minor(31))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(minor(31)); err == nil || errors.Is(err, minors.ErrNotBuilt) || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}

// TestMinorsBuild has a script in place of Go.
func TestMinorsBuild(t *testing.T) {
	bin, p := t.TempDir(), minors.Programs{Dir: filepath.Join(t.TempDir(), "new")}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")) //nolint:forbidigo // the script needs a shell
	tool := func(text string) {
		t.Helper()
		executable.Write(t, filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+text))
	}
	build := func(m requirement.Minor) (string, error) {
		var log bytes.Buffer
		path, err := p.Build(t.Context(), m, &log)
		return path + " " + log.String(), err
	}

	tool("echo no such module >&2; exit 1")
	said, err := build(minor(31))
	if err == nil || !strings.Contains(err.Error(), "Kubernetes 1.31: go build: exit status 1\nno such module") || !strings.Contains(said, "no such module") {
		t.Errorf("%v, %s", err, said)
	}
	emptyFolder(t, p.Dir)

	const success = `echo "GOWORK=$GOWORK $*"
[ -f go.mod ] && [ -f go.sum ] && [ -f main.go ] || exit 1
while [ "$1" != -o ]; do shift; done
echo program > "$2"
`
	tool(success)
	stale, other := filepath.Join(p.Dir, "apiserver-v1.31.2-0123456789ab"), filepath.Join(p.Dir, "apiserver-v1.3.2-0123456789ab")
	for _, file := range []string{stale, other} {
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	said, err = build(minor(31))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"apiserver-v1.31.", "GOWORK=off build -mod=readonly", "-tags=before_1_32,before_1_33,before_1_34", "version.gitVersion=v1.31.", "version.gitMinor=31"} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q in %s", want, said)
		}
	}
	path, err := p.Find(minor(31))
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(p.Dir)
	if err != nil || len(left) != 2 || left[0].Name() != filepath.Base(other) || left[1].Name() != filepath.Base(path) {
		t.Errorf("there are %v, %v", left, err)
	}

	tool("exit 1") // which is not run
	if said, err = build(minor(31)); err != nil || said != path+" " {
		t.Errorf("once it is there: %s, %v", said, err)
	}
	if _, err := build(minor(5)); err == nil || !strings.Contains(err.Error(), "no embedded API server of Kubernetes 1.5") {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Build(ctx, minor(28), t.Output()); !errors.Is(err, context.Canceled) {
		t.Errorf("the context was cancelled: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := build(minor(28)); err == nil || !strings.Contains(err.Error(), "the go command is required") {
		t.Error(err)
	}
}
