//go:build nightly

package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// pretending is an API server that claims to be of another minor.
type pretending struct {
	*minors.Cluster

	minor requirement.Minor
}

// Config returns how to reach it through what changes its answer at /version.
func (p pretending) Config() *rest.Config {
	config := p.Cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return claims{next, fmt.Sprintf(`{"major":"%d","minor":"%d","gitVersion":"v%s.0"}`, p.minor.Major, p.minor.Minor, p.minor)}
	})
	return config
}

type claims struct {
	http.RoundTripper

	version string
}

// RoundTrip answers for the version, and passes on everything else.
func (c claims) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Path == "/version" {
		response.Body.Close()
		response.Body, response.ContentLength = io.NopCloser(bytes.NewBufferString(c.version)), int64(len(c.version))
	}
	return response, err
}

// passesBefore are requirements that pass on minors before those that the catalogue gives, with the reason why it gives others.
var passesBefore = map[requirement.ID]string{
	requirement.SchemaPruningFlagRejected: "at v1 it was refused before too, but v1beta1 accepted it",
	requirement.SchemaStructuralMandatory: "at v1 it was so before too, but v1beta1 accepted others",
}

// TestBounds runs the specs on API servers of minors for which the catalogue says that the requirement does not hold. What passes
// there, holds there, so that the catalogue is wrong. That it fails nowhere else is what a matrix shows.
func TestBounds(t *testing.T) {
	from := builtMinors(t)
	for _, minor := range minors.All() {
		t.Run(minor.String(), func(t *testing.T) {
			for _, pretended := range []requirement.Minor{minors.BuiltIn(), minors.All()[0]} {
				beyond(t, from, minor, pretended)
			}
		})
	}
}

// beyond runs the specs that hold for one minor on an API server of another, for which they do not.
func beyond(t *testing.T, programs minors.Programs, minor, pretended requirement.Minor) {
	t.Helper()
	selected := func(id requirement.ID) bool {
		one, _ := requirement.Lookup(id)
		return one.Binds == requirement.Server && one.HoldsFor(pretended) && !one.HoldsFor(minor)
	}
	if !slices.ContainsFunc(suites.Preview(chapters.Run()), func(s suites.Spec) bool { return selected(s.Requirement) }) {
		return
	}
	c, err := minors.Start(t.Context(), minors.Options{Minor: minor, Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	// It is not closed: what the specs leave goes with the API server, and some of it cannot be removed where they do not hold.
	env, err := suites.NewEnv(t.Context(), suites.Options{
		Cluster: pretending{c, pretended}, Subject: suitetest.SubjectFor(t, c), Seed: 1, Select: selected, Effect: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, chapters.Run(), suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range outcome.Results {
		one, _ := requirement.Lookup(result.Requirement)
		why, explained := passesBefore[one.ID]
		if selected(one.ID) && (result.Verdict == requirement.Passed) != explained {
			t.Errorf("%s: %s on Kubernetes %s; it holds since %s, until %q, and is among those that pass: %t",
				one.ID, result.Verdict, minor, one.Since, one.Until, explained)
		}
		t.Logf("%s: %s: %s", one.ID, result.Verdict, why)
	}
}

// TestOlderConform has API servers of older minors conform, and what holds for no server of today pass on one for which it does.
func TestOlderConform(t *testing.T) {
	t.Setenv("CRDCONFORM_MINORS", builtMinors(t).Dir)
	program := compiled(t)
	passed := map[requirement.ID]bool{}
	for _, minor := range minors.All() {
		t.Run(minor.String(), func(t *testing.T) {
			dir := t.TempDir()
			run := exec.CommandContext(t.Context(), program, "run", "--kubernetes", minor.String(), "--load-duration", "0", "--report-dir", dir)
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			report, err := reports.ReadFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range report.With(requirement.Passed) {
				passed[result.ID] = true
			}
		})
	}
	for _, spec := range suites.Preview(chapters.Run()) {
		one, _ := requirement.Lookup(spec.Requirement)
		if one.Binds == requirement.Server && !one.HoldsFor(minors.BuiltIn()) && !passed[one.ID] {
			t.Errorf("%s holds until %s, and passes on no API server of a minor of then", one.ID, one.Until)
		}
	}
}
