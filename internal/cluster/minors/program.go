package minors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// protocol is the version of what is said. The program has the same number.
const protocol = 1

// order is the first line of the program's input.
type order struct {
	Protocol   int    `json:"protocol"`
	Dir        string `json:"dir"`
	Etcd       string `json:"etcd"`
	WatchCache bool   `json:"watchCache"`
}

// greeting is the first line that it answers.
type greeting struct {
	Protocol int    `json:"protocol"`
	URL      string `json:"url"`
}

// route is each further line.
type route struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      int32  `json:"port"`
	Address   string `json:"address"`
}

// routed answers a route.
type routed struct {
	Error string `json:"error,omitempty"`
}

// program is the API server's process.
type program struct {
	cmd   *exec.Cmd
	lines *json.Encoder
	tail  *tail
	url   string

	mu      sync.Mutex // of what is said
	answers *json.Decoder

	ended chan struct{} // closed when the process is over
	err   error         // what it ended with, after ended
}

// pipesTimeout is how long the pipes of a process may stay open that is over. The program starts no others, which could hold them.
const pipesTimeout = time.Second

// startProgram starts the program. It does not end with a context, and what interrupts this process does not reach it: it ends
// with its input, or is killed.
func startProgram(path string, log io.Writer) (*program, error) {
	p := &program{cmd: exec.Command(path), tail: &tail{}, ended: make(chan struct{})} //nolint:noctx // see above
	ownGroup(p.cmd)
	p.cmd.Dir = "/"
	p.cmd.WaitDelay = pipesTimeout
	p.cmd.Stderr = io.MultiWriter(p.tail, log)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, answered := io.Pipe() // Wait would close a pipe of the process before it is read
	p.cmd.Stdout = answered
	p.lines, p.answers = json.NewEncoder(in), json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting it: %w", err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
		if p.err == nil {
			p.err = errors.New("exit status 0")
		}
		answered.CloseWithError(io.ErrUnexpectedEOF) // it cannot fail
	}()
	return p, nil
}

// begin tells the program how to run, and learns where the API server is.
func (p *program) begin(ctx context.Context, o order) error {
	var g greeting
	if err := p.say(ctx, o, &g); err != nil {
		return err
	}
	if g.Protocol != protocol || g.URL == "" {
		return fmt.Errorf("%s uses another protocol than this crdconform; remove it and build it again", p.cmd.Path)
	}
	p.url = g.URL
	return nil
}

func (p *program) route(ctx context.Context, r route) error {
	var answer routed
	if err := p.say(ctx, r, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// say tells the program something and reads the answer.
func (p *program) say(ctx context.Context, what, answer any) error {
	said := make(chan error, 1)
	go func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.lines.Encode(what); err != nil {
			said <- err
			return
		}
		said <- p.answers.Decode(answer)
	}()
	select {
	case err := <-said:
		if err == nil {
			return nil
		}
		if _, garbage := errors.AsType[*json.SyntaxError](err); garbage {
			return fmt.Errorf("%s does not use the protocol of docs/matrix.md; remove it and build it again: %w", p.cmd.Path, err)
		}
		// It is over, and its end says why better than a broken pipe does.
		select {
		case <-p.ended:
			return p.failed()
		case <-ctx.Done():
			return err
		}
	case <-ctx.Done():
		return fmt.Errorf("it does not answer: %w", context.Cause(ctx))
	}
}

// failed returns what the process ended with, or nil while it runs.
func (p *program) failed() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	if said := p.tail.last(); said != "" {
		return fmt.Errorf("its process ended (%w): %s", p.err, said)
	}
	return fmt.Errorf("its process ended: %w", p.err)
}

// kill ends the process and returns when it is over.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // what is over need not be killed
	<-p.ended
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is enough for a last line.
const tailSize = 4096

// Write keeps the end of text.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(text), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[len(lines)-1]
}
