package disruption

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// acceptedRequests are under way when a program gets SIGTERM.
	acceptedRequests = 4

	// acceptance is how long a program has for reading the beginning of a request, and how long after SIGTERM the rest of it comes.
	acceptance = 200 * time.Millisecond

	// keptPatience is how long a request may be under way on a connection that a program keeps after SIGTERM.
	keptPatience = 5 * time.Second

	// readyPatience is how long a replica that listens may take until it has converted an object.
	readyPatience = 3 * time.Second
)

// accepted is a connection to a replica, with a request to convert an object of which the replica has read some.
type accepted struct {
	connection net.Conn
	request    []byte
	sent       int // bytes of it
}

// accept sends the beginning of some requests to the only replica. Clients of the API server send theirs too fast for one to be under way at a
// certain moment. The last connection is one that the replica has answered a request on, and that is idle.
func (st *stage) accept(ctx context.Context) ([]accepted, error) {
	body, err := st.review(ctx)
	if err != nil {
		return nil, err
	}
	var all []accepted
	for n := range acceptedRequests + 1 {
		a, err := st.connection(ctx, st.hook.address(), body)
		if err != nil {
			return all, err
		}
		if n < acceptedRequests {
			a.sent = len(a.request) - len(body)/2
			_, err = a.connection.Write(a.request[:a.sent])
		} else {
			err = a.finish(terminationGrace)
		}
		all = append(all, a)
		if err != nil {
			return all, err
		}
	}
	return all, pause.For(ctx, acceptance)
}

// connection is one to a replica, on which a request with a body is to be sent.
func (st *stage) connection(ctx context.Context, address string, body []byte) (accepted, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(st.hook.authority())
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: st.serverName(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	return accepted{connection: connection, request: fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n%s",
		st.Path, st.serverName(), len(body), body)}, err
}

// greeted asks a replica that has shaken hands to convert an object, as API servers do from then on if that is how its readiness is probed.
func (st *stage) greeted(ctx context.Context, r *replica) error {
	if silent := r.process.Silent; silent > readyPatience {
		st.violates("a replica accepted connections %s before it shook hands on them; a probe of its port takes it for ready then: listen when it can convert", silent.Round(100*time.Millisecond))
		return nil
	}
	body, err := st.review(ctx)
	if err != nil {
		return err
	}
	a, err := st.connection(ctx, r.address, body)
	if err == nil {
		err = a.finish(readyPatience)
		a.connection.Close() // it may be closed already
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		st.violates("a replica that listened did not convert an object within %s, and got requests meanwhile; %s", readyPatience, listenLater)
	case err != nil:
		st.violates("a replica that listened failed to convert an object (%v), and so it did with the requests that it got; %s", err, listenLater)
	}
	return nil
}

// listenLater is what to do about a replica that is taken for ready before it is.
const listenLater = "have it listen when it can convert, or its readiness probe fail until then"

// review is a request of a ConversionReview, for an object as it is.
func (st *stage) review(ctx context.Context) ([]byte, error) {
	other, err := st.other()
	if err != nil {
		return nil, err
	}
	object, err := st.clients.Do(ctx, st.clients.Request(history.Read, st.readable(), st.things[0].name, "", nil))
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/" + st.conversion(nil).Webhook.ConversionReviewVersions[0], "kind": "ConversionReview",
		"request": map[string]any{"uid": uuid.NewString(), "desiredAPIVersion": st.clients.Group + "/" + other, "objects": []json.RawMessage{object}},
	})
}

// finish sends the rest of a request, and fails unless it is answered in time.
func (a accepted) finish(within time.Duration) error {
	if err := a.connection.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := a.connection.Write(a.request[a.sent:]); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(a.connection), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return err
}

// terminateGracefully has the only replica end while it has requests under way, which it must answer, and a connection on which it must
// answer or which it must close.
func (st *stage) terminateGracefully(ctx context.Context) error {
	all, err := st.accept(ctx)
	defer func() {
		for _, a := range all {
			a.connection.Close() // it may be closed already
		}
	}()
	if err != nil {
		return fmt.Errorf("sending requests to the webhook: %w", err)
	}
	st.begin("SIGTERM")
	type end struct {
		late string
		err  error
	}
	signaled, gone := make(chan struct{}), make(chan end, 1)
	signal := sync.OnceFunc(func() { close(signaled) })
	go func() {
		defer signal() // where that failed, the requests are answered as ever
		var e end
		e.late, e.err = st.hook.terminate(ctx, signal)
		gone <- e
	}()
	<-signaled
	if err = pause.For(ctx, acceptance); err != nil {
		return errors.Join(err, (<-gone).err)
	}
	var dropped error
	n := 0
	for _, a := range all[:acceptedRequests] {
		if failed := a.finish(terminationGrace); failed != nil {
			dropped = failed
			n++
		}
	}
	if n > 0 {
		st.violates("of %d requests that it had accepted when it got SIGTERM, it dropped %d: %v", acceptedRequests, n, dropped)
	}
	if failed := all[acceptedRequests].finish(keptPatience); errors.Is(failed, os.ErrDeadlineExceeded) {
		st.violates("it kept an idle connection after SIGTERM, and answered nothing on it for %s; API servers send requests on such connections", keptPatience)
	}
	ended := <-gone
	if ended.late != "" {
		st.violates("%s", ended.late)
	}
	return ended.err
}
