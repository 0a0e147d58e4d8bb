package existing

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/versions"
)

// untilKilled is the argument that makes the test binary a run that goes on until it is killed, with a kubeconfig as the next.
const untilKilled = "run-until-killed"

// runUntilKilled runs the suites over and over.
func runUntilKilled(kubeconfig string) error {
	ctx := context.Background()
	c, err := Start(ctx, Options{Kubeconfig: kubeconfig, Context: "test", Run: "slain", WebhookHost: "127.0.0.1", WebhookListen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	for seed := int64(1); ; seed++ {
		env, err := suites.NewEnv(ctx, suites.Options{Cluster: c, Seed: seed, Domain: c.Domain(), Run: "slain"})
		if err != nil {
			return err
		}
		areas := []suites.Area{versions.Area, conversion.Area, storage.Area, lifecycle.Area}
		if _, err := suites.Run(ctx, env, areas, spectest.Quiet{}); err != nil {
			return err
		}
		if err := env.Close(ctx); err != nil {
			return err
		}
	}
}

// TestKilledRun kills a run while it is at work, and has what it left removed.
func TestKilledRun(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := s.kubeconfig(t, s.admin())
	process := exec.CommandContext(t.Context(), program, untilKilled, path)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	installed := func() int {
		list, err := s.definitions.List(t.Context(), metav1.ListOptions{LabelSelector: cluster.RunLabel + "=slain"})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	// After some seconds specs are at work. How many definitions there are at a time rises and falls.
	for began := time.Now(); time.Since(began) < 5*time.Second || installed() < 20; {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("the run has %d definitions", installed())
		}
		<-time.After(50 * time.Millisecond)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	process.Wait()

	// What it asked for last is done a moment later.
	<-time.After(time.Second)

	cleaner := s.cleaner(t, path)
	found, unlisted, err := cleaner.Find(t.Context(), "slain")
	if err != nil || len(unlisted) > 0 || len(found) == 0 {
		t.Fatalf("found %d, not seen %v, %v", len(found), unlisted, err)
	}
	began := time.Now()
	left := cleaner.Remove(t.Context(), found, func(l Leftover, err error) {
		if err != nil {
			t.Errorf("%s: %v", l, err)
		}
	})
	t.Logf("removed %d in %s", len(found), time.Since(began).Round(time.Millisecond))
	if now := installed(); left > 0 || now > 0 {
		t.Errorf("%d could not be removed, %d are there", left, now)
	}
}

// isRun reports whether the arguments make the test binary a run, and runs it.
func isRun(args []string) bool {
	if len(args) != 3 || args[1] != untilKilled {
		return false
	}
	if err := runUntilKilled(args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}
