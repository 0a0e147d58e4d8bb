package reporter

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

//go:embed load.html
var loadPage string

// Limits of a page. The files next to the page contain everything.
const (
	mostCharted  = 6  // stages with charts
	mostFindings = 10 // findings of a stage
)

// loadView is a load test as the page shows it.
type loadView struct {
	*loadgen.Load
	Stages    []stageView
	Batches   template.HTML // chart over the size of batches, if there are several
	Unshown   string        // what that chart lacks
	Uncharted string        // which stages have charts, if not all do
}

// stageView shows all runs of a workload, or one of them, on the page.
type stageView struct {
	group

	ID             string // of its element; empty for one of several runs
	Outcome, Label string // what became of it, as a class and in words

	Run           loadgen.Stage     // the one that is shown in full
	Came          string            // what became of it, in a sentence
	Curve, Series template.HTML     // charts of it, if there is room for them
	Each          []stageView       // the runs by themselves
	Violations    []violation       // of all runs
	Findings      []loadgen.Finding // the first of all runs
	Unlisted      string            // how many others there are
	Files         []string          // with the times of all runs
	Apart         bool              // the files are not beside the page
}

// violation is a requirement and how many requests violated it.
type violation struct {
	ID    requirement.ID
	Times uint64
}

// runsTable is a table with a row for each workload or run.
type runsTable struct {
	Name    string
	Columns []string
	Rows    []stageView
}

// Table is the table of stages.
func (v *loadView) Table() runsTable { return runsTable{"stage, times in ms", columns(), v.Stages} }

// Table is the table of runs.
func (v stageView) Table() runsTable { return runsTable{"run, times in ms", columns(), v.Each} }

// Facts sums the load test up, without the stages.
func (v *loadView) Facts() []Fact { return loadFacts(v.Load) }

// Limited are the rows of the comparison that have a limit, which are what a run is judged by.
func (v *loadView) Limited() []loadgen.Row {
	return slices.DeleteFunc(slices.Clone(v.Comparison.Rows), func(r loadgen.Row) bool { return r.Limit == "" })
}

// Unlimited are the others.
func (v *loadView) Unlimited() []loadgen.Row {
	return slices.DeleteFunc(slices.Clone(v.Comparison.Rows), func(r loadgen.Row) bool { return r.Limit != "" })
}

// Found says what the search found.
func (v *loadView) Found() string { return searchFound(v.Load) }

// About says what an objective is about.
func (v *loadView) About(t target) string { return objectiveSubject(v.Load, t.Objective) }

// Targets are the objectives.
func (v *loadView) Targets() []target { return targetsOf(v.Load) }

// viewOf prepares a load test for the page.
func viewOf(l *loadgen.Load) (*loadView, error) {
	v := &loadView{Load: l}
	for i, g := range groupsOf(l) {
		stage := stageViewOf(l, g)
		stage.ID = fmt.Sprintf("stage-%d", i+1)
		v.Stages = append(v.Stages, stage)
	}
	charted := v.worstFirst()
	if n := len(charted); n > mostCharted {
		charted = charted[:mostCharted]
		v.Uncharted = fmt.Sprintf("There are charts for %d of %d stages, those with the longest p99. The times of all are in the folder %s.", mostCharted, n, latency)
	}
	for _, stage := range charted {
		var err error
		if stage.Curve, err = curve(stage.Run); err != nil {
			return nil, err
		}
		stage.Series = overTime(stage.Run)
	}
	if n := len(byBatch(l)); n > mostBatches {
		v.Unshown = fmt.Sprintf("The chart has the first %d of %d combinations.", mostBatches, n)
	}
	v.Batches = overBatches(l)
	return v, nil
}

// worstFirst returns the stages with the longest times first.
func (v *loadView) worstFirst() []*stageView {
	var stages []*stageView
	for i := range v.Stages {
		stages = append(stages, &v.Stages[i])
	}
	slices.SortStableFunc(stages, func(a, b *stageView) int { return cmp.Compare(b.Run.Response.P99, a.Run.Response.P99) })
	return stages
}

// stageViewOf prepares the runs of a workload.
func stageViewOf(l *loadgen.Load, g group) stageView {
	v := stageView{group: g, Run: g.Typical(), Apart: l.Apart}
	v.Outcome, v.Label = worstOf(l, g)
	v.Came = stageHeadline(v.Run)
	if why := v.Run.VoidReason; why != "" && strings.Contains(Void(l), why) { // which is given above
		v.Came = strings.TrimSuffix(v.Came, ": "+why)
	}
	if g.Repeated() {
		for _, s := range g.Runs {
			v.Each = append(v.Each, stageViewOf(l, group{Name: strconv.Itoa(s.Repeat), Runs: []loadgen.Stage{s}}))
		}
	}
	violations, bases := map[requirement.ID]uint64{}, bases(l)
	for i, s := range g.Runs {
		for id, n := range s.Violations {
			violations[id] += n
		}
		v.Findings = append(v.Findings, s.Findings...)
		if i < len(g.at) {
			v.Files = append(v.Files, stageFiles(bases[g.at[i]])...)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(violations)) {
		v.Violations = append(v.Violations, violation{id, violations[id]})
	}
	if n := len(v.Findings) - mostFindings; n > 0 {
		v.Findings = v.Findings[:mostFindings]
		v.Unlisted = visible.More(n) + ", all of them in report.json"
	}
	return v
}
