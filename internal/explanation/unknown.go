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
	// In a chapter that is known, others of it are meant.
	chapter, rest, _ := strings.Cut(id, ".")
	if !slices.ContainsFunc(requirement.All(), func(r requirement.Requirement) bool { return r.ID.Area() == chapter }) {
		chapter, rest = "", id
	}
	last := strings.Trim(rest[strings.LastIndex(rest, ".")+1:], "*")
	words := func(id string) string { return "-" + strings.ReplaceAll(id, ".", "-") + "-" }
	var begin, contain, names, ends []string // without the chapter
	for _, r := range requirement.All() {
		if strings.HasPrefix(string(r.ID), id+".") {
			return fmt.Sprintf("several requirements begin with it; \"crdconform list %s\" shows them", id)
		}
		name, ok := string(r.ID), true
		if chapter != "" {
			name, ok = strings.CutPrefix(name, chapter+".")
		}
		if !ok {
			continue
		}
		names, ends = append(names, name), append(ends, name[strings.LastIndex(name, ".")+1:])
		for i, c := range name {
			if c == '.' && !slices.Contains(names, name[:i]) {
				names = append(names, name[:i])
			}
		}
		switch {
		case rest != "" && strings.HasPrefix(name, rest):
			begin = append(begin, name)
		case len(last) >= 3 && strings.Contains(words(name), words(last)):
			contain = append(contain, name)
		}
	}
	didYouMean := func(names []string) string {
		for i := range names {
			names[i] = strings.TrimPrefix(chapter+"."+names[i], ".")
		}
		return text + "; did you mean " + strings.Join(names[:min(len(names), 5)], ", ") + "?"
	}
	if near := options.Nearest(rest, names); len(rest) >= 4 && near != "" && len(begin) == 0 {
		return didYouMean(slices.Concat([]string{near}, slices.DeleteFunc(contain, func(name string) bool { return name == near })))
	}
	if similar := slices.Concat(begin, contain); len(similar) > 0 {
		return didYouMean(similar)
	}
	if near := options.Nearest(last, ends); len(last) >= 4 && near != "" {
		return didYouMean(slices.DeleteFunc(names, func(name string) bool { return name != near && !strings.HasSuffix(name, "."+near) }))
	}
	return text + "; \"" + strings.TrimSpace("crdconform list "+chapter) + "\" shows all"
}
