package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// leading is how replicas agree on one that converts: the one that has written its address to a file, and touches it often enough.
type leading struct {
	file    string // beside the program, which replicas share
	address string // of this replica
	term    time.Duration
	others  http.RoundTripper
}

// lead has this replica lead as soon as no other does.
func (f *frail) lead(ctx context.Context, address string) error {
	file, err := besideProgram("leader")
	if err != nil {
		return err
	}
	f.leading = &leading{
		file: file, address: address, term: f.times.term,
		others: trustful(),
	}
	f.leading.stand()
	go func() {
		for wait(ctx, f.times.term/10) {
			f.leading.stand()
		}
	}()
	return nil
}

// trustful connects to other replicas.
func trustful() http.RoundTripper {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // replicas trust each other
}

// besideProgram returns the path of a file that processes of the program share.
func besideProgram(name string) (string, error) {
	program, err := os.Executable()
	return filepath.Join(filepath.Dir(program), name), err
}

// leader returns the address of the replica that leads; nothing if its term is over.
func (l *leading) leader() string {
	info, err := os.Stat(l.file)
	if err != nil || time.Since(info.ModTime()) > l.term {
		return ""
	}
	address, err := os.ReadFile(l.file)
	if err != nil {
		return ""
	}
	return string(address)
}

// stand has this replica lead unless another one does.
func (l *leading) stand() {
	switch l.leader() {
	case l.address:
		now := time.Now()
		_ = os.Chtimes(l.file, now, now) // if that fails, another one leads soon
	case "":
		mine := l.file + "." + strconv.Itoa(os.Getpid())
		if os.WriteFile(mine, []byte(l.address), 0o600) == nil {
			_ = os.Rename(mine, l.file) // it stands again soon
		}
	}
}

// resign has another replica lead.
func (l *leading) resign() {
	if l != nil && l.leader() == l.address {
		_ = os.Remove(l.file) // it is over soon anyway
	}
}

// led has the replica convert that leads.
func (f *frail) led(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leader := f.leading.leader()
		switch leader {
		case f.leading.address:
			next.ServeHTTP(w, r)
			return
		case "":
			http.Error(w, "no replica leads", http.StatusServiceUnavailable)
			return
		}
		proxy := &httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) {
				p.Out.URL.Scheme, p.Out.URL.Host = "https", leader
			},
			Transport: f.leading.others,
			ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		}
		proxy.ServeHTTP(w, r)
	})
}
