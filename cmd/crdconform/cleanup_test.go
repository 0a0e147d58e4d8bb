package main

import (
	"context"
	"encoding/base64"
	"encoding/pem"
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

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/files"
)

// leftovers is an API server with what a run left: a service in a namespace, and an object of a resource that may not be
// listed. It notes what is asked of it beside reading.
type leftovers struct {
	created   time.Time
	forbidden string // resource of ours that may not be listed either
	stuck     bool   // the service cannot be deleted
	asked     []string
}

func (l *leftovers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		l.asked = append(l.asked, r.Method+" "+r.URL.Path)
	}
	const service, verbs = "/api/v1/namespaces/theirs/services/hook", `"verbs":["list","delete"]`
	none := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`
	status, body := http.StatusOK, none
	switch path := r.URL.Path; {
	case path == "/version":
		body = `{"major":"1","minor":"37","gitVersion":"v1.37.0"}`
	case path == "/api":
		body = `{"kind":"APIVersions","versions":["v1"]}`
	case path == "/apis":
		body = `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`
	case path == "/api/v1":
		body = `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"services","kind":"Service","namespaced":true,` + verbs + `},{"name":"namespaces","kind":"Namespace",` + verbs + `},
			{"name":"secrets","kind":"Secret","namespaced":true,` + verbs + `}]}`
	case path == "/api/v1/secrets", strings.HasSuffix(path, "/"+l.forbidden), path == service && r.Method == http.MethodDelete && l.stuck:
		status, body = http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"you may not"}`
	case path == "/api/v1/services":
		body = strings.Replace(none, "[]", `[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"hook","namespace":"theirs","uid":"1",
			"creationTimestamp":"`+l.created.UTC().Format(time.RFC3339)+`","labels":{"crdconform.dev/run":"killed"}}}]`, 1)
	case path == service && slices.Contains(l.asked, "DELETE "+service):
		status, body = http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(body))
}

// at starts the server and returns the flags that lead to it.
func (l *leftovers) at(t *testing.T) []string {
	t.Helper()
	server := httptest.NewTLSServer(l)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return []string{"--context", "staging", "--kubeconfig", file(t, "kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+server.URL+`", certificate-authority-data: `+base64.StdEncoding.EncodeToString(ca)+`}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: staging, context: {cluster: c, user: u}}]
`)}
}

// TestCleanup has what a run left removed, shown, left alone and not removable. What it says is taken literally. Young things are left
// alone unless the run is named.
func TestCleanup(t *testing.T) {
	t.Parallel()
	const service, young, age = "Service theirs/hook of the run killed, ", "Not removed because a run may still need what is younger than ", 2*time.Hour + time.Second
	for name, test := range map[string]struct {
		left    leftovers
		age     time.Duration
		args    string
		code    int
		out     string
		err     string
		deletes bool
	}{
		"removed":        {age: age, out: service + "120m old: removed\n", deletes: true},
		"of the run":     {age: age, args: "--run killed", out: service + "120m old: removed\n", deletes: true},
		"shown":          {age: age, args: "--dry-run", out: service + "120m old: would be removed\n"},
		"younger":        {age: age, args: "--older-than 3h", out: young + "3h0m0s: 1; "},
		"not removable":  {age: age, left: leftovers{stuck: true}, code: exitUnjudged, out: service + "120m old: NOT removed: ", err: "crdconform: 1 of 1 could not be removed\n", deletes: true},
		"not looked for": {age: age, left: leftovers{forbidden: "namespaces"}, code: exitUnjudged, out: service + "120m old: removed\n", err: "crdconform: namespaces could not be listed: ", deletes: true},
		"new":            {out: young + "1h0m0s: 1; "},
		"new, named":     {args: "--run killed", out: service, deletes: true},
		"new, both":      {args: "--run killed --older-than 1h", out: young + "1h0m0s: 1; "},
		"new, any age":   {args: "--older-than 0s", out: service, deletes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.left.created = time.Now().Add(-test.age)
			r := ran(t, slices.Concat([]string{"cleanup"}, test.left.at(t), strings.Fields(test.args))...)
			if r.code != test.code || !strings.HasPrefix(r.out, test.out) || !strings.Contains(r.err, test.err) || strings.Contains(r.out+r.err, "secret-token") {
				t.Errorf("code %d\n%s%s", r.code, r.out, r.err)
			}
			if !strings.Contains(r.err, "crdconform: the user may not list secrets; any of these that --webhook-image or --webhook-manifests created must be removed by hand\n") {
				t.Errorf("it does not say that secrets may not be listed:\n%s", r.err)
			}
			if want := []string{"DELETE /api/v1/namespaces/theirs/services/hook"}; test.deletes != slices.Equal(test.left.asked, want) || !test.deletes && len(test.left.asked) > 0 {
				t.Errorf("it came to %v", test.left.asked)
			}
		})
	}
}

// TestCleanupOfKind has kind clusters, without any kind.
func TestCleanupOfKind(t *testing.T) {
	t.Parallel()
	old := func(names ...string) []kind.Leftover {
		var all []kind.Leftover
		for _, name := range names {
			all = append(all, kind.Leftover{Name: name, Created: time.Now().Add(-25 * time.Hour), Engine: "podman"})
		}
		return all
	}
	young := []kind.Leftover{{Name: "crdconform-young", Created: time.Now().Add(-10*time.Hour - 30*time.Minute)}}
	gone := old("crdconform-gone")
	gone[0].Gone = true
	const spared = "Not removed because a run may still need what is younger than 24h0m0s: 1; --older-than 0s removes these too.\n"
	const is, a, b, stuck = "kind cluster crdconform-", "crdconform-a", "crdconform-b", "crdconform-stuck"
	for name, test := range map[string]struct {
		cleaner cleaner
		there   []kind.Leftover
		err     error
		want    string
		deleted []string
	}{
		"none":       {want: "No kind cluster of any run was found.\n"},
		"two":        {there: old(a, b), deleted: []string{a, b}, want: is + "a, 25h old: removed\n" + is + "b, 25h old: removed\n"},
		"of a run":   {cleaner: cleaner{run: "B"}, there: old(a, b), deleted: []string{b}, want: is + "b, 25h old: removed\n"},
		"no such":    {cleaner: cleaner{run: "c"}, there: old(a), want: "No kind cluster of the run c was found.\n"},
		"shown":      {cleaner: cleaner{dryRun: true}, there: old(a), want: is + "a, 25h old: would be removed\n"},
		"young":      {cleaner: cleaner{olderThan: 24 * time.Hour}, there: append(young, old(a)...), deleted: []string{a}, want: spared + is + "a, 25h old: removed\n"},
		"of any age": {there: young, want: is + "young, 10h old: removed\n", deleted: []string{"crdconform-young"}},
		"config":     {there: gone, deleted: []string{"crdconform-gone"}, want: "kubeconfig of the kind cluster crdconform-gone, which podman does not have, 25h old: removed\n"},
		"away":       {err: errors.New("kind: there is no Docker")},
		"stuck":      {there: old(stuck, b), err: errors.New("it is stuck"), deleted: []string{b}, want: is + "stuck, 25h old: NOT removed\n" + is + "b, 25h old: removed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			var deleted []string
			c := test.cleaner
			c.kind, c.out = true, &out
			c.variable = func(name string) (string, bool) { return "podman", name == "KIND_EXPERIMENTAL_PROVIDER" }
			c.kinds = func(_ context.Context, provider string) ([]kind.Leftover, error) {
				if provider != "podman" {
					t.Errorf("%q is asked", provider)
				}
				if len(test.there) == 0 {
					return nil, test.err
				}
				return slices.Clone(test.there), nil
			}
			c.delete = func(_ context.Context, provider, name string) error {
				if name == stuck || provider != "podman" {
					return test.err
				}
				deleted = append(deleted, name)
				return nil
			}
			err := c.clean(t.Context())
			var exit *exitError
			if (err != nil) != (test.err != nil) || err != nil && (!errors.As(err, &exit) || exit.code != exitUnjudged) {
				t.Errorf("got %v, want %v", err, test.err)
			}
			if out.String() != test.want || !slices.Equal(deleted, test.deleted) {
				t.Errorf("removed %v, and said\n%s", deleted, out.String())
			}
		})
	}
}

// TestInterruptedCleanup tells an interruption from what could not be removed.
func TestInterruptedCleanup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := cleaner{kind: true, streams: streams{out: io.Discard}, kinds: func(ctx context.Context, _ string) ([]kind.Leftover, error) {
		cancel()
		return nil, ctx.Err()
	}}
	var exit *exitError
	if err := c.clean(ctx); !errors.As(err, &exit) || exit.code != exitInterrupted {
		t.Errorf("got %v", err)
	}
}

// TestAged shows the age so that people can read it.
func TestAged(t *testing.T) {
	t.Parallel()
	l := existing.Leftover{Kind: "Namespace", Name: "n", Run: "r", Created: time.Now().Add(-3 * time.Hour)}
	if got := aged(l); got != "Namespace n of the run r, 3h0m old" && got != "Namespace n of the run r, 3h old" {
		t.Errorf("got %q", got)
	}
}

// TestCleanupOfTemporaryFiles has folders of this process and of one that has ended: only the latter goes, and only once it is old enough.
func TestCleanupOfTemporaryFiles(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	own, err1 := files.TemporaryDir(in, "")
	left, err2 := files.TemporaryDir(in, "certs-")
	check(t, errors.Join(err1, err2))
	note := filepath.Join(left, ".crdconform-owner")
	text, err := os.ReadFile(note)
	check(t, err)
	ended := strings.Replace(string(text), fmt.Sprintf(`"process":%d`, os.Getpid()), `"process":1073741824`, 1)
	check(t, os.WriteFile(note, []byte(ended), 0o600))
	var out strings.Builder
	clean := func(olderThan time.Duration, dry bool, want string, there bool) {
		t.Helper()
		out.Reset()
		c := &cleaner{streams: streams{out: &out}, temporary: true, temps: []string{in, in}, olderThan: olderThan, dryRun: dry}
		if err := c.clean(t.Context()); err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), own) {
			t.Errorf("got %v and %q, want %q", err, out.String(), want)
		}
		if _, err := os.Stat(left); there != (err == nil) {
			t.Errorf("after %q: %v", out.String(), err)
		}
	}
	clean(time.Hour, false, "Not removed because a run may still need what is younger than 1h0m0s: 1;", true)
	clean(0, true, left+", ", true)
	clean(0, false, "s old: removed\n", false)
	clean(0, false, "There are no temporary files of runs that have ended.\n", false)
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}
