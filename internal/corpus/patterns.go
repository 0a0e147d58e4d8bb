package corpus

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

const (
	// mostWitnesses is how many strings a pattern is shown by.
	mostWitnesses = 14

	// mostCovered and longestWitness keep patterns within patterns from multiplying.
	mostCovered, longestWitness = 64, 128

	// fewCharacters is how many characters of a class are all tried.
	fewCharacters = 6
)

// witnesses returns short strings that go through each branch of a pattern: one for each alternative, and one with and without each part
// that may be left out. Where there are many, they are spread over all. The caller has to match them: what \b and the like want is not
// looked at.
func witnesses(pattern string) []string {
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	all := through(expression)
	if len(all) <= mostWitnesses {
		return all
	}
	spread := make([]string, mostWitnesses)
	for i := range spread {
		spread[i] = all[i*(len(all)-1)/(mostWitnesses-1)]
	}
	return spread
}

// through returns strings that go through each branch of an expression, the shortest first.
func through(e *syntax.Regexp) []string {
	var all []string
	switch e.Op {
	case syntax.OpLiteral:
		literal := string(e.Rune)
		if e.Flags&syntax.FoldCase != 0 {
			literal = strings.ToLower(literal)
		}
		return []string{literal}
	case syntax.OpCharClass:
		return usualOf(e.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a"}
	case syntax.OpCapture:
		return through(e.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			all = append(all, through(sub)...)
		}
	case syntax.OpConcat:
		all = joined(e.Sub)
	case syntax.OpQuest, syntax.OpStar:
		all = append([]string{""}, through(e.Sub[0])...)
	case syntax.OpPlus:
		all = repeated(through(e.Sub[0]), 1, -1)
	case syntax.OpRepeat:
		all = repeated(through(e.Sub[0]), e.Min, e.Max)
	case syntax.OpNoMatch:
	default: // an empty match
		return []string{""}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(a) - len(b) })
	all = slices.DeleteFunc(slices.Compact(all), func(s string) bool { return len(s) > longestWitness })
	return all[:min(len(all), mostCovered)]
}

// joined returns strings for expressions in a row: each in all its ways while the others are as short as they can be, and all in their last.
func joined(parts []*syntax.Regexp) []string {
	ways := make([][]string, len(parts))
	shortest, last := make([]string, len(parts)), make([]string, len(parts))
	for i, part := range parts {
		if ways[i] = through(part); len(ways[i]) == 0 {
			return nil
		}
		shortest[i], last[i] = ways[i][0], ways[i][len(ways[i])-1]
	}
	all := []string{strings.Join(shortest, "")}
	for i := range parts {
		for _, way := range ways[i][1:] {
			one := slices.Clone(shortest)
			one[i] = way
			all = append(all, strings.Join(one, ""))
		}
	}
	return append(all, strings.Join(last, ""))
}

// repeated returns each way as often as it must be there at least, and the first once more if it may be. At most -1 stands for no limit.
func repeated(ways []string, least, most int) []string {
	var all []string
	if least == 0 {
		all = append(all, "")
	}
	for _, way := range ways {
		if len(way)*least <= longestWitness {
			all = append(all, strings.Repeat(way, max(least, 1)))
		}
	}
	if most != least && least > 0 && len(ways) > 0 {
		all = append(all, strings.Repeat(ways[0], least+1))
	}
	return all
}

// usualOf returns the characters of a class that are printed, if they are few, as alternatives of one character become a class. Of more it
// returns one that people write, if it has one.
func usualOf(ranges []rune) []string {
	var few []string
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && len(few) <= fewCharacters; r++ {
			if unicode.IsPrint(r) {
				few = append(few, string(r))
			}
		}
	}
	if len(few) <= fewCharacters {
		return few
	}
	for _, usual := range "a1A2-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= usual && usual <= ranges[i+1] {
				return []string{string(usual)}
			}
		}
	}
	return few[:1]
}

// spaced returns strings that the patterns match with two spaces wherever these allow them.
func (n *node) spaced() []string {
	var all []string
	for _, pattern := range n.patterns {
		if expression, err := syntax.Parse(pattern.String(), syntax.Perl); err == nil && space(expression) {
			all = append(all, through(expression)...)
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.Contains(s, " ") })
}

// space puts words with spaces between them in place of what repeats characters, if a space may be among them. It is false if there is none.
func space(e *syntax.Regexp) bool {
	least, most := e.Min, e.Max
	switch e.Op {
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpRepeat:
	default:
		spaced := false
		for _, sub := range e.Sub {
			spaced = space(sub) || spaced
		}
		return spaced
	}
	const words = "a  b c"
	class, err := regexp.Compile(`^(?:` + e.Sub[0].String() + `)$`)
	if err != nil || most >= 0 && most < len(words) || !class.MatchString("a") || !class.MatchString("b") || !class.MatchString(" ") {
		return space(e.Sub[0])
	}
	*e = syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(words + strings.Repeat("c", max(0, least-len(words))))}
	return true
}
