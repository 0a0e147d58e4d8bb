package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/wire"
)

const (
	host4 = "127.0.0.1"
	host6 = "::1"

	// Between two looks whether a program answers already.
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// errSilent describes a program that does not continue the handshake.
var errSilent = errors.New("it accepts connections but does not respond")

// issue makes a folder with a certificate for the program.
func issue(c Command) (*Certificates, error) {
	authority, err := pki.NewAuthority("crdconform webhook program")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server(c.Hosts()...)
	if err != nil {
		return nil, err
	}
	folder, err := files.TemporaryDir("", "certs-")
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": authority.PEM()} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	return &Certificates{folder, authority.PEM()}, nil
}

// Hosts are the names and addresses that the certificate of the program must be valid for.
func (c Command) Hosts() []string {
	names := append([]string{"localhost"}, hosts()...)
	if c.ServerName != "" {
		names = append(names, c.ServerName)
	}
	return names
}

// hosts returns where a program that should listen on the first may respond. Some ignore it and choose an address of localhost
// themselves.
func hosts() []string { return []string{host4, host6} }

// choosePort returns the port of a program that has none yet.
func (c Command) choosePort(ctx context.Context) (int, error) {
	if c.Uses("port") {
		return freePort(ctx)
	}
	if isTaken(ctx, FixedPort) {
		return 0, fmt.Errorf("it is expected at port %d, since it is given no {port}, and another program has that port; end that one, or give this one another port by {port}", FixedPort)
	}
	return FixedPort, nil
}

// freePort returns a port on which no program listens.
func freePort(ctx context.Context) (int, error) {
	for range 100 {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host4, "0"))
		if err != nil {
			return 0, fmt.Errorf("no free port on %s: %w", host4, err)
		}
		_, text, err := net.SplitHostPort(listener.Addr().String())
		if err = errors.Join(err, listener.Close()); err != nil {
			return 0, err
		}
		port, err := strconv.Atoi(text)
		if err != nil || !isTaken(ctx, port) {
			return port, err
		}
	}
	return 0, fmt.Errorf("no port is free on both %s and %s", host4, host6)
}

// isTaken reports whether a program listens on a port.
func isTaken(ctx context.Context, port int) bool {
	return slices.ContainsFunc(hosts(), func(host string) bool {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			listener.Close() //nolint:errcheck // it was only to see whether it opens
		}
		return errors.Is(err, syscall.EADDRINUSE)
	})
}

// lostPort reports whether the program, which is stopped now, did not get its port because another program had it.
func (p *Process) lostPort(ctx context.Context, port int) bool {
	if isTaken(ctx, port) {
		return true
	}
	words := strings.ToLower(p.Output())
	return strings.Contains(words, "address already in use") || strings.Contains(words, "eaddrinuse") ||
		strings.Contains(words, "port") && strings.Contains(words, "already in use")
}

// doors returns a client for every place where the program may answer.
func (c Command) doors(port int, ca []byte) ([]*wire.Client, error) {
	var doors []*wire.Client
	for _, host := range hosts() {
		at := url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(port))}
		door, err := wire.Connect(wire.Endpoint{
			URL:        at.String() + "/" + strings.TrimPrefix(c.Path, "/"),
			CA:         ca,
			ServerName: c.ServerName,
			HTTP2:      c.ServerName == "",
		})
		if err != nil {
			return nil, err
		}
		doors = append(doors, door)
	}
	return doors, nil
}

// await waits until the program answers at one of its doors with its certificate.
func (p *Process) await(ctx context.Context, doors []*wire.Client, limit time.Duration) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(limit, cancel)
	defer timer.Stop()
	go func() {
		select {
		case <-p.Exited():
			cancel()
		case <-within.Done():
		}
	}()
	// Ever longer pauses: servers complain in their logs of clients that they refuse.
	pause := time.NewTimer(0)
	defer pause.Stop()
	var last error
	for length := firstPause; ; length = min(2*length, lastPause) {
		for i, door := range doors {
			began := time.Now()
			err := knock(within, door)
			if err == nil {
				p.Endpoint, p.Silent = door.Endpoint(), time.Since(began)
				return nil
			}
			if final := (*finalError)(nil); errors.As(err, &final) {
				return err
			}
			switch {
			case within.Err() != nil && connected(err):
				last = errSilent
			case within.Err() == nil && (i == 0 || connected(err)): // a refused connection says less
				last = err
			}
		}
		pause.Reset(length)
		select {
		case <-within.Done():
			return p.tooLate(ctx, limit, last)
		case <-pause.C:
		}
	}
}

// tooLate says why the wait for an answer ended in vain. A program that exited is to blame for that, even if the time is over too.
func (p *Process) tooLate(ctx context.Context, limit time.Duration, last error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while it was starting: %w", cmp.Or(context.Cause(ctx), ctx.Err()))
	}
	select {
	case <-p.Exited():
		return fmt.Errorf("it exited before it responded: %s", p.running().State())
	default:
	}
	if last == nil {
		last = errors.New("there was no time for a request")
	}
	return fmt.Errorf("no response within %s (%w); check that it serves {certs}/tls.crt at %s", limit, last, p.where)
}

// finalError is what waiting does not mend.
type finalError struct{ problem string }

func (e *finalError) Error() string { return e.problem }

// connected reports whether there was a connection.
func connected(err error) bool {
	failed := (*wire.HandshakeError)(nil)
	return errors.As(err, &failed) && failed.Connected
}

// knock tries a handshake. A certificate that does not verify is an error.
func knock(ctx context.Context, door *wire.Client) error {
	// Servers complain in their logs of clients that choose HTTP/2 and say no more.
	handshake, err := door.Handshake(ctx, wire.HandshakeOptions{ALPN: []string{"http/1.1"}})
	failed := (*wire.HandshakeError)(nil)
	if errors.As(err, &failed) && failed.Refused {
		handshake, err = door.Handshake(ctx, wire.HandshakeOptions{})
	}
	if errors.As(err, &failed) && failed.NotTLS {
		return &finalError{"it does not use TLS at {port}; API servers call webhooks only over https, so give it the certificate in {certs}"}
	}
	if err != nil || handshake.VerifyError == nil {
		return err
	}
	leaf := handshake.Chain[0]
	return &finalError{fmt.Sprintf("it serves its own certificate (subject %q, issuer %q); configure it to use {certs}", leaf.Subject, leaf.Issuer)}
}

// escaped reports whether the program, which is stopped now, still answers with its certificate.
func escaped(ctx context.Context, door *wire.Client) bool { return knock(ctx, door) == nil }
