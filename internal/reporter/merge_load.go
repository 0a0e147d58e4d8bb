package reporter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
)

// and is between the names of several profiles.
const and = " + "

// MergedLoad returns a load test of the stages of two. Stages of a name that sent the same load count as repeats. It changes neither.
func MergedLoad(l, other *loadgen.Load) (*loadgen.Load, error) {
	if l == nil || other == nil {
		return cmp.Or(l, other), nil
	}
	if err := mergeable(l, other); err != nil {
		return nil, err
	}
	merged, more := clone(l), clone(other)
	if l.Profile != other.Profile {
		merged, more = titled(l), titled(other)
		if profiles := strings.Split(l.Profile, and); !slices.Contains(profiles, other.Profile) {
			merged.Profile = l.Profile + and + other.Profile
		}
	}
	for _, s := range more.Stages {
		for _, known := range merged.Stages {
			if known.Name != s.Name {
				continue
			}
			if what := OtherLoad(known, s); what != "" {
				return nil, fmt.Errorf("both have a stage %q, but %s, %s in one and %s, %s in the other (%s); give them different names in load.stages",
					cmp.Or(s.Name, l.Profile), StageWhen(known), StageWhat(known), StageWhen(s), StageWhat(s), what)
			}
		}
	}
	before := map[string]int{} // repeats of each stage so far
	for _, s := range merged.Stages {
		before[s.Name] = max(before[s.Name], s.Repeat)
	}
	for _, s := range more.Stages {
		s.Repeat += before[s.Name]
		merged.Stages = append(merged.Stages, s)
	}
	for _, o := range more.Objectives {
		if o.Repeat > 0 {
			o.Repeat += before[o.Stage]
		}
		merged.Objectives = append(merged.Objectives, o)
	}
	controls := 0
	for _, s := range merged.Control {
		controls = max(controls, s.Repeat)
	}
	for _, s := range more.Control {
		s.Repeat += controls
		merged.Control = append(merged.Control, s)
	}
	merged.Search, merged.Server = cmp.Or(l.Search, other.Search), cmp.Or(l.Server, other.Server)
	switch {
	case l.Profile != other.Profile && l.Cost != nil && other.Cost != nil:
		merged.Cost = nil // each has its own
	case l.Cost == nil || other.Cost != nil && other.Cost.Object < l.Cost.Object:
		merged.Cost = other.Cost
	}
	merged.ControlWork = cmp.Or(l.ControlWork, other.ControlWork)
	merged.Apart = l.Apart || other.Apart
	return merged, nil
}

// mergeable fails if two load tests cannot become one, whatever their stages.
func mergeable(l, other *loadgen.Load) error {
	switch {
	case l.Comparison != nil || other.Comparison != nil:
		return errors.New("one of them is compared with a baseline; merge load tests without one, and use \"crdconform report --baseline\" on the merged report")
	case l.Search != nil && other.Search != nil:
		return errors.New("both searched for a rate; leave one out")
	case len(l.Control) > 0 && len(other.Control) > 0 && l.ControlWork != other.ControlWork:
		return errors.New("their controls did different work, since different versions of crdconform measured them; measure one of them again")
	case l.Server != nil && other.Server != nil:
		return errors.New("both went through an API server; leave one out")
	}
	return nil
}

// titled returns a load test whose stages have names: those without are called as the profile, as reports call them.
func titled(l *loadgen.Load) *loadgen.Load {
	n := clone(l)
	for i := range n.Stages {
		n.Stages[i].Name = cmp.Or(n.Stages[i].Name, n.Profile)
	}
	for i := range n.Objectives {
		n.Objectives[i].Stage = cmp.Or(n.Objectives[i].Stage, n.Profile)
	}
	return n
}

// clone copies a load test as far as merging changes it.
func clone(l *loadgen.Load) *loadgen.Load {
	c := *l
	c.Stages, c.Objectives, c.Control = slices.Clone(l.Stages), slices.Clone(l.Objectives), slices.Clone(l.Control)
	return &c
}

// movedFindings moves the files of findings under load, as moved does those of results.
func movedFindings(l *loadgen.Load, n int) *loadgen.Load {
	if l == nil {
		return nil
	}
	m := clone(l)
	for i := range m.Stages {
		m.Stages[i].Findings = slices.Clone(m.Stages[i].Findings)
		for j := range m.Stages[i].Findings {
			f := &m.Stages[i].Findings[j]
			f.Files = movedFiles(f.Files, n, func(string, string) {})
		}
	}
	return m
}
