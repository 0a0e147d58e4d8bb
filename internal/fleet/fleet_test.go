package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

// TestRewritten keeps all that an object has, large numbers too, and gives it annotations if it has none.
func TestRewritten(t *testing.T) {
	t.Parallel()
	c := &Clients{Mark: "crdconform.dev/written"}
	for raw, want := range map[string]string{
		`{"metadata":{"name":"a","annotations":{"b":"c"}},"n":9007199254740993}`: `{"metadata":{"annotations":{"b":"c","crdconform.dev/written":"x"},"name":"a"},"n":9007199254740993}`,
		`{"metadata":{"name":"a"}}`: `{"metadata":{"annotations":{"crdconform.dev/written":"x"},"name":"a"}}`,
	} {
		if got, err := c.Rewritten([]byte(raw), "x"); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	for _, raw := range []string{"", "{}", `{"metadata":1}`} {
		if _, err := c.Rewritten([]byte(raw), "x"); err == nil || !strings.Contains(err.Error(), "the answer is not an object") {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}

// TestOutcomes wants a client to know no more than its answer says.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	refused := func(err *apierrors.StatusError) error {
		return fmt.Errorf("writing: %w", &kube.RefusedError{Code: int(err.ErrStatus.Code), Status: err.ErrStatus})
	}
	for _, test := range []struct {
		kind history.Kind
		err  error
		want history.Outcome
	}{
		{history.Patch, nil, history.Acknowledged},
		{history.Patch, context.DeadlineExceeded, history.Unknown},
		{history.Patch, &url.Error{Err: syscall.ECONNREFUSED}, history.Refused},
		{history.Patch, &url.Error{Err: syscall.ECONNRESET}, history.Unknown},
		{history.Patch, errors.New("the answer is not an object"), history.Unknown},
		{history.Patch, refused(apierrors.NewNotFound(schema.GroupResource{}, "a")), history.NotFound},
		{history.Patch, refused(apierrors.NewNotFound(schema.GroupResource{}, "")), history.Refused}, // the resource is not served
		{history.Create, refused(apierrors.NewNotFound(schema.GroupResource{}, "namespace")), history.Refused},
		{history.Create, refused(apierrors.NewAlreadyExists(schema.GroupResource{}, "a")), history.Exists},
		{history.Update, refused(apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed"))), history.Refused},
		{history.Update, refused(apierrors.NewInternalError(errors.New("the webhook failed"))), history.Unknown},
		{history.Update, refused(apierrors.NewTimeoutError("slow", 1)), history.Unknown},
		{history.Update, refused(apierrors.NewTooManyRequestsError("later")), history.Refused},
		{history.Update, refused(apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "put", schema.GroupResource{}, "a", "", 0, false)), history.Refused},
		{history.Read, refused(apierrors.NewNotFound(schema.GroupResource{}, "a")), history.NotFound},
		{history.Read, refused(apierrors.NewInternalError(errors.New("the webhook failed"))), history.Refused},
		{history.Read, context.DeadlineExceeded, history.Refused},
	} {
		if got := Outcome(test.kind, test.err); got != test.want {
			t.Errorf("%s, %v: got %q, want %q", test.kind, test.err, got, test.want)
		}
	}
}

// TestRequests sends each kind of request to where it belongs, once.
func TestRequests(t *testing.T) {
	t.Parallel()
	var asked string
	c := against(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked += fmt.Sprintf("%s %s %s %s\n", r.Method, r.URL, r.Header.Get("Content-Type"), body)
		w.WriteHeader(http.StatusServiceUnavailable) // which client-go would ask again after
	})
	for _, kind := range []history.Kind{history.Create, history.Update, history.Patch, history.Apply, history.Status} {
		c.Do(t.Context(), c.Request(kind, "v1", "a", "me", c.Applied("v1", "a", "u", "1")))
	}
	for _, kind := range []history.Kind{history.Read, history.Delete} {
		c.In("other").Do(t.Context(), c.In("other").Request(kind, "v1", "a", "", nil))
	}
	body := ` {"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{"mark":"1"},"name":"a","uid":"u"}}` + "\n"
	at := "/apis/example.com/v1/namespaces/space/things"
	want := "POST " + at + "?fieldManager=me application/json" + body +
		"PUT " + at + "/a?fieldManager=me application/json" + body +
		"PATCH " + at + "/a?fieldManager=me application/merge-patch+json" + body +
		"PATCH " + at + "/a?fieldManager=me&force=true application/apply-patch+yaml" + body +
		"PATCH " + at + "/a/status?fieldManager=me application/merge-patch+json" + body +
		"GET /apis/example.com/v1/namespaces/other/things/a  \nDELETE /apis/example.com/v1/namespaces/other/things/a  \n"
	if asked != want {
		t.Errorf("asked was\n%s, want\n%s", asked, want)
	}
}

// TestWatch shows what is written, and why the watch ends.
func TestWatch(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	c := against(t, 200*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("resourceVersion") {
		case "7":
			io.WriteString(w, `{"type":"BOOKMARK","object":{}}{"type":"ADDED","object":{"a":1}}{"type":"ERROR","object":{"code":410,"message":"too old"}}`)
		case "8":
			w.(http.Flusher).Flush()
			<-time.After(400 * time.Millisecond) // longer than an answer may take
			io.WriteString(w, `{"type":"DELETED","object":{"a":2}}`)
		default:
			<-hang
		}
	})
	w, err := c.Watch(t.Context(), "v1", "7")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if object, err := w.Next(); err != nil || string(object) != `{"a":1}` {
		t.Errorf("got %s, %v", object, err)
	}
	if _, err := w.Next(); kube.StatusOf(err) != http.StatusGone || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v", err)
	}
	slow, err := c.Watch(t.Context(), "v1", "8")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if object, err := slow.Next(); err != nil || string(object) != `{"a":2}` {
		t.Errorf("got %s, %v", object, err)
	}
	if _, err := slow.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	late := &LateError{}
	if _, err := c.Watch(t.Context(), "v1", ""); !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || err.Error() != "no response within 200ms" {
		t.Errorf("got %v", err)
	}
	close(hang)
	stopped := errors.New("the end of the load")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := c.Watch(ctx, "v1", ""); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

// against returns clients of a server.
func against(t *testing.T, patience time.Duration, handle http.HandlerFunc) *Clients {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	once, err := kube.NewOnce(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(once.Close)
	return &Clients{kube.Resource{Group: "example.com", Plural: "things", Namespace: "space"}, once, "Thing", "mark", patience}
}
