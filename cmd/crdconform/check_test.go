package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
)

// few objects show what tests that are not about generated ones look for.
const few = "4"

// threeVersions is a file of samples at all versions that the reference webhook knows, seen from the directory of a test.
func threeVersions(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/crontabs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckOfTheReferenceWebhook(t *testing.T) {
	t.Parallel()
	url, ca := serving(t)
	untold := requirement.WebhookRequestConversionReviewVersions // what the definition of the CronTabs does not say
	for name, test := range map[string]struct {
		args          []string
		notApplicable []requirement.ID
	}{
		"the documents' CronTabs": {nil, []requirement.ID{untold}},
		"HTTP/2, strictly":        {[]string{"--http2", "--strict"}, []requirement.ID{untold}},
		"samples": {[]string{"--samples", threeVersions(t)}, []requirement.ID{
			untold, requirement.WebhookConversionDocumentedExample, requirement.WebhookConversionSchema, requirement.WebhookConversionAdditions,
			requirement.WebhookConversionEdits, requirement.WebhookConversionValidation, requirement.WebhookConversionStrings,
			requirement.WebhookConversionZeroValues, requirement.WebhookConversionNulls, requirement.WebhookConversionEarlierSchemas, requirement.WebhookConversionHuge,
			requirement.WebhookFailureEarlierSchemas, requirement.WebhookFailureAnnotations,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := invoke(t, append([]string{"check", url, "--ca-file", ca, "--objects", few}, test.args...)...)
			r.exits(t, exitConforms)
			report := r.report(t)
			all := len(suites.Preview([]suites.Area{chapter.Area}))
			if report.Counts[requirement.Passed] != all-len(test.notApplicable) {
				t.Errorf("got %v, want all of %d Passed but %v", report.Counts, all, test.notApplicable)
			}
			if got := verdicts(report, requirement.NotApplicable); !slices.Equal(got, test.notApplicable) {
				t.Errorf("%v are NotApplicable, want %v", got, test.notApplicable)
			}
			if !strings.Contains(r.out, "\n"+reporter.Headline(report)) || !strings.HasSuffix(r.out, "Report: crdconform-report/report.html\n") || r.err != "" {
				t.Errorf("it says:\n%s%s", r.out, r.err)
			}
			if lines := strings.Count(r.out, fmt.Sprintf("/%d] ", all)); lines != len(report.Results) || strings.ContainsAny(r.out, "\x1b\r") {
				t.Errorf("a pipe gets %d lines of progress for %d specs:\n%q", lines, len(report.Results), r.out)
			}
		})
	}
}

// TestCheckFindsEveryFault has one program judge another: each fault shows in the exit code, in the verdicts of the
// requirements that it breaks, and in no others.
func TestCheckFindsEveryFault(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a check for every fifth fault")
	}
	var tested []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{chapter.Area}) {
		tested = append(tested, spec.Requirement)
	}
	for i, fault := range webhook.Faults() {
		// All of them are tried without a process in suites/webhook; here are some of each sort.
		if i%5 != 0 && fault.Name != "hangs" {
			continue
		}
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			url, ca := serving(t, fault.Name)
			args := []string{"check", url, "--ca-file", ca, "--objects", few}
			want := slices.DeleteFunc(slices.Clone(fault.Breaks), func(id requirement.ID) bool { return !slices.Contains(tested, id) })
			slices.Sort(want)
			switch {
			case fault.Name == "hangs":
				args = append(args, "--timeout", "2s")
			case slices.Contains(want, requirement.WebhookBatchMixedVersions):
				args = append(args, "--samples", threeVersions(t))
			}
			r := invoke(t, args...)
			if fault.Verdict == requirement.Failed {
				r.exits(t, exitViolates)
			} else {
				r.exits(t, exitConforms)
				strict := invoke(t, append(args, "--strict")...)
				strict.exits(t, exitViolates)
				if got := strict.report(t).Outcome; got != reports.NonConformant {
					t.Errorf("strictly, it is %s", got)
				}
			}
			bad := r.report(t).With(requirement.Failed, requirement.Tolerated, requirement.Errored, requirement.Unknown)
			var got []requirement.ID
			for _, result := range bad {
				got = append(got, result.ID)
				if tolerated := result.Verdict == requirement.Tolerated && len(want) > 1; result.Verdict != fault.Verdict && !tolerated {
					t.Errorf("%s is %s: %s", result.ID, result.Verdict, result.Reason)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%v found something, want %v", got, want)
			}
			for _, result := range bad {
				if result.Verdict == requirement.Failed && !strings.Contains(r.out, "\nFAILED "+string(result.ID)+": ") {
					t.Errorf("it does not show what is wrong with %s:\n%s", result.ID, r.out)
				}
			}
		})
	}
}

// TestEvidence takes a finding to the files and commands that it comes with.
func TestEvidence(t *testing.T) {
	t.Parallel()
	url, ca := serving(t, "wrong-uid")
	p := invoke(t, "check", url, "--ca-file", ca, "--filter", "webhook.response.uid,webhook.response.kind", "--seed", "7", "--timeout", "25s")
	p.exits(t, exitViolates)
	report := p.report(t)
	failed := report.With(requirement.Failed)
	if len(report.Results) != 2 || len(failed) != 1 {
		t.Fatalf("got %v", report.Results)
	}
	for _, file := range failed[0].Files {
		if data := read(t, filepath.Join(p.dir, "crdconform-report", filepath.FromSlash(file.Path))); len(data) == 0 {
			t.Errorf("%s is empty", file.Path)
		}
	}
	const script = "exchanges/webhook.response.uid/reproduce.sh"
	text := string(read(t, filepath.Join(p.dir, "crdconform-report", filepath.FromSlash(script))))
	if failed[0].Curl != "sh "+script || !strings.Contains(text, "--cacert ca.crt") || !strings.Contains(text, "@request.json") {
		t.Errorf("%q runs\n%s", failed[0].Curl, text)
	}
	if want := "suites/webhook/"; !strings.HasPrefix(failed[0].Location, want) {
		t.Errorf("the spec is at %s, want something that begins with %s on any machine", failed[0].Location, want)
	}
	if !strings.Contains(p.out, "again: "+failed[0].Rerun) {
		t.Errorf("%q is not shown:\n%s", failed[0].Rerun, p.out)
	}
	for command, want := range map[string]int{failed[0].Rerun: 1, report.Command: 2} {
		again := startIn(t, t.TempDir(), strings.Fields(command)[1:]...).end()
		again.exits(t, exitViolates)
		if repeated := again.report(t); len(repeated.Results) != want || repeated.Seed != 7 || repeated.With(requirement.Failed)[0].Reason != failed[0].Reason {
			t.Errorf("%q came to %v with seed %d, want %d results and %s", command, repeated.Results, repeated.Seed, want, failed[0].Reason)
		}
	}
}

// TestSeed has the same seed lead to the same order, and another one to another.
func TestSeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a check for each of three seeds")
	}
	url, ca := serving(t)
	order := func(seed string) []string {
		r := invoke(t, "check", url, "--ca-file", ca, "--objects", "0", "--seed", seed)
		r.exits(t, exitConforms)
		var ids []string
		for line := range strings.Lines(r.out) {
			if fields := strings.Fields(line); strings.HasPrefix(line, "[") && len(fields) > 3 {
				ids = append(ids, fields[len(fields)-3])
			}
		}
		return ids
	}
	first := order("7")
	if len(first) < 30 || !slices.Equal(first, order("7")) {
		t.Errorf("the order is not repeated: %v", first)
	}
	if slices.Equal(first, order("8")) {
		t.Errorf("two seeds lead to one order: %v", first)
	}
}

// TestKnownFailing gives check lists of what is known to fail.
func TestKnownFailing(t *testing.T) {
	t.Parallel()
	url, ca := serving(t, "wrong-uid")
	for name, test := range map[string]struct {
		list string
		code int
		want map[requirement.ID]requirement.Verdict
		says string
	}{
		"it fails": {
			"# issue 12\n\nwebhook.response.uid: it makes one up\n", exitConforms,
			map[requirement.ID]requirement.Verdict{"webhook.response.uid": requirement.KnownFailing, "webhook.response.kind": requirement.Passed},
			"KnownFailing webhook.response.uid: it makes one up\n",
		},
		"it passes": {
			"webhook.response.uid: it makes one up\r\nwebhook.response.kind: no longer\r\n", exitViolates,
			map[requirement.ID]requirement.Verdict{"webhook.response.uid": requirement.KnownFailing, "webhook.response.kind": requirement.Failed},
			"    it passes, but the list of known failures says that it fails; remove it from the list\n",
		},
		"it is not selected": {
			"webhook.response.uid: it makes one up\nwebhook.response.order: no longer\nstorage.update.rewrites: never\n", exitConforms,
			map[requirement.ID]requirement.Verdict{"webhook.response.uid": requirement.KnownFailing, "webhook.response.kind": requirement.Passed},
			"Conforms: 1 requirement passed, 1 known to fail",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "known.txt"), []byte(test.list), 0o600); err != nil {
				t.Fatal(err)
			}
			r := startIn(t, dir, "check", url, "--ca-file", ca, "--filter", "webhook.response.uid,webhook.response.kind", "--known-failing", "known.txt").end()
			r.exits(t, test.code)
			for _, result := range r.report(t).Results {
				if result.Verdict != test.want[result.ID] {
					t.Errorf("%s is %s, want %s", result.ID, result.Verdict, test.want[result.ID])
				}
			}
			if !strings.Contains(r.out, test.says) {
				t.Errorf("it says:\n%swant something with %q", r.out, test.says)
			}
			if strings.Contains(r.out, "FAILED webhook.response.uid") {
				t.Errorf("what is known to fail is shown as a failure:\n%s", r.out)
			}
		})
	}
}

// TestTimeBudget gives a slow webhook less time than it needs: what is left is not judged, and the run says so at the top.
func TestTimeBudget(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		webhook.Handler().ServeHTTP(w, r)
	}), nil)
	// With this seed the first requirement, which has all the time, needs no generated objects.
	r := invoke(t, "check", url, "--ca-file", ca, "--time-budget", "1ms", "--seed", "3")
	r.exits(t, exitConforms)
	report := r.report(t)
	const note = "CronTab: the time budget of 1ms was used up before everything was judged"
	if report.Outcome != reports.Partial || !report.Webhook.Kinds[0].Cut || !slices.Contains(report.Notes, note) || !strings.Contains(r.out, "not judged: the time budget of 1ms is used up") {
		t.Errorf("the notes are %q, and it says:\n%s", report.Notes, r.out)
	}
	for _, result := range report.Results {
		if result.Verdict == requirement.NotApplicable && strings.HasSuffix(result.Reason, "not judged: the time budget of 1ms is used up") {
			return
		}
	}
	t.Errorf("no requirement is left out: %v", report.Counts)
}

// TestNothingApplicable has a selection of which nothing can be judged: that is no success.
func TestNothingApplicable(t *testing.T) {
	t.Parallel()
	url, ca := serving(t)
	r := invoke(t, "check", url, "--ca-file", ca, "--server-name", "other", "--filter", "webhook.conversion,webhook.metadata")
	r.exits(t, exitUnjudged)
	report := r.report(t)
	if n := len(report.Results); report.Outcome != reports.Unjudged || n == 0 || report.Counts[requirement.NotApplicable] != n || !strings.HasPrefix(reporter.Headline(report), fmt.Sprintf("Could not judge: none of %d requirements is applicable: ", n)) {
		t.Errorf("%s with %v: %s", report.Outcome, report.Counts, reporter.Headline(report))
	}
}

// TestStandardInput reads definitions that are piped.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	p := prepare(t, t.TempDir(), "check", "https://127.0.0.1:1/convert", "--crd", "-")
	p.cmd.Stdin = strings.NewReader("apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n")
	p.begin(t)
	r := p.end()
	r.exits(t, exitUsage)
	if !strings.Contains(r.err, "--crd: no CustomResourceDefinition in /dev/stdin") {
		t.Errorf("it says %q", r.err)
	}
}
