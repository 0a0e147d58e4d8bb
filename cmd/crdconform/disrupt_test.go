package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestDisruptUsage has nothing started for what can't be meant.
func TestDisruptUsage(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	const there = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"an unknown scenario":       {[]string{"--scenario", "restart.gracefully"}, `--scenario: unknown scenario "restart.gracefully"`},
		"a program on kind":         {[]string{"--cluster", "kind", "--", "./disrupt_test.go", "{port}"}, "programs are disrupted under the built-in API server only"},
		"no image on kind":          {[]string{"--cluster", "kind", "--crd", "x.yaml"}, "no webhook to disrupt; give --webhook-image or --webhook-manifests"},
		"nothing for pods":          {[]string{"--cluster", "kind", "--scenario", "network"}, "none of the selected scenarios applies to pods"},
		"an image, embedded":        {[]string{"--webhook-image", "widgets:dev"}, "only valid with --cluster kind or existing, not embedded"},
		"an existing cluster":       {[]string{"--cluster", "existing", "--context", "c", "--kubeconfig", kubeconfig, "--webhook-image", "widgets:dev"}, "are disrupted only if that is allowed (--disrupt-pods)"},
		"no image, existing":        {[]string{"--cluster", "existing", "--context", "c", "--kubeconfig", kubeconfig, "--disrupt-pods"}, "no webhook to deploy and disrupt; give --webhook-image"},
		"no CRDs, existing":         {[]string{"--cluster", "existing", "--context", "c", "--kubeconfig", kubeconfig, "--disrupt-pods", "--webhook-image", "widgets:dev"}, "give your definition by --crd"},
		"no context":                {[]string{"--cluster", "existing", "--disrupt-pods"}, "--cluster existing requires --context NAME"},
		"pods of kind":              {[]string{"--cluster", "kind", "--disrupt-pods"}, "--disrupt-pods: only valid with --cluster existing"},
		"another cluster":           {[]string{"--cluster", "envtest"}, "(want embedded, kind, existing)"},
		"an old image of no pods":   {[]string{"--old-image", "widgets:v1"}, "--old-image: only valid with --webhook-image, on kind or in an existing cluster"},
		"an old image of no image":  {[]string{"--cluster", "kind", "--old-image", "widgets:v1"}, "--old-image: only valid with --webhook-image, the image that a rollout ends with"},
		"an old image of manifests": {[]string{"--cluster", "kind", "--old-image", "widgets:v1", "--webhook-manifests", "."}, "--old-image: only valid with --webhook-image"},
		"the same image twice":      {[]string{"--cluster", "kind", "--crd", "x.yaml", "--webhook-image", "widgets", "--old-image", "docker.io/library/widgets:latest"}, "--old-image: it is the image under test"},
		"no name of an image":       {[]string{"--cluster", "kind", "--crd", "x.yaml", "--webhook-image", "widgets:v2", "--old-image", "No Name"}, "--old-image: \"No Name\" is not an image name"},
		"a URL":                     {[]string{"https://localhost/convert"}, "a webhook that is already running can't be disrupted"},
		"no program":                {[]string{"--"}, "no program after --"},
		"a missing program":         {[]string{"--", "./nosuch", "{port}", "{certs}"}, "does not exist"},
		"no port":                   {[]string{"--", "./disrupt_test.go", "{certs}"}, "{port}"},
		"definitions alone":         {[]string{"--crd", "x.yaml"}, "no program to disrupt"},
		"an objective":              {[]string{"--objective", "restart.failed"}, "has no limit"},
		"no histories":              {[]string{"--judge", t.TempDir()}, "no history in it"},
		"a foreign history":         {[]string{"--judge", "disrupt_test.go"}, "its kind must be Disruption"},
		"a path alone":              {[]string{"--path", "/x"}, "--path: only valid with a program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errors := executed(t, append([]string{"disrupt"}, test.arguments...)...)
			if code != exitUsage || !strings.Contains(errors, test.want) || out != "" {
				t.Errorf("exit code %d, %q, %q", code, out, errors)
			}
		})
	}
}

// TestDisruptionProblems has what fails be followed by why it matters and how to repeat it, and nothing else.
func TestDisruptionProblems(t *testing.T) {
	t.Parallel()
	const id, again = requirement.DisruptionRestartGraceful, "crdconform disrupt --scenario=restart.graceful --seed=1"
	for _, c := range []struct {
		verdict  requirement.Verdict
		strict   bool
		why, how bool
	}{
		{verdict: requirement.Passed},
		{verdict: requirement.NotApplicable, strict: true},
		{verdict: requirement.Tolerated},
		{verdict: requirement.Tolerated, strict: true, why: true, how: true},
		{verdict: requirement.Failed, why: true, how: true},
		{verdict: requirement.Errored, how: true},
	} {
		p, out := shown(streams{})
		p.strict = c.strict
		(&disruptions{p}).Disrupted(reports.Result{Requirement: requirement.Requirement{ID: id}, Verdict: c.verdict, Reason: "it was so", Rerun: again}, nil)
		if got := strings.Contains(out.String(), "\n    why it matters: "+why(t, id)+"\n"); got != c.why {
			t.Errorf("%s, strict %t: why it matters: %t\n%s", c.verdict, c.strict, got, out)
		}
		if got := strings.HasSuffix(out.String(), "\n    again: "+again+"\n"); got != c.how {
			t.Errorf("%s, strict %t: how to repeat it: %t\n%s", c.verdict, c.strict, got, out)
		}
	}
}
