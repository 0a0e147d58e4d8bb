//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// programVariable names the program that the test binary is to be, if any. What is measured is then alone in its process:
// sender and server share neither memory nor processors.
const programVariable = "CRDCONFORM_BENCH_PROGRAM"

// patience is how long a program has to end when nobody listens to it any more, before it is killed.
const patience = 10 * time.Second

// program reads its job and reports what it has found out. It is to end when the context does.
type program func(ctx context.Context, job *gob.Decoder, report func(any) error) error

// The names of the programs.
const (
	cannedServer     = "canned server"
	stallingServer   = "stalling server"
	referenceServer  = "reference webhook"
	controllerServer = "controller-runtime webhook"
	loadgenAttack    = "loadgen"
	vegetaAttack     = "vegeta"
	probe            = "probe"
)

// programOf returns nil when there is no program of the name.
func programOf(name string) program {
	switch name {
	case cannedServer:
		return serveCanned
	case stallingServer:
		return serveStalling
	case referenceServer:
		return serveReference
	case controllerServer:
		return serveController
	case loadgenAttack:
		return attackByLoadgen
	case vegetaAttack:
		return attackByVegeta
	case probe:
		return probeServer
	}
	return nil
}

func TestMain(m *testing.M) {
	name := os.Getenv(programVariable) //nolint:forbidigo // this is main
	if name == "" {
		os.Exit(m.Run()) //nolint:forbidigo // likewise
	}
	if err := be(name); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1) //nolint:forbidigo // likewise
	}
}

// be is the program of a name. Its job is on stdin; at the end of stdin its context ends.
func be(name string) error {
	run := programOf(name)
	if run == nil {
		return fmt.Errorf("there is no such program; unset %s", programVariable)
	}
	in := bufio.NewReader(os.Stdin)
	var job []byte
	if err := gob.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("reading what to do: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in) // it ends when the parent does, at the latest
		stop()
	}()
	return run(ctx, gob.NewDecoder(bytes.NewReader(job)), gob.NewEncoder(os.Stdout).Encode)
}

// process is a program that runs.
type process struct {
	name    string
	command *exec.Cmd
	in      io.Closer
	out     *gob.Decoder
	errs    *strings.Builder
}

// start starts a program with a job, which is something that gob encodes. It is stopped when the benchmark ends, if not before.
func start(tb testing.TB, name string, job any) *process {
	tb.Helper()
	p := &process{name: name, command: exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0]), errs: new(strings.Builder)}
	p.command.Env = append(os.Environ(), programVariable+"="+name)
	p.command.Stderr = p.errs
	p.command.WaitDelay = patience
	in, inErr := p.command.StdinPipe()
	out, outErr := p.command.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		tb.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	p.in, p.out = in, gob.NewDecoder(out)
	tb.Cleanup(func() { p.stop(tb) })
	var encoded bytes.Buffer
	if err := gob.NewEncoder(&encoded).Encode(job); err != nil {
		tb.Fatal(err)
	}
	if err := gob.NewEncoder(in).Encode(encoded.Bytes()); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, p.errs)
	}
	return p
}

// read reads the next report of the program.
func (p *process) read(tb testing.TB, into any) {
	tb.Helper()
	if err := p.out.Decode(into); err != nil {
		p.stop(tb)
		tb.Fatalf("%s reported nothing: %v\n%s", p.name, err, p.errs)
	}
}

// stop ends the program, waits for it, and returns how much processor time it used. Calls after the first do nothing.
func (p *process) stop(tb testing.TB) time.Duration {
	tb.Helper()
	if p.command.ProcessState != nil {
		return 0
	}
	killer := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	defer killer.Stop()
	_ = p.in.Close()
	if err := p.command.Wait(); err != nil {
		tb.Errorf("%s: %v\n%s", p.name, err, p.errs)
	}
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}
