package reporter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

const (
	// enough is the share of the fields of a kind that must be exercised for all that passed to have been tried, unless the user says
	// another.
	enough = 0.95

	// mostNever is how many fields a line names that were not exercised.
	mostNever = 3

	// mostKinds is how many kinds have a line each.
	mostKinds = 3
)

// CoverageLines say which of the fields of each kind were exercised, in a line for each, or in one for all if they are many.
func CoverageLines(r *reports.Report) []string {
	if r.Webhook == nil {
		return nil
	}
	if len(r.Webhook.Kinds) > mostKinds {
		return nonempty(coverageOfAll(r.Webhook.Kinds))
	}
	var lines []string
	for _, k := range r.Webhook.Kinds {
		text := coverageText(k)
		if text != "" && len(r.Webhook.Kinds) > 1 {
			text = visible.Text(k.Definition) + ": " + text
		}
		lines = append(lines, nonempty(text)...)
	}
	return lines
}

// coverageOfAll says it of all kinds together.
func coverageOfAll(kinds []reports.Kind) string {
	var never []string
	var written []reports.Coverage
	done, all := 0, 0
	for _, k := range kinds {
		written = append(written, k.Written...)
		exercised, total := exercised(k)
		done, all = done+exercised, all+total
		for _, field := range neverExercised(k) {
			never = append(never, visible.Text(k.Definition)+": "+field)
		}
	}
	if all == 0 {
		return ""
	}
	text := exercisedText(fmt.Sprintf("%d of %d in %d definitions", done, all, len(kinds)), never)
	if len(written) > 0 {
		text += "; " + writtenText(written)
	}
	return text
}

// coverageText says which of the fields of a kind were exercised, and names some that were not; empty if nothing was counted.
func coverageText(k reports.Kind) string {
	exercised, total := exercised(k)
	var texts []string
	if len(k.Coverage) > 0 {
		texts = append(texts, exercisedText(fmt.Sprintf("%d of %d", exercised, total), neverExercised(k)))
	}
	if len(k.Written) > 0 {
		texts = append(texts, writtenText(k.Written))
	}
	return strings.Join(texts, "; ")
}

// writtenText says how many of the fields of all versions clients of an API server wrote, by each verb.
func writtenText(written []reports.Coverage) string {
	var verbs []string
	done, all := map[string]int{}, map[string]int{}
	for _, c := range written {
		if c.Total > 0 && !slices.Contains(verbs, c.Verb) {
			verbs = append(verbs, c.Verb)
		}
		done[c.Verb], all[c.Verb] = done[c.Verb]+c.Exercised, all[c.Verb]+c.Total
	}
	var shares []string
	for _, verb := range verbs {
		shares = append(shares, fmt.Sprintf("%s %d of %d", visible.Text(verb), done[verb], all[verb]))
	}
	return "written through the API server: " + strings.Join(shares, ", ")
}

func exercisedText(share string, never []string) string {
	text := "fields exercised: " + share
	if len(never) == 0 {
		return text
	}
	return text + "; never: " + strings.Join(visible.Few(never, mostNever, ""), "; ")
}

// leastCovered returns the coverage of each version of a kind at the pair of versions that had the least.
func leastCovered(k reports.Kind) []reports.Coverage {
	var least []reports.Coverage
	for _, c := range k.Coverage {
		i := slices.IndexFunc(least, func(other reports.Coverage) bool { return other.From == c.From })
		switch {
		case i < 0:
			least = append(least, c)
		case c.Exercised < least[i].Exercised:
			least[i] = c
		}
	}
	return least
}

// exercised returns how many fields of all versions of a kind were exercised, and how many there are.
func exercised(k reports.Kind) (exercised, total int) {
	for _, c := range leastCovered(k) {
		exercised, total = exercised+c.Exercised, total+c.Total
	}
	return exercised, total
}

// neverExercised names the fields that were not, with the reasons that are known.
func neverExercised(k reports.Kind) []string {
	var never []string
	for _, c := range leastCovered(k) {
		for _, field := range c.Never {
			text := field.Path + " at " + c.From
			if field.Reason != "" {
				text += " (" + flat(field.Reason) + ")"
			}
			never = append(never, visible.Text(text))
		}
	}
	return never
}

// thinnest returns the kind of which the least share of the fields was exercised, and that share; 1 if nothing was counted.
func thinnest(r *reports.Report) (kind reports.Kind, share float64) {
	share = 1
	if r.Webhook == nil {
		return kind, share
	}
	for _, k := range r.Webhook.Kinds {
		if exercised, total := exercised(k); total > 0 && float64(exercised)/float64(total) < share {
			kind, share = k, float64(exercised)/float64(total)
		}
	}
	return kind, share
}

// uncovered says that fewer fields were exercised than the user wanted; empty if that is not so.
func uncovered(r *reports.Report) string {
	kind, share := thinnest(r)
	if r.Webhook == nil || share >= r.Webhook.MinCoverage {
		return ""
	}
	exercised, total := exercised(kind)
	text := fmt.Sprintf("%d of %d fields (%.1f %%) were exercised, and %g %% must be", exercised, total, 100*share, 100*r.Webhook.MinCoverage)
	if len(r.Webhook.Kinds) > 1 {
		return visible.Text(kind.Definition) + ": " + text
	}
	return text
}

// thin reports whether so few fields were exercised that what passed was not tried enough.
func thin(r *reports.Report) bool {
	_, share := thinnest(r)
	return share < enough && (r.Webhook.MinCoverage == 0 || share < r.Webhook.MinCoverage)
}

// sorts returns the kinds of values that a field was seen with, the most frequent first.
func sorts(f reports.FieldCoverage) string {
	names := slices.SortedFunc(maps.Keys(f.Seen), func(a, b string) int {
		if f.Seen[a] != f.Seen[b] {
			return f.Seen[b] - f.Seen[a]
		}
		return strings.Compare(a, b)
	})
	texts := make([]string, 0, len(names))
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%s %d", name, f.Seen[name]))
	}
	return strings.Join(texts, ", ")
}
