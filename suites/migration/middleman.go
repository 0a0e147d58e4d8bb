package migration

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// middleman stands between a migrator and the API server, so that something else happens at a certain moment of the migration instead of
// by chance. Requests come through one after the other.
type middleman struct {
	next      http.RoundTripper
	meanwhile func(request) *http.Response
	group     string

	mu sync.Mutex
}

// request is one of a migrator about the objects of a definition.
type request struct {
	*http.Request

	name  string // of the object; empty for a list
	write bool   // it writes, and does not only try to
	tries bool   // it writes, or tries to
}

// RoundTrip sends a request on when it is its turn.
func (m *middleman) RoundTrip(r *http.Request) (*http.Response, error) {
	about, objects := m.about(r)
	if !objects {
		return m.next.RoundTrip(r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if instead := m.meanwhile(about); instead != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return instead, nil
	}
	return m.next.RoundTrip(r)
}

// about reports whether a request is about objects, and about which.
func (m *middleman) about(r *http.Request) (request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 4 || parts[0] != "apis" || parts[1] != m.group {
		return request{}, false
	}
	parts = parts[3:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	about := request{Request: r}
	if len(parts) > 1 {
		about.name = parts[1]
	}
	about.tries = r.Method != http.MethodGet
	about.write = about.tries && r.URL.Query().Get("dryRun") == ""
	return about, true
}

// answer makes up the answer of an API server that refuses a request.
func answer(r *http.Request, code int32, reason metav1.StatusReason, message string) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
	if err != nil {
		panic(err) // nothing in it can fail to be encoded
	}
	return &http.Response{
		Status: http.StatusText(int(code)), StatusCode: int(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}
