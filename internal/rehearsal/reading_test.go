package rehearsal

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestListThatExpires has an API server forget the beginning of a list between two pages: the rest of the objects are read all the same.
func TestListThatExpires(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		code int
		body string
	}{
		"":         {http.StatusOK, `{"kind": "CronTabList", "apiVersion": "example.com/v1", "metadata": {"continue": "expires"}, "items": [{"kind": "CronTab", "apiVersion": "example.com/v1", "metadata": {"name": "one"}}]}`},
		"expires":  {http.StatusGone, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old", "metadata": {"continue": "as it is"}}`},
		"as it is": {http.StatusOK, `{"kind": "CronTabList", "apiVersion": "example.com/v1", "metadata": {}, "items": [{"kind": "CronTab", "apiVersion": "example.com/v1", "metadata": {"name": "two"}}]}`},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[r.URL.Query().Get("continue")]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.code)
		_, _ = w.Write([]byte(answer.body)) // the client notices
	}))
	defer server.Close()
	objects, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	l := &leg{objects: objects}
	var names []string
	unlisted, err := l.list(t.Context(), &kind{group: "example.com", plural: "crontabs"}, "v1", func(o *unstructured.Unstructured) error {
		names = append(names, o.GetName())
		return nil
	})
	if unlisted != nil || err != nil || !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("got %q, unlisted: %v, %v", names, unlisted, err)
	}
}
