//go:build unix

package envtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/shell"
)

// guard makes sure that the programs do not outlive this process, and can kill them. envtest does not report which processes
// it starts, nor can one configure how. So what it starts is a script that notes which process it is before it becomes the
// program. A shell waits for this process to end, however it does, and then kills the programs and removes their files.
//
// Where there is no shell, or scripts in the directory may not be run, nothing is guarded. A program that is being started or
// stopped when the context ends is waited for then.
type guard struct {
	dir     string
	watcher *process.Process // nil when nothing is guarded; its input closes with this process
}

// watch waits until the other end of its input is closed. The programs lead process groups of their own.
const watch = `trap '' HUP INT TERM
while read -r _; do :; done
for name in ` + apiServerName + ` ` + etcdName + `; do
	[ -f "$1/$name.pid" ] && kill -s KILL -- "-$(cat "$1/$name.pid")" 2> /dev/null
done
for _ in 1 2 3 4 5; do
	rm -rf "$1" 2> /dev/null && exit
	sleep 1
done
`

// newGuard guards the programs whose files are in a directory.
func newGuard(dir string) (*guard, error) {
	g := &guard{dir: dir}
	shell, err := exec.LookPath("sh")
	if err != nil || !runsScripts(dir) {
		return g, nil //nolint:nilerr // the programs run without it
	}
	// It ends when its input does, not with a context.
	watcher := exec.Command(shell, "-c", watch, "crdconform-envtest", dir) //nolint:noctx // see above
	watcher.Dir = "/"
	if g.watcher, err = process.Start(watcher, process.Options{Input: true}); err != nil {
		return g, fmt.Errorf("starting the guard that stops the programs if crdconform is killed: %w", err)
	}
	return g, nil
}

// runsScripts reports whether scripts in a directory may be run. Some file systems for temporary files do not allow it.
func runsScripts(dir string) bool {
	path := filepath.Join(dir, "may-run")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		return false
	}
	defer os.Remove(path)                  //nolint:errcheck // it goes with the directory
	return exec.Command(path).Run() == nil //nolint:noctx // it does nothing
}

// launcher returns what to run in place of a program so that it is guarded. That is the program itself when nothing is.
func (g *guard) launcher(name, program string) string {
	if g.watcher == nil {
		return program
	}
	path := filepath.Join(g.dir, name)
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexec %s \"$@\"\n", shell.Quote(g.noteOf(name)), shell.Quote(program))
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return program
	}
	return path
}

// noteOf is the file with the ID of a program's process.
func (g *guard) noteOf(name string) string { return filepath.Join(g.dir, name+".pid") }

// kill kills a program, if it runs and is guarded.
func (g *guard) kill(name string) {
	note, err := os.ReadFile(g.noteOf(name))
	if err != nil {
		return
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(note))); err == nil && pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // what is gone need not be killed
	}
}

// close ends the guard, after the programs and their files are gone.
func (g *guard) close(ctx context.Context) error {
	if g.watcher == nil {
		return nil
	}
	return g.watcher.Stop(ctx, grace)
}
