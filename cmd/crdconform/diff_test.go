package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
)

// TestDiffInterrupted interrupts a comparison when the second build was asked ten times and does not answer any more. Both have answered
// no more than that.
func TestDiffInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	handler, hangs := hanging(10)
	go func() {
		<-hangs
		interrupt()
	}()
	urlA, caA := serve(t, webhook.Handler(), nil)
	urlB, caB := serve(t, handler, nil)
	var out, errs strings.Builder
	code := execute(ctx, []string{"diff", urlA, urlB, "--ca-file-a", caA, "--ca-file-b", caB, "--crd", definitionFile}, streams{out: &out, err: &errs})
	says := regexp.MustCompile(`\nInterrupted with (\d+) of (\d+) requests left\n0 differences in (\d+) requests?, `).FindStringSubmatch(out.String())
	if code != exitInterrupted || says == nil || errs.String() != "" {
		t.Fatalf("exit code %d, and it says %q and %q", code, out.String(), errs.String())
	}
	left, err1 := strconv.Atoi(says[1])
	all, err2 := strconv.Atoi(says[2])
	sent, err3 := strconv.Atoi(says[3])
	if err := errors.Join(err1, err2, err3); err != nil || left+sent != all || sent > 10 || left == 0 {
		t.Errorf("%d of %d are left, and %d were sent: %v", left, all, sent, err)
	}
}

// TestDiffText says of each list how many of it are not shown, and how many requests an interruption left, which are not among those
// without an answer.
func TestDiffText(t *testing.T) {
	t.Parallel()
	some := func(n int) []recording.Difference {
		return slices.Repeat([]recording.Difference{{What: recording.FieldDiffers}}, n)
	}
	failures := slices.Repeat([]recording.Failure{{}}, shownMost+4)
	const all = "--output json shows all\n"
	for name, test := range map[string]struct {
		result recording.Comparison
		want   []string
		no     string
	}{
		"more than is shown": {
			recording.Comparison{Differences: some(shownMost + 1), Chance: some(shownMost + 2), Redaction: some(shownMost + 3), Failures: failures},
			[]string{"\nand 1 more; " + all, "not counted: and 2 more; " + all, "not counted: and 3 more; " + all, "failed on both sides: and 4 more; " + all},
			"\x00",
		},
		"all is shown":           {recording.Comparison{Differences: some(shownMost), Chance: some(shownMost), Failures: failures[:shownMost]}, nil, "more"},
		"requests are left":      {recording.Comparison{Requests: 20, Left: 13, Compared: 7, Interrupted: true}, []string{"\nInterrupted with 13 of 20 requests left\n0 differences in 7 requests, "}, "\x00"},
		"some had no answer":     {recording.Comparison{Requests: 20, Left: 13, Compared: 5, Interrupted: true, Uncompared: "why"}, []string{"\n2 requests not compared, the first one because: why\nInterrupted with 13 of 20 "}, "\x00"},
		"with differences":       {recording.Comparison{Requests: 1, Compared: 1, Interrupted: true, Differences: some(1)}, []string{"Interrupted with 0 of 1 request left; some differences may be by chance, because not all were asked about again\n1 difference in 1 request, "}, "\x00"},
		"it was not interrupted": {recording.Comparison{Requests: 20, Compared: 20}, []string{"A: A\nB: B\n\n0 differences in 20 requests, "}, "\x00"},
	} {
		var b strings.Builder
		(&differ{urls: []string{"A", "B"}}).text(&b, test.result)
		for _, want := range test.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: it says\n%swant %q", name, b.String(), want)
			}
		}
		if strings.Contains(b.String(), test.no) {
			t.Errorf("%s: it says\n%s", name, b.String())
		}
	}
}

// TestDiffInterruptedInGenerating has the interruption come before anything is asked.
func TestDiffInterruptedInGenerating(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &differ{crds: []string{definitionFile}}
	d.given.Generate.Objects, d.given.Load.ReviewVersion = 6, "v1"
	exit := (*exitError)(nil)
	if err := d.read(ctx); !errors.As(err, &exit) || exit.code != exitInterrupted || len(d.questions) > 0 {
		t.Errorf("got %v and %d questions", err, len(d.questions))
	}
}

func TestShownValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "nothing", `"a"`: `"a"`, strings.Repeat("é", 200): strings.Repeat("é", 150) + "... (400 bytes)"} {
		var raw json.RawMessage
		if value != "" {
			raw = json.RawMessage(value)
		}
		if got := shownValue(raw); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
