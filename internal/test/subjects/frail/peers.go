package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// peers are replicas that know each other: each has a file with its address in a folder, and touches it often enough.
type peers struct {
	folder string // beside the program, which replicas share
	file   string // of this replica
	term   time.Duration
	client *http.Client
}

// meet has this replica be known to others.
func (f *frail) meet(ctx context.Context, address string) error {
	folder, err := besideProgram("peers")
	if err != nil {
		return err
	}
	f.peers = &peers{
		folder: folder, file: filepath.Join(folder, address), term: f.times.term, client: &http.Client{Transport: trustful()},
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(f.peers.file, []byte(address), 0o600); err != nil {
		return err
	}
	go func() {
		for wait(ctx, f.times.term/10) {
			now := time.Now()
			_ = os.Chtimes(f.peers.file, now, now) // if that fails, others do not notify it
		}
	}()
	return nil
}

// part has others no longer know this replica.
func (p *peers) part() {
	if p != nil {
		_ = os.Remove(p.file) // it is forgotten soon anyway
	}
}

// others returns the addresses of the other replicas.
func (p *peers) others() []string {
	files, err := filepath.Glob(filepath.Join(p.folder, "*"))
	if err != nil {
		return nil
	}
	var addresses []string
	for _, file := range files {
		info, err := os.Stat(file)
		if file == p.file || err != nil || time.Since(info.ModTime()) > p.term {
			continue
		}
		if address, err := os.ReadFile(file); err == nil {
			addresses = append(addresses, string(address))
		}
	}
	return addresses
}

// notify waits for a peer to answer, whatever it says.
func (p *peers) notify(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// notifying returns a handler that notifies peers before it answers.
func (f *frail) notifying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, address := range f.peers.others() {
			if err := f.peers.notify(r.Context(), address); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
