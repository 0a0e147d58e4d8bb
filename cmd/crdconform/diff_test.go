package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/hostile"
)

// TestDiffInterrupted interrupts a comparison when the second build was asked ten times and does not answer any more. Both have answered
// no more than that.
func TestDiffInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	handler, hangs := hostile.Hanging(10)
	go func() {
		<-hangs
		interrupt()
	}()
	urlA, caA := serve(t, webhook.Handler(), nil)
	urlB, caB := serve(t, handler, nil)
	var out, errs strings.Builder
	code := execute(ctx, []string{"diff", urlA, urlB, "--set", "diff.caFileA=" + caA, "--set", "diff.caFileB=" + caB, "--crd", definitionFile}, streams{out: &out, err: &errs})
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
