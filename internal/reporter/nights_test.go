package reporter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// night is a run in which these requirements fail, of so many.
func night(n, requirements int, p99 float64, failed ...requirement.ID) *reports.Report {
	r := &reports.Report{
		Tool: "v1.0.0", Command: "crdconform check", Seed: int64(n), Seconds: 60, Started: time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC).AddDate(0, 0, n),
		Webhook: &reports.Webhook{URL: fmt.Sprintf("https://127.0.0.1:%d/convert", 3000+n), Kinds: []reports.Kind{{Definition: "widgets.example.com"}}},
	}
	for i, entry := range requirement.All()[:requirements] {
		result := reports.Result{Requirement: entry, Subject: "widgets.example.com", Verdict: requirement.Passed, Spec: "does it", Output: strings.Repeat("x", 1000)}
		if slices.Contains(failed, entry.ID) {
			result.Verdict, result.Reason = requirement.Failed, "it is <lost> in night "+strconv.Itoa(n)
		}
		if i == 0 {
			result.Verdict, result.Reason = requirement.NotApplicable, "no"
		}
		r.Results = append(r.Results, result)
	}
	if p99 > 0 {
		times := loadgen.Times{P50: p99 / 3, P99: p99, Histogram: histogram.Encode(histogram.New())}
		r.Load = &loadgen.Load{Stages: []loadgen.Stage{{Name: "apiserver", Requests: 100, Response: times, Service: times, Lag: times}}}
	}
	Conclude(r)
	return r
}

// added puts nights into a folder, and reads it.
func added(t *testing.T, dir string, all ...*reports.Report) *Nights {
	t.Helper()
	for _, r := range all {
		if err := AddNight(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	n, err := ReadNights(dir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	for strip, want := range map[string]struct {
		condition Condition
		since     int
	}{
		"......":                            {"", -1},
		".....F":                            {Fresh, 5},
		"....FF":                            {Broken, 4},
		"....FE":                            {Broken, 4},
		"F....F":                            {Flaky, 5},
		"..F.F.":                            {Flaky, 4},
		"..F...":                            {Mended, 2},
		"..F --":                            {Fresh, 2}, // what was not judged says nothing
		"F  F F":                            {Broken, 0},
		"F.FFFFFFF":                         {Broken, 2}, // for a week
		"F" + strings.Repeat(".", 40) + "F": {Fresh, 41}, // the other was long ago
	} {
		if got := diagnose(strip); got.Condition != want.condition || got.Since != want.since {
			t.Errorf("%q is %q since %d, want %q since %d", strip, got.Condition, got.Since, want.condition, want.since)
		}
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	slow := trend{Times: []float64{10, 11, 10, 9, 10, 0, 11, 10, 20}}
	slow.band()
	if want := []bool{8: true}; !slices.Equal(slow.Out, want) || slow.High[2] != 0 || slow.High[8] <= 11 || slow.Low[8] >= 10 {
		t.Errorf("slower than the noise: %v, which is from %v to %v", slow.Out, slow.Low, slow.High)
	}
	steady := trend{Times: []float64{10, 10, 10, 10, 10, 10.2}}
	steady.band()
	if slices.Contains(steady.Out, true) {
		t.Errorf("2%% are slower than nights that do not differ: %v", steady.High)
	}
}

// TestNights keeps what the page needs, and each run once.
func TestNights(t *testing.T) {
	t.Parallel()
	ids := requirement.All()
	dir := filepath.Join(t.TempDir(), "history")
	var all []*reports.Report
	for n := range 8 {
		var failed []requirement.ID
		if n >= 6 {
			failed = append(failed, ids[5].ID)
		}
		if n%2 == 1 {
			failed = append(failed, ids[6].ID)
		}
		p99 := 10.0
		if n == 7 {
			p99 = 50
		}
		all = append(all, night(n, 20, p99, failed...))
	}
	// The order in which they come does not matter, nor that one comes twice.
	added(t, dir, all[3], all[0], all[7], all[1], all[2], all[4], all[5], all[6], all[3])
	folder, err := Open(filepath.Join(dir, "last"))
	if err != nil {
		t.Fatal(err)
	}
	if err = folder.Write(all[7]); err != nil {
		t.Fatal(err)
	}
	n, err := ReadNights(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Runs) != 8 || n.Runs[7].Page != "last/report.html" || n.Runs[6].Page != "" || len(n.LeftOut) > 0 {
		t.Errorf("%d nights, left out %v", len(n.Runs), n.LeftOut)
	}
	troubles := n.Troubles()
	if len(troubles) != 2 || troubles[0].ID != ids[5].ID || troubles[0].Condition != Broken || troubles[0].Since != 6 ||
		troubles[1].ID != ids[6].ID || troubles[1].Condition != Flaky || troubles[1].Bad != 4 || troubles[1].Strip != ".F.F.F.F" {
		t.Errorf("%+v", troubles)
	}
	page := string(writtenBy(t, n.HTML))
	for _, want := range []string{
		"the webhook of widgets.example.com: 8 nights from 2026-01-01 to 2026-01-08", `<a href="last/report.html">2026-01-08 03:00</a>`, "it is &lt;lost&gt; in night 6",
		`<a href="#2026-01-07T03-00-00">2026-01-07</a>`, `<tr id="2026-01-07T03-00-00">`, "1 night is slower than that: 2026-01-08", "apiserver, p99",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestNightsOfOthers leaves out what does not belong there, and says why.
func TestNightsOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := night(1, 20, 0)
	other.Webhook.Kinds[0].Definition = "gadgets.example.com"
	whole := night(9, 20, 0)
	added(t, dir, other, night(3, 20, 0), whole)
	half, err := os.ReadFile(filepath.Join(dir, "2026-01-10T030000.000Z.json"))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(half), reports.APIVersion, "crdconform.dev/v2", 1)
	for name, text := range map[string]string{"tool.json": `{"tests": 3}`, "half.json": string(half[:len(half)/2]), "newer.json": newer, "index.html": "<p>", "notes.txt": "", ".hidden.json": "{", "killed.json.new": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	n, err := ReadNights(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tool.json: not a report of crdconform", "half.json: it is truncated", "newer.json: its format is crdconform.dev/v2", "empty: the folder has no report.json",
		"2026-01-02T030000.000Z: it is about the webhook of gadgets.example.com, and the last run about the webhook of widgets.example.com",
	}
	for _, text := range want {
		if !slices.ContainsFunc(n.LeftOut, func(s string) bool { return strings.HasPrefix(s, text) && !strings.Contains(s, "\n") }) {
			t.Errorf("nobody says %q: %q", text, n.LeftOut)
		}
	}
	if len(n.LeftOut) != len(want) || len(n.Runs) != 2 {
		t.Errorf("%d nights, left out %q", len(n.Runs), n.LeftOut)
	}
	for _, dir := range []string{filepath.Join(dir, "empty"), filepath.Join(dir, "nowhere")} {
		if _, err := ReadNights(dir); err == nil || !strings.HasPrefix(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// year is a year of nights in which all requirements fail now and then.
func year() *Nights {
	n := &Nights{About: "the webhook of widgets.example.com"}
	ids := requirement.All()
	for i := range 365 {
		var failed []requirement.ID
		for k := i % 7; k < 700; k += 11 {
			failed = append(failed, ids[k].ID)
		}
		r := night(i, 700, 10+float64(i%5), failed...)
		n.Runs = append(n.Runs, Night{Report: r, Name: strconv.Itoa(i)})
	}
	return n
}

// TestNightsInABrowser shows the page of a year.
func TestNightsInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a year of nights takes some seconds")
	}
	page := writtenBy(t, year().HTML)
	if most := 2_000_000; len(page) > most {
		t.Errorf("the page has %d bytes, at most %d are wanted", len(page), most)
	}
	name := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(name, page, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := visit(t, name)
	until(ctx, t, `document.readyState === "complete"`)
	if rows := evaluated[int](ctx, t, `document.querySelectorAll(".nights tbody tr").length`); rows != 365 {
		t.Errorf("%d rows", rows)
	}
	do(ctx, t, emulated("screen", "light"))
	evaluated[bool](ctx, t, `location.hash = document.querySelector(".troubles a").getAttribute("href"), true`)
	until(ctx, t, `document.querySelector("tr:target") !== null`)
	t.Logf("%d bytes, shown after %.0f ms", len(page), evaluated[float64](ctx, t, `performance.timing.loadEventEnd - performance.timing.navigationStart`))
}

// TestAddNightLeavesNoHalf has a night that cannot be written leave nothing behind. A folder in the place of its file stands for a full disk.
func TestAddNightLeavesNoHalf(t *testing.T) {
	dir, r := t.TempDir(), &reports.Report{Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := os.Mkdir(filepath.Join(dir, "2026-01-02T030405.000Z.json.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := AddNight(dir, r); err == nil {
		t.Error("it was written")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are still %v, %v", left, err)
	}
}

// TestNightsOfCommands has a load test that passes not hide what a check found, and says what it quotes.
func TestNightsOfCommands(t *testing.T) {
	t.Parallel()
	failed := night(1, 20, 0, requirement.All()[5].ID)
	loaded := night(1, 0, 10)
	loaded.Started, loaded.Command, loaded.Load.Profile, loaded.Load.Stages[0].Name = failed.Started.Add(time.Hour), "crdconform load", "constant", ""
	Conclude(loaded)
	page := string(writtenBy(t, added(t, t.TempDir(), failed, loaded).HTML))
	for _, want := range []string{`<h1 class="nonconformant">Does not conform: 1 of 20 requirements failed (2026-01-02 03:00, the last check)</h1>`, ": 2 runs from", ">does not conform<", ">conforms<", "<h2>Runs</h2>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "p99") {
		t.Error("one value has a chart")
	}
	again := *loaded
	again.Started = loaded.Started.AddDate(0, 0, 1)
	mended := night(2, 20, 0)
	page = string(writtenBy(t, added(t, t.TempDir(), failed, loaded, mended, &again).HTML))
	for _, want := range []string{`<h1 class="partial">Conforms`, "<h2>constant, p99</h2>", ">2 runs; grey"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
