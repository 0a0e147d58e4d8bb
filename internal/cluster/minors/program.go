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

	"github.com/crdconform/crdconform/internal/process"
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
	child *process.Process
	path  string
	lines *json.Encoder
	tail  *process.Tail
	url   string

	mu      sync.Mutex // of what is said
	answers *json.Decoder
}

// startProgram starts the program, which ends with its input or is killed.
func startProgram(path string, log io.Writer) (*program, error) {
	p := &program{path: path, tail: &process.Tail{Next: log}}
	command := exec.Command(path) //nolint:noctx // it does not end with a context
	command.Dir, command.Stderr = "/", p.tail
	var err error
	if p.child, err = process.Start(command, process.Options{Input: true, Output: true}); err != nil {
		return nil, fmt.Errorf("starting it: %w", err)
	}
	p.lines, p.answers = json.NewEncoder(p.child.Input), json.NewDecoder(p.child.Output)
	return p, nil
}

// begin gives the program its options, and learns where the API server is.
func (p *program) begin(ctx context.Context, o order) error {
	var g greeting
	if err := p.say(ctx, o, &g); err != nil {
		return err
	}
	if g.Protocol != protocol || g.URL == "" {
		return fmt.Errorf("%s uses another protocol than this crdconform; remove it and build it again", p.path)
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

// say sends the program something and reads the answer.
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
			return fmt.Errorf("%s does not use the protocol of this crdconform; remove it and build it again: %w", p.path, err)
		}
		// It is over, and its end says why better than a broken pipe does.
		select {
		case <-p.child.Exited():
			return p.failed()
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return fmt.Errorf("it does not answer: %w", context.Cause(ctx))
}

// failed returns what the process ended with, or nil while it runs.
func (p *program) failed() error {
	if !p.child.Ended() {
		return nil
	}
	last := p.tail.Text(1)
	if last = last[strings.LastIndexByte(last, '\n')+1:]; last != "" {
		return fmt.Errorf("its process ended (%s): %s", p.child.State(), last)
	}
	return fmt.Errorf("its process ended: %s", p.child.State())
}
