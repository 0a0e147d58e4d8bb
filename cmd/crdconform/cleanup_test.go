package main

import (
	"context"
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

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/files"
)

// cleaned runs the command with its flags, and returns its output, the error if there is one, and the exit code.
func cleaned(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	s := streams{out: &o, err: &e}
	root := &cobra.Command{Use: "crdconform", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newCleanup(s))
	root.SetArgs(append([]string{"cleanup"}, args...))
	var exit *exitError
	switch err := root.ExecuteContext(t.Context()); {
	case errors.As(err, &exit):
		code = exit.code
		fmt.Fprintf(&e, "crdconform: %s\n", oneLine(err.Error()))
	case err != nil:
		code = exitUsage
		fmt.Fprintf(&e, "crdconform: %s\n", oneLine(err.Error()))
	}
	return o.String(), e.String(), code
}

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
	say := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
	const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"you may not"}`
	const none = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`
	const verbs = `"verbs":["list","delete"]`
	meta := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"hook","namespace":"theirs","uid":"1","creationTimestamp":"` +
		l.created.UTC().Format(time.RFC3339) + `","labels":{"crdconform.dev/run":"killed"}}}`
	deleted := slices.ContainsFunc(l.asked, func(asked string) bool { return strings.HasPrefix(asked, "DELETE") })
	switch path := r.URL.Path; {
	case path == "/version":
		say(200, `{"major":"1","minor":"37","gitVersion":"v1.37.0"}`)
	case path == "/api":
		say(200, `{"kind":"APIVersions","versions":["v1"]}`)
	case path == "/apis":
		say(200, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case path == "/api/v1":
		say(200, `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"services","kind":"Service","namespaced":true,`+verbs+`},{"name":"namespaces","kind":"Namespace",`+verbs+`},
			{"name":"secrets","kind":"Secret","namespaced":true,`+verbs+`}]}`)
	case path == "/api/v1/secrets", strings.HasSuffix(path, "/"+l.forbidden):
		say(403, forbidden)
	case path == "/api/v1/services":
		say(200, strings.Replace(none, "[]", "["+meta+"]", 1))
	case path == "/api/v1/namespaces/theirs/services/hook" && r.Method == http.MethodDelete && l.stuck:
		say(403, forbidden)
	case path == "/api/v1/namespaces/theirs/services/hook" && deleted:
		say(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	default:
		say(200, none)
	}
}

// at starts the server and returns the flags that lead to it.
func (l *leftovers) at(t *testing.T) []string {
	t.Helper()
	server := httptest.NewTLSServer(l)
	t.Cleanup(server.Close)
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "secret-token"}
	config.Contexts["staging"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return []string{"--kubeconfig", path, "--context", "staging"}
}

// TestCleanup has what a run left removed, shown, left alone and not removable. What it says is taken literally.
func TestCleanup(t *testing.T) {
	t.Parallel()
	const service = "Service theirs/hook of the run killed, 120m old"
	for name, test := range map[string]struct {
		left    leftovers
		args    []string
		code    int
		out     string
		err     string
		deletes bool
	}{
		"removed":        {code: exitConforms, out: service + ": removed\n", deletes: true},
		"of the run":     {args: []string{"--run", "killed"}, code: exitConforms, out: service + ": removed\n", deletes: true},
		"shown":          {args: []string{"--dry-run"}, code: exitConforms, out: service + ": would be removed\n"},
		"younger":        {args: []string{"--older-than", "3h"}, code: exitConforms, out: "Not removed because a run may still need what is younger than 3h0m0s: 1; "},
		"not removable":  {left: leftovers{stuck: true}, code: exitUnjudged, out: service + ": NOT removed: ", err: "crdconform: 1 of 1 could not be removed\n", deletes: true},
		"not looked for": {left: leftovers{forbidden: "namespaces"}, code: exitUnjudged, out: service + ": removed\n", err: "crdconform: namespaces could not be listed: ", deletes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.left.created = time.Now().Add(-2*time.Hour - time.Second)
			out, errs, code := cleaned(t, append(test.left.at(t), test.args...)...)
			if code != test.code || !strings.HasPrefix(out, test.out) || !strings.Contains(errs, test.err) || strings.Contains(out+errs, "secret-token") {
				t.Errorf("code %d\n%s%s", code, out, errs)
			}
			if !strings.Contains(errs, "crdconform: the user may not list secrets; any of these that --webhook-image or --webhook-manifests created must be removed by hand\n") {
				t.Errorf("that secrets may not be listed is not told:\n%s", errs)
			}
			var want []string
			if test.deletes {
				want = []string{"DELETE /api/v1/namespaces/theirs/services/hook"}
			}
			if !slices.Equal(test.left.asked, want) {
				t.Errorf("it came to %v, want %v", test.left.asked, want)
			}
		})
	}
}

// TestAgeOfARun leaves young things alone unless the run is named.
func TestAgeOfARun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                             "Not removed because a run may still need what is younger than 1h0m0s: 1; ",
		"--run killed":                 "Service theirs/hook of the run killed, ",
		"--run killed --older-than 1h": "Not removed because a run may still need what is younger than 1h0m0s: 1; ",
		"--older-than 0s":              "Service theirs/hook of the run killed, ",
	} {
		l := &leftovers{created: time.Now()}
		out, errs, code := cleaned(t, append(l.at(t), strings.Fields(args)...)...)
		if code != exitConforms || !strings.HasPrefix(out, want) {
			t.Errorf("%s: code %d\n%s%s", args, code, out, errs)
		}
	}
}

func TestCleanupUsage(t *testing.T) {
	t.Parallel()
	l := &leftovers{}
	there := l.at(t)
	for args, want := range map[string]string{
		"":                                  "nothing to clean up specified; give --context NAME for a cluster, --kind for kind clusters, or --temporary for files",
		"--older-than -1h --context a":      "--older-than -1h0m0s: must be at least 0s",
		"--kind --run BAD!":                 `--run "BAD!": not the ID of a run, such as k3n5x2abcd`,
		"one":                               "cleanup takes no arguments, but got one",
		"--context a --kubeconfig /no/such": "--kubeconfig /no/such: the file does not exist; give another one",
		there[0] + " " + there[1] + " --context production": "unknown context production; there are staging",
	} {
		if _, errs, code := cleaned(t, strings.Fields(args)...); code != exitUsage || !strings.HasPrefix(errs, "crdconform: "+want+"\n") {
			t.Errorf("%s: code %d\n%s", args, code, errs)
		}
	}
	if len(l.asked) > 0 {
		t.Errorf("it came to %v", l.asked)
	}
}

// TestCleanupOfKind has kind clusters, without any kind.
func TestCleanupOfKind(t *testing.T) {
	t.Parallel()
	away := errors.New("kind: there is no Docker")
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
	for name, test := range map[string]struct {
		cleaner cleaner
		there   []kind.Leftover
		err     error
		want    string
		deleted []string
		code    int
	}{
		"none": {want: "No kind cluster of any run was found.\n"},
		"two": {
			there: old("crdconform-a", "crdconform-b"), deleted: []string{"crdconform-a", "crdconform-b"},
			want: "kind cluster crdconform-a, 25h old: removed\nkind cluster crdconform-b, 25h old: removed\n",
		},
		"of a run": {cleaner: cleaner{run: "B"}, there: old("crdconform-a", "crdconform-b"), want: "kind cluster crdconform-b, 25h old: removed\n", deleted: []string{"crdconform-b"}},
		"no such":  {cleaner: cleaner{run: "c"}, there: old("crdconform-a"), want: "No kind cluster of the run c was found.\n"},
		"shown":    {cleaner: cleaner{dryRun: true}, there: old("crdconform-a"), want: "kind cluster crdconform-a, 25h old: would be removed\n"},
		"young": {
			cleaner: cleaner{olderThan: 24 * time.Hour}, there: append(young, old("crdconform-a")...), deleted: []string{"crdconform-a"},
			want: spared + "kind cluster crdconform-a, 25h old: removed\n",
		},
		"of any age": {there: young, want: "kind cluster crdconform-young, 10h old: removed\n", deleted: []string{"crdconform-young"}},
		"a kubeconfig alone": {
			there: gone, deleted: []string{"crdconform-gone"},
			want: "kubeconfig of the kind cluster crdconform-gone, which podman does not have, 25h old: removed\n",
		},
		"away": {err: away, code: exitUnjudged},
		"stuck": {
			there: old("crdconform-stuck", "crdconform-b"), deleted: []string{"crdconform-b"}, code: exitUnjudged,
			want: "kind cluster crdconform-stuck, 25h old: NOT removed\nkind cluster crdconform-b, 25h old: removed\n",
		},
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
				return slices.Clone(test.there), test.err
			}
			c.delete = func(_ context.Context, provider, name string) error {
				if strings.HasSuffix(name, "-stuck") {
					return errors.New("it is stuck")
				}
				if provider != "podman" {
					t.Errorf("%q deletes", provider)
				}
				deleted = append(deleted, name)
				return nil
			}
			err := c.clean(t.Context())
			var exit *exitError
			if (err != nil) != (test.code != 0) || err != nil && (!errors.As(err, &exit) || exit.code != test.code) {
				t.Errorf("got %v, want the code %d", err, test.code)
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

// TestKubeconfigs takes the flag, or the files of kubectl.
func TestKubeconfigs(t *testing.T) {
	t.Setenv("KUBECONFIG", "/a"+string(filepath.ListSeparator)+"/b")
	if got := kinds.Kubeconfigs("/c"); got != "/c" {
		t.Errorf("with a flag: %s", got)
	}
	if got := kinds.Kubeconfigs(""); got != "/a"+string(filepath.ListSeparator)+"/b" {
		t.Errorf("with $KUBECONFIG: %s", got)
	}
	t.Setenv("KUBECONFIG", "")
	if got := kinds.Kubeconfigs(""); !strings.HasSuffix(got, filepath.Join(".kube", "config")) {
		t.Errorf("without either: %s", got)
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
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(left, ".crdconform-owner")
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	ended := strings.Replace(string(text), fmt.Sprintf(`"process":%d`, os.Getpid()), `"process":1073741824`, 1)
	if err := os.WriteFile(note, []byte(ended), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if _, errs, code := cleaned(t, "--temporary", "--run", "k3n5x2abcd"); code != exitUsage || !strings.Contains(errs, "--run and --temporary cannot be combined") {
		t.Errorf("with --run: %d, %s", code, errs)
	}
}
