//go:build nightly

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/load/apiserver"
	"github.com/crdconform/crdconform/internal/test/executable"
)

// TestMoreHostileWebhooks has commands meet more of the webhooks that hurt than TestHostileWebhooks.
func TestMoreHostileWebhooks(t *testing.T) {
	t.Parallel()
	// On a slow machine requests pile up, and with them what each of them holds.
	load := []string{"--duration", "2s", "--rate", "20", "--set", "load.inFlight=8"}
	withstand(t, map[string]attack{
		"check, a bomb":       {"check", "gzip bomb of lists", []string{"--generate", few}, exitViolates},
		"check, no end":       {"check", "body without end", []string{"--generate", few}, exitViolates},
		"check, nested":       {"check", "objects 9,000 deep", []string{"--generate", few}, exitViolates},
		"check, API servers":  {"check", "endless to API servers", []string{"--generate", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, deep to them": {"check", "9,000 deep to API servers", []string{"--generate", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, many values":  {"check", "objects just below the bound", []string{"--generate", few, "--filter", "webhook"}, exitViolates},
		"check, much text":    {"check", "text just below the bound", []string{"--generate", few, "--filter", "webhook"}, exitViolates},
		"load, headers":       {"load", "headers without end", load, exitViolates},
		"load, a message":     {"load", "message of 250 MB", load, exitViolates},
	})
}

// TestStarvedOfAlmostAllFiles has a system that gives fewer files than TestStarved.
func TestStarvedOfAlmostAllFiles(t *testing.T) {
	t.Parallel()
	starved(t, "-n 128", "the limit of open files is 128, and 512 are needed")
}

// TestLoadThroughOlderAPIServers holds API servers of older minors to the calls that were measured for them.
func TestLoadThroughOlderAPIServers(t *testing.T) {
	programs := os.Getenv("CRDCONFORM_TEST_MINORS") //nolint:forbidigo // tests get what they run on from the environment
	if programs == "" {
		t.Skip("API servers of older minors take minutes to build: run \"crdconform matrix minors build\", and set CRDCONFORM_TEST_MINORS to the folder")
	}
	crd, samples := there(t, "testdata/gadgets.yaml"), there(t, "testdata/gadget-samples.yaml")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crdconform.yaml"), []byte("apiVersion: crdconform.dev/v1alpha1\nkind: Config\nload: {objects: 30, throughAPIServer: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, minor := range minors.All() {
		if minor.String() == "1.21" {
			continue // its calls were not measured
		}
		p := executable.Prepare(t, "crdconform", dir, append([]string{
			"load", "--crd", crd, "--samples", samples, "--duration", "200ms", "--through-api-server", "--kubernetes", minor.String(),
		}, webhookProgram(t, "serve")...)...)
		p.Cmd.Env = append(p.Cmd.Env, "CRDCONFORM_MINORS="+programs)
		check(t, p.Cmd.Start())
		r := p.End()
		report := reportOf(t, r)
		if report.Load == nil || report.Load.Server == nil || !strings.HasPrefix(report.Load.Server.Version, "v"+minor.String()+".") {
			t.Fatalf("%s: got %+v; it says\n%s", minor, report.Load, r.Err)
		}
		for _, call := range report.Load.Server.Budget {
			if bound := call.Bound; bound != nil && !call.Met || bound == nil && (minor.String() != "1.28" || call.Verb != apiserver.DeleteCollection) {
				t.Errorf("%s: %+v", minor, call)
			}
		}
	}
}

// TestReaderThatGoesWhileRunning has nobody read what a run says.
func TestReaderThatGoesWhileRunning(t *testing.T) {
	t.Parallel()
	readerGoes(t, exitConforms, "run", "--filter", "versions.scope.cluster")
}

// TestInterruptedRunByAll stops a run in each of its parts by each signal.
func TestInterruptedRunByAll(t *testing.T) {
	t.Parallel()
	for _, part := range stoppings() {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			stop := part
			stop.signal = signal
			t.Run(stop.name+"/"+signal.String(), func(t *testing.T) {
				t.Parallel()
				stop.interrupt(t)
			})
		}
	}
}

// TestColumnsAreStopped interrupts a whole matrix by a signal.
func TestColumnsAreStopped(t *testing.T) {
	t.Parallel()
	stoppedMatrix(t, os.Interrupt)
}

// TestNightlyScripts runs testdata/script/nightly, whose scripts are of the same kind as those of TestScripts.
func TestNightlyScripts(t *testing.T) {
	t.Parallel()
	runScripts(scripted{t, true}, "testdata/script/nightly")
}
