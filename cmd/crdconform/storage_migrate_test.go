package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/test/lab"
)

// TestStorageMigrateKilled kills a migration in the middle, interrupts the next, and has another one complete it.
func TestStorageMigrateKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a migration that takes its time")
	}
	l := lab.New(t, t.Cleanup)
	l.Install(fixtures.None.New(fixtures.StoredAt("v1beta1")))
	for i := range 60 {
		l.Store("example.com", fmt.Sprint("crontab-", i), "v1", "v1beta1")
	}
	l.Install(fixtures.None.New(fixtures.StoredAt("v1")))
	done := func() int { return l.Stored("/registry/example.com/crontabs/", "example.com/v1") }
	args := []string{"storage", "migrate", lab.Definition, "--kubeconfig", l.Kubeconfig, "--context", "lab", "--set", "storage.settle=0s", "--set", "storage.state=" + filepath.Join(t.TempDir(), "state.json")}
	halfway := func(n int, signal os.Signal) result {
		t.Helper()
		p := start(t, append(args, "--set", "storage.qps=4", "--set", "storage.concurrency=2", "--steps", "objects,managed-fields,stored-versions")...)
		eventually(t, func() bool { return done() >= n })
		p.Signal(t, signal)
		return p.End()
	}
	if r := halfway(10, os.Kill); r.Code != -1 {
		t.Errorf("it ended with %d", r.Code)
	}
	r := halfway(20, os.Interrupt)
	r.Exits(t, exitInterrupted)
	if !strings.Contains(r.Out+r.Err, ": interrupted\n") || !strings.Contains(r.Out+r.Err, "interrupted; run it again to complete the migration") {
		t.Errorf("it says:\n%s%s", r.Out, r.Err)
	}
	if n := done(); n < 20 || n == 60 || !slices.Equal(l.Listed(), []string{"v1beta1", "v1"}) {
		t.Errorf("%d objects are at v1, and the status lists %v", n, l.Listed())
	}
	whole := ran(t, args...)
	whole.Exits(t, exitConforms)
	has(t, whole.Out, "resumed         this run continues an earlier one", "proof           all 60 objects are there")
	if n := done(); n != 60 || !slices.Equal(l.Listed(), []string{"v1"}) {
		t.Errorf("%d objects are at v1, and the status lists %v", n, l.Listed())
	}
}

// TestStorageMigrateUnproved is interrupted between a complete migration and the end of its proof.
func TestStorageMigrateUnproved(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it starts an API server")
	}
	l := lab.New(t, t.Cleanup)
	l.Install(fixtures.None.New(fixtures.StoredAt("v1")))
	l.Store("example.com", "one", "v1", "v1")
	var out strings.Builder
	m := &migrator{streams: streams{out: &out, err: &out}, definition: lab.Definition}
	ctx, interrupt := context.WithCancel(t.Context())
	proving, err := proof.Begin(ctx, l.Config, lab.Definition, m.provable())
	check(t, err)
	interrupt()
	did := &migrated{}
	err = m.conclude(ctx, did, m.judge(ctx, proving, did, nil))
	if exit, is := errors.AsType[*exitError](err); !is || exit.code != exitInterrupted || did.Outcome != "interrupted" || did.Proof != nil {
		t.Errorf("got %v, %+v", err, did)
	}
}

// TestMigratedText compares the text of a migration that was refused for more reasons than are shown with testdata/golden/migrated.txt: each
// is said once, with how many were left out, and how many objects another API server stored at the former version.
func TestMigratedText(t *testing.T) {
	did := migrated{}
	refuse := func(name, reason string) {
		did.Migration.Refused = append(did.Migration.Refused, migrate.Refusal{Namespace: "default", Name: name, Reason: reason})
	}
	none := did.text(&migrator{})
	did.Migration.Behind = 2
	refuse("a", "the webhook is down")
	refuse("b", "too large")
	refuse("c", "the webhook is down")
	for i := range shownLines {
		refuse(fmt.Sprint("d", i), fmt.Sprint("rule ", i))
	}
	golden(t, "migrated.txt", none+did.text(&migrator{}))
}

// TestStorageDefaults wants the table of options to say what the packages do that take the numbers.
func TestStorageDefaults(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]any{
		"storage.pageSize": migrate.DefaultPageSize, "storage.concurrency": migrate.DefaultConcurrency, "storage.maxObjectSize": migrate.DefaultMaxSize, "storage.settle": migrate.DefaultSettle,
	} {
		if o, found := options.Of(key); !found || o.Default != want {
			t.Errorf("%s is %v by default, want %v", key, o.Default, want)
		}
	}
}
