package corpus

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a search for strings does at most, so that patterns that are too complex for it end it soon.
const (
	mostStates  = 4000
	mostClasses = 128
	mostFound   = 6
	mostFormed  = 64 // the minimum length up to which lengths are distinguished
)

// beyond returns strings that all patterns of a place match and another pattern does not, the shortest first. If it is settled, these are
// examples of all that there are: none if the other pattern matches whatever the place allowed.
//
// The patterns are run over all strings at once. Characters that no pattern distinguishes are one, and strings after which the patterns
// are in the same states have the same future, so there is only a limited number of cases.
func beyond(n *node, pattern *regexp.Regexp) (found []string, settled bool) {
	s := &search{seen: map[string]bool{}, least: n.minLength}
	for _, one := range append(slices.Clone(n.patterns), pattern) {
		if !s.run(one.String()) {
			return nil, false
		}
	}
	s.alphabet()
	if len(s.runes) == 0 || n.minLength > mostFormed {
		return nil, false
	}
	settled = true
	queue := []reached{{states: make([]states, len(s.programs)), last: -1}}
	for ; len(queue) > 0; queue = queue[1:] {
		if len(s.seen) > mostStates || len(found) == mostFound {
			return found, false
		}
		now := queue[0]
		if s.isBeyond(now) && now.length >= n.minLength {
			if n.acceptsText(now.text) {
				found = append(found, now.text)
			} else {
				settled = false // another string with the same future may have the right format
			}
		}
		if now.length >= n.maxLength {
			continue
		}
		for _, r := range s.runes {
			if next, isNew := s.step(now, r); isNew {
				queue = append(queue, next)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(emptyLast(a), emptyLast(b)) })
	return found, settled
}

// emptyLast is 1 for the empty string, which shows less than others.
func emptyLast(s string) int {
	if s == "" {
		return 1
	}
	return 0
}

// search runs patterns over strings, the last of which must not match.
type search struct {
	programs []*syntax.Prog
	runes    []rune // one of each class
	seen     map[string]bool
	least    int64
}

// states are where a pattern may be after a string: instructions to go on with, or at a match.
type states struct {
	at      []uint32
	matched bool
}

// reached is a string with the states of all patterns after it.
type reached struct {
	text   string
	length int64
	states []states // of each pattern
	last   rune     // -1 at the beginning
}

// run adds a pattern.
func (s *search) run(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return false
	}
	s.programs = append(s.programs, program)
	return true
}

// alphabet finds the characters that the patterns distinguish: none if there are too many.
func (s *search) alphabet() {
	limits := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1} // of the words for \b, and lines
	for _, program := range s.programs {
		for _, inst := range program.Inst {
			switch {
			case inst.Op == syntax.InstRune1 || inst.Op == syntax.InstRune && len(inst.Rune) == 1:
				for r := inst.Rune[0]; ; {
					limits = append(limits, r, r+1)
					if r = unicode.SimpleFold(r); r == inst.Rune[0] {
						break
					}
				}
			case inst.Op == syntax.InstRune:
				for i := 0; i+1 < len(inst.Rune); i += 2 {
					limits = append(limits, inst.Rune[i], inst.Rune[i+1]+1)
				}
			}
		}
	}
	slices.Sort(limits)
	limits = slices.Compact(limits)
	if len(limits) > mostClasses {
		return
	}
	for i, first := range limits {
		end := rune(unicode.MaxRune + 1)
		if i+1 < len(limits) {
			end = limits[i+1]
		}
		if r, ok := typical(first, end); ok {
			s.runes = append(s.runes, r)
		}
	}
	const usual = "a0-A._/: "
	slices.SortStableFunc(s.runes, func(a, b rune) int { return cmp.Compare(rankOf(usual, a), rankOf(usual, b)) })
}

// rankOf is the place of a character among the usual ones, after which come those that are printed.
func rankOf(usual string, r rune) int {
	switch at := strings.IndexRune(usual, r); {
	case at >= 0:
		return at
	case r > ' ' && r <= '~':
		return len(usual)
	case unicode.IsPrint(r):
		return len(usual) + 1
	}
	return len(usual) + 2
}

// typical returns a character from one up to another, which people would write if there is such a one.
func typical(first, end rune) (rune, bool) {
	for _, usual := range "a0-A._/: " {
		if usual >= first && usual < end {
			return usual, true
		}
	}
	for _, part := range [][2]rune{{'!', '~' + 1}, {0xe4, 0xd800}, {0xe000, unicode.MaxRune + 1}, {0, 0xd800}} {
		if r := max(first, part[0]); r < min(end, part[1]) && utf8.ValidRune(r) {
			return r, true
		}
	}
	return 0, false
}

// isBeyond reports whether a string that ends here is matched by all patterns but the last.
func (s *search) isBeyond(now reached) bool {
	for i, program := range s.programs {
		_, matched := closure(program, now.states[i], now.last, -1)
		if matched == (i == len(s.programs)-1) {
			return false
		}
	}
	return true
}

// step adds a character. It is false if that leads nowhere, or where another string has led already.
func (s *search) step(now reached, r rune) (reached, bool) {
	next := reached{text: now.text + string(r), length: now.length + 1, last: r, states: make([]states, len(s.programs))}
	var key strings.Builder
	fmt.Fprintf(&key, "%d %t %t", min(next.length, s.least), syntax.IsWordChar(r), r == '\n')
	for i, program := range s.programs {
		at, matched := closure(program, now.states[i], now.last, r)
		if matched {
			if i == len(s.programs)-1 {
				return reached{}, false
			}
			next.states[i].matched = true
			key.WriteString(" matched")
			continue
		}
		for _, pc := range at {
			if program.Inst[pc].MatchRune(r) {
				next.states[i].at = append(next.states[i].at, program.Inst[pc].Out)
			}
		}
		slices.Sort(next.states[i].at)
		next.states[i].at = slices.Compact(next.states[i].at)
		fmt.Fprint(&key, next.states[i].at)
	}
	if s.seen[key.String()] {
		return reached{}, false
	}
	s.seen[key.String()] = true
	return next, true
}

// closure returns the instructions of a pattern that take a character between two others, -1 at the ends, and whether it matches before
// it. A match may begin anywhere.
func closure(program *syntax.Prog, now states, last, next rune) (at []uint32, matched bool) {
	if now.matched {
		return nil, true
	}
	context := syntax.EmptyOpContext(last, next)
	seen := map[uint32]bool{}
	todo := append(slices.Clone(now.at), uint32(program.Start)) //nolint:gosec // it is an index
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := program.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^context == 0 {
				todo = append(todo, inst.Out)
			}
		case syntax.InstMatch:
			return nil, true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			at = append(at, pc)
		case syntax.InstFail:
		}
	}
	return at, false
}
