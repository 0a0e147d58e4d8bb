package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// alike is a result that says the same of several definitions.
type alike struct {
	reports.Result

	found, mend string // the parts of the reason
	definitions []string
}

// moment is a time, such as that since which requests are counted, in which findings differ that say the same.
var moment = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)

// grouped puts results together that say the same, the worst first and then those of most definitions.
func grouped(results []reports.Result) []alike {
	var all []alike
	at := map[[3]string]int{}
	for _, r := range results {
		if explanation.Worse(r.Verdict, requirement.Passed) <= 0 {
			continue
		}
		found, mend, _ := strings.Cut(r.Reason, toFix)
		key := [3]string{string(r.ID), r.Verdict.String(), moment.ReplaceAllString(strings.ReplaceAll(found, r.Subject, ""), "")}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, alike{Result: r, found: found, mend: mend})
		}
		all[i].definitions = append(all[i].definitions, r.Subject)
	}
	slices.SortStableFunc(all, func(a, b alike) int {
		return cmp.Or(explanation.Worse(b.Verdict, a.Verdict), len(b.definitions)-len(a.definitions))
	})
	return all
}

const (
	shownFindings = 12 // in the text, which is to fit on a screen
	shownNames    = 3
	shownWebhooks = 6
)

// Text shows what there is to do about a cluster, on a screen.
func Text(c *Cluster, results []reports.Result) string {
	var b strings.Builder
	converted := 0
	for _, w := range c.Webhooks {
		converted += len(w.Definitions)
	}
	fmt.Fprintf(&b, "%s (Kubernetes %s): %s, %d converted by %s\n", c.Context, c.Version, visible.Count(len(c.Definitions), "definition", ""), converted, visible.Count(len(c.Webhooks), "webhook", ""))
	groups := grouped(results)
	for i, group := range groups {
		if i >= shownFindings && group.Verdict != requirement.Failed { // all of which are shown, and come first
			fmt.Fprintf(&b, "\nand %s more; \"crdconform doctor --output html\" shows all\n", visible.Count(len(groups)-i, "finding", ""))
			break
		}
		fmt.Fprintf(&b, "\n%-9s %s: %s\n", strings.ToUpper(group.Verdict.String()), group.ID, named(group.definitions))
		lines := strings.Split(group.found, "\n")
		for n, line := range lines {
			if n == shownNames {
				fmt.Fprintf(&b, "          %s\n", visible.More(len(lines)-n))
				break
			}
			fmt.Fprintf(&b, "          %s\n", line)
		}
		if group.mend != "" {
			fmt.Fprintf(&b, "          To fix it: %s\n", group.mend)
		}
	}
	b.WriteString(radius(c))
	return visible.Text(b.String())
}

// radius says what stops when a webhook does.
func radius(c *Cluster) string {
	if len(c.Webhooks) == 0 {
		return ""
	}
	t := visible.Table{Head: []string{"WEBHOOK", "READY", "STOPS WHEN IT IS DOWN"}}
	webhooks := slices.Clone(c.Webhooks)
	slices.SortStableFunc(webhooks, func(a, b *Webhook) int { return cmp.Compare(a.rank(), b.rank()) })
	for i, w := range webhooks {
		if i == shownWebhooks {
			t.Add(visible.More(len(c.Webhooks) - i))
			break
		}
		t.Add(w.Name, w.ready(), named(w.names()))
	}
	return "\n" + t.Text() + "\n"
}

// rank puts the webhooks first that are down.
func (w *Webhook) rank() int {
	if w.Service && w.Unseen == "" && w.Ready == 0 {
		return 0
	}
	return 1
}

// ready says how many endpoints of a webhook are ready.
func (w *Webhook) ready() string {
	if !w.Service || w.Unseen != "" {
		return "not known"
	}
	return fmt.Sprintf("%d of %d", w.Ready, w.Endpoints)
}

func (w *Webhook) names() []string {
	var all []string
	for _, d := range w.Definitions {
		all = append(all, d.Name)
	}
	return all
}

// Notes say for a report what stops when a webhook does.
func Notes(c *Cluster) []string {
	var all []string
	for _, w := range c.Webhooks {
		all = append(all, fmt.Sprintf("%s converts %s, which stop when it is down (endpoints that are ready: %s): %s",
			w.Name, visible.Count(len(w.Definitions), "definition", ""), w.ready(), strings.Join(w.names(), ", ")))
	}
	return all
}

// named names the first of several.
func named(all []string) string {
	if len(all) <= shownNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%d definitions: %s", len(all), visible.First(all, shownNames))
}
