package disruption

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/kube"
)

// TestLookAtAll gives up at a version at which several objects in a row cannot be read, as each may take as long as API servers wait.
func TestLookAtAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		fails   func(n int64) bool // the n-th request, from 1
		asked   int64
		violate int
	}{
		{"none fails", func(int64) bool { return false }, 20, 0},
		{"all fail", func(int64) bool { return true }, 6, 2},
		{"every second one fails", func(n int64) bool { return n%2 == 0 }, 20, 0},
		{"the last three at the first version fail", func(n int64) bool { return n > 7 && n <= 10 }, 20, 1},
	} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if test.fails(asked.Add(1)) {
				http.Error(w, "the webhook hangs", http.StatusInternalServerError)
				return
			}
			fmt.Fprint(w, `{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}}`)
		}))
		once, err := kube.NewOnce(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		clients := fleet.New(once, fixtures.Webhook.New(), namespace, written, patience)
		l := &lab{Plan: &Plan{}, clients: clients, versions: []string{"v1beta1", "v1"}}
		for n := range 10 {
			l.things = append(l.things, thing{name: strconv.Itoa(n)})
		}
		st := &stage{lab: l, record: record.New(record.Header{})}
		if err = st.lookAtAll(t.Context(), &crew{Clients: clients, record: st.record, versions: l.versions, things: l.things}); err != nil {
			t.Error(err)
		}
		once.Close()
		server.Close()
		if found := Violations(st.record.History()); asked.Load() != test.asked || len(found) != test.violate {
			t.Errorf("%s: asked %d times, want %d; %q", test.name, asked.Load(), test.asked, found)
		}
	}
}

// TestNoSamples has no object that could be created.
func TestNoSamples(t *testing.T) {
	l := &lab{Plan: &Plan{}, name: "crontabs.example.com", versions: []string{"v1beta1", "v1"}}
	if err := l.seed(t.Context()); err == nil || !strings.Contains(err.Error(), "crontabs.example.com has no sample at any version that is served (v1beta1, v1)") {
		t.Errorf("got %v", err)
	}
}
