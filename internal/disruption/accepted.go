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
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n%s",
		st.Path, st.serverName(), len(body), body)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(st.hook.authority())
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: st.serverName(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}
	var all []accepted
	for n := range acceptedRequests + 1 {
		connection, err := dialer.DialContext(ctx, "tcp", st.hook.address())
		if err != nil {
			return all, err
		}
		a := accepted{connection: connection, request: request}
		if n < acceptedRequests {
			a.sent = len(request) - len(body)/2
			_, err = connection.Write(request[:a.sent])
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
