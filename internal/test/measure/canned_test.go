//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
)

// content is what requests hold: objects in each, of bytes each. See load.Workload.
type content struct{ Batch, Bytes int }

func (c content) String() string { return fmt.Sprintf("batch %d x %d B", c.Batch, c.Bytes) }

// requests are those that loadgen sends in turn.
func (c content) requests(tb testing.TB) []contract.Request {
	tb.Helper()
	crontabs := corpus.CronTabs("v1beta1", "v1")
	requests, err := load.Bodies(crontabs, load.Workload{
		Clients: 1, Duration: time.Second, Batch: c.Batch, Bytes: c.Bytes, ReviewVersion: "v1", Pairs: crontabs.Pairs(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return requests
}

// canned is a server that gives one answer to one request: what it costs is TLS and little else.
type canned struct {
	answer  []byte // headers and all
	from    int    // where the uid is, in the body of the request
	to      int    // and in the answer
	length  int    // of the uid
	waiting func(uid []byte) (answered func())
}

// newCanned takes the answer from the reference webhook.
func newCanned(ctx context.Context, request contract.Request) (*canned, error) {
	body, err := request.Body()
	if err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	webhook.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, webhook.Path, bytes.NewReader(body)))
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", recorder.Body.Len(), recorder.Body)
	s := &canned{answer: answer, from: bytes.Index(body, []byte(request.UID)), to: bytes.Index(answer, []byte(request.UID)), length: len(request.UID)}
	if recorder.Code != http.StatusOK || s.from < 0 || s.to < 0 {
		return nil, fmt.Errorf("the reference webhook answers %d %s", recorder.Code, recorder.Body)
	}
	s.waiting = func([]byte) func() { return func() {} }
	return s, nil
}

// serveCanned is the program of that server. Its job is the request.
func serveCanned(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	var request contract.Request
	if err := job.Decode(&request); err != nil {
		return err
	}
	s, err := newCanned(ctx, request)
	if err != nil {
		return err
	}
	return s.serve(ctx, report)
}

// endpoint is what a server reports about itself.
type endpoint struct {
	URL string
	CA  []byte // as PEM
}

// serve serves on a port of its own until the context ends.
func (s *canned) serve(ctx context.Context, report func(any) error) error {
	authority, err := pki.NewAuthority("crdconform bench")
	if err != nil {
		return err
	}
	pair, err := authority.Server("127.0.0.1")
	if err != nil {
		return err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return err
	}
	inner, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	listener := tls.NewListener(inner, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		DynamicRecordSizingDisabled: true,
	})
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	if err := report(endpoint{URL: "https://" + inner.Addr().String() + webhook.Path, CA: authority.PEM()}); err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go s.attend(connection)
	}
}

// attend answers the requests of a connection until it ends, or brings what is no request.
func (s *canned) attend(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReaderSize(connection, 64<<10)
	answer := bytes.Clone(s.answer)
	uid := answer[s.to : s.to+s.length]
	for {
		length, err := bodyLength(reader)
		if err != nil || length < s.from+s.length {
			return
		}
		head, err := reader.Peek(s.from + s.length)
		if err != nil {
			return
		}
		copy(uid, head[s.from:])
		if _, err := reader.Discard(length); err != nil {
			return
		}
		answered := s.waiting(uid)
		if _, err := connection.Write(answer); err != nil {
			return
		}
		answered()
	}
}

// bodyLength reads the headers of a request, and returns how long its body is: 0 when they do not say.
func bodyLength(reader *bufio.Reader) (int, error) {
	const name = "content-length:"
	length := 0
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			return length, nil
		case len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, err
			}
		}
	}
}
