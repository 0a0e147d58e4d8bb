package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// frail is the webhook with its bug.
type frail struct {
	bug      string
	times    times
	began    time.Time
	again    bool            // a process has served from the same folder before
	ending   context.Context //nolint:containedctx // the handler asks whether the process is ending
	replicas *replicas
	leading  *leading
	peers    *peers
	reading  atomic.Bool
	left     *hoard
	crash    func()
	released chan struct{} // ends what would last; closed by tests alone
}

func webhook(t times) program.Webhook { return newFrail(t).webhook() }

func newFrail(t times) *frail {
	return &frail{
		times: t, left: &hoard{ever: make(chan struct{})}, released: make(chan struct{}),
		crash: func() {
			go panic("the client is gone") // net/http would recover from it in the request
		},
	}
}

func (f *frail) webhook() program.Webhook {
	return program.Webhook{
		Name: "frail", Bugs: bugs(), Serve: f.serve,
		Handler: func(bug string) (http.Handler, error) {
			f.bug = bug
			return f.handler(), nil
		},
	}
}

// serve serves until the context ends, and then as a bug has it.
func (f *frail) serve(ctx context.Context, s program.Settings) error {
	f.began, f.ending = time.Now(), ctx
	if err := f.enter(ctx, s.Certs); err != nil {
		return err
	}
	defer f.leave(s.Certs)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	certificate, err := f.certificate(watching, s.Certs)
	if err != nil {
		return err
	}
	listener, port, err := program.Listen(ctx, s.Port)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(program.Path, s.Handler)
	server := &http.Server{
		Handler:   mux,
		TLSConfig: &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	over, err := f.join(watching, s.Kubeconfig, port)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- f.accept(server, listener) }()
	s.Ready(port)
	select {
	case err := <-served:
		return err
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	return f.end(ctx, server, listener.Close)
}

// end ends the server. Without a bug, requests under way are answered.
func (f *frail) end(ctx context.Context, server *http.Server, stopListening func() error) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	switch f.bug {
	case noDrain:
		return server.Close()
	case exitsEarly:
		go func() {
			<-f.released       // by then the process has ended
			_ = server.Close() // nothing is left to be lost
		}()
		return nil
	case holdsConnections:
		err := stopListening()
		f.hold(within)
		return errors.Join(err, server.Close())
	case ignoresSignals:
		<-f.released
	}
	return server.Shutdown(within)
}

// hold waits as long as connections are held.
func (f *frail) hold(ctx context.Context) {
	timer := time.NewTimer(f.times.holding)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-f.released:
	}
}

// wait waits, and reports whether it was not for nothing.
func wait(ctx context.Context, d time.Duration) bool { return pause.For(ctx, d) == nil }

// certificate returns what a client is shown.
func (f *frail) certificate(ctx context.Context, folder string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	file, key := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	if f.bug == certificateOnce {
		pair, err := tls.LoadX509KeyPair(file, key)
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, err
	}
	watcher, err := certwatcher.New(file, key)
	if err != nil {
		return nil, err
	}
	watcher = watcher.WithWatchInterval(watchEvery)
	go watcher.Start(ctx) //nolint:errcheck // a client sees that the certificate is the old one
	if f.bug != cachesAuthority {
		return watcher.GetCertificate, nil
	}
	trusted := &trusting{watcher: watcher, authorities: x509.NewCertPool()}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	trusted.authorities.AppendCertsFromPEM(ca)
	return trusted.get, nil
}

// watchEvery is how often certwatcher looks, besides being notified.
const watchEvery = 10 * time.Second

// trusting takes a certificate only if authorities of old have signed it.
type trusting struct {
	watcher     *certwatcher.CertWatcher
	authorities *x509.CertPool

	mu   sync.Mutex
	last *tls.Certificate
}

func (t *trusting) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pair, err := t.watcher.GetCertificate(hello)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, err
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: t.authorities, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err == nil || t.last == nil {
		t.last = pair
	}
	return t.last, nil
}
