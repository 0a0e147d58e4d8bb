package reporter

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/reports"
)

// combine makes one cause of those with one defect.
func combine(r *reports.Report, causes []*Cause) []*Cause {
	fields := map[string][]*Cause{}
	gone, into := map[*Cause]bool{}, map[*Cause]*Cause{}
	for _, c := range causes {
		for _, field := range append(slices.DeleteFunc(slices.Clone(c.moved), func(path string) bool { return path == c.field }), c.field) {
			fields[field] = append(fields[field], c)
		}
		if at := slices.IndexFunc(causes, func(other *Cause) bool { return other.restores(c) || other.conditions(c) }); at >= 0 {
			into[c] = causes[at]
		} else if list := shuffling(causes, c); list != nil {
			into[c] = list
		}
	}
	for _, c := range causes { // one that is taken itself takes nothing
		for range causes {
			whole := into[into[c]]
			if whole == nil || whole == c {
				break
			}
			into[c] = whole
		}
	}
	for _, c := range causes { // what one takes says nothing of others
		if other := into[c]; other != nil {
			other.take(c)
			gone[c] = true
		}
	}
	for _, c := range causes {
		if gone[c] {
			continue
		}
		for _, place := range append(above(c.field), c.field) {
			own := slices.Index(fields[place], c) // of two that say the same, the first stays
			at := slices.IndexFunc(fields[place], func(other *Cause) bool { return other != c && !gone[other] && other.covers(c) })
			if at >= 0 && (own < 0 || at < own || !slices.Equal(c.effects, fields[place][at].effects)) {
				fields[place][at].take(c)
				gone[c] = true
				break
			}
		}
	}
	if r.Webhook != nil {
		lostTogether(r, causes, gone)
	}
	return slices.DeleteFunc(causes, func(c *Cause) bool { return gone[c] })
}

// lostTogether makes one cause of the fields below one of which all are lost.
func lostTogether(r *reports.Report, causes []*Cause, gone map[*Cause]bool) {
	has := fieldsOf(r.Webhook)
	alike := map[string][]*Cause{} // but for their field, which is lost
	for _, c := range causes {
		if !gone[c] && c.isLost() {
			key := strings.Join(slices.Concat(slices.Sorted(slices.Values(c.Pairs)), c.about, c.Lacking), "\n")
			alike[key] = append(alike[key], c)
		}
	}
	byMost := slices.SortedFunc(maps.Keys(alike), func(a, b string) int { return cmp.Or(len(alike[b])-len(alike[a]), cmp.Compare(a, b)) })
	for _, key := range byMost {
		group := slices.DeleteFunc(alike[key], func(c *Cause) bool { return gone[c] })
		if len(group) == 0 {
			continue
		}
		below, wholes := lostWholly(r, group, causes), map[string]*Cause{}
		for _, c := range group {
			paths := above(c.field)
			at := slices.IndexFunc(paths, func(path string) bool { return below[path] > 1 })
			switch {
			case at < 0:
			case wholes[paths[at]] == nil:
				c.field, c.below = paths[at], below[paths[at]]
				c.emptied = slices.ContainsFunc(c.about, func(subject string) bool {
					return slices.ContainsFunc(c.Lacking, func(version string) bool { return has[versionField{subject, version, c.field}] })
				})
				wholes[c.field] = c
			default:
				wholes[paths[at]].take(c)
				gone[c] = true
			}
		}
		for _, c := range causes {
			if whole := c.lostWith(wholes); whole != nil && !gone[c] {
				put(&whole.Requirements, c.Requirements...)
				gone[c] = true
			}
		}
	}
}

// lostWith returns the cause for a whole that a field is lost with; nil if there is none.
func (c *Cause) lostWith(wholes map[string]*Cause) *Cause {
	for _, path := range above(c.field) {
		if whole := wholes[path]; whole != nil && c.isLost() && within(c.about, whole.about) && within(c.Pairs, whole.Pairs) {
			return whole
		}
	}
	return nil
}

// restores reports whether an annotation that undoes edits is also the cause of what else happens to a field that was edited.
func (c *Cause) restores(other *Cause) bool {
	return len(c.undone) > 0 && len(other.undone) == 0 && other.field != "" && (slices.Equal(c.Requirements, other.Requirements) || other.isOnServer()) &&
		slices.ContainsFunc(c.undone, func(at string) bool { return isAround(at, other.field) })
}

// shuffling returns the cause about the outermost list that shuffles what another is about; nil if there is none.
func shuffling(causes []*Cause, of *Cause) *Cause {
	var outermost *Cause
	for _, c := range causes {
		if c.shuffles(of) && (outermost == nil || len(c.field) < len(outermost.field)) {
			outermost = c
		}
	}
	return outermost
}

// shuffles reports whether a cause is about a list that differs from one request to the next, and another about what is in its items: these cannot be
// compared one by one.
func (c *Cause) shuffles(other *Cause) bool {
	isInside := func(field string) bool { return strings.HasPrefix(field, c.field+"[*]") }
	fields := other.fields
	if other.when == "" {
		fields = []string{other.field}
	}
	isUnsteady := slices.Contains(other.effects, "differs") || other.isOnly("changed")
	return c.field != "" && c.when == "" && slices.Contains(c.effects, "differs") && len(c.moved)+len(other.undone) == 0 && slices.Equal(c.about, other.about) && c.made == other.made && within(bothWays(other.Pairs), bothWays(c.Pairs)) &&
		isUnsteady && within(other.effects, []string{"differs", "changed", "lost", "moved"}) && !slices.ContainsFunc(fields, func(field string) bool { return !isInside(field) })
}

// isOnServer reports whether only an API server showed what is lost or changed: the specs that ask one look for no circumstances.
func (c *Cause) isOnServer() bool {
	return c.field != "" && c.when == "" && !c.made && c.isAboutValues() &&
		!slices.ContainsFunc(c.Requirements, func(id string) bool { return !strings.HasPrefix(id, "resource.") })
}

// isAround reports whether a path is another one, or leads to it.
func isAround(path, other string) bool { return path == other || slices.Contains(above(other), path) }

// conditions reports whether the circumstances of a cause are also those of another, which is about some of the same fields: of what is lost or
// changed on the same ways, if something of it is kept as well, and of what differs by the way. What is changed on the same
// ways is invalid for that. What differs for no reason that is in an object is changed for the same. What only an API server showed has the
// circumstances that it has elsewhere.
func (c *Cause) conditions(other *Cause) bool {
	if c == other || c.when == "" || len(other.undone) > 0 || !slices.Equal(c.about, other.about) {
		return false
	}
	isAlike := c.isAboutValues() && other.isAboutValues() && within(bothWays(other.Pairs), bothWays(c.Pairs))
	switch {
	case other.when != "":
		return isAlike && 0 < len(other.fields) && len(other.fields) < len(c.fields) && within(other.fields, c.fields)
	case other.isOnServer() && c.isAboutValues() && slices.ContainsFunc(c.fields, func(field string) bool { return isAround(field, other.field) || isAround(other.field, field) }):
		return true
	case !slices.Contains(c.fields, other.field):
		return false
	case c.isOnly("differs"):
		return other.isOnly("changed")
	}
	isChanged := slices.Contains(c.effects, "changed") && within(bothWays(other.Pairs), bothWays(c.Pairs))
	return c.isAboutValues() && (other.isOnly("differs") || other.isOnly("invalid") && isChanged) || isAlike && other.kept
}

// bothWays returns pairs of versions as they are whichever is the first.
func bothWays(pairs []string) []string {
	both := make([]string, 0, len(pairs))
	for _, pair := range pairs {
		from, to, _ := strings.Cut(pair, " -> ")
		both = append(both, min(from, to)+" "+max(from, to))
	}
	return both
}

// covers reports whether a cause about the same field, or about one that the field is in, explains the other cause.
func (c *Cause) covers(other *Cause) bool {
	if len(c.moved) > 0 {
		return len(other.moved) == 0 && slices.Contains(c.moved, other.field) && slices.Equal(c.about, other.about) && within(other.effects, []string{"lost", "changed", "differs"})
	}
	return c.field != "" && len(c.undone)+len(other.undone) == 0 && c.made == other.made && c.isAboutValues() && other.isAboutValues() &&
		within(other.about, c.about) && within(other.Pairs, c.Pairs) && (c.field == other.field || (len(c.Lacking) > 0) == (len(other.Lacking) > 0))
}

// isLost reports whether it is about a field that is lost in every object, also if the other version shows it in another place.
func (c *Cause) isLost() bool {
	return c.isOnly("lost") && !c.made && (!c.kept || len(c.places) > 0) && len(c.undone) == 0 && c.when == ""
}

// isOnly reports whether it is about one effect and no other.
func (c *Cause) isOnly(effect string) bool { return slices.Equal(c.effects, []string{effect}) }

// isAboutValues reports whether it is about values that are lost or changed.
func (c *Cause) isAboutValues() bool { return within(c.effects, []string{"lost", "changed"}) }

// within reports whether a list has all texts of another.
func within(list, of []string) bool {
	return !slices.ContainsFunc(list, func(text string) bool { return !slices.Contains(of, text) })
}

// above returns the paths that a path is below, the topmost first.
func above(path string) []string {
	var all []string
	for i, character := range path {
		if i > 0 && (character == '.' || character == '[') {
			all = append(all, path[:i])
		}
	}
	return all
}

// lostWholly returns the paths of which all fields below were lost that were exercised, with the number of these, for causes that are alike
// but for their field. What has another name or type at the other version is lost for the same reason, as far as others say that it is lost on that way.
// There are none if it is not known for all subjects and pairs of versions what was exercised.
func lostWholly(r *reports.Report, causes, others []*Cause) map[string]int {
	var whole map[string]int
	known := 0
	for _, k := range r.Webhook.Kinds {
		for _, coverage := range k.Coverage {
			if !slices.Contains(causes[0].about, k.Definition) || !slices.Contains(causes[0].Pairs, coverage.From+" -> "+coverage.To) {
				continue
			}
			known++
			here, lost, alone := map[string]int{}, map[string]bool{}, map[string]bool{}
			for _, c := range others {
				isHere := slices.Contains(c.about, k.Definition) && slices.Contains(c.Pairs, coverage.From+" -> "+coverage.To) && c.isLost()
				isWhole := !strings.HasSuffix(c.field, "[*]") // some items may be lost, and others come back
				switch {
				case isWhole && slices.Contains(causes, c), isWhole && isHere && len(causes) > 1 && len(c.Lacking)+len(c.instead)+len(c.places) > 0:
					lost[c.field] = true // one of these alone says nothing of others
				case isWhole && isHere && len(causes) > 1:
					alone[c.field] = true // it may be lost only where it is empty, which says nothing of what is in it
				}
			}
			for _, path := range leaves(coverage) {
				back := !alone[path] && !slices.ContainsFunc(append(above(path), path), func(at string) bool { return lost[at] })
				for _, at := range above(path) {
					if back || here[at] < 0 {
						here[at] = -1
					} else {
						here[at]++
					}
				}
			}
			if whole == nil {
				whole = here
			}
			for at := range whole {
				whole[at] = min(whole[at], here[at])
			}
		}
	}
	if known < len(causes[0].about)*len(causes[0].Pairs) {
		return nil
	}
	return whole
}

// leaves returns the fields that were exercised and have none below them, with the keys of maps as findings write them.
func leaves(c reports.Coverage) []string {
	never, inner := map[string]bool{}, map[string]bool{}
	for _, f := range c.Never {
		never[f.Path] = true
	}
	var paths []string
	for _, f := range c.Fields {
		if path := strings.ReplaceAll(f.Path, "<key>", "*"); !never[f.Path] {
			paths = append(paths, path)
			for _, at := range above(path) {
				inner[at] = true
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return inner[path] })
}
