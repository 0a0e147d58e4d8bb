package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/files"
)

// leftovers is a cluster with a service that a run left, in which secrets may not be listed.
type leftovers struct {
	created time.Time
	unseen  bool // namespaces may not be listed either
	stuck   bool // the service cannot be removed
	removed bool
}

func (l *leftovers) Find(context.Context, string) ([]existing.Leftover, []existing.Unlisted, error) {
	unlisted := []existing.Unlisted{{Resource: schema.GroupResource{Resource: "secrets"}, Err: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}}
	if l.unseen {
		unlisted = append(unlisted, existing.Unlisted{Resource: schema.GroupResource{Resource: "namespaces"}, Err: errors.New("you may not")})
	}
	return []existing.Leftover{{Kind: "Service", Namespaced: true, Namespace: "theirs", Name: "hook", Run: "killed", Created: l.created}}, unlisted, nil
}

func (l *leftovers) Remove(_ context.Context, all []existing.Leftover, done func(existing.Leftover, error)) int {
	for _, one := range all {
		if l.removed = true; l.stuck {
			done(one, errors.New("you may not"))
			return 1
		}
		done(one, nil)
	}
	return 0
}

// TestCleanup has what a run left removed, shown, left alone and not removable. Young things are left alone unless the run is named.
func TestCleanup(t *testing.T) {
	t.Parallel()
	const service, young, age = "Service theirs/hook of the run killed, ", "Not removed because a run may still need what is younger than ", 2*time.Hour + time.Second
	for name, test := range map[string]struct {
		left    leftovers
		age     time.Duration
		args    string
		out     string
		err     string // which is no success
		removes bool
	}{
		"removed":        {age: age, out: service + "120m old: removed\n", removes: true},
		"of the run":     {age: age, args: "--run killed", out: service + "120m old: removed\n", removes: true},
		"shown":          {age: age, args: "--dry-run", out: service + "120m old: would be removed\n"},
		"younger":        {age: age, args: "--older-than 3h", out: young + "3h0m0s: 1; "},
		"not removable":  {age: age, left: leftovers{stuck: true}, out: service + "120m old: NOT removed: you may not", err: "1 of 1 could not be removed", removes: true},
		"not looked for": {age: age, left: leftovers{unseen: true}, out: service + "120m old: removed\n", err: "namespaces could not be listed: you may not", removes: true},
		"new":            {out: young + "1h0m0s: 1; "},
		"new, named":     {args: "--run killed", out: service, removes: true},
		"new, both":      {args: "--run killed --older-than 1h", out: young + "1h0m0s: 1; "},
		"new, any age":   {args: "--older-than 0s", out: service, removes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			test.left.created = time.Now().Add(-test.age)
			cmd := (&cleaner{streams: streams{out: &out, err: &errs}, cluster: func(context.Context, string, string) (clusterCleaner, error) { return &test.left, nil }}).command()
			cmd.SetArgs(append([]string{"--context", "staging"}, strings.Fields(test.args)...))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if exit, is := errors.AsType[*exitError](err); is != (test.err != "") || is && (exit.code != exitUnjudged || exit.Error() != test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if !strings.HasPrefix(out.String(), test.out) || test.left.removed != test.removes {
				t.Errorf("it says\n%s", &out)
			}
			has(t, errs.String(), "crdconform: the user may not list secrets; any of these that --webhook-image or --webhook-manifests created must be removed by hand\n")
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

// TestInterruptedCleanup distinguishes an interruption from what could not be removed.
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
