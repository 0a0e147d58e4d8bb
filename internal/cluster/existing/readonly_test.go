package existing

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// sender notes the requests that it is asked to send.
type sender struct{ sent []string }

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent = append(s.sent, r.Method+" "+r.URL.Path)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// TestReaderLetsNoWriteThrough tries all methods, some of which nobody knows.
func TestReaderLetsNoWriteThrough(t *testing.T) {
	const objects, ask = "/apis/example.com/v1/crontabs", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	for request, passes := range map[string]bool{
		"GET " + objects:     true,
		"HEAD " + objects:    true,
		"POST " + ask:        true,
		"POST " + objects:    false,
		"PUT " + objects:     false,
		"PATCH " + objects:   false,
		"DELETE " + objects:  false,
		"OPTIONS " + objects: false,
		"CONNECT " + objects: false,
		"MAGIC " + objects:   false,
		"get " + objects:     false,
		"DELETE " + ask:      false,
		"POST " + ask + "/x": false,
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews":                     false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/../../example":   false,
		"POST /prefix/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":          false,
		"POST /apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews":   false,
		"POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All":     false,
		"DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.example.io": false,
	} {
		next := &sender{}
		method, path, _ := strings.Cut(request, " ")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://host"+path, strings.NewReader("body"))
		r.Method = method
		response, err := readOnly{next: next}.RoundTrip(r)
		var refused *RefusedError
		if passes != (len(next.sent) == 1) || passes != (err == nil) || !passes && !errors.As(err, &refused) {
			t.Errorf("%s: sent %v, error %v", request, next.sent, err)
		}
		if response != nil {
			response.Body.Close()
		}
	}
}

// TestReadOnlyConfig looks at what clients get: with ReadOnly a write does not leave the process.
func TestReadOnlyConfig(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Method) }))
	defer server.Close()
	for _, readOnly := range []bool{false, true} {
		got = nil
		c := &Cluster{options: Options{ReadOnly: readOnly}, config: &rest.Config{Host: server.URL}}
		client, err := rest.HTTPClientFor(c.Config())
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := client.Do(r); err == nil {
				response.Body.Close()
			}
		}
		want := "GET POST DELETE"
		if readOnly {
			want = "GET"
		}
		if strings.Join(got, " ") != want {
			t.Errorf("read only: %t, and the server got %v", readOnly, got)
		}
	}
}

// TestReaderBelowAPath has an API server whose paths are below another, as proxies have them.
func TestReaderBelowAPath(t *testing.T) {
	for path, passes := range map[string]bool{"/clusters/one" + askPath: true, askPath: false} {
		next := &sender{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://host"+path, nil)
		response, err := readOnly{next, "/clusters/one"}.RoundTrip(r)
		if passes != (err == nil) {
			t.Errorf("%s: %v", path, err)
		}
		if response != nil {
			response.Body.Close()
		}
	}
}
