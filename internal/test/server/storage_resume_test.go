package server_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/storage"
)

// resumes interrupts a look at three objects of a definition, two of which are on the first page, and goes on.
func resumes(t *testing.T, c *crontabs) {
	t.Helper()
	options := func(t *testing.T) storage.Options {
		t.Helper()
		return storage.Options{Drop: "v1beta1", KeepAll: true, PageSize: 2, Resume: filepath.Join(t.TempDir(), "look.json")}
	}
	rest := func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/"+c.group+"/") && r.URL.Query().Has("continue")
	}
	gap := answering("/apis/other.example.com/v1/crontabs", false, metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}) //nolint:bodyclose // client-go closes it
	nothing := func(*http.Request, http.RoundTripper) *http.Response { return nil }
	interrupted := func(t *testing.T, o storage.Options, answer func(*http.Request, http.RoundTripper) *http.Response) {
		t.Helper()
		ctx, interrupt := context.WithCancel(t.Context())
		r := &recorder{answer: func(r *http.Request, next http.RoundTripper) *http.Response {
			if rest(r) {
				interrupt()
			}
			return answer(r, next)
		}}
		if _, _, err := storage.Inspect(ctx, r.wrap(c.cluster.Config()), []string{c.name}, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	// Complete wants all three objects to be seen once, and nothing to be left.
	complete := func(t *testing.T, r *recorder, o storage.Options, note string) {
		t.Helper()
		inventory, spool, err := storage.Inspect(t.Context(), r.wrap(c.cluster.Config()), []string{c.name}, o)
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		if d.Objects != 3 || d.Version("v1beta1").Stored != 3 || len(d.Version("v1beta1").First[storage.ManagedFields]) != 3 || d.Bases[storage.History] != 3 {
			t.Errorf("got %+v, %+v", d, d.Version("v1beta1"))
		}
		names := map[string]int{}
		for blocker, err := range spool.All() {
			if err != nil {
				t.Fatal(err)
			}
			names[string(blocker)]++
		}
		for blocker, times := range names {
			if times != 1 {
				t.Errorf("%d times %s", times, blocker)
			}
		}
		if len(names) != 6 { // stored, and managed fields
			t.Errorf("the blockers are %v", names)
		}
		if !strings.Contains(strings.Join(d.Notes, " "), note) {
			t.Errorf("the notes are %v, want %s", d.Notes, note)
		}
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(filepath.Dir(o.Resume)); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}

	t.Run("goes on", func(t *testing.T) {
		o, r := options(t), &recorder{}
		interrupted(t, o, nothing)
		complete(t, r, o, "What an earlier run saw, which began at ")
		again := func(uri string) bool {
			return strings.Contains(uri, "/crontabs?") && !strings.Contains(uri, "continue=")
		}
		if i := slices.IndexFunc(r.seen, again); i >= 0 {
			t.Errorf("it asked again: %s", r.seen[i])
		}
	})
	t.Run("after a gap that lasts", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, gap)
		interrupted(t, o, gap)
		r := &recorder{answer: gap}
		complete(t, r, o, "What an earlier run saw, which began at ")
		if !slices.ContainsFunc(r.seen, func(uri string) bool { return strings.Contains(uri, "/apis/other.example.com/v1/crontabs") }) {
			t.Error("it did not ask for what it may not list")
		}
	})
	t.Run("after a page that failed", func(t *testing.T) {
		o := options(t)
		r := &recorder{answer: answering("continue=", false, metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable})} //nolint:bodyclose // client-go closes it
		if _, _, err := storage.Inspect(t.Context(), r.wrap(c.cluster.Config()), []string{c.name}, o); err == nil || !strings.Contains(err.Error(), "the same command continues there") {
			t.Fatalf("got %v", err)
		}
		complete(t, &recorder{}, o, "What an earlier run saw, which began at ")
	})
	t.Run("too long ago", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, nothing)
		edited(t, o.Resume, func(journal map[string]any) {
			began, err := time.Parse(time.RFC3339Nano, journal["began"].(string))
			if err != nil {
				t.Fatal(err)
			}
			journal["began"] = began.Add(-storage.MaxResumeAge - time.Minute)
		})
		complete(t, &recorder{}, o, ", which is too long ago, so everything was read again.")
	})
	t.Run("as text after JSON", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, nothing)
		o.KeepAll = false
		if _, _, err := storage.Inspect(t.Context(), c.cluster.Config(), []string{c.name}, o); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Dir(o.Resume)); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
	t.Run("a file of others", func(t *testing.T) {
		o := options(t)
		if err := os.WriteFile(storage.BlockersFile(o.Resume), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := storage.Inspect(t.Context(), c.cluster.Config(), []string{c.name}, o)
		if _, is := errors.AsType[*storage.ResumeError](err); !is || !strings.Contains(err.Error(), "its file of blockers does: "+storage.BlockersFile(o.Resume)) {
			t.Errorf("got %v", err)
		}
		if now, err := os.ReadFile(storage.BlockersFile(o.Resume)); err != nil || string(now) != "mine" {
			t.Errorf("it became %s, %v", now, err)
		}
	})
	t.Run("a file that cannot be written", func(t *testing.T) {
		o := options(t)
		o.Resume = filepath.Join(o.Resume, "none", "resume")
		_, _, err := storage.Inspect(t.Context(), c.cluster.Config(), []string{c.name}, o)
		if _, is := errors.AsType[*storage.ResumeError](err); !is || err.Error() != o.Resume+": it cannot be written: no such file or directory; name another file, or remove it" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("forgotten by the API server", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, nothing)
		r := &recorder{answer: answering("continue=", true, metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired})} //nolint:bodyclose // client-go closes it
		complete(t, r, o, "The API server no longer had the list of "+c.name+" that an earlier run had begun, so it was listed again.")
	})
	t.Run("another definition since", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, nothing)
		edited(t, o.Resume, func(journal map[string]any) { journal["generation"] = journal["generation"].(float64) - 1 })
		complete(t, &recorder{}, o, " is from a different command, or its blockers are gone, so everything was read again.")
	})
	t.Run("blockers are lost", func(t *testing.T) {
		o := options(t)
		interrupted(t, o, nothing)
		if err := os.Truncate(storage.BlockersFile(o.Resume), 10); err != nil {
			t.Fatal(err)
		}
		complete(t, &recorder{}, o, " is from a different command, or its blockers are gone, so everything was read again.")
	})
	t.Run("not of this question", func(t *testing.T) {
		for text, want := range map[string]string{
			`{"definition":"foos.example.com","version":"v1"}`: ": it is about v1 of foos.example.com; name another file, or remove it",
			"{}":   ": it does not hold the progress of a run that looked for stored objects; name another file, or remove it",
			"none": ": it does not hold the progress of a run that looked for stored objects; name another file, or remove it",
		} {
			o := options(t)
			if err := os.WriteFile(o.Resume, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := storage.Inspect(t.Context(), c.cluster.Config(), []string{c.name}, o)
			if _, is := errors.AsType[*storage.ResumeError](err); !is || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: got %v", text, err)
			}
			if now, err := os.ReadFile(o.Resume); err != nil || string(now) != text {
				t.Errorf("%s became %s, %v", text, now, err)
			}
			if _, err := os.Stat(storage.BlockersFile(o.Resume)); !os.IsNotExist(err) {
				t.Errorf("%s: there is a file of blockers", text)
			}
		}
	})
}

// edited changes the file of a look that was interrupted.
func edited(t *testing.T, file string, change func(journal map[string]any)) {
	t.Helper()
	var journal map[string]any
	if found, err := files.LoadState(file, &journal); err != nil || !found {
		t.Fatal(found, err)
	}
	change(journal)
	if err := files.SaveState(file, journal); err != nil {
		t.Fatal(err)
	}
}
