package reporter

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/loopback"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// Merge makes one report of several on the same API server and webhook, such as those of jobs that share the requirements. Names
// are those of the reports, for people. Where several have judged the same requirement, the worst of the verdicts holds. It
// fails when they are about different targets, or have load tests that cannot be merged.
func Merge(names []string, all []*reports.Report) (*reports.Report, error) {
	merged := *all[0]
	merged.Merged, merged.Results, merged.Notes, merged.Artifacts, merged.Changes = nil, nil, nil, nil, nil
	merged.Load, merged.Webhook, merged.Cluster, merged.Upgrade, merged.Disruptions, merged.Error = nil, nil, nil, nil, nil, ""
	merged.Seconds, merged.HarnessSeconds, merged.Spent = 0, 0, nil // each adds its own
	loaded := ""                                                    // the names of those with a load test so far
	for i, r := range all {
		if err := sameTarget(&merged, r, names[0], names[i]); err != nil {
			return nil, err
		}
		one := moved(r, i+1)
		both, err := MergedLoad(merged.Load, one.Load)
		if err != nil {
			return nil, fmt.Errorf("the load tests of %s and %s cannot be merged: %w", loaded, names[i], err)
		}
		merged.Load = both
		if r.Load != nil {
			loaded = strings.TrimPrefix(loaded+" or "+names[i], " or ")
		}
		addRun(&merged, names[i], *one)
	}
	if slices.ContainsFunc(merged.Merged, func(m reports.MergedRun) bool { return m.Seed != merged.Seed }) {
		merged.Seed = 0
	}
	Conclude(&merged)
	return &merged, nil
}

// addRun adds what a run came to.
func addRun(r *reports.Report, name string, one reports.Report) {
	r.Merged = append(r.Merged, reports.MergedRun{
		Report: name, Tool: one.Tool, Command: one.Command, Started: one.Started, Seconds: one.Seconds, Seed: one.Seed, Outcome: one.Outcome,
	})
	if one.Started.Before(r.Started) {
		r.Started = one.Started
	}
	r.Command = strings.Join(commands(r.Merged), "; ")
	r.Seconds, r.HarnessSeconds = r.Seconds+one.Seconds, r.HarnessSeconds+one.HarnessSeconds
	r.Spent = addedUp(r.Spent, one.Spent)
	r.Strict, r.Interrupted = r.Strict || one.Strict, r.Interrupted || one.Interrupted
	r.Cluster = cmp.Or(r.Cluster, one.Cluster)
	r.Webhook = combined(r.Webhook, one.Webhook)
	r.Artifacts, r.Upgrade = append(r.Artifacts, one.Artifacts...), append(r.Upgrade, one.Upgrade...)
	r.Disruptions = append(r.Disruptions, one.Disruptions...)
	for _, note := range one.Notes {
		if !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	if one.Error != "" {
		r.Error = strings.TrimPrefix(r.Error+"\n"+name+": "+one.Error, "\n")
	}
	for _, result := range one.Results {
		at := slices.IndexFunc(r.Results, func(other reports.Result) bool { return other.ID == result.ID && other.Subject == result.Subject })
		switch {
		case at < 0:
			r.Results = append(r.Results, result)
		case explanation.Worse(result.Verdict, r.Results[at].Verdict) > 0:
			r.Results[at] = result
		}
	}
}

func commands(runs []reports.MergedRun) []string {
	var all []string
	for _, run := range runs {
		all = append(all, run.Command)
	}
	return all
}

// sameTarget fails if a report is about another API server or webhook than those merged so far.
func sameTarget(r *reports.Report, other *reports.Report, name, otherName string) error {
	a, b := r.Cluster, other.Cluster
	if a != nil && b != nil && *a != *b {
		return fmt.Errorf("%s is about Kubernetes %s, and %s about %s: they cannot be merged; crdconform report --side-by-side shows them next to each other",
			name, a, otherName, b)
	}
	if r.Webhook == nil || other.Webhook == nil {
		return nil
	}
	if x, y := webhookPlace(r.Webhook), webhookPlace(other.Webhook); x != y {
		return fmt.Errorf("%s is about the webhook at %s, and %s about the one at %s: they cannot be merged", name, visible.Text(x), otherName, visible.Text(y))
	}
	if isLocal(r.Webhook) {
		if err := sameProgram(r.Webhook, other.Webhook, name, otherName); err != nil {
			return err
		}
	}
	for _, x := range r.Webhook.Kinds {
		for _, y := range other.Webhook.Kinds {
			if sameKind(x, y) && !slices.Equal(x.Versions, y.Versions) {
				return fmt.Errorf("%s is about %s, and %s about %s: they cannot be merged", name, visible.Text(kindText(x)), otherName, visible.Text(kindText(y)))
			}
		}
	}
	return nil
}

// sameProgram fails when webhooks on a machine of their own, whose ports say nothing, are distinguished by something else: the program
// that was started with its arguments, or the definitions.
func sameProgram(r, other *reports.Webhook, name, otherName string) error {
	if x, y := r.Program, other.Program; x != "" && y != "" && x != y {
		return fmt.Errorf("%s is about the program %s, and %s about %s: they cannot be merged", name, visible.Text(x), otherName, visible.Text(y))
	}
	if x, y := definitions(r), definitions(other); x != "" && y != "" && x != y {
		return fmt.Errorf("%s is about %s, and %s about %s: they cannot be merged", name, visible.Text(x), otherName, visible.Text(y))
	}
	return nil
}

// definitions returns the definitions that a webhook was judged with, sorted by name.
func definitions(w *reports.Webhook) string {
	var all []string
	for _, k := range w.Kinds {
		text := fmt.Sprintf("%s of %s at %s", k.Kind, k.Group, strings.Join(k.Versions, ", "))
		if k.Definition != "" {
			text = k.Definition + ": " + text
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// sameKind reports whether two kinds are of the same definition.
func sameKind(k reports.Kind, other reports.Kind) bool {
	return k.Definition == other.Definition && k.Group == other.Group && k.Kind == other.Kind
}

// webhookPlace is where the webhook is; nowhere when there is none. Ports of this machine are left out, as programs that are started get
// another one each time.
func webhookPlace(w *reports.Webhook) string {
	if w == nil {
		return ""
	}
	u, err := url.Parse(w.URL)
	switch {
	case err != nil:
		return w.URL
	case isLocal(w):
		return u.Hostname() + u.Path
	}
	return u.Host + u.Path
}

// isLocal reports whether the webhook is on the machine that judged it.
func isLocal(w *reports.Webhook) bool {
	u, err := url.Parse(w.URL)
	return err == nil && loopback.Is(u.Hostname())
}

// combined returns a webhook that was judged with the kinds of both.
func combined(w *reports.Webhook, other *reports.Webhook) *reports.Webhook {
	if w == nil || other == nil {
		return cmp.Or(w, other)
	}
	both := *w
	both.Kinds = slices.Clone(w.Kinds)
	for _, kind := range other.Kinds {
		if !slices.ContainsFunc(both.Kinds, func(other reports.Kind) bool { return sameKind(kind, other) }) {
			both.Kinds = append(both.Kinds, kind)
		}
	}
	return &both
}

// Detach makes the report name its files without linking to them, for a format that is written elsewhere.
func Detach(r *reports.Report) {
	for _, file := range r.Files() {
		file.Missing = true
	}
	r.Apart = true
	if r.Load != nil {
		r.Load.Apart = true
	}
}

// moved is a report whose files are in a folder of their own, below the one for their sort, so that those of several reports
// do not meet.
func moved(r *reports.Report, n int) *reports.Report {
	copied := *r
	copied.Results, copied.Artifacts = slices.Clone(r.Results), slices.Clone(r.Artifacts)
	for i := range copied.Results {
		result := &copied.Results[i]
		result.Files = movedFiles(result.Files, n, func(from, to string) { result.Curl = strings.ReplaceAll(result.Curl, from, to) })
	}
	copied.Artifacts = movedFiles(copied.Artifacts, n, func(string, string) {})
	copied.Load = movedFindings(r.Load, n)
	return &copied
}

func movedFiles(files []reports.File, n int, note func(from, to string)) []reports.File {
	files = slices.Clone(files)
	for i := range files {
		from := files[i].Path
		dir, rest, found := strings.Cut(from, "/")
		if !found {
			continue
		}
		files[i].Path = path.Join(dir, fmt.Sprintf("run-%d", n), rest)
		note(from, files[i].Path)
	}
	return files
}
