package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// controller is an API server with storage version migrations, and what works on them.
type controller struct {
	versions   []string
	conditions []string // that each look at the migration finds, the last one for ever
	asked      []string
	spec       map[string]any
}

func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	const migration = `{"apiVersion":"storagemigration.k8s.io/v1","kind":"StorageVersionMigration","metadata":{"name":"crdconform-abc"},"status":{"conditions":[%s]}}`
	switch {
	case r.URL.Path == "/apis/storagemigration.k8s.io" && len(c.versions) == 0:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case r.URL.Path == "/apis/storagemigration.k8s.io":
		var versions []string
		for _, version := range c.versions {
			versions = append(versions, fmt.Sprintf(`{"groupVersion":"storagemigration.k8s.io/%s","version":%q}`, version, version))
		}
		io.WriteString(w, `{"kind":"APIGroup","apiVersion":"v1","name":"storagemigration.k8s.io","versions":[`+strings.Join(versions, ",")+`]}`)
	case r.Method == http.MethodPost:
		var body struct {
			Spec map[string]any `json:"spec"`
		}
		json.NewDecoder(r.Body).Decode(&body)
		c.spec, _ = body.Spec["resource"].(map[string]any)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, migration, "")
	default:
		fmt.Fprintf(w, migration, c.conditions[0])
		c.conditions = c.conditions[min(1, len(c.conditions)-1):]
	}
}

// TestInTree has somebody else work on a StorageVersionMigration, or nobody.
func TestInTree(t *testing.T) {
	t.Parallel()
	const running, succeeded = `{"type":"Running","status":"True"}`, `{"type":"Running","status":"False"},{"type":"Succeeded","status":"True"}`
	const failed = `{"type":"Failed","status":"True","reason":"NotServed","message":"v1 of crontabs is not served"}`
	for name, test := range map[string]struct {
		c          controller
		incomplete bool
		want       string // in the error; empty if there is none
		version    string
	}{
		"stable":    {controller{versions: []string{"v1beta1", "v1"}, conditions: []string{"", running, succeeded}}, false, "", "v1"},
		"alpha":     {controller{versions: []string{"v1alpha1"}, conditions: []string{succeeded}}, false, "", "v1alpha1"},
		"failed":    {controller{versions: []string{"v1beta1"}, conditions: []string{running, failed}}, true, `the StorageVersionMigration crdconform-abc failed: v1 of crontabs is not served (NotServed); "kubectl delete storageversionmigration crdconform-abc" removes it`, "v1beta1"},
		"nobody":    {controller{versions: []string{"v1"}, conditions: []string{""}}, false, "no controller started the StorageVersionMigration crdconform-abc within 1s", "v1"},
		"not there": {controller{}, false, "the API server does not serve storagemigration.k8s.io", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&test.c)
			t.Cleanup(server.Close)
			resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"}
			migrator, err := InTree(t.Context(), &rest.Config{Host: server.URL}, time.Second)
			if err == nil {
				err = migrator(t.Context(), Target{"crontabs.example.com", resource})
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			var not *IncompleteError
			if is := errors.As(err, &not); is != test.incomplete {
				t.Errorf("it is %T", err)
			}
			at := "/apis/storagemigration.k8s.io/" + test.version + "/storageversionmigrations"
			if made := slices.Contains(test.c.asked, "POST "+at); made != (test.version != "") {
				t.Errorf("asked were %q", test.c.asked)
			}
			if deleted := slices.Contains(test.c.asked, "DELETE "+at+"/crdconform-abc"); deleted != (err == nil) {
				t.Errorf("asked were %q", test.c.asked)
			}
			if version := test.c.spec["version"]; (version == "v1") != (test.version == "v1alpha1") || test.version != "" && test.c.spec["resource"] != "crontabs" {
				t.Errorf("the resource is %v", test.c.spec)
			}
		})
	}
}

// TestInTreeInterrupted does not wait for an API server that does not answer.
func TestInTreeInterrupted(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := InTree(ctx, &rest.Config{Host: server.URL}, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCommand runs a program with the context alone, and ends it with what it started when the migration is interrupted.
func TestCommand(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
current-context: production
clusters: [{name: p, cluster: {server: "https://production"}}, {name: s, cluster: {server: "https://staging"}}]
users: [{name: p, user: {token: secret}}, {name: s, user: {token: t}}]
contexts: [{name: production, context: {cluster: p, user: p}}, {name: staging, context: {cluster: s, user: s}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, script string) (string, error) {
		var out strings.Builder
		c := Command{Args: []string{"sh", "-c", script}, Kubeconfig: kubeconfig, Context: "staging", Out: &out, Err: &out}
		err := c.Migrator()(ctx, Target{})
		return out.String(), err
	}
	out, err := run(t.Context(), `cat "$KUBECONFIG"; echo "$KUBECONFIG" >&2`)
	if err != nil || !strings.Contains(out, "current-context: staging") || !strings.Contains(out, "https://staging") || strings.Contains(out, "production") || strings.Contains(out, "secret") {
		t.Errorf("%v:\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if _, err := os.Stat(lines[len(lines)-1]); !os.IsNotExist(err) {
		t.Errorf("its kubeconfig stays: %v", err)
	}
	_, err = run(t.Context(), "exit 7")
	wantIncomplete(t, err, "sh ended with exit status 7")
	within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := run(within, "sleep 60 & wait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := (Command{Args: []string{"no-such-program"}}).Check(); err == nil {
		t.Error("no-such-program exists")
	}
}
