package workers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Processes is a fleet of processes on this machine. They read the spec and their orders from their standard input, and end
// when that ends: so they do when this process dies.
type Processes struct {
	Path string   // of the program
	Args []string // which make it a worker; "--spec - --index N" is added
}

var _ Fleet = Processes{}

// leaving is how long processes may take to end by themselves in the end.
const leaving = 2 * time.Second

// Lead is a second: a machine that is busy with the webhook as well takes a while to wake all processes.
func (Processes) Lead() time.Duration { return time.Second }

// Start starts the processes.
func (p Processes) Start(ctx context.Context, task Task) (Crew, error) {
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

// process is a worker.
type process struct {
	command *exec.Cmd
	output  *os.File // what it writes, errors among it
	exited  chan struct{}
	err     error // of its end; set before exited is closed

	mu    sync.Mutex // of what writes to the process
	input io.WriteCloser
}

func (p Processes) start(ctx context.Context, spec []byte, index int) (*process, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer writer.Close() //nolint:errcheck // the process has its own
	arguments := append(append([]string{}, p.Args...), "--spec", "-", "--index", strconv.Itoa(index))
	// It is told to stop when the context ends, and not killed.
	one := &process{command: exec.CommandContext(context.WithoutCancel(ctx), p.Path, arguments...), output: reader, exited: make(chan struct{})}
	one.command.Stdout, one.command.Stderr = writer, writer
	if one.input, err = one.command.StdinPipe(); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	if err := one.command.Start(); err != nil {
		return nil, errors.Join(err, one.input.Close(), reader.Close())
	}
	go func() {
		one.err = one.command.Wait()
		close(one.exited)
	}()
	one.mu.Lock() // orders have to wait for the spec
	go func() {
		defer one.mu.Unlock()
		_, _ = one.input.Write(spec) // a process that does not read it says why
	}()
	return one, nil
}

// processes are the workers by their index.
type processes []*process

// Follow reads what a process writes until it ends. When the context ends, the process is killed.
func (all processes) Follow(ctx context.Context, index int, line func([]byte)) error {
	p := all[index]
	stop := context.AfterFunc(ctx, func() { _ = p.command.Process.Kill() }) // it may have ended by itself
	defer stop()
	buffered := bufio.NewReader(p.output)
	for {
		text, err := buffered.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			line(text)
		}
		if err != nil {
			break
		}
	}
	<-p.exited
	return p.err
}

// Tell writes an order to the standard input of a process.
func (all processes) Tell(_ context.Context, index int, order []byte) error {
	p := all[index]
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.input.Write(append(slices.Clip(order), '\n'))
	return err
}

// End closes the standard input of the processes, and kills those that do not end by that.
func (all processes) End(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	for _, p := range all {
		_ = p.input.Close() // it is closed already when the process has ended
	}
	var errs []error
	for _, p := range all {
		select {
		case <-p.exited:
		case <-within.Done():
			_ = p.command.Process.Kill() // it may just have ended
			select {
			case <-p.exited:
			case <-time.After(leaving):
				errs = append(errs, fmt.Errorf("process %d is still there after it was killed; end it yourself", p.command.Process.Pid))
			}
		}
		errs = append(errs, p.output.Close())
	}
	return errors.Join(errs...)
}
