package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/wire"
)

const (
	defaultGrace = 5 * time.Second
	defaultReady = 60 * time.Second

	// keptLines is how much of the output Output returns at most.
	keptLines = 200

	// shownLines is how much of the output errors show.
	shownLines = 20
)

// errPortTaken says that another program took the port first.
var errPortTaken = errors.New("the port was taken by another program")

// errEscaped says that something was not found that should be stopped.
var errEscaped = errors.New("a process that left its group and cleared its environment still responds at its port; run the program in the foreground, and stop that process yourself")

// Process is a program that serves the webhook under test. Its methods are safe for use by many goroutines.
type Process struct {
	Endpoint wire.Endpoint // where the webhook answers
	Silent   time.Duration // that it had accepted a connection until it shook hands on it, when it started

	name   string
	where  string // it is to serve, for errors
	folder string // with the certificates, to be removed; empty if they are the caller's
	alone  string // folder with the kubeconfig that names no cluster, to be removed; empty if the run has one
	grace  time.Duration
	again  again

	mu     sync.Mutex // for what follows, which is another once it was started again
	child  *process.Process
	output *process.Tail
	times  int   // it was started again
	vain   error // why it could not be started again; nothing is tried after that

	stop    sync.Once
	stopErr error
}

// Start makes a certificate for the program, starts it, and waits until it answers over TLS with that certificate. The
// context bounds the wait only: the program runs until Stop. The program is in a process group of its own, so that Ctrl-C in a
// terminal does not reach it. When another program takes the port before it does, Start tries once more with another port.
// An error of Start leaves nothing behind.
func Start(ctx context.Context, c Command, o Options) (*Process, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := start(ctx, c, o)
	if errors.Is(err, errPortTaken) {
		p, err = start(ctx, c, o)
	}
	return p, err
}

func start(ctx context.Context, c Command, o Options) (*Process, error) {
	p := &Process{name: c.name(), where: "{port}", grace: cmp.Or(o.Grace, defaultGrace), again: again{most: o.Restarts}}
	if !c.Uses("port") {
		p.where = fmt.Sprintf("port %d, since it is given no {port}", cmp.Or(o.Port, FixedPort))
	}
	certificates, port := o.Certificates, o.Port
	var err error
	if certificates == nil {
		if certificates, err = issue(c); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		p.folder = certificates.Folder
	}
	if o.Kubeconfig == "" {
		if o.Kubeconfig, err = p.noCluster(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), p.remove())
		}
	}
	if port == 0 {
		if port, err = c.choosePort(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), p.remove())
		}
	}
	doors, err := c.doors(port, certificates.CA)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), p.remove())
	}
	if o.Before != nil {
		if err := o.Before(doors[0].Endpoint()); err != nil {
			return nil, errors.Join(err, p.remove())
		}
	}
	p.again.start = func(ctx context.Context) error {
		return p.launch(ctx, c, o, map[string]string{
			"certs": certificates.Folder, "port": strconv.Itoa(port), "host": host4, "kubeconfig": o.Kubeconfig,
		})
	}
	p.again.await = func(ctx context.Context) error { return p.await(ctx, doors, cmp.Or(c.ReadyTimeout, defaultReady)) }
	if err := p.again.start(ctx); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	if err := p.again.await(ctx); err != nil {
		stopErr := p.Stop(context.WithoutCancel(ctx))
		switch {
		case ctx.Err() != nil:
		case slices.ContainsFunc(doors, func(door *wire.Client) bool { return escaped(ctx, door) }):
			stopErr = errors.Join(stopErr, errEscaped)
		case p.lostPort(ctx, port):
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		return nil, errors.Join(fmt.Errorf("%s: %w; %s", p.name, err, p.lastWords()), stopErr)
	}
	return p, nil
}

// launch starts the program.
func (p *Process) launch(ctx context.Context, c Command, o Options, values map[string]string) error {
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
	words := slices.Concat(o.Within, []string{program}, expanded.Args[1:])
	command := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...)
	command.Dir = c.Dir
	command.Env = process.Environment(values["kubeconfig"])
	for name, value := range expanded.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	output := &process.Tail{Next: o.Output}
	command.Stdout, command.Stderr = output, output
	child, err := process.Start(command, process.Options{Background: true, Memory: cmp.Or(o.Memory, process.Machine())})
	if err != nil {
		return expanded.explain(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child, p.output = child, output
	return nil
}

// running is the program as it was started last.
func (p *Process) running() *process.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child
}

// written is what it has written since.
func (p *Process) written() *process.Tail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output
}

// Exited returns a channel that is closed when the program has ended, by itself or by Stop.
func (p *Process) Exited() <-chan struct{} { return p.running().Exited() }

// Err returns how the program ended, with its last output. It is nil while it runs, and when Stop ended it.
func (p *Process) Err() error {
	p.mu.Lock()
	child, times, vain := p.child, p.times, p.vain
	p.mu.Unlock()
	switch {
	case vain != nil:
		return vain
	case !child.Crashed():
		return nil
	case times > 0 && times == p.again.most:
		return fmt.Errorf("%s: it exited, as it had %d times before, and was not started again: %s; %s", p.name, times, child.State(), p.lastWords())
	}
	return fmt.Errorf("%s: it exited: %s; %s", p.name, child.State(), p.lastWords())
}

// Output returns the last 200 lines of what the program wrote since it was started last, or 64 KiB if that is less, without what terminals interpret
// and with a replacement character for what is not UTF-8.
func (p *Process) Output() string { return p.written().Text(keptLines) }

// Stop ends the program and all that it started: by SIGTERM, and by SIGKILL when the grace period or the context is over. It
// removes the certificates. It fails when something cannot be ended. It may be called more than once, and does its work once.
func (p *Process) Stop(ctx context.Context) error {
	p.stop.Do(func() { p.stopErr = p.halt(ctx) })
	return p.stopErr
}

func (p *Process) halt(ctx context.Context) error {
	err := p.running().Stop(ctx, p.grace)
	if err == nil {
		if door, connectErr := wire.Connect(p.Endpoint); connectErr == nil && escaped(context.WithoutCancel(ctx), door) {
			err = errEscaped
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.name, err)
	}
	return errors.Join(err, p.remove())
}

// remove removes the files that were made for the program. There are none where a folder is empty.
func (p *Process) remove() error { return errors.Join(os.RemoveAll(p.folder), os.RemoveAll(p.alone)) }

// Signal sends a signal to the program and all that it started, such as SIGSTOP and SIGCONT.
func (p *Process) Signal(signal syscall.Signal) { p.running().Signal(signal) }

// Usage returns what the program uses with all that it started, and false where that can't be found out.
func (p *Process) Usage() (process.Usage, bool) { return p.running().Usage() }

// Kill ends the program and all that it started at once. Stop is still to be called.
func (p *Process) Kill() error {
	if err := p.running().Kill(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// ID is the ID of the program's process.
func (p *Process) ID() int { return p.running().ID() }
