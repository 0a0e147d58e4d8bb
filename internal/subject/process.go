package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/crdconform/crdconform/internal/wire"
)

const (
	defaultGrace = 5 * time.Second
	defaultReady = 60 * time.Second

	// killTimeout is how long processes may take to be gone after SIGKILL.
	killTimeout = 5 * time.Second

	// shownLines is how much of the output errors show.
	shownLines = 20
)

var errNotRunning = errors.New("the webhook program is not running")

// errPortTaken says that another program took the port first.
var errPortTaken = errors.New("the port was taken by another program")

// errEscaped says that something was not found that should be stopped.
var errEscaped = errors.New("a process that left its group and cleared its environment still responds at its port; run the program in the foreground, and stop that process yourself")

// Process is a program that serves the webhook under test. Its methods are safe for use by many goroutines.
type Process struct {
	Endpoint wire.Endpoint // where the webhook answers

	name    string
	folder  string // with the certificates
	grace   time.Duration
	command *exec.Cmd
	tree    procTree
	output  *output
	reader  *os.File      // of what the program writes
	copied  chan struct{} // closed when there is nothing more to read
	stopped chan struct{} // closed when Stop was called
	exited  chan struct{} // see Exited
	cause   error         // what Err returns; set before exited is closed

	stop    sync.Once
	stopErr error
}

// Start makes a certificate for the program, starts it, and waits until it answers over TLS with that certificate. The
// context bounds the wait only: the program runs until Stop. The program is in a process group of its own, so that Ctrl-C in a
// terminal does not reach it. When another program takes the port before it does, Start tries once more with another port.
// An error of Start leaves nothing behind.
func Start(ctx context.Context, c Command, o Options) (*Process, error) {
	if err := c.Validate(o); err != nil {
		return nil, err
	}
	p, err := start(ctx, c, o)
	if errors.Is(err, errPortTaken) {
		p, err = start(ctx, c, o)
	}
	return p, err
}

func start(ctx context.Context, c Command, o Options) (*Process, error) {
	folder, ca, err := issue(c, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name(), err)
	}
	p := &Process{
		name:    c.name(),
		folder:  folder,
		grace:   cmp.Or(o.Grace, defaultGrace),
		output:  &output{next: o.Output},
		copied:  make(chan struct{}),
		stopped: make(chan struct{}),
		exited:  make(chan struct{}),
	}
	port, err := freePort(ctx, o.Host)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), os.RemoveAll(folder))
	}
	doors, err := c.doors(o.Host, port, ca)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), os.RemoveAll(folder))
	}
	if err := p.launch(ctx, c, map[string]string{
		"certs": folder, "port": strconv.Itoa(port), "host": cmp.Or(o.Host, loopback), "kubeconfig": o.Kubeconfig,
	}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if err := p.await(ctx, doors, cmp.Or(c.ReadyTimeout, defaultReady)); err != nil {
		stopErr := p.Stop(context.WithoutCancel(ctx))
		switch {
		case ctx.Err() != nil:
		case slices.ContainsFunc(doors, func(door *wire.Client) bool { return escaped(ctx, door) }):
			stopErr = errors.Join(stopErr, errEscaped)
		case p.lostPort(ctx, o.Host, port):
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		return nil, errors.Join(fmt.Errorf("%s: %w; %s", p.name, err, p.lastWords()), stopErr)
	}
	return p, nil
}

// launch starts the program and what watches over it.
func (p *Process) launch(ctx context.Context, c Command, values map[string]string) error {
	expanded, err := c.expanded(func(text string) (string, error) {
		return expand(text, func(name string) (string, error) { return values[name], nil })
	})
	if err != nil {
		return err
	}
	program, err := expanded.program()
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	marker := "CRDCONFORM_SUBJECT=" + uuid.NewString()
	p.command = exec.CommandContext(context.WithoutCancel(ctx), program, expanded.Args[1:]...)
	p.command.Dir = c.Dir
	p.command.Env = os.Environ()
	for name, value := range expanded.Env {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	p.command.Env = append(p.command.Env, marker)
	p.command.Stdout, p.command.Stderr = writer, writer
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.command.Start()
	writer.Close() //nolint:errcheck // the program has its own
	if err != nil {
		reader.Close() //nolint:errcheck // there is nothing to read
		return expanded.explain(err)
	}
	p.tree, p.reader = procTree{p.command.Process.Pid, marker}, reader
	go func() {
		defer close(p.copied)
		io.Copy(p.output, reader) //nolint:errcheck // it ends when the program or Stop closes its end
	}()
	go p.watch()
	return nil
}

// watch waits for the end of the program. One that exits successfully and leaves processes behind continues in the background.
func (p *Process) watch() {
	defer close(p.exited)
	err := p.command.Wait()
	if p.isStopped() {
		return
	}
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for err == nil && p.tree.alive() {
		select {
		case <-p.stopped:
			return
		case <-ticks.C:
		}
	}
	p.cause = fmt.Errorf("it exited: %s", p.command.ProcessState)
	select { // so that its last words are there
	case <-p.copied:
	case <-ticks.C:
	}
}

func (p *Process) isStopped() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// Exited returns a channel that is closed when the program has ended, by itself or by Stop.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the program ended, with its last output. It is nil while it runs, and when Stop ended it.
func (p *Process) Err() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	if p.cause == nil {
		return nil
	}
	return fmt.Errorf("%s: %w; %s", p.name, p.cause, p.lastWords())
}

// Output returns the last 200 lines of what the program wrote, or 64 KiB if that is less, without what terminals interpret
// and with a replacement character for what is not UTF-8.
func (p *Process) Output() string { return p.output.text(keptLines) }

// lastWords is the end of the output, for errors.
func (p *Process) lastWords() string {
	text := p.output.text(shownLines)
	if strings.TrimSpace(text) == "" {
		return "it wrote nothing"
	}
	return "its last output:\n" + text
}

// Memory returns the resident memory of the program and all that it started, in bytes. It is known on Linux only.
func (p *Process) Memory() (uint64, error) { return p.tree.memory() }

// Stop ends the program and all that it started: by SIGTERM, and by SIGKILL when the grace period or the context is over. It
// removes the certificates. It fails when something cannot be ended. It may be called more than once, and does its work once.
func (p *Process) Stop(ctx context.Context) error {
	p.stop.Do(func() { p.stopErr = p.halt(ctx) })
	return p.stopErr
}

func (p *Process) halt(ctx context.Context) error {
	close(p.stopped)
	within, cancel := context.WithTimeout(ctx, p.grace)
	defer cancel()
	p.tree.signal(syscall.SIGTERM)
	gone := p.gone(within, func() {})
	if !gone {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
		defer cancel()
		gone = p.gone(last, func() { p.tree.signal(syscall.SIGKILL) })
	}
	var errs []error
	if !gone {
		errs = append(errs, fmt.Errorf("%s: some of its processes still exist %s after SIGKILL", p.name, killTimeout))
	} else if door, err := wire.Connect(p.Endpoint); err == nil && escaped(context.WithoutCancel(ctx), door) {
		errs = append(errs, fmt.Errorf("%s: %w", p.name, errEscaped))
	}
	// Whatever holds the other end now is not ours to wait for.
	errs = append(errs, p.reader.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	<-p.copied
	return errors.Join(append(errs, p.reader.Close(), os.RemoveAll(p.folder))...)
}

// gone waits until nothing of the program runs any more, and does something again and again meanwhile. It is false when the
// context ended before that.
func (p *Process) gone(ctx context.Context, meanwhile func()) bool {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		meanwhile()
		select {
		case <-p.exited:
			if !p.tree.alive() {
				return true
			}
		default:
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticks.C:
		}
	}
}
