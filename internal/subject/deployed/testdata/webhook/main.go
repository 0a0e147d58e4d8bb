// Command webhook is what the tests deploy: the reference webhook as a program, with the ways to fail of others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

func main() {
	address := flag.String("address", ":9443", "to listen on")
	certs := flag.String("certs", "/certs", "folder with tls.crt and tls.key")
	mode := flag.String("mode", "serve", "serve, crash, never, own, abrupt")
	flag.Parse()
	fmt.Println("the webhook starts, user", os.Getuid())
	if err := run(*mode, *address, *certs); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(3)
	}
}

// drain is how long it continues to serve after SIGTERM.
const drain = 3 * time.Second

func run(mode, address, certs string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	convert := webhook.Handler()
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil { // a client that keeps the connection would lose the request that meets its end
			w.Header().Set("Connection", "close")
		}
		convert.ServeHTTP(w, r)
	})}
	switch mode {
	case "crash":
		fmt.Println("connecting with the password", os.Getenv("DATABASE_PASSWORD"))
		return errors.New("the database is away")
	case "never":
		fmt.Println("waiting for a leader")
		<-ctx.Done()
		return nil
	case "own":
		var err error
		if certs, err = own(); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.ListenAndServeTLS(filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"))
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		fmt.Println("stopping")
		if mode == "abrupt" {
			return nil
		}
		<-time.After(drain)
		within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return server.Shutdown(within)
	}
}

// own creates a certificate with an unknown authority.
func own() (string, error) {
	authority, err := pki.NewAuthority("home-made")
	if err != nil {
		return "", err
	}
	pair, err := authority.Server("localhost")
	if err != nil {
		return "", err
	}
	return "/dev/shm", errors.Join(os.WriteFile("/dev/shm/tls.crt", pair.Certificate, 0o600), os.WriteFile("/dev/shm/tls.key", pair.Key, 0o600))
}
