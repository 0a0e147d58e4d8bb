package main

import (
	"strings"
	"testing"
)

// TestDisruptUsage has nothing started for what can't be meant.
func TestDisruptUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"an unknown scenario": {[]string{"--scenario", "restart.gracefully"}, `--scenario: unknown scenario "restart.gracefully"`},
		"kind":                {[]string{"--cluster", "kind"}, "only a program under the built-in API server is disrupted (want embedded, got kind)"},
		"an existing cluster": {[]string{"--cluster", "existing"}, "nothing is done to pods, or to a cluster of yours"},
		"a URL":               {[]string{"https://localhost/convert"}, "a webhook that runs already can't be disrupted"},
		"no program":          {[]string{"--"}, "no program after --"},
		"a missing program":   {[]string{"--", "./nosuch", "{port}", "{certs}"}, "does not exist"},
		"no port":             {[]string{"--", "./disrupt_test.go", "{certs}"}, "{port}"},
		"definitions alone":   {[]string{"--crd", "x.yaml"}, "no program to disrupt"},
		"an objective":        {[]string{"--objective", "restart.failed"}, "has no limit"},
		"no histories":        {[]string{"--judge", t.TempDir()}, "no history in it"},
		"a foreign history":   {[]string{"--judge", "disrupt_test.go"}, "its kind must be Disruption"},
		"known, and judged":   {[]string{"--judge", ".", "--known-failing", "/dev/null"}, "--judge: nothing is run"},
		"a path alone":        {[]string{"--path", "/x"}, "--path: only valid with a program"},
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
