package explanation

import (
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestRemedies has every requirement that a webhook can violate say what to do.
func TestRemedies(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range requirement.All() {
		if r.Untested == "" && r.Command == "" && r.Binds != requirement.Author && Remedy(r) == "" {
			t.Errorf("%s has no remedy", r.ID)
		}
		for _, one := range remedies() {
			if strings.HasPrefix(string(r.ID), one.prefix) {
				used[one.prefix] = true
				break
			}
		}
	}
	if len(used) != len(remedies()) {
		t.Errorf("only %v are used", used)
	}
}

// TestCommand names the command that checks a requirement, and has each say how it is run.
func TestCommand(t *testing.T) {
	t.Parallel()
	for id, want := range map[requirement.ID][2]string{
		requirement.StorageUpdateRewrites:       {"run", "crdconform run --filter storage.update.rewrites"},
		requirement.ControlWebhookReplacedPod:   {"run", "crdconform run --filter control.webhook.replaced-pod"},
		requirement.WebhookResponseUID:          {"check", "crdconform check URL --filter webhook.response.uid"},
		requirement.UpgradeDefinitionsApply:     {"rehearse", "crdconform rehearse --old CRDS --crd CRDS --filter upgrade.definitions.apply"},
		requirement.DisruptionRestartGraceful:   {"disrupt", "crdconform disrupt --scenario restart.graceful"},
		requirement.StorageDropObjects:          {"storage safe-to-drop", "crdconform storage safe-to-drop CRD VERSION --context NAME"},
		requirement.DoctorDefinitionAccepted:    {"doctor", "crdconform doctor --context NAME"},
		requirement.VersionsPriorityDesignOrder: {"", ""},
	} {
		r, found := requirement.Lookup(id)
		if got := Of(r, nil); !found || Command(r) != want[0] || got.Run != want[1] {
			t.Errorf("%s: checked by %q, %q, want %q", id, Command(r), got.Run, want)
		}
		if page := Of(r, nil).HTML(); r.Command != "" && !strings.Contains(page, "<h2>How it is checked</h2>\n<p><code>crdconform "+r.Command+"</code></p>") {
			t.Errorf("%s: its page does not say how it is checked:\n%s", id, page)
		}
	}
	for _, r := range requirement.All() {
		if e := Of(r, nil); (e.Run == "") != (r.Untested != "") || (Command(r) == "") != (r.Untested != "") {
			t.Errorf("%s: checked by %q, with %q, untested: %q", r.ID, Command(r), e.Run, r.Untested)
		}
	}
}

// TestExplained explains a requirement with everything that there may be.
func TestExplained(t *testing.T) {
	t.Parallel()
	r, _ := requirement.Lookup(requirement.WebhookResponseUID)
	body := Explanation{
		Requirement: r, Specs: []Named{{Name: "compares <UIDs>", Summary: "uid.go:1"}}, Rules: []Named{{Name: "rule", Summary: "a rule"}}, Faults: []Named{{Name: "other-uid", Summary: "it invents a UID"}},
		Remedy: Remedy(r), Run: "crdconform check URL",
	}.HTML()
	for _, want := range []string{"compares &lt;UIDs&gt;", "lint: <code>rule</code>", "it invents a UID", "serve --fault other-uid", "Build the response from the request", "<code>crdconform check URL</code>"} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s:\n%s", want, body)
		}
	}
}

// TestUnmatched compares what is said of patterns that select nothing, and of IDs that there are not, with testdata/unmatched.txt: a line has
// what was given and, after a colon, which command checks what it means, or what may have been meant.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/unmatched.txt")
	if err != nil {
		t.Fatal(err)
	}
	patterns, ids, _ := strings.Cut(string(data), "\n\n")
	for text, say := range map[string]func(string) string{patterns: NoMatch, ids: Unknown} {
		for line := range strings.Lines(text) {
			given, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if got := say(given); got != want {
				t.Errorf("%q: got %s, want %s", given, got, want)
			}
		}
	}
}
