// Package process supervises child processes, each with all that it starts, and limits their memory by cgroups where it may make one.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
)

const (
	// killTimeout is how long processes may take to be gone after SIGKILL.
	killTimeout = 5 * time.Second

	// drainTimeout is how long the pipes of a process may stay open that has ended: something else may hold them.
	drainTimeout = time.Second
)

// Options says how a process is supervised.
type Options struct {
	// Input makes Process.Input a pipe to the standard input. Stop closes it, and so does the end of this process, however it ends.
	// Without it Stop sends SIGTERM, and on Linux the system kills the process when this one ends, though not what it has started.
	Input bool
	// Output makes Process.Output a pipe from the standard output, and from the standard error unless the command has one.
	Output bool
	// Background lets a process that exits successfully carry on as long as what it has started.
	Background bool
	// Memory is how much memory the machine has, in bytes, as Machine returns it. On Linux, a process that takes more than half of that with all
	// that it has started is killed with them, so that the machine survives a program that allocates without bound; it has ended by itself then,
	// and State says why. 0 for no bound. On other systems nothing is bounded, as what a program takes isn't known cheaply.
	Memory uint64
}

// Process is a child process with all that it has started. Its methods are safe for concurrent use.
type Process struct {
	Input  io.WriteCloser // see Options; Stop closes it
	Output *os.File       // see Options; its reader closes it

	command    *exec.Cmd
	tree       tree
	background bool
	memory     uint64         // see Options
	took       atomic.Uint64  // how much of it, if that was too much
	readers    []*os.File     // of what is copied
	copying    sync.WaitGroup // of what is copied
	asked      chan struct{}  // closed when Stop or Kill was called
	ask        sync.Once
	exited     chan struct{} // see Exited
	stopped    bool          // whether it was asked to stop before it exited; set before exited is closed
	ended      time.Time     // see EndedAt; set before exited is closed
	err        error         // see Err; set before exited is closed
}

// Start starts a command that has no context and no pipes yet. It runs in a process group of its own, so that Ctrl-C in a terminal
// does not reach it, until it exits or is stopped. What it writes is copied to the command's Stdout and Stderr.
func Start(command *exec.Cmd, o Options) (*Process, error) {
	p := &Process{command: command, background: o.Background, memory: o.Memory, asked: make(chan struct{}), exited: make(chan struct{})}
	if command.Env == nil {
		command.Env = os.Environ()
	}
	marker := "CRDCONFORM_PROCESS=" + uuid.NewString()
	command.Env = append(command.Env, marker)
	command.SysProcAttr = ownGroup()
	theirs, err := p.connect(o)
	switch {
	case err != nil:
	case o.Input: // it ends with this process since its input does
		err = command.Start()
	default:
		err = p.startBound()
	}
	for _, end := range theirs {
		end.Close() //nolint:errcheck // the process has its own
	}
	if err != nil {
		if p.Output != nil {
			p.Output.Close() //nolint:errcheck // there is nothing to read
		}
		return nil, err
	}
	p.tree = tree{command.Process.Pid, marker}
	go p.watch()
	if o.Memory > 0 {
		go p.guard(o.Memory)
	}
	return p, nil
}

// startBound starts the command so that it is killed when this process ends, where the system can do that. The system takes the end of the
// thread that started it for the end of the process, so a thread is kept for as long as the command runs.
func (p *Process) startBound() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		killWithParent(p.command.SysProcAttr)
		err := p.command.Start()
		started <- err
		if err == nil {
			<-p.exited
		}
	}()
	return <-started
}

// connect replaces the writers of the command by pipes, and returns the ends of the process.
func (p *Process) connect(o Options) (theirs []*os.File, err error) {
	c := p.command
	if o.Input {
		if p.Input, err = c.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if o.Output {
		reader, writer, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		theirs, p.Output, c.Stdout = append(theirs, writer), reader, writer
		if c.Stderr == nil {
			c.Stderr = writer
		}
	}
	piped := map[io.Writer]*os.File{}
	for _, stream := range []*io.Writer{&c.Stdout, &c.Stderr} {
		if _, file := (*stream).(*os.File); *stream == nil || file {
			continue
		}
		to := *stream
		if piped[to] == nil {
			reader, writer, err := os.Pipe()
			if err != nil {
				return theirs, err
			}
			theirs, p.readers, piped[to] = append(theirs, writer), append(p.readers, reader), writer
			p.copying.Go(func() {
				io.Copy(to, reader) //nolint:errcheck // it ends when all other ends are closed, or watch ends it
				reader.Close()      //nolint:errcheck // it was only read from
			})
		}
		*stream = piped[to]
	}
	return theirs, nil
}

// watch waits for the end of the process and of what it writes.
func (p *Process) watch() {
	defer close(p.exited)
	p.err = p.command.Wait()
	p.ended = time.Now()
	p.stopped = p.isAsked()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for p.background && p.err == nil && p.tree.alive() {
		<-ticks.C
		p.stopped, p.ended = p.isAsked(), time.Now()
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		p.copying.Wait()
	}()
	select {
	case <-copied:
	case <-time.After(drainTimeout):
		for _, reader := range p.readers {
			reader.SetReadDeadline(time.Now()) //nolint:errcheck // it fails for those that are closed
		}
		<-copied
	}
}

func (p *Process) isAsked() bool {
	select {
	case <-p.asked:
		return true
	default:
		return false
	}
}

// Exited returns a channel that is closed when the process has ended and its output was copied.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns the *exec.ExitError that the process ended with. It is nil while it runs, and when it exited successfully.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// EndedAt is when the process ended. It must have ended.
func (p *Process) EndedAt() time.Time { return p.ended }

// Crashed reports whether the process has ended by itself.
func (p *Process) Crashed() bool { return p.Ended() && !p.stopped }

// State describes how the process ended, such as "exit status 0". It must have ended.
func (p *Process) State() string {
	if took := p.took.Load(); took > 0 {
		return fmt.Sprintf("killed, since it took %s of memory, more than half of the %s that there is", gibibytes(took), gibibytes(p.memory))
	}
	return p.command.ProcessState.String()
}

func gibibytes(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// ID returns the process ID.
func (p *Process) ID() int { return p.command.Process.Pid }

// Signal sends a signal to the process and all that it has started, such as SIGSTOP and SIGCONT.
func (p *Process) Signal(signal syscall.Signal) { p.tree.signal(signal) }

// Stop ends the process and all that it has started: it closes the input, or sends SIGTERM, and kills them when the grace period or
// the context is over.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	p.ask.Do(func() { close(p.asked) })
	within, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.Input != nil {
		p.Input.Close() //nolint:errcheck // it is closed already when the process has ended
	} else {
		p.tree.signal(syscall.SIGTERM)
	}
	if p.gone(func() bool { return within.Err() != nil }, func() {}) {
		return nil
	}
	return p.Kill()
}

// Kill ends the process and all that it has started at once, and waits until they are gone.
func (p *Process) Kill() error {
	p.ask.Do(func() { close(p.asked) })
	deadline := time.Now().Add(killTimeout)
	if !p.gone(func() bool { return time.Now().After(deadline) }, func() { p.tree.signal(syscall.SIGKILL) }) {
		return fmt.Errorf("some of its processes still exist %s after SIGKILL", killTimeout)
	}
	return nil
}

// gone calls a function again and again until nothing of the process runs any more, and reports whether that was so before the time was
// over.
func (p *Process) gone(over func() bool, meanwhile func()) bool {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for ; ; <-ticks.C {
		meanwhile()
		switch {
		case p.Ended() && !p.tree.alive():
			return true
		case over():
			return false
		}
	}
}
