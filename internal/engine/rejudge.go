package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// historyFile is how the names of histories end.
const historyFile = ".jsonl"

// Judged is a history that was judged again.
type Judged struct {
	Result  reports.Result
	Figures *reports.Disruption
}

// Rejudge judges the history in a file, or all in a folder. If there are objectives, they take the place of those in the files. What is
// known to fail is revised as in a run.
func (d Disruption) Rejudge(name string) ([]Judged, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	limits, err := objective.Parse(d.Disrupt.Objectives, scenarioIDs())
	if err != nil {
		return nil, err
	}
	files, err := histories(name)
	if err != nil {
		return nil, err
	}
	p := d.plan()
	var all []Judged
	for _, file := range files {
		h, err := readHistory(file)
		if err != nil {
			return nil, err
		}
		if len(d.Disrupt.Objectives) > 0 {
			h.Header.Objective = limits.For(h.Header.Scenario)
		}
		v, err := disruption.Judge(h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		result := disruptionResult(requirement.ID(h.Header.Scenario), h.Header.Definition.Name, h.Header.Title)
		result.Verdict, result.Reason = p.Revise(result.ID, v.Verdict, v.Reason)
		all = append(all, Judged{result, new(disruptionOf(h, v.Report, result.Subject))})
	}
	return all, nil
}

// histories are the files of histories that a name stands for.
func histories(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%w; give a file that \"crdconform disrupt\" wrote, or the folder histories of its report", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	files, err := filepath.Glob(filepath.Join(name, "*"+historyFile))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no history in it; give the folder histories of a report of \"crdconform disrupt\"", name)
	}
	slices.Sort(files)
	return files, nil
}

func readHistory(file string) (*record.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	h, err := record.Decode(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return h, nil
}

// noticedSilence is for how many seconds a watch may show nothing before that is worth a word.
const noticedSilence = 1

// DisruptionSummary says in a line what came of a scenario.
func DisruptionSummary(result reports.Result, figures *reports.Disruption) string {
	text := string(result.ID) + ": "
	if figures == nil || len(figures.Void) > 0 {
		reason, _, _ := strings.Cut(result.Reason, "\n")
		return text + reason
	}
	var facts []string
	if figures.Failed == 0 {
		facts = append(facts, fmt.Sprintf("none of %d operations failed", figures.Operations))
	} else {
		fact := fmt.Sprintf("%d of %d operations failed", figures.Failed, figures.Operations)
		if figures.FirstFailure != nil {
			fact += ", the first after " + rounded(*figures.FirstFailure)
		}
		facts = append(facts, fact)
	}
	if figures.Recovery != nil {
		facts = append(facts, "recovered "+rounded(*figures.Recovery)+" after the end")
	} else {
		facts = append(facts, "not recovered")
	}
	if figures.Silence > noticedSilence {
		facts = append(facts, "a watch showed nothing for "+rounded(figures.Silence)+" more")
	}
	if figures.Lost > 0 {
		facts = append(facts, fmt.Sprintf("%d lost", figures.Lost))
	}
	if figures.Wrong > 0 {
		facts = append(facts, fmt.Sprintf("%d wrong", figures.Wrong))
	}
	for _, m := range figures.Marks {
		if slices.Contains([]string{disruption.PickedUp, disruption.MemoryLimit, disruption.Memory}, m.Name) {
			facts = append(facts, m.Name+": "+m.Text)
		}
	}
	return text + strings.Join(facts, "; ")
}

// rounded is a time for people.
func rounded(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Millisecond).String()
}
