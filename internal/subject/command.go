// Package subject brings the webhook under test up and takes it down: it starts the program that serves it, with a
// certificate and a port of the run, or reads from a CustomResourceDefinition where it is.
package subject

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/wire"
)

// Command is a local program that serves a conversion webhook.
//
// In Args and in the values of Env, {certs} stands for a folder with tls.crt, tls.key and ca.crt, {port} for the port to serve
// at, {host} for the address to listen on and {kubeconfig} for the kubeconfig of the run's cluster. {{ and }} stand for
// braces. The certificate must be given to the program in one place at least. Without {port}, it is expected at FixedPort.
//
// The program gets the environment of this process, but no cluster of it: KUBECONFIG names the run's cluster, or a file that names
// none, and what pods find their cluster by is left out.
type Command struct {
	Args         []string          // the program, then its arguments; a relative path with a slash in it starts in Dir
	Env          map[string]string // added to its environment
	Dir          string            // where it runs; empty for the current directory
	Path         string            // of the webhook's URL, such as /convert; empty for /
	ServerName   string            // a name for the certificate besides localhost, to verify it against; empty for none
	ReadyTimeout time.Duration     // how long it may take until it answers; 0 for 60 s
}

// Options says what a program is started with in this run.
type Options struct {
	Kubeconfig string        // path of the file that KUBECONFIG and {kubeconfig} stand for; empty when the run has no cluster
	Output     io.Writer     // gets whatever the program writes, and must not block; nil discards it
	Grace      time.Duration // between SIGTERM and SIGKILL; 0 for 5 s
	Port       int           // to serve at; 0 for a free one, or FixedPort
	Within     []string      // command that becomes the program, which is put behind it; empty for none
	Restarts   int           // how often Revive starts it again at most
	Memory     uint64        // that the machine has, in bytes, of which the program may take half; 0 for what it has

	// Certificates are what the program serves. If it is nil, Start issues them and Stop removes them.
	Certificates *Certificates

	// Before is called before the program runs, with where it is expected to answer. Its error keeps the program from being started. It may
	// be nil.
	Before func(wire.Endpoint) error
}

// Certificates are a folder with tls.crt, tls.key and ca.crt for a program.
type Certificates struct {
	Folder string
	CA     []byte // to verify the program by, in PEM
}

// FixedPort is where a program is expected that is given no port: the one that controller-runtime serves webhooks at by default, and
// kubebuilder's main.go has no flag for another.
const FixedPort = 9443

// Uses reports whether the arguments or the environment have a placeholder. Without port, the program cannot run more than once.
func (c Command) Uses(placeholder string) bool {
	found := false
	c.expanded(func(text string) (string, error) { //nolint:errcheck // Validate says what is wrong
		return expand(text, func(name string) (string, error) {
			found = found || name == placeholder
			return "", nil
		})
	})
	return found
}

// name is what errors call the program.
func (c Command) name() string { return fmt.Sprintf("webhook program %q", c.Args[0]) }

// Validate says what is wrong with the command before anything is done for it.
func (c Command) Validate() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return errors.New("webhook program: none given; give the program and its arguments")
	}
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%s: environment: %q is not a valid variable name", c.name(), name)
		}
	}
	expand := func(text string) (string, error) {
		return expand(text, func(name string) (string, error) { return "", known(name) })
	}
	if _, err := c.expanded(expand); err != nil {
		return err
	}
	if !c.Uses("certs") {
		return fmt.Errorf("%s: neither its arguments nor its environment contain {certs}; without it the program does not have a certificate that can be verified", c.name())
	}
	return c.checkDir()
}

func (c Command) checkDir() error {
	if c.Dir == "" {
		return nil
	}
	info, err := os.Stat(c.Dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: the directory to run it in: %w", c.name(), err)
	case !info.IsDir():
		return fmt.Errorf("%s: %s, where it is to run, is not a directory", c.name(), c.Dir)
	}
	return nil
}

// known fails for placeholders that stand for nothing.
func known(name string) error {
	if slices.Contains([]string{"certs", "port", "host", "kubeconfig"}, name) {
		return nil
	}
	return fmt.Errorf("unknown {%s} (want {certs}, {port}, {host} or {kubeconfig}, or {{ and }} for braces)", name)
}

// expanded returns the command with everything in its arguments and environment expanded.
func (c Command) expanded(expand func(string) (string, error)) (Command, error) {
	args, env := make([]string, len(c.Args)), make(map[string]string, len(c.Env))
	for i, arg := range c.Args {
		var err error
		if args[i], err = expand(arg); err != nil {
			return c, fmt.Errorf("%s: argument %q: %w", c.name(), arg, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		var err error
		// The value may be a secret, so it is not shown.
		if env[name], err = expand(c.Env[name]); err != nil {
			return c, fmt.Errorf("%s: environment variable %s: %w", c.name(), name, err)
		}
	}
	c.Args, c.Env = args, env
	return c, nil
}

// expand replaces the placeholders of a text by what value returns for them.
func expand(text string, value func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			at = len(text)
		}
		b.WriteString(text[:at])
		text = text[at:]
		if strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "}}") {
			b.WriteByte(text[0])
			text = text[2:]
			continue
		}
		if text == "" {
			break
		}
		end := strings.IndexByte(text, '}')
		if end <= 0 {
			return "", fmt.Errorf("a single %q; write it twice for a literal one", text[:1])
		}
		replacement, err := value(text[1:end])
		if err != nil {
			return "", err
		}
		b.WriteString(replacement)
		text = text[end+1:]
	}
	return b.String(), nil
}

// program returns the path of the program. Like a shell in Dir, it takes relative paths from there.
func (c Command) program() (string, error) {
	if c.Dir == "" || filepath.IsAbs(c.Args[0]) || !strings.ContainsRune(c.Args[0], filepath.Separator) {
		return c.Args[0], nil
	}
	return filepath.Abs(filepath.Join(c.Dir, c.Args[0]))
}

// Find says what is wrong if the program is not there, or cannot be executed.
func (c Command) Find() error {
	program, err := c.program()
	if err == nil {
		_, err = exec.LookPath(program)
	}
	if err != nil {
		return c.explain(err)
	}
	return nil
}

// explain turns the error of starting the program into a sentence that says what to do.
func (c Command) explain(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: not found in the PATH; check its name, or give a path with a slash in it", c.name())
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: the file, or the interpreter that its first line names, does not exist (%w)", c.name(), err)
	case errors.Is(err, exec.ErrDot):
		return fmt.Errorf("%s: found only in the current directory; write ./%[2]s to use that", c.name(), c.Args[0])
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: a directory, or not executable; try chmod +x (%w)", c.name(), err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s: not a program for this system; a script needs a first line such as #!/bin/sh", c.name())
	}
	return fmt.Errorf("%s: it cannot be started: %w", c.name(), err)
}
