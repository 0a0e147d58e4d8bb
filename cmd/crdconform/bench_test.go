package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/test/subjects"
)

// claim is a figure that the project promises.
type claim struct {
	what           string
	asked          float64
	atLeast        bool // at most otherwise
	measured       float64
	unit, comments string
}

func (c claim) holds() bool {
	if c.atLeast {
		return c.measured >= c.asked
	}
	return c.measured <= c.asked
}

// BenchmarkClaims measures what the project promises, prints one table, and fails when a promise is not kept. Run it on an
// idle machine, by make bench.
func BenchmarkClaims(b *testing.B) {
	for b.Loop() {
		claims := append(measureEmbedded(b), measureRuns(b, 3)...)
		claims = append(claims, measureChecks(b, 3)...)
		claims = append(claims, claim{what: "requirements with a spec", asked: 240, atLeast: true, measured: float64(len(suites.Preview(areas())))})
		var table strings.Builder
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "claim\tasked\tmeasured\t\t\n")
		for _, c := range claims {
			sign, verdict := "<=", "holds"
			if c.atLeast {
				sign = ">="
			}
			if !c.holds() {
				verdict = "MISSED"
				b.Errorf("%s: %.4g %s, want %s %.4g", c.what, c.measured, c.unit, sign, c.asked)
			}
			fmt.Fprintf(w, "%s\t%s %.4g %s\t%.4g %s\t%s\t%s\n", c.what, sign, c.asked, c.unit, c.measured, c.unit, verdict, c.comments)
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		b.Logf("claims:\n%s", table.String())
	}
}

func measureEmbedded(b *testing.B) []claim {
	b.Helper()
	if err := embedded.LogTo(&strings.Builder{}); err != nil {
		b.Fatal(err)
	}
	const times = 9
	var starts, stops []float64
	for range times {
		began := time.Now()
		c, err := embedded.Start(b.Context(), embedded.Options{})
		if err != nil {
			b.Fatal(err)
		}
		starts = append(starts, time.Since(began).Seconds())
		began = time.Now()
		if err := c.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		stops = append(stops, time.Since(began).Seconds())
	}
	comment := fmt.Sprintf("median of %d", times)
	return []claim{
		{what: "embedded API server ready", asked: 1, measured: median(starts), unit: "s", comments: comment},
		{what: "embedded API server stopped", asked: 1.5, measured: median(stops), unit: "s", comments: comment},
	}
}

// measureRuns runs the whole of crdconform run as a user would.
func measureRuns(b *testing.B, times int) []claim {
	b.Helper()
	dir := b.TempDir()
	program := compiled(b)
	var conformance, memory, page []float64
	for range times {
		cmd := exec.CommandContext(b.Context(), program, "run", "--report-dir", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		report := reportIn(b, dir)
		conformance = append(conformance, report.Seconds-report.Load.Stages[0].Seconds)
		html, err := os.Stat(filepath.Join(dir, "report.html"))
		if err != nil {
			b.Fatal(err)
		}
		page = append(page, float64(html.Size())/1e6)
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("this system does not tell how much memory a process had")
		}
		memory = append(memory, float64(usage.Maxrss)/1024) // Linux counts in KiB
	}
	return append(measurePage(b, filepath.Join(dir, "report.html"), times), []claim{
		{what: "crdconform run without the load", asked: 45, measured: slices.Max(conformance), unit: "s", comments: fmt.Sprintf("most of %d, with start and stop", times)},
		{what: "its report.html", asked: 1.5, measured: slices.Max(page), unit: "MB", comments: fmt.Sprintf("most of %d", times)},
		{what: "memory of crdconform run", asked: 700, measured: slices.Max(memory), unit: "MiB", comments: fmt.Sprintf("most of %d", times)},
	}...)
}

// measurePage has Chromium show a page, and takes its word for how long that takes, from where it begins to go there. Its own start does
// not count. Where there is no Chromium it says so, and nothing is claimed.
func measurePage(b *testing.B, page string, times int) []claim {
	b.Helper()
	chromium := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			chromium = found
		}
	}
	if chromium == "" {
		b.Log("how long its report.html takes to be shown was not measured: there is no Chromium on PATH")
		return nil
	}
	home := b.TempDir()
	ctx, cancel := chromedp.NewContext(b.Context(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)))
	defer cancel()
	defer func() {
		if err := chromedp.Cancel(ctx); err != nil {
			b.Errorf("the browser does not end: %v", err)
		}
	}()
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String()
	// Loaded, which includes its script, and painted.
	const shown = `[...performance.getEntriesByType("navigation").map(e => e.loadEventEnd), ...performance.getEntriesByName("first-contentful-paint").map(e => e.startTime)]`
	var all []float64
	for range times {
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			b.Fatal(err)
		}
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](shown+`.filter(ms => ms > 0).length === 2`)); err != nil {
			b.Fatal(err)
		}
		took, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](shown))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, slices.Max(took))
	}
	return []claim{{what: "its report.html shown by Chromium", asked: 1000, measured: slices.Max(all), unit: "ms", comments: fmt.Sprintf("loaded and painted, most of %d", times)}}
}

// measureChecks checks the webhook of a wide definition, 200 fields at each of three versions, by its schemas alone.
func measureChecks(b *testing.B, times int) []claim {
	b.Helper()
	dir := b.TempDir()
	program, subject := compiled(b), subjects.Build(b, subjects.Wide)
	endpoint := subject.Start(b, "")
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, endpoint.CA, 0o600); err != nil {
		b.Fatal(err)
	}
	var whole, own []float64
	for range times {
		cmd := exec.CommandContext(b.Context(), program, "check", endpoint.URL, "--ca-file", ca, "--crd", subject.CRD, "--cluster", "none", "--report-dir", dir)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		whole = append(whole, time.Since(began).Seconds())
		own = append(own, reportIn(b, dir).HarnessSeconds)
	}
	comment := fmt.Sprintf("most of %d, of which crdconform worked %.1f s itself", times, slices.Max(own))
	return []claim{{what: "crdconform check of a wide definition", asked: 10, measured: slices.Max(whole), unit: "s", comments: comment}}
}

// BenchmarkWideCheck measures the claim about checks alone.
func BenchmarkWideCheck(b *testing.B) {
	for b.Loop() {
		for _, c := range measureChecks(b, 3) {
			if !c.holds() {
				b.Errorf("%s takes too long", c.what)
			}
			b.Logf("%s: %.3g %s (<= %g), %s", c.what, c.measured, c.unit, c.asked, c.comments)
		}
	}
}

// compiled is the path of crdconform, as users build it.
func compiled(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "crdconform")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

func reportIn(b *testing.B, dir string) *reports.Report {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		b.Fatal(err)
	}
	var report reports.Report
	if err := json.Unmarshal(data, &report); err != nil {
		b.Fatal(err)
	}
	return &report
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
