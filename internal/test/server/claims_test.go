package server_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/test/figures"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
)

// BenchmarkClaims measures what the project promises of whole commands. make bench runs it, and prints one table of all claims.
func BenchmarkClaims(b *testing.B) {
	figures.Measure(b, "embedded", measureEmbedded)
	figures.Measure(b, "run", measureRuns)
	figures.Measure(b, "check", measureChecks)
	figures.Measure(b, "storage", measureStorage)
	figures.Measure(b, "migration", measureMigration)
	figures.Measure(b, "kind", func(*testing.B) []figures.Claim {
		return []figures.Claim{{What: "first spec on a new kind cluster", Asked: 45, Unit: "s", Missing: "it needs Docker and a node image; make test-kind runs there"}}
	})
	figures.Measure(b, "requirements", func(*testing.B) []figures.Claim {
		return []figures.Claim{{What: "requirements with a spec", Asked: 240, AtLeast: true, Measured: float64(len(suites.Preview(chapters.Run())))}}
	})
}

// times is how often commands are run.
const times = 3

// paced measures something, and says how much slower the machine was meanwhile than a quiet one.
func paced(b *testing.B, measure func()) figures.Pace {
	b.Helper()
	pace, err := figures.Paced(measure)
	if err != nil {
		b.Fatal(err)
	}
	return pace
}

func measureEmbedded(b *testing.B) []figures.Claim {
	b.Helper()
	const starts = 9
	var ready, gone []float64
	pace := paced(b, func() {
		for range starts {
			began := time.Now()
			c, err := embedded.Start(b.Context(), embedded.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ready = append(ready, time.Since(began).Seconds())
			began = time.Now()
			if err := c.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			gone = append(gone, time.Since(began).Seconds())
		}
	})
	how := func(seconds float64) string {
		return fmt.Sprintf("median of %d, %.2g s here; %s", starts, seconds, pace)
	}
	return []figures.Claim{
		{What: "embedded API server ready", Asked: 1, Measured: median(ready) / pace.Wall, Unit: "s quiet", How: how(median(ready))},
		{What: "embedded API server stopped", Asked: 1.5, Measured: median(gone) / pace.Wall, Unit: "s quiet", How: how(median(gone))},
	}
}

// measureRuns runs the whole of crdconform run as a user would.
func measureRuns(b *testing.B) []figures.Claim {
	b.Helper()
	dir := b.TempDir()
	program := compiled(b)
	var conformance, quiet, memory, page []float64
	for range times {
		cmd := exec.CommandContext(b.Context(), program, "run", "--report-dir", dir)
		pace := paced(b, func() {
			// A load says nothing where other programs have the processors, and is not what is measured.
			if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 {
				b.Fatalf("%v\n%s", err, out)
			}
		})
		report, err := reports.ReadFile(dir)
		if err != nil {
			b.Fatal(err)
		}
		conformance = append(conformance, report.Seconds-report.Load.Stages[0].Seconds)
		quiet = append(quiet, conformance[len(conformance)-1]/pace.Wall)
		html, err := os.Stat(filepath.Join(dir, "report.html"))
		if err != nil {
			b.Fatal(err)
		}
		page = append(page, float64(html.Size())/1e6)
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("this system does not report how much memory a process had")
		}
		memory = append(memory, float64(usage.Maxrss)/1024) // Linux counts in KiB
	}
	most := fmt.Sprintf("most of %d", times)
	return []figures.Claim{
		{What: "crdconform run without the load", Asked: 45, Measured: slices.Max(quiet), Unit: "s quiet", How: fmt.Sprintf("%s, %.3g s here, with start and stop", most, slices.Max(conformance))},
		{What: "its report.html", Asked: 1.5, Measured: slices.Max(page), Unit: "MB", How: most},
		{What: "memory of crdconform run", Asked: 500, Measured: slices.Max(memory), Unit: "MiB", How: most + ", resident"},
		measurePage(b, filepath.Join(dir, "report.html")),
	}
}

// measurePage has Chromium show a page, and takes its word for how long that takes, from where it begins to go there. Its own start does
// not count. Where there is no Chromium nothing is measured.
func measurePage(b *testing.B, page string) figures.Claim {
	b.Helper()
	claim := figures.Claim{What: "its report.html shown by Chromium", Asked: 1000, Unit: "ms quiet"}
	chromium := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			chromium = found
		}
	}
	if chromium == "" {
		claim.Missing = "there is no Chromium on PATH"
		return claim
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
	pace := paced(b, func() {
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
	})
	claim.Measured = slices.Max(all) / pace.Wall
	claim.How = fmt.Sprintf("loaded and painted, most of %d, %.3g ms here; %s", times, slices.Max(all), pace)
	return claim
}

// measureChecks checks the webhook of a wide definition, 200 fields at each of three versions, by its schemas alone.
func measureChecks(b *testing.B) []figures.Claim {
	b.Helper()
	dir := b.TempDir()
	program, subject := compiled(b), subjects.Build(b, subjects.Wide)
	endpoint := subject.Start(b, "")
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, endpoint.CA, 0o600); err != nil {
		b.Fatal(err)
	}
	var whole, own []float64
	pace := paced(b, func() {
		for range times {
			cmd := exec.CommandContext(b.Context(), program, "check", endpoint.URL, "--ca-file", ca, "--crd", subject.CRD, "--api-server", "none", "--report-dir", dir)
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			whole = append(whole, time.Since(began).Seconds())
			own = append(own, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		}
	})
	const what = "crdconform check of a wide definition"
	how := func(seconds float64) string {
		return fmt.Sprintf("median of %d, %.3g s here; %s", times, seconds, pace)
	}
	return []figures.Claim{
		{What: what, Asked: 10, Measured: median(whole) / pace.Wall, Unit: "s quiet", How: how(median(whole))},
		{What: what + ", processors", Asked: 4.7, Measured: median(own) / pace.Processor, Unit: "s quiet", How: how(median(own))},
	}
}

// compiled is the path of crdconform, built from no commit, so that its version is the one that the documents show.
func compiled(tb testing.TB) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "crdconform")
	if out, err := exec.CommandContext(tb.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../../cmd/crdconform").CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return program
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
