// Package objective is what users allow a disruption to cost: how long recovery takes, and how much fails, is lost or is wrong.
package objective

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit is what one scenario may cost. Without a limit (nil) the figure is reported and decides nothing.
type Limit struct { //nolint:recvcheck // a value, whose numbers only this package changes
	Recovery *time.Duration `json:"recovery,omitempty"` // from the end of the fault, or from ready where that is known
	Failed   *int           `json:"failed,omitempty"`   // operations
	Lost     *int           `json:"lost,omitempty"`     // acknowledged writes
	Wrong    *int           `json:"wrong,omitempty"`    // conversions
}

// Empty reports whether there is no limit.
func (l Limit) Empty() bool { return l == Limit{} }

// String writes the limits as in files.
func (l Limit) String() string {
	var all []string
	if l.Recovery != nil {
		all = append(all, recovery+"="+l.Recovery.String())
	}
	for _, n := range l.numbers() {
		if *n.limit != nil {
			all = append(all, n.name+"="+strconv.Itoa(**n.limit))
		}
	}
	return strings.Join(all, ", ")
}

// The presets.
const (
	Rolling = "rolling" // two replicas or more: no client has an error in a rollout
	Single  = "single"  // one replica: all is as before within 10 s of ready
)

// presets returns what a preset stands for; nil if there is none of the name.
func presets(name string) []string {
	switch name {
	case Rolling:
		return []string{"disruption.replicas.rollout.failed=0", "disruption.replicas.rollout.lost=0", "disruption.replicas.rollout.wrong=0"}
	case Single:
		return []string{"disruption.restart.recovery=10s", "disruption.restart.lost=0", "disruption.restart.wrong=0"}
	}
	return nil
}

const recovery = "recovery"

// number is a limit that is a number.
type number struct {
	name  string
	limit **int
}

func (l *Limit) numbers() []number {
	return []number{{"failed", &l.Failed}, {"lost", &l.Lost}, {"wrong", &l.Wrong}}
}

// Area is what the IDs of scenarios begin with.
const Area = "disruption."

// Set is a list of objectives, the later ones in the place of the earlier.
type Set struct{ rules []rule }

// rule is an objective of some scenarios.
type rule struct {
	pattern string // ID of a scenario or of a part of the area; empty for all
	figure  string
	limit   string
}

// Parse reads objectives: rolling, single, or [SCENARIO.]FIGURE=LIMIT such as restart.graceful.recovery=5s, for a scenario, for all of
// restart, or for all. The scenarios are the IDs of all that there are. The error is about the first that is wrong.
func Parse(texts, scenarios []string) (Set, error) {
	var s Set
	for _, text := range texts {
		rules := []string{text}
		if preset := presets(text); preset != nil {
			rules = preset
		}
		for _, one := range rules {
			r, err := parse(one, scenarios)
			if err != nil {
				return Set{}, err
			}
			s.rules = append(s.rules, r)
		}
	}
	return s, nil
}

func parse(text string, scenarios []string) (rule, error) {
	name, limit, hasLimit := strings.Cut(text, "=")
	scenario, figure, hasScenario := cutLast(name)
	r := rule{figure: figure, limit: limit}
	switch {
	case !hasLimit && presets(name) == nil && !strings.ContainsAny(name, ".") && !isFigure(name):
		return rule{}, fmt.Errorf("unknown objective %q (want %s, %s, or SCENARIO.FIGURE=LIMIT such as restart.graceful.recovery=5s)", text, Rolling, Single)
	case presets(name) != nil:
		return rule{}, fmt.Errorf("the preset %s has its own limits; write only %s", name, name)
	case !isFigure(figure):
		return rule{}, fmt.Errorf("unknown figure %q in %q (want recovery, failed, lost or wrong)", figure, text)
	case hasScenario && scenario == "":
		return rule{}, fmt.Errorf("%q names no scenario; write %s for all, or restart.%s for some", text, figure, figure)
	case limit == "":
		return rule{}, fmt.Errorf("%q has no limit; write %s=%s", text, name, example(figure))
	}
	if hasScenario {
		r.pattern = Area + strings.TrimPrefix(scenario, Area)
		if scenario == strings.TrimSuffix(Area, ".") {
			r.pattern = ""
		}
		if !slices.ContainsFunc(scenarios, r.holds) {
			return rule{}, fmt.Errorf("unknown scenario %q in %q; \"crdconform list --filter disruption\" shows all", scenario, text)
		}
	}
	if err := r.apply(new(Limit)); err != nil {
		return rule{}, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

// cutLast cuts a name at its last dot.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

func isFigure(name string) bool {
	return name == recovery || slices.ContainsFunc(new(Limit).numbers(), func(n number) bool { return n.name == name })
}

func example(figure string) string {
	if figure == recovery {
		return "5s"
	}
	return "0"
}

// holds reports whether an objective is about a scenario.
func (r rule) holds(scenario string) bool {
	return r.pattern == "" || scenario == r.pattern || strings.HasPrefix(scenario, r.pattern+".")
}

// apply sets the limit of an objective.
func (r rule) apply(l *Limit) error {
	if r.figure == recovery {
		d, err := time.ParseDuration(r.limit)
		switch {
		case err != nil && isNumber(r.limit):
			return fmt.Errorf("%s has no unit; write %ss or %sms", r.limit, r.limit, r.limit)
		case err != nil:
			return fmt.Errorf("%s is not a duration; write it as 500ms, 5s or 1m30s", strconv.Quote(r.limit))
		case d < 0:
			return fmt.Errorf("%s is negative; a duration is 0s or more", r.limit)
		}
		l.Recovery = &d
		return nil
	}
	n, err := strconv.Atoi(r.limit)
	if err != nil || n < 0 {
		return fmt.Errorf("%s is not a number of 0 or more; write %s=0 to allow none", strconv.Quote(r.limit), r.figure)
	}
	for _, each := range l.numbers() {
		if each.name == r.figure {
			*each.limit = &n
		}
	}
	return nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// For returns what a scenario may cost.
func (s Set) For(scenario string) Limit {
	var l Limit
	for _, r := range s.rules {
		if r.holds(scenario) {
			_ = r.apply(&l) // Parse has tried it
		}
	}
	return l
}

// Chosen returns the scenarios that texts name: an ID, or all that begin with the text; all if there are no texts.
func Chosen(texts, scenarios []string) []string {
	var all []string
	for _, id := range scenarios {
		if len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool {
			name := Area + strings.TrimPrefix(text, Area)
			return text+"." == Area || id == name || strings.HasPrefix(id, name+".")
		}) {
			all = append(all, id)
		}
	}
	return all
}
