package resource

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
)

// number is a definition with a conversion webhook.
const number = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: numbers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: numbers, kind: Number}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}
  versions:
  - {name: v1, served: true, storage: true, schema: &schema {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {count: {type: integer}}}}}}}
  - {name: v2, served: true, storage: false, schema: *schema}
`

// TestTravelsEnd has webhooks hang, or end, over every request. They are not asked for each object.
func TestTravelsEnd(t *testing.T) {
	t.Parallel()
	definitions, _, err := corpus.ReadDefinitions("file.yaml", []byte(number))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := corpus.New(definitions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := kind.Definition.Generator("v1", 1, nil).Objects(corpus.Plain, 16)
	for name, test := range map[string]struct {
		breaks func(r *http.Request)
		ends   bool
		most   int32 // requests
	}{
		"hangs": {func(r *http.Request) { <-r.Context().Done() }, false, 1},
		"ends":  {func(*http.Request) { panic(http.ErrAbortHandler) }, true, 9}, // 16, 8, 4, 2, 1 and 1, 2 and 1, and one more at most
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection would not be seen
				test.breaks(r)
			}))
			t.Cleanup(server.Close)
			client, err := wire.Connect(wire.Endpoint{URL: server.URL + "/convert", CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), Timeout: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			subject := &suites.Subject{Client: client, Corpus: kind}
			if test.ends {
				subject.Revive = func(context.Context, time.Time) (bool, error) { return false, errors.New("it ended") }
			}
			c := &chapter{env: &suites.Env{Subject: subject}}
			travel := &travels{chapter: c, pair: corpus.Pair{From: "v1", To: "v2"}, ends: subject.Ends()}
			if travel.thereAndBack(t.Context(), nil); asked.Load() > 0 {
				t.Error("it was asked for no object")
			}
			for range 2 {
				for i, back := range travel.thereAndBack(t.Context(), objects) {
					if back != nil {
						t.Errorf("object %d came back", i)
					}
				}
			}
			if n := asked.Load(); n == 0 || n > test.most {
				t.Errorf("it was asked %d times, want %d at most", n, test.most)
			}
		})
	}
}
