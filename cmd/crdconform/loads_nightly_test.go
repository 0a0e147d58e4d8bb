//go:build nightly

package main

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/load/apiserver"
)

// TestLoadThroughOlderAPIServers holds API servers of older minors to the calls that were measured for them.
func TestLoadThroughOlderAPIServers(t *testing.T) {
	programs := olderServers(t)
	dir := folder(t, map[string]string{"crd.yaml": gadgets, "samples.yaml": gadgetSamples})
	for _, minor := range minors.All() {
		if minor.String() == "1.21" {
			continue // its calls were not measured
		}
		p := prepare(t, dir, append([]string{
			"load", "--crd", "crd.yaml", "--samples", "samples.yaml", "--duration", "200ms", "--through-api-server", "--kubernetes", minor.String(), "--relist-objects", "30",
		}, webhookProgram(t, "serve")...)...)
		p.cmd.Env = append(p.cmd.Env, "CRDCONFORM_MINORS="+programs)
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := p.end()
		report := r.report(t)
		if report.Load == nil || report.Load.Server == nil || !strings.HasPrefix(report.Load.Server.Version, "v"+minor.String()+".") {
			t.Fatalf("%s: got %+v; it says\n%s", minor, report.Load, r.err)
		}
		for _, call := range report.Load.Server.Budget {
			if bound := call.Bound; bound != nil && !call.Met || bound == nil && (minor.String() != "1.28" || call.Verb != apiserver.DeleteCollection) {
				t.Errorf("%s: %+v", minor, call)
			}
		}
	}
}
