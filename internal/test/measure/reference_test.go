//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/figures"
	"github.com/crdconform/crdconform/internal/test/subjects"
)

// measureReference compares what a request costs the reference webhook with what it costs one of controller-runtime that converts the
// same. The generator works on the same processors, so it shares in the rates that are reached, but not in that.
func measureReference(b *testing.B) []figures.Claim {
	b.Helper()
	const rounds, times = 5, 3 * time.Second
	var measured []figures.Claim
	for _, c := range []content{{1, 0}, {500, 0}} {
		own, other := &contender{name: referenceServer}, &contender{name: controllerServer}
		both := []*contender{own, other}
		for _, s := range both {
			dir, ca := subjects.Certs(b)
			s.process = start(b, s.name, dir)
			s.process.read(b, &s.endpoint)
			if len(s.endpoint.CA) == 0 {
				s.endpoint.CA = ca
			}
		}
		load := func(s *contender) func() {
			return func() {
				o := attack{Endpoint: s.endpoint, Requests: c.requests(b), Connections: connections, Duration: times}.by(b, loadgenAttack)
				rate := float64(o.Objects) / o.Elapsed.Seconds()
				s.rates, s.requests = append(s.rates, rate), s.requests+o.Requests
				b.Logf("%s, batch %d: %.0f objects/s", s.name, c.Batch, rate)
			}
		}
		pace, err := figures.Paced(func() {
			for round := range rounds {
				inTurn(round, load(own), load(other))
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range both {
			s.busy = s.process.stop(b)
		}
		measured = append(measured, figures.Claim{
			What: fmt.Sprintf("processor time a request, controller-runtime against reference webhook, batch %d", c.Batch), Asked: 3, AtLeast: true,
			Measured: float64(other.each()) / float64(own.each()), Unit: "x", Goal: c.Batch == 1,
			How:     fmt.Sprintf("%s, %s, of %d B; loadgen with %d connections, %d times %s in turn, rates are medians", own, other, size(b, c), connections, rounds, times),
			Missing: pace.Busy(),
		})
	}
	return measured
}

// contender is a webhook that is compared with another.
type contender struct {
	name     string
	process  *process
	endpoint endpoint
	rates    []float64 // objects a second, round by round
	requests uint64
	busy     time.Duration // of processors, for all requests
}

// each is how long processors worked for a request.
func (c *contender) each() time.Duration { return c.busy / time.Duration(max(c.requests, 1)) }

// String says what was measured, and which rate the processors would carry if they had no generator to work for.
func (c *contender) String() string {
	alone := float64(runtime.NumCPU()) / c.each().Seconds()
	return fmt.Sprintf("%s %s of processors a request, so %.0f requests/s without the generator, and %.0f objects/s beside it", c.name, rounded(c.each()), alone, median(c.rates))
}

// size is how long the objects of a content are as JSON, on average.
func size(b *testing.B, c content) int {
	b.Helper()
	sum, n := 0, 0
	for _, request := range c.requests(b) {
		for _, object := range request.Objects {
			sum += len(object)
			n++
		}
	}
	return sum / n
}

// serveReference is the program of the reference webhook. It does not look at its job.
func serveReference(ctx context.Context, _ *gob.Decoder, report func(any) error) error {
	server, err := webhook.Start(ctx, "127.0.0.1:0", webhook.Handler())
	if err != nil {
		return err
	}
	if err := report(endpoint{URL: server.URL, CA: server.CA}); err != nil {
		return err
	}
	<-ctx.Done()
	return server.Close()
}

func controllerHandler() http.Handler {
	return conversion.NewWebhookHandler(crontabScheme(), conversion.NewRegistry())
}

// serveController is the program of a webhook that controller-runtime serves. Its job is the directory of the certificate.
func serveController(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	log.SetLogger(logr.Discard())
	var dir string
	if err := job.Decode(&dir); err != nil {
		return err
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	server := crwebhook.NewServer(crwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir})
	server.Register(webhook.Path, controllerHandler())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for started := server.StartedChecker(); started(nil) != nil; {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
		}
	}
	if err := report(endpoint{URL: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + webhook.Path}); err != nil {
		return err
	}
	return <-ended
}

// freePort finds a port, since controller-runtime's server takes neither a listener nor port 0.
func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil || !ok {
		return 0, fmt.Errorf("no port of 127.0.0.1: %w", err)
	}
	return address.Port, nil
}

// TestSameConversion holds the webhook of controller-runtime to what the reference webhook answers. Otherwise the comparison
// of the two would say nothing.
func TestSameConversion(t *testing.T) {
	t.Parallel()
	requests := content{Batch: 7, Bytes: 0}.requests(t)
	odd := func(desired string, objects ...string) contract.Request {
		r := contract.Request{ReviewVersion: "v1", UID: uid, DesiredAPIVersion: desired}
		for _, object := range objects {
			r.Objects = append(r.Objects, json.RawMessage(object))
		}
		return r
	}
	requests = append(requests,
		odd("example.com/v1beta1",
			`{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"},"host":"h","port":"1"}`,
			`{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"},"host":"h","port":"1:2"}`,
			`{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a","annotations":{"b":"c"}},"host":"h"}`,
			`{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"},"port":"1"}`,
			`{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"}}`,
		),
		odd("example.com/v1",
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"}}`,
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"::1:80"}`,
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","annotations":{"crdconform.dev/host-and-port":"{\"host\":\"h\",\"port\":\"1:2\"}"}},"hostPort":"h:1:2"}`,
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","annotations":{"b":"c","crdconform.dev/host-and-port":"{\"host\":\"h\"}"}},"hostPort":"h:"}`,
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","annotations":{"b":"c","crdconform.dev/host-and-port":"{\"host\":\"h\"}"}},"hostPort":"other:3"}`,
		),
		odd("example.com/v1", `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"no colon"}`),
	)
	for _, request := range requests {
		reference, other := converted(t, webhook.Handler(), request), converted(t, controllerHandler(), request)
		if diff := cmp.Diff(reference, other); diff != "" {
			t.Errorf("converting %s to %s, the reference webhook (-) and that of controller-runtime (+) differ:\n%s", request.Objects, request.DesiredAPIVersion, diff)
		}
	}
}

// converted is the outcome of a conversion, and the objects, in a form that does not depend on how they are written.
func converted(t *testing.T, handler http.Handler, request contract.Request) any {
	t.Helper()
	body, err := request.Body()
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, bytes.NewReader(body)))
	var review struct {
		Response struct {
			UID              string `json:"uid"`
			ConvertedObjects any    `json:"convertedObjects"`
			Result           struct {
				Status string `json:"status"`
			} `json:"result"`
		} `json:"response"`
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		t.Fatalf("%v\n%s", err, recorder.Body)
	}
	if review.Response.Result.Status == "Failure" { // controller-runtime's word for what the documents call Failed
		review.Response.Result.Status = "Failed"
	}
	return review.Response
}
