package suitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// Tampered is an embedded API server that seems to behave differently from what it does: what goes in and out of it is
// changed on the way. It proves that the specs which bind API servers can fail.
type Tampered struct {
	*embedded.Cluster

	// Exchange takes the place of the exchange of a request with the API server, which next performs.
	Exchange func(r *http.Request, next http.RoundTripper) (*http.Response, error)

	// Look changes what is found in storage.
	Look func(cluster.Stored) cluster.Stored

	// LookAll changes all that is found in storage.
	LookAll func([]cluster.Stored) []cluster.Stored
}

// Config returns how to reach the API server through what tampers with it.
func (t *Tampered) Config() *rest.Config {
	config := t.Cluster.Config()
	if t.Exchange != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { return t.Exchange(r, next) })
		})
	}
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Stored returns what is in storage, changed.
func (t *Tampered) Stored(ctx context.Context, key cluster.Key) (cluster.Stored, error) {
	stored, err := t.Cluster.Stored(ctx, key)
	if err == nil && t.Look != nil {
		stored = t.Look(stored)
	}
	return stored, err
}

// StoredAll returns all that is in storage, changed.
func (t *Tampered) StoredAll(ctx context.Context, group, resource string) ([]cluster.Stored, error) {
	all, err := t.Cluster.StoredAll(ctx, group, resource)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if t.Look != nil {
			all[i] = t.Look(all[i])
		}
	}
	if t.LookAll != nil {
		all = t.LookAll(all)
	}
	return all, nil
}

// Request describes a request to the API server.
type Request struct {
	*http.Request
	Definition bool   // of definitions
	Objects    bool   // of custom resources
	Name       string // of the object; empty for collections
	Sub        string // subresource
}

// About reads the path of a request.
func About(r *http.Request) Request {
	about := Request{Request: r}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 4 && parts[3] == "namespaces" {
		parts = append(parts[:3:3], parts[5:]...)
	}
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	about.Definition = at(3) == "customresourcedefinitions"
	about.Objects = at(3) == "crontabs"
	about.Name, about.Sub = at(4), at(5)
	return about
}

// Watch reports whether the request is for a watch.
func (r Request) Watch() bool { return r.URL.Query().Get("watch") != "" }

// Table reports whether the request is for a table.
func (r Request) Table() bool { return strings.Contains(r.Header.Get("Accept"), "as=Table") }

// Answer makes up a response to a request.
func Answer(r *http.Request, status int, body any) *http.Response {
	encoded, ok := body.([]byte)
	if !ok {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			panic(fmt.Sprintf("suitetest: %v", err))
		}
	}
	return &http.Response{
		Status:        http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(encoded)),
		ContentLength: int64(len(encoded)),
		Request:       r,
	}
}

// Edit changes the JSON of a response. It leaves alone what is no JSON object.
func Edit(response *http.Response, change func(body map[string]any)) (*http.Response, error) {
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	var body map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&body) == nil {
		change(body)
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	response.Header.Del("Content-Length")
	return response, nil
}

// Body reads the body of a request and leaves a copy in place.
func Body(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(fmt.Sprintf("suitetest: %v", err))
	}
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}
