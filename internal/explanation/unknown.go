package explanation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/requirement"
)

// NoMatch says why a command checks nothing that a pattern stands for: because others do, or no command does, or it does not exist.
func NoMatch(pattern string) string {
	var known []requirement.Requirement
	var commands []string
	for _, r := range requirement.All() {
		if ok, err := r.ID.Matches(pattern); !ok || err != nil {
			continue
		}
		known = append(known, r)
		if command := checking(r); command != "" && !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	switch n := len(commands); {
	case len(known) == 0:
		return Unknown(pattern)
	case n == 1:
		return commands[0] + " checks it, this command does not"
	case n > 1:
		return strings.Join(commands[:n-1], ", ") + " and " + commands[n-1] + " check it, this command does not"
	case len(known) == 1:
		return "no command checks it. " + known[0].Untested
	}
	return "no command checks any of these; \"crdconform explain ID\" says why"
}

// checking is the command that checks a requirement, with what it needs for that one; nothing if none does.
func checking(r requirement.Requirement) string {
	switch command := Command(r); {
	case command == "":
		return ""
	case r.ID.Area() == "resource":
		return `"crdconform check --crd FILE"`
	default:
		return `"crdconform ` + command + `"`
	}
}

// Unknown says that a requirement is unknown, and what may have been meant.
func Unknown(id string) string {
	const text = "unknown requirement"
	didYouMean := func(ids []string) string {
		return text + "; did you mean " + strings.Join(ids[:min(len(ids), 5)], ", ") + "?"
	}
	parts := strings.Split(id, ".")
	last := strings.Trim(parts[len(parts)-1], "*")
	words := func(id string) string { return "-" + strings.ReplaceAll(id, ".", "-") + "-" }
	var begin, contain, all, ends, chapters []string
	for _, r := range requirement.All() {
		all, ends = append(all, string(r.ID)), append(ends, string(r.ID[strings.LastIndex(string(r.ID), ".")+1:]))
		chapters = append(chapters, r.ID.Area())
		switch {
		case strings.HasPrefix(string(r.ID), id+"."):
			return fmt.Sprintf("several requirements begin with it; \"crdconform list %s\" shows them", id)
		case id != "" && strings.HasPrefix(string(r.ID), id):
			begin = append(begin, string(r.ID))
		case len(last) >= 3 && strings.Contains(words(string(r.ID)), words(last)):
			contain = append(contain, string(r.ID))
		}
	}
	if near := options.Nearest(id, all); near != "" && len(begin) == 0 {
		return didYouMean(slices.Concat([]string{near}, slices.DeleteFunc(contain, func(id string) bool { return id == near })))
	}
	if similar := slices.Concat(begin, contain); len(similar) > 0 {
		return didYouMean(similar)
	}
	if near := options.Nearest(id, chapters); len(id) >= 4 && near != "" {
		return didYouMean([]string{near})
	}
	if near := options.Nearest(last, ends); len(last) >= 4 && near != "" {
		return didYouMean(slices.DeleteFunc(all, func(id string) bool { return !strings.HasSuffix(id, "."+near) }))
	}
	return text + "; \"crdconform list\" shows all"
}
