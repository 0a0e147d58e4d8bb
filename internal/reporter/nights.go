package reporter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Nights are the runs of a folder that are about the same thing, the oldest first.
type Nights struct {
	About   string  // what they are about
	Runs    []Night // each is one
	LeftOut []string
}

// Night is one run.
type Night struct {
	*reports.Report

	Name string // of its file, without .json, or of its folder
	Page string // of the run, relative to the folder; empty if it is not there
}

// keptReason is how much of a reason is kept of a night.
const keptReason = 300

// AddNight puts a run into a folder, without its evidence: what the page of all nights needs of it.
func AddNight(dir string, r *reports.Report) error {
	short := *r
	short.Results, short.Artifacts, short.Changes, short.Notes, short.Upgrade, short.Disruptions = nil, nil, nil, nil, nil, nil
	for _, result := range r.Results {
		short.Results = append(short.Results, reports.Result{
			Requirement: requirement.Requirement{ID: result.ID, Level: result.Level, Binds: result.Binds}, Subject: result.Subject,
			Verdict: result.Verdict, Immaterial: result.Immaterial, Reason: visible.Cut(result.Reason, keptReason), Seconds: result.Seconds,
		})
	}
	if r.Load != nil {
		load := *r.Load
		load.Stages = slices.Clone(load.Stages)
		for i := range load.Stages {
			load.Stages[i].Findings, load.Stages[i].Series = nil, nil
		}
		short.Load = &load
	}
	if r.Webhook != nil {
		webhook := *r.Webhook
		webhook.Kinds = slices.Clone(webhook.Kinds)
		for i := range webhook.Kinds {
			webhook.Kinds[i].Coverage = nil
		}
		short.Webhook = &webhook
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(&short); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// A job that is killed leaves no half of a night.
	name := filepath.Join(dir, r.Started.UTC().Format("2006-01-02T150405.000Z")+".json")
	if err := os.WriteFile(name+".new", b.Bytes(), 0o644); err != nil { //nolint:gosec // it has no secrets, and is to be served
		_ = os.Remove(name + ".new") // if it is there: it may be what could not be made
		return err
	}
	return os.Rename(name+".new", name)
}

// ReadNights reads the runs in a folder: the reports that AddNight left, and the folders of runs. It fails if there is none. What is no
// report, or is about something else than the last one, is left out with the reason.
func ReadNights(dir string) (*Nights, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such folder", dir)
	}
	if err != nil {
		return nil, err
	}
	n := &Nights{}
	for _, entry := range entries {
		night, err := readNight(dir, entry)
		switch {
		case err != nil:
			n.LeftOut = append(n.LeftOut, fmt.Sprintf("%s: %v", entry.Name(), err))
		case night != nil:
			n.Runs = append(n.Runs, *night)
		}
	}
	if len(n.Runs) == 0 {
		return nil, fmt.Errorf("%s has no report%s", dir, joined("", "; ", strings.Join(n.LeftOut[:min(len(n.LeftOut), 3)], "; ")))
	}
	slices.SortStableFunc(n.Runs, func(a, b Night) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	n.once()
	n.alike()
	return n, nil
}

// readNight reads an entry of the folder; nil if it is none of ours.
func readNight(dir string, entry fs.DirEntry) (*Night, error) {
	name := entry.Name()
	night := &Night{Name: strings.TrimSuffix(name, ".json")}
	switch {
	case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".new"):
		return nil, nil //nolint:nilnil // it is left out without a word
	case entry.IsDir():
		if _, err := os.Stat(filepath.Join(dir, name, layout.Report)); err != nil {
			return nil, errors.New("the folder has no report.json")
		}
		if _, err := os.Stat(filepath.Join(dir, name, "report.html")); err == nil {
			night.Page = path.Join(name, "report.html")
		}
		name = filepath.Join(name, layout.Report)
	case filepath.Ext(name) != ".json":
		return nil, nil //nolint:nilnil // such as the page itself
	}
	r, err := reports.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), filepath.Join(dir, name)+": "))
	}
	night.Report = r
	return night, nil
}

// once leaves each run once: one may be there as a folder, too, which has more to show.
func (n *Nights) once() {
	at := map[time.Time]int{}
	var kept []Night
	for _, night := range n.Runs {
		i, known := at[night.Started]
		switch {
		case !known || kept[i].Seed != night.Seed || kept[i].Command != night.Command:
			at[night.Started] = len(kept)
			kept = append(kept, night)
		case night.Page != "":
			kept[i] = night
		}
	}
	n.Runs = kept
}

// alike leaves the runs that are about the same as the last one.
func (n *Nights) alike() {
	n.About = about(n.Runs[len(n.Runs)-1].Report)
	n.Runs = slices.DeleteFunc(n.Runs, func(night Night) bool {
		other := about(night.Report)
		if other != n.About {
			n.LeftOut = append(n.LeftOut, fmt.Sprintf("%s: it is about %s, and the last run about %s; give each a folder of its own", night.Name, other, n.About))
		}
		return other != n.About
	})
}

// about says what a run is about.
func about(r *reports.Report) string {
	var kinds []string
	if r.Webhook != nil {
		for _, k := range r.Webhook.Kinds {
			kinds = append(kinds, k.Definition)
		}
	}
	slices.Sort(kinds)
	of := func(area string) bool {
		return slices.ContainsFunc(r.Results, func(result reports.Result) bool { return result.ID.Area() == area })
	}
	switch {
	case of("doctor"):
		return "the definitions of a cluster"
	case len(kinds) > 0 && !of("versions"):
		return "the webhook of " + strings.Join(slices.Compact(kinds), ", ")
	case r.Cluster != nil:
		return "an API server (" + r.Cluster.Name + ")"
	case len(kinds) > 0:
		return "the webhook of " + strings.Join(slices.Compact(kinds), ", ")
	}
	return "a webhook"
}

// Condition is what becomes of a requirement over the nights.
type Condition string

// The conditions.
const (
	Fresh  Condition = "new"    // it failed in the last night, and not in the one before
	Broken Condition = "broken" // it fails, and did in the nights before
	Flaky  Condition = "flaky"  // it fails and passes by turns
	Mended Condition = "mended" // it failed, and passes
)

const (
	// lately is how many nights decide whether a requirement is flaky.
	lately = 30

	// settled is how many nights in a row make a failure that came and went before a broken requirement.
	settled = 7
)

// Trouble is a requirement that failed in a night.
type Trouble struct {
	ID        requirement.ID
	Subject   string
	Condition Condition
	Since     int    // the first night of the last failure
	Bad       int    // nights in which it failed
	Judged    int    // nights in which it was judged
	Strip     string // a letter for each night
	Reason    string // of the first night of the last failure
}

// letters stand for verdicts in strips.
func letter(r *reports.Report, result reports.Result) byte {
	switch {
	case r.Failing(result):
		return 'F'
	case result.Verdict == requirement.Errored || result.Verdict == requirement.Unknown:
		return 'E'
	case result.Verdict == requirement.NotApplicable:
		return '-'
	case result.Verdict == requirement.Tolerated:
		return 't'
	}
	return '.'
}

// Troubles returns the requirements that failed, or could not be judged, in a night: those that fail now first, and of them the latest.
func (n *Nights) Troubles() []Trouble {
	type key struct {
		id      requirement.ID
		subject string
	}
	strips, reasons := map[key][]byte{}, map[key][]string{}
	var order []key
	for i, night := range n.Runs {
		for _, result := range night.Results {
			k := key{result.ID, result.Subject}
			if strips[k] == nil {
				strips[k], reasons[k] = bytes.Repeat([]byte{' '}, len(n.Runs)), make([]string, len(n.Runs))
				order = append(order, k)
			}
			strips[k][i], reasons[k][i] = letter(night.Report, result), result.Reason
		}
	}
	var all []Trouble
	for _, k := range order {
		t := diagnose(string(strips[k]))
		if t.Bad == 0 {
			continue
		}
		t.ID, t.Subject, t.Reason = k.id, k.subject, reasons[k][t.Since]
		all = append(all, t)
	}
	rank := []Condition{Fresh, Broken, Flaky, Mended}
	slices.SortStableFunc(all, func(a, b Trouble) int {
		return cmp.Or(slices.Index(rank, a.Condition)-slices.Index(rank, b.Condition), b.Since-a.Since)
	})
	return all
}

// diagnose says what becomes of a requirement, by the letters of its nights. Nights in which it was not judged say nothing.
func diagnose(strip string) Trouble {
	t := Trouble{Strip: strip, Since: -1}
	bad := func(i int) bool { return strip[i] == 'F' || strip[i] == 'E' }
	var judged []int
	for i := range strip {
		if strip[i] != ' ' && strip[i] != '-' {
			judged = append(judged, i)
		}
	}
	t.Judged = len(judged)
	failures, row := 0, 0 // failures that began lately; nights in a row that fail at the end
	for n, i := range judged {
		if !bad(i) {
			row = 0
			continue
		}
		t.Bad++
		if row++; row == 1 {
			t.Since = i
			if n >= len(judged)-lately {
				failures++
			}
		}
	}
	switch {
	case t.Bad == 0:
	case failures > 1 && row < settled:
		t.Condition = Flaky
	case row > 1:
		t.Condition = Broken
	case row == 1:
		t.Condition = Fresh
	default:
		t.Condition = Mended
	}
	return t
}

// trend is a statistic of a stage over the nights.
type trend struct {
	Name  string
	Times []float64 // in milliseconds, by night; 0 where it was not measured
	Low   []float64 // of the noise
	High  []float64
	Out   []bool // slower than the noise
}

// measured is in how many nights it was measured.
func (t *trend) measured() int {
	return len(slices.DeleteFunc(slices.Clone(t.Times), func(v float64) bool { return v == 0 }))
}

// trends returns the times of each stage.
func (n *Nights) trends() []trend {
	at := map[string]int{}
	var all []trend
	for i, night := range n.Runs {
		if night.Load == nil {
			continue
		}
		seen := map[string]bool{}
		for _, s := range night.Load.Stages {
			for _, statistic := range []string{"p50", "p99"} {
				name := cmp.Or(s.Name, night.Load.Profile, "load") + ", " + statistic
				if seen[name] || s.Requests == 0 {
					continue
				}
				seen[name] = true
				if _, known := at[name]; !known {
					at[name] = len(all)
					all = append(all, trend{Name: name, Times: make([]float64, len(n.Runs))})
				}
				all[at[name]].Times[i] = statisticOf(s.Response, statistic)
			}
		}
	}
	for i := range all {
		all[i].band()
	}
	return all
}

func statisticOf(t loadgen.Times, name string) float64 {
	if name == "p50" {
		return t.P50
	}
	return t.P99
}

const (
	bandNights = 14  // that say what the noise is
	bandLeast  = 5   // fewer say nothing
	bandWidth  = 4.4 // three standard deviations, in median absolute deviations
)

// band computes what is noise: from the nights before, the median and how far they are from it in the middle.
func (t *trend) band() {
	t.Low, t.High, t.Out = make([]float64, len(t.Times)), make([]float64, len(t.Times)), make([]bool, len(t.Times))
	var before []float64
	for i, now := range t.Times {
		if len(before) >= bandLeast {
			middle := median(before)
			var off []float64
			sum := 0.0
			for _, v := range before {
				off = append(off, max(v-middle, middle-v))
				sum += max(v-middle, middle-v)
			}
			// If most nights are the same, the others still say that there is noise. Nights that differ by nothing are no proof that
			// there is none.
			width := max(bandWidth*median(off), 3*sum/float64(len(off)), middle*0.05)
			t.Low[i], t.High[i] = max(middle-width, 0), middle+width
			t.Out[i] = now > t.High[i]
		}
		if now > 0 {
			before = append(before, now)
			before = before[max(0, len(before)-bandNights):]
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
