package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// selection is what the flags say of which requirements to check.
type selection struct {
	filter, skip []string
	knownFailing string // file
	flags        *pflag.FlagSet
}

func (s *selection) bindKnownFailing(flags *pflag.FlagSet) {
	flags.StringVar(&s.knownFailing, "known-failing", "", `file of requirements that are known to fail, one per line as "ID: reason"; one that passes fails the run, unless its line begins with "flaky"`)
}

// again returns the flags that bear on verdicts, for a command that does the same again.
func (s *selection) again(strict bool) string {
	text := ""
	if strict {
		text += " --strict"
	}
	if s.knownFailing != "" {
		text += " --known-failing " + shell.Quote(s.knownFailing)
	}
	return text
}

// complete offers IDs for --filter and --skip.
func (s *selection) complete(cmd *cobra.Command) {
	for _, flag := range []string{"filter", "skip"} {
		// It fails for flags that do not exist only.
		_ = cmd.RegisterFlagCompletionFunc(flag, completeID())
	}
}

func completeID() cobra.CompletionFunc {
	return completing(requirement.All, func(r requirement.Requirement) (string, string) { return string(r.ID), r.Statement })
}

// resolve returns which requirements are selected from those that have a spec in the areas. It fails when a pattern
// matches nothing, or when nothing is left.
func (s *selection) resolve(areas []suites.Area) (func(requirement.ID) bool, error) {
	if s.flags != nil && s.flags.Changed("filter") && len(s.filter) == 0 {
		return nil, errors.New("--filter matches no requirement; \"crdconform list\" shows all")
	}
	var tested []requirement.ID
	for _, spec := range suites.Preview(areas) {
		tested = append(tested, spec.Requirement)
	}
	wanted, err := expand("--filter", s.filter, tested)
	if err != nil {
		return nil, err
	}
	unwanted, err := expand("--skip", s.skip, tested)
	if err != nil {
		return nil, err
	}
	selects := func(id requirement.ID) bool {
		return (len(s.filter) == 0 || wanted[id]) && !unwanted[id]
	}
	if !slices.ContainsFunc(tested, selects) {
		return nil, errors.New("--filter and --skip leave no requirement to check; \"crdconform list\" shows all")
	}
	return selects, nil
}

func expand(flag string, patterns []string, tested []requirement.ID) (map[requirement.ID]bool, error) {
	found := map[requirement.ID]bool{}
	for _, pattern := range patterns {
		known := false
		for _, id := range tested {
			ok, err := id.Matches(pattern)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", flag, pattern, err)
			}
			if ok {
				found[id] = true
				known = true
			}
		}
		if !known {
			return nil, fmt.Errorf("%s: %s", strings.TrimSpace(flag+" "+pattern), explanation.NoMatch(pattern))
		}
	}
	return found, nil
}

// knownLists are what is known to fail, always or in some runs, in the order of the IDs.
type knownLists struct{ failing, flaky []config.KnownFailing }

// known reads the file of requirements that are known to fail, with the reasons.
func (s *selection) known() (knownLists, error) {
	if s.knownFailing == "" {
		return knownLists{}, nil
	}
	text, err := files.Read(s.knownFailing, files.Lists)
	if err != nil {
		return knownLists{}, fmt.Errorf("--known-failing: %w", err)
	}
	failing, flaky := map[string]string{}, map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		wrong := func(format string, arguments ...any) (knownLists, error) {
			return knownLists{}, fmt.Errorf("--known-failing %s:%d: %w", s.knownFailing, i+1, fmt.Errorf(format, arguments...))
		}
		list, other := failing, flaky
		entry, isFlaky := strings.CutPrefix(line, "flaky ")
		if isFlaky {
			list, other = flaky, failing
		}
		id, reason, _ := strings.Cut(entry, ":")
		id, reason = strings.TrimSpace(id), strings.TrimSpace(reason)
		_, found := requirement.Lookup(requirement.ID(id))
		switch _, listed := other[id]; {
		case !found:
			return wrong("%s: %s", id, explanation.Unknown(id))
		case reason == "":
			return wrong("%s has no reason; write \"%s: why it fails\"", id, id)
		case listed:
			return wrong("%s is listed both as failing and as flaky; remove one", id)
		}
		list[id] = reason
	}
	entries := func(reasons map[string]string) (all []config.KnownFailing) {
		for _, id := range slices.Sorted(maps.Keys(reasons)) {
			all = append(all, config.KnownFailing{ID: id, Reason: reasons[id]})
		}
		return all
	}
	return knownLists{entries(failing), entries(flaky)}, nil
}

// addTo adds them to those of a configuration.
func (k knownLists) addTo(c *config.Config) {
	c.KnownFailing, c.KnownFlaky = append(c.KnownFailing, k.failing...), append(c.KnownFlaky, k.flaky...)
}
