// Package program turns a conversion webhook into a program for tests: it parses the arguments, lists the bugs that can be
// planted, and serves with TLS until a signal stops it.
package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// Path is where every program converts.
const Path = "/convert"

// Bug is a defect that can be planted into a webhook.
type Bug struct {
	Name    string
	Summary string // what the webhook does wrong, in one line
}

// Webhook is what a program runs.
type Webhook struct {
	Name string
	Bugs []Bug

	// Handler returns what answers, with the bug of a name planted, or with none when the name is empty.
	Handler func(bug string) (http.Handler, error)

	// Serve serves a handler until the context ends. Nil stands for Plain.
	Serve func(ctx context.Context, s Settings) error
}

// Settings say how to serve.
type Settings struct {
	Handler    http.Handler
	Certs      string // the directory of tls.crt and tls.key
	Kubeconfig string // file; empty for no API server
	Port       int    // on 127.0.0.1; 0 for a free one

	// Ready is to be called once, with the port, as soon as connections are accepted.
	Ready func(port int)
}

// Run is the program with its arguments, without its name. It serves until the context ends, and writes one line to out
// once it accepts connections: "listening on " and the URL.
func (w Webhook) Run(ctx context.Context, args []string, out io.Writer) error {
	flags := pflag.NewFlagSet(w.Name, pflag.ContinueOnError)
	flags.SetOutput(out)
	port := flags.Int("port", 0, "port of 127.0.0.1 to listen on; 0 for a free one")
	certs := flags.String("certs", "", "directory with tls.crt and tls.key")
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the API server, for programs that ask it something")
	bug := flags.String("bug", "", "bug to plant; --bugs lists them")
	list := flags.Bool("bugs", false, "list the bugs, and end")
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; --help lists the flags", flags.Arg(0))
	case *list:
		for _, b := range w.Bugs {
			fmt.Fprintf(out, "%-20s %s\n", b.Name, b.Summary)
		}
		return nil
	case *certs == "":
		return errors.New("no certificate to serve with; give the directory of tls.crt and tls.key by --certs")
	case *port < 0 || *port > 65535:
		return fmt.Errorf("--port %d must be between 0 and 65535", *port)
	case *bug != "" && !slices.ContainsFunc(w.Bugs, func(b Bug) bool { return b.Name == *bug }):
		return fmt.Errorf("there is no bug %q; --bugs lists those there are", *bug)
	}
	handler, err := w.Handler(*bug)
	if err != nil {
		return err
	}
	serve := w.Serve
	if serve == nil {
		serve = Plain
	}
	return serve(ctx, Settings{Handler: handler, Certs: *certs, Kubeconfig: *kubeconfig, Port: *port, Ready: func(port int) {
		fmt.Fprintf(out, "listening on https://%s%s\n", address(port), Path)
	}})
}

// Plain serves by net/http alone.
func Plain(ctx context.Context, s Settings) error {
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.Certs, "tls.crt"), filepath.Join(s.Certs, "tls.key"))
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	listener, port, err := Listen(ctx, s.Port)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, s.Handler)
	server := &http.Server{
		Handler:   mux,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // nothing is left to be lost
	defer stop()
	s.Ready(port)
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Listen listens on a port of 127.0.0.1, 0 for a free one, and says which it is.
func Listen(ctx context.Context, port int) (net.Listener, int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address(port))
	if err != nil {
		return nil, 0, err
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return nil, 0, errors.Join(err, listener.Close())
	}
	return listener, port, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
