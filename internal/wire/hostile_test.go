package wire_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/hostile"
	"github.com/crdconform/crdconform/internal/wire"
)

// TestHostileServers asks each server as the commands do: by a client, and by a sender. Whatever it answers, no more than the bound is kept, and the verdict says what is
// wrong.
func TestHostileServers(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for servers that never answer")
	}
	t.Parallel()
	askHostile(t, func(i int) bool { return i%4 == 0 })
}

// askHostile asks the servers of some indexes.
func askHostile(t *testing.T, wanted func(int) bool) {
	t.Helper()
	request := contract.Request{
		ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1",
		Objects: []json.RawMessage{json.RawMessage(`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","managedFields":[]},"hostPort":"localhost:80"}`)},
	}
	large := request // larger than the window of a stream that HTTP/2 begins with
	large.Objects = []json.RawMessage{bytes.Replace(request.Objects[0], []byte("localhost"), bytes.Repeat([]byte("x"), 1<<17), 1)}
	for i, server := range hostile.Servers() {
		if !wanted(i) {
			continue
		}
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			request := request
			if server.HTTP2() {
				request = large
			}
			body, err := request.Body()
			if err != nil {
				t.Fatal(err)
			}
			url, ca := server.Start(t)
			timeout := time.Minute // none but those that are late is meant to reach it
			if server.IsLate() {
				timeout = 2 * time.Second // or they would keep the processors from the others
			}
			client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca, HTTP2: server.HTTP2(), Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			verdict := verdictOn(t, request, client.Send(t.Context(), body))
			if !regexp.MustCompile(server.Says).MatchString(verdict) {
				t.Errorf("the verdict is %.2000s, want something with %q", verdict, server.Says)
			}
			if server.HTTP2() {
				return
			}
			url, ca = server.Start(t) // anew, since some count requests
			if client, err = wire.Connect(wire.Endpoint{URL: url, CA: ca, Timeout: timeout}); err != nil {
				t.Fatal(err)
			}
			sender := client.Sender()
			defer sender.Close()
			verdict = verdictOn(t, request, sender.Send(t.Context(), nil, body))
			if says := cmp.Or(server.SaysInTurn, server.Says); !regexp.MustCompile(says).MatchString(verdict) {
				t.Errorf("the verdict of a sender is %.2000s, want something with %q", verdict, says)
			}
		})
	}
}

// verdictOn judges a response, and fails the test if too much was kept of it.
func verdictOn(t *testing.T, request contract.Request, response contract.Response) string {
	t.Helper()
	body, err := request.Body()
	if err != nil {
		t.Fatal(err)
	}
	if most := contract.MaxResponse(len(body)); int64(len(response.Body)) > most+1 || int64(cap(response.Body)) > 2*most {
		t.Errorf("%d bytes were kept in %d, want %d at most", len(response.Body), cap(response.Body), most)
	}
	verdict := hostile.Accepted
	judgement := request.Judge(response)
	if rejected := judgement.Rejected(); rejected != nil {
		verdict = rejected.String()
	}
	if len(verdict) > 2000 {
		t.Errorf("the verdict has %d bytes: %.2000s", len(verdict), verdict)
	}
	return verdict
}

// TestHostileWires has every fault of the reference webhook be the same to a client, which net/http sends for, and to a sender.
func TestHostileWires(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for servers that never answer")
	}
	t.Parallel()
	compareSenders(t, func(i int) bool { return i%4 == 0 })
}

// compareSenders tries the faults of some indexes.
func compareSenders(t *testing.T, wanted func(int) bool) {
	t.Helper()
	crontabs := corpus.CronTabs("v1beta1", "v1")
	request := contract.Request{
		ReviewVersion: "v1", UID: "c0ffee00-0000-4000-8000-000000000000", DesiredAPIVersion: crontabs.APIVersion("v1"),
		Objects: corpus.JSON(crontabs.Batch("v1beta1", 3)...),
	}
	body, err := request.Body()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, fault webhook.Fault, send func(*wire.Client) contract.Response) string {
		t.Helper()
		server, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler(fault))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}()
		timeout := time.Minute
		if fault.Name == "hangs" {
			timeout = time.Second
		}
		client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		return strings.ReplaceAll(fmt.Sprint(request.Judge(send(client)).Violations), strings.TrimSuffix(server.URL, webhook.Path), "")
	}
	wrong, tried := 0, 0
	for i, fault := range webhook.Faults() {
		if !wanted(i) {
			continue
		}
		tried++
		of := ask(t, fault, func(c *wire.Client) contract.Response { return c.Send(t.Context(), body) })
		in := ask(t, fault, func(c *wire.Client) contract.Response {
			sender := c.Sender()
			defer sender.Close()
			return sender.Send(t.Context(), nil, body)
		})
		if of != in {
			t.Errorf("%s: a client finds %s, a sender %s", fault.Name, of, in)
		}
		if of != "[]" {
			wrong++
		}
	}
	if wrong < tried/3 {
		t.Errorf("only %d faults show", wrong)
	}
}
