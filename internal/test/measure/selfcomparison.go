package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
)

const (
	serving = "serve"              // makes this program the webhook
	effort  = 4 * time.Millisecond // that a request takes the webhook
	slower  = 1.3                  // times as much it takes the other build
	found   = 0.9                  // of the slower builds must be found
)

// selfComparison shows how often a comparison of load tests is wrong. It compares real load tests of one build of a webhook with
// each other, none of which may be called a regression, and with those of a build that does 30 % more, which must be. Its arguments are
// the program crdconform, the repeats of each load test, and how many comparisons of each kind are made.
func selfComparison(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 && args[0] == serving {
		rounds, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return serve(ctx, rounds, in, out)
	}
	if len(args) != 4 {
		return errors.New("it requires the program crdconform, the number of repeats, and how many comparisons with the same and with a slower build to make")
	}
	e := experiment{program: args[0], repeat: args[1], rounds: calibrated(), out: out}
	var counts [2]int
	for i, text := range args[2:] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("%s comparisons: want a number of 0 or more", text)
		}
		counts[i] = n
	}
	return e.run(ctx, counts[0], counts[1])
}

// work is what a webhook does in so many rounds.
func work(rounds int) {
	var block [sha256.Size]byte
	for range rounds {
		block = sha256.Sum256(block[:])
	}
}

// calibrated returns how many rounds take the effort of a request here.
func calibrated() int {
	const some = 200_000
	began := time.Now()
	work(some)
	return max(int(float64(some)*float64(effort)/float64(time.Since(began))), 1)
}

// served is what a webhook says of itself.
type served struct {
	URL string `json:"url"`
	CA  []byte `json:"ca"`
}

// serve is a webhook that does so many rounds of work for each request, until its input ends.
func serve(ctx context.Context, rounds int, in io.Reader, out io.Writer) error {
	correct := webhook.Handler()
	server, err := webhook.Start(ctx, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work(rounds)
		correct.ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	err = json.NewEncoder(out).Encode(served{server.URL, server.CA})
	_, ended := io.Copy(io.Discard, in)
	return errors.Join(err, ended, server.Close())
}

// experiment makes comparisons.
type experiment struct {
	program, repeat string
	rounds          int
	out             io.Writer
}

// verdict is what came of a comparison.
type verdict string

const (
	same      verdict = "no regression"
	regressed verdict = "regression"
	undecided verdict = "undecided"
)

func (e experiment) run(ctx context.Context, alike, unlike int) error {
	alarms, err := e.compare(ctx, "the same build", alike, e.rounds)
	if err != nil {
		return err
	}
	finds, err := e.compare(ctx, "a build that is 30 % slower", unlike, int(slower*float64(e.rounds)))
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\nthe same build: %d compared, %d false alarms, %d undecided\n", alike, alarms[regressed], alarms[undecided])
	fmt.Fprintf(e.out, "a build that is 30 %% slower: %d compared, %d found, %d undecided\n", unlike, finds[regressed], finds[undecided])
	return judge(alike, unlike, alarms, finds)
}

// judge fails if there are false alarms, or too many slower builds were not found. No comparison shows nothing.
func judge(alike, unlike int, alarms, finds map[verdict]int) error {
	switch {
	case alike+unlike == 0:
		return errors.New("nothing was compared")
	case alarms[regressed] > 0:
		return fmt.Errorf("%d of %d comparisons of a build with itself are false alarms", alarms[regressed], alike)
	case alike > 0 && alarms[same] == 0:
		return errors.New("no comparison of a build with itself was decided; try a quieter machine")
	case float64(finds[regressed]) < found*float64(unlike):
		return fmt.Errorf("%d of %d slower builds were found", finds[regressed], unlike)
	}
	return nil
}

// compare makes so many comparisons of the build with one that does so many rounds, each from two load tests of its own.
func (e experiment) compare(ctx context.Context, with string, times, rounds int) (map[verdict]int, error) {
	counts := map[verdict]int{}
	for n := range times {
		dir, err := os.MkdirTemp("", "selfcomparison-")
		if err != nil {
			return nil, err
		}
		got, text, err := e.once(ctx, dir, rounds)
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			return nil, err
		}
		counts[got]++
		fmt.Fprintf(e.out, "%s, %d of %d: %s: %s\n", with, n+1, times, got, text)
	}
	return counts, nil
}

// once loads the build and then the other one, and compares.
func (e experiment) once(ctx context.Context, dir string, rounds int) (verdict, string, error) {
	base, now := filepath.Join(dir, "base"), filepath.Join(dir, "now")
	report, err := e.load(ctx, dir, e.rounds, "--report-dir", base)
	if err != nil {
		return "", "", err
	}
	if report.Outcome != reports.Conformant { // it may be void, and is no baseline
		return undecided, "the baseline: " + reporter.Headline(report), nil
	}
	report, err = e.load(ctx, dir, rounds, "--report-dir", now, "--baseline", filepath.Join(base, "report.json"), "--max-regress", "p50=10%", "--max-regress", "p99=10%")
	if err != nil {
		return "", "", err
	}
	got, text := verdictOf(report)
	return got, text, nil
}

// verdictOf returns what a report says of the comparison, with its headline and how much slower the median was.
func verdictOf(report *reports.Report) (verdict, string) {
	texts := []string{reporter.Headline(report)}
	if report.Load == nil || report.Load.Comparison == nil {
		return undecided, texts[0]
	}
	c := *report.Load.Comparison
	decided := true
	for _, row := range c.Rows {
		if row.Limit == "" {
			continue
		}
		if row.Ratio != nil {
			texts = append(texts, fmt.Sprintf("%s %.2fx", row.Statistic, row.Ratio.Value))
		}
		if row.Verdict == compare.Incomparable || row.Verdict == compare.TooFewRepeats || row.Verdict == compare.TooNoisy || row.Verdict == compare.Missing {
			decided = false
		}
	}
	text := strings.Join(texts, "; ")
	switch {
	case len(compare.RegressedRows(c)) > 0:
		return regressed, text
	case !decided || report.Outcome != reports.Conformant:
		return undecided, text
	}
	return same, text
}

// load runs a load test of a build in a process of its own, and returns the report.
func (e experiment) load(ctx context.Context, dir string, rounds int, args ...string) (report *reports.Report, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, program, "self-comparison", serving, strconv.Itoa(rounds)) //nolint:gosec // it is this program
	build.Stderr = os.Stderr
	input, err1 := build.StdinPipe()
	output, err2 := build.StdoutPipe()
	if err = errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err = build.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, input.Close(), build.Wait()) }()
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the webhook did not start: %w", err)
	}
	var s served
	if err = json.Unmarshal(line, &s); err != nil {
		return nil, err
	}
	ca := filepath.Join(dir, "ca.crt")
	if err = os.WriteFile(ca, s.CA, 0o600); err != nil {
		return nil, err
	}
	all := append([]string{"load", s.URL, "--ca-file", ca, "--rate", "50", "--batch", "1", "--duration", "5s", "--repeat", e.repeat}, args...)
	command := exec.CommandContext(ctx, e.program, all...) //nolint:gosec // it is the caller's
	command.Dir = dir
	var said bytes.Buffer
	command.Stdout, command.Stderr = io.Discard, &said
	failed := command.Run() // the exit code is in the report, if there is one
	report, err = reports.ReadFile(filepath.Join(args[1], "report.json"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(all, " "), errors.Join(failed, err), said.String())
	}
	return report, ctx.Err()
}
