package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Files beside the certificate, by which processes of a replica know of each other.
const (
	lockFile = "frail.lock" // is there while a process runs, and after it was killed
	seenFile = "frail.seen" // is there once a process has run
)

// enter notes that the process runs.
func (f *frail) enter(ctx context.Context, folder string) error {
	switch f.bug {
	case locksForever:
		return lock(ctx, filepath.Join(folder, lockFile))
	case retriesInRequest, servesTooEarly:
		seen := filepath.Join(folder, seenFile)
		_, err := os.Stat(seen)
		f.again = err == nil
		return os.WriteFile(seen, nil, 0o600)
	case refusesOthers:
		program, err := os.Executable()
		if err != nil {
			return err
		}
		f.replicas = &replicas{folder: filepath.Join(filepath.Dir(program), "replicas"), build: filepath.Base(program)}
		return f.replicas.enter()
	}
	return nil
}

// leave takes back what enter did.
func (f *frail) leave(folder string) {
	switch f.bug {
	case locksForever:
		_ = os.Remove(filepath.Join(folder, lockFile)) // that it stays shows
	case refusesOthers:
		_ = os.Remove(f.replicas.file(os.Getpid())) // nobody minds a process that is gone
	case asksLeader:
		f.leading.resign()
	case notifiesPeers:
		f.peers.part()
	}
}

// join begins what the process does beside serving. The channel says why it ends, if it does so by itself.
func (f *frail) join(ctx context.Context, kubeconfig string, port int) (<-chan error, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	switch f.bug {
	case endsAfterPause:
		return f.watchdog(ctx), nil
	case asksLeader:
		return nil, f.lead(ctx, address)
	case notifiesPeers:
		return nil, f.meet(ctx, address)
	case endsWithServer, readsDefinition:
		return f.watch(ctx, kubeconfig)
	}
	return nil, nil
}

// watchdog reports that the process got no processor for a while.
func (f *frail) watchdog(ctx context.Context) <-chan error {
	const every = 100 * time.Millisecond
	barked := make(chan error, 1)
	go func() {
		for last := time.Now(); wait(ctx, every); last = time.Now() {
			if took := time.Since(last); took > every+f.times.late {
				barked <- fmt.Errorf("the watchdog came round after %v", took)
				return
			}
		}
	}()
	return barked
}

// lock waits until a file can be made.
func lock(ctx context.Context, file string) error {
	for {
		made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return made.Close()
		case !errors.Is(err, os.ErrExist):
			return err
		case !wait(ctx, 100*time.Millisecond):
			return context.Cause(ctx)
		}
	}
}

// replicas are the processes of the programs in a folder, each with the name of its program as its build.
type replicas struct{ folder, build string }

func (r *replicas) file(pid int) string { return filepath.Join(r.folder, strconv.Itoa(pid)) }

func (r *replicas) enter() error {
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.file(os.Getpid()), []byte(r.build), 0o600)
}

// other returns another build of which a process runs; nothing if there is none.
func (r *replicas) other() string {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || syscall.Kill(pid, 0) != nil {
			continue
		}
		build, err := os.ReadFile(r.file(pid))
		if err == nil && len(build) > 0 && string(build) != r.build {
			return string(build)
		}
	}
	return ""
}
