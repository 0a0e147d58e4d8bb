package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
)

// TestOnce makes requests exactly once, where clients of client-go would ask again, and returns what the server says of a refusal.
func TestOnce(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %q %s", r.Method, r.URL, r.Header.Get("Accept"), r.Header.Get("Content-Type"), body))
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"kind": "Status", "message": "storage is (re)initializing", "metadata": {"continue": "later"}}`)
		case "/proxy":
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "no upstream\n")
		case "/version":
			w.Header().Set("Date", "Wed, 21 Oct 2015 07:28:00 GMT")
		default:
			fmt.Fprint(w, "fine")
		}
	}))
	defer server.Close()
	once, err := NewOnce(&rest.Config{Host: server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer once.Close()
	for _, test := range []struct {
		request Request
		sent    string
		want    string
		code    int
	}{
		{Request{Path: "/a"}, `GET /a application/json "" `, "fine", 0},
		{Request{Method: http.MethodPatch, Path: "/a", Query: url.Values{"force": {"true"}}, Accept: "text/plain", ContentType: TypeApply, Body: []byte("{}")}, `PATCH /a?force=true text/plain "application/apply-patch+yaml" {}`, "fine", 0},
		{Request{Method: http.MethodPost, Path: "/busy", Body: []byte("{}")}, `POST /busy application/json "application/json" {}`, "HTTP status 429: storage is (re)initializing", http.StatusTooManyRequests},
		{Request{Path: "/proxy"}, `GET /proxy application/json "" `, "HTTP status 502: no upstream", http.StatusBadGateway},
	} {
		got = nil
		body, err := once.Do(t.Context(), test.request)
		text := string(body)
		if err != nil {
			text = err.Error()
		}
		if strings.Join(got, ", ") != test.sent || text != test.want || StatusOf(err) != test.code {
			t.Errorf("sent %q, want %q; got %s, want %s", got, test.sent, text, test.want)
		}
	}
	if now, err := once.Now(t.Context()); err != nil || now.Unix() != 1445412480 {
		t.Errorf("the server's clock shows %s, %v", now, err)
	}
	server.Close()
	if _, err := once.Now(t.Context()); err == nil {
		t.Error("no server has a clock")
	}
	if _, err := once.Do(t.Context(), Request{Path: "/a"}); err == nil || StatusOf(err) != 0 {
		t.Errorf("of no server: %v", err)
	}
}

// TestPath is where the objects of a definition are.
func TestPath(t *testing.T) {
	t.Parallel()
	crd := crontabs()
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	cluster := ResourceOf(crd, "default")
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	namespaced := ResourceOf(crd, "default")
	for got, want := range map[string]string{
		cluster.Path("v1"):                     "/apis/example.com/v1/crontabs",
		cluster.Path("v1", "one"):              "/apis/example.com/v1/crontabs/one",
		namespaced.Path("v1"):                  "/apis/example.com/v1/namespaces/default/crontabs",
		namespaced.Path("v1", "one", "status"): "/apis/example.com/v1/namespaces/default/crontabs/one/status",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
