package hostile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/wire"
)

// TestServers asks each server as the commands do. Whatever it answers, no more than the bound is kept, and the verdict says what is
// wrong.
func TestServers(t *testing.T) {
	t.Parallel()
	request := contract.Request{
		ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1",
		Objects: []json.RawMessage{json.RawMessage(`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","managedFields":[]},"hostPort":"localhost:80"}`)},
	}
	large := request // larger than the window of a stream that HTTP/2 begins with
	large.Objects = []json.RawMessage{bytes.Replace(request.Objects[0], []byte("localhost"), bytes.Repeat([]byte("x"), 1<<17), 1)}
	for _, server := range Servers() {
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
			if server.Says == late {
				timeout = 2 * time.Second // or they would keep the processors from the others
			}
			client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca, HTTP2: server.HTTP2(), Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			response := client.Send(t.Context(), body)
			if most := contract.MaxResponse(len(body)); int64(len(response.Body)) > most+1 || int64(cap(response.Body)) > 2*most {
				t.Errorf("%d bytes were kept in %d, want %d at most", len(response.Body), cap(response.Body), most)
			}
			verdict := Accepted
			judgement := request.Judge(response)
			if rejected := judgement.Rejected(); rejected != nil {
				verdict = rejected.String()
			}
			if !regexp.MustCompile(server.Says).MatchString(verdict) || len(verdict) > 2000 {
				t.Errorf("the verdict is %.2000s, want something with %q", verdict, server.Says)
			}
		})
	}
}
