package workers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/process"
)

// Processes launches workers as processes on this machine. They read the spec and their orders from their standard input, and end
// when that ends: so they do when this process dies.
type Processes struct {
	Path string   // of the program
	Args []string // which make it a worker; "--spec - --index N" is added
}

var _ Launcher = Processes{}

// leaving is how long processes may take to end by themselves in the end.
const leaving = 2 * time.Second

// Lead is a second: a machine that is busy with the webhook as well takes a while to wake all processes.
func (Processes) Lead() time.Duration { return time.Second }

// Remote is false.
func (Processes) Remote() bool { return false }

// Start starts the processes.
func (p Processes) Start(ctx context.Context, task Task) (Workers, error) {
	var started processes
	for index := range task.Workers {
		one, err := p.start(ctx, task.Spec, index)
		if err != nil {
			return nil, errors.Join(err, started.End(ctx))
		}
		started = append(started, one)
	}
	return started, nil
}

// worker is a process that sends load.
type worker struct {
	*process.Process

	mu sync.Mutex // of what writes to its input
}

func (p Processes) start(ctx context.Context, spec []byte, index int) (*worker, error) {
	arguments := append(append([]string{}, p.Args...), "--spec", "-", "--index", strconv.Itoa(index))
	// When the context ends it is stopped by an order, not killed.
	child, err := process.Start(exec.CommandContext(context.WithoutCancel(ctx), p.Path, arguments...), process.Options{Input: true, Output: true})
	if err != nil {
		return nil, err
	}
	one := &worker{Process: child}
	one.mu.Lock() // orders have to wait for the spec
	go func() {
		defer one.mu.Unlock()
		_, _ = one.Input.Write(spec) // a process that does not read it says why
	}()
	return one, nil
}

// processes are the workers by their index.
type processes []*worker

// Follow reads what a process writes until it ends. When the context ends, the process is killed.
func (all processes) Follow(ctx context.Context, index int, line func([]byte)) error {
	p := all[index]
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() }) // it may have ended by itself
	defer stop()
	buffered := bufio.NewReader(p.Output)
	for {
		text, err := buffered.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			line(text)
		}
		if err != nil {
			break
		}
	}
	<-p.Exited()
	return p.Err()
}

// Send writes an order to the standard input of a process.
func (all processes) Send(_ context.Context, index int, order []byte) error {
	p := all[index]
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.Input.Write(append(slices.Clip(order), '\n'))
	return err
}

// End closes the standard input of the processes, and kills those that do not end by that.
func (all processes) End(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	for _, p := range all {
		_ = p.Input.Close() // it is closed already when the process has ended
	}
	var errs []error
	for _, p := range all {
		if err := p.Stop(within, leaving); err != nil {
			errs = append(errs, fmt.Errorf("process %d: %w; end it yourself", p.ID(), err))
		}
		errs = append(errs, p.Output.Close())
	}
	return errors.Join(errs...)
}
