package migrate

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
)

// TestSettledByTheServersClock waits after a change of the definition for as long as the clock says by which it was changed, whatever ours says.
func TestSettledByTheServersClock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ahead time.Duration // is the server's clock
		ago   time.Duration // was the change
		waits bool
	}{
		"a moment ago":                {0, time.Minute, true},
		"long ago":                    {0, 2 * time.Hour, false},
		"a moment ago, hours behind":  {-5 * time.Hour, time.Minute, true},
		"long ago, hours ahead of us": {5 * time.Hour, 2 * time.Hour, false},
	} {
		now := time.Now().Add(test.ahead).UTC()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", now.Format(http.TimeFormat)) }))
		defer server.Close()
		once, err := kube.NewOnce(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := false
		changed := metav1.NewTime(now.Add(-test.ago))
		m := &migration{unpaced: once, storage: "v1", served: []string{"v2"}, crd: &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Time: &changed}}},
		}}
		m.options.Settle = time.Hour
		m.options.Progress = func(Progress) { waits = true; cancel() }
		if err := m.settled(ctx); waits != test.waits || (err != nil) != test.waits {
			t.Errorf("%s: waited %t: %v", name, waits, err)
		}
		cancel()
	}
}
