package existing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/kube"
)

// probe makes the API server call addresses, to see whether the calls arrive.
type probe struct {
	kube.Probe

	within time.Duration // that a call may take to arrive

	mu        sync.Mutex
	authority *pki.Authority // that webhooks of the probe have their certificates of
	calls     int            // made so far, each of which has a path of its own
}

// plural is the plural of the custom resources of all definitions of a run, so that a role can name it.
const plural = "crontabs"

// removeTimeout is how long a definition may take to be gone, with its objects.
const removeTimeout = time.Minute

// probePoll is how long to wait before the API server is asked again.
const probePoll = kube.ProbePoll

func newProbe(clients *kube.Clients, run, domain string) *probe {
	return &probe{
		Probe:  kube.Probe{Definitions: clients.Definitions, Objects: clients.Objects, Run: run, Group: "probe." + domain, Plural: plural},
		within: reachTimeout,
	}
}

// read has the object converted until a function of the API server's answer says that it is enough. It returns the answer
// that came last, as a message.
func (p *probe) read(ctx context.Context, enough func(message string) bool) (string, error) {
	last := ""
	err := kube.Until(ctx, probePoll, func(ctx context.Context) (bool, error) {
		// The API server waits 30 s for a webhook; one that is not there takes as long.
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := p.Ask(once); err != nil && once.Err() == nil {
			last = err.Error()
		}
		return enough(last), nil
	})
	return last, err
}

// next returns a path that no call had before.
func (p *probe) next() string {
	p.calls++
	return "/crdconform-probe-" + strconv.Itoa(p.calls)
}

// prepare makes the authority.
func (p *probe) prepare() (err error) {
	if p.authority == nil {
		p.authority, err = pki.NewAuthority("crdconform probe")
	}
	return err
}

// reaches returns when the API server has called a listener as a host. The listener is as before then.
func (p *probe) reaches(ctx context.Context, listener *net.TCPListener, host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(); err != nil {
		return err
	}
	pair, err := p.authority.Server(host)
	if err != nil {
		return err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return err
	}
	path, arrived := p.next(), make(chan struct{}, 1)
	stop := lend(listener, certificate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
		http.NotFound(w, r) // it converts nothing
	}))
	defer stop()
	within, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	url := "https://" + net.JoinHostPort(host, port) + path
	if err = p.Point(within, apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: p.authority.PEM()}); err != nil {
		return fmt.Errorf("having the API server call %s: %w", url, err)
	}
	seen := false
	last, err := p.read(within, func(string) bool {
		select {
		case <-arrived:
			seen = true
		default:
		}
		return seen
	})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the API server was asked to call %s, but no call arrived within %s; cluster.webhookHost must be an address of this machine that it can reach, with a port that is open, see cluster.listen; it says: %s", url, p.within, last)
	}
	return nil
}

// lend serves on a listener, until the function that it returns takes the listener back.
func lend(listener *net.TCPListener, certificate tls.Certificate, handler http.Handler) func() {
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.ServeTLS(borrowed{listener}, "", "") //nolint:errcheck // it ends with the server
	}()
	return func() {
		server.Close() //nolint:errcheck // the listener is only borrowed, and closes all the same
		<-done
		listener.SetDeadline(time.Time{}) //nolint:errcheck // it fails for listeners that are closed
	}
}

// borrowed is a listener that is to be used again after it was closed.
type borrowed struct{ *net.TCPListener }

// Close ends Accept, and leaves the listener open.
func (b borrowed) Close() error { return b.SetDeadline(time.Unix(1, 0)) }

// arrives returns when the API server's calls to a service arrive at an address, where something talks TLS: the API server
// then refuses it, because it is not signed by a known authority, in the words in which this machine does. Others may answer
// before the service leads anywhere, a proxy between networks for one. It returns what the API server said last.
func (p *probe) arrives(ctx context.Context, namespace, name string, port int32, address string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(); err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	path := p.next()
	err := p.Point(within, apiextensionsv1.WebhookClientConfig{
		Service:  &apiextensionsv1.ServiceReference{Namespace: namespace, Name: name, Port: &port, Path: &path},
		CABundle: p.authority.PEM(),
	})
	if err != nil {
		return "", fmt.Errorf("having the API server call the service: %w", err)
	}
	refusal := p.refusal(within, address, name+"."+namespace+".svc")
	return p.read(within, func(message string) bool {
		return strings.Contains(message, path) && (strings.Contains(message, "x509: ") || strings.Contains(message, "tls: ")) &&
			strings.Contains(message, refusal)
	})
}

// refusal calls an address by a name, and returns why what answers is not trusted, but for the time; empty if it shows no certificate.
func (p *probe) refusal(ctx context.Context, address, name string) string {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.authority.PEM())
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		connection.Close()
		return ""
	}
	untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok {
		return ""
	}
	why, _, _ := strings.Cut(untrusted.Err.Error(), ": current time")
	return why
}

// remove removes the definition of the probe.
func (p *probe) remove(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	return p.Remove(within)
}
