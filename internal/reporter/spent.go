package reporter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/reports"
)

// spentText says what a check spent time on; empty if that was not measured.
func spentText(r *reports.Report) string {
	var parts, within []string
	names := slices.Sorted(maps.Keys(r.Spent))
	add := func(to *[]string, name, words string) {
		if seconds := r.Spent[name]; seconds >= 0.05 { // otherwise it would be 0.0
			*to = append(*to, fmt.Sprintf("%s %.1f s", words, seconds))
		}
	}
	add(&parts, "starting", "starting")
	for _, name := range slices.Backward(names) { // the webhook comes before resource, as it is judged
		if chapter, is := strings.CutPrefix(name, "chapter."); is {
			add(&parts, name, chapter)
		}
	}
	add(&parts, "stopping", "stopping")
	add(&within, "webhook", "the webhook's answers")
	add(&within, "apiServer", "the API server's answers")
	add(&within, "generating", "generating objects")
	add(&within, "shrinking", "shrinking objects")
	return joined(strings.Join(parts, ", "), "; in the chapters, ", strings.Join(within, ", "))
}

// addedUp returns what two runs spent time on together.
func addedUp(a, b map[string]float64) map[string]float64 {
	if len(a)+len(b) == 0 {
		return nil
	}
	sum := map[string]float64{}
	for _, one := range []map[string]float64{a, b} {
		for name, seconds := range one {
			sum[name] += seconds
		}
	}
	return sum
}
