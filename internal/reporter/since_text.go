package reporter

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// ChangeLines describes what changed since an earlier run, for a terminal. Sentences are wrapped at a number of columns.
func ChangeLines(c *reports.Changes, columns int) []string {
	const most = 15
	lines := labelled("compared", fmt.Sprintf("with %s of %s: %s", c.Baseline, c.Started.UTC().Format("2006-01-02 15:04"), c.Headline), columns)
	for _, note := range c.Notes {
		lines = append(lines, labelled("", note, columns)...)
	}
	for _, sort := range changeSorts() {
		var changes []string
		for _, one := range ofSort(c, sort) {
			changes = append(changes, changeText(one))
		}
		for _, one := range loadOfSort(c, sort) {
			changes = append(changes, loadChangeText(one))
		}
		if len(changes) == 0 {
			continue
		}
		lines = append(lines, string(sort)+":")
		for _, one := range visible.Few(changes, most, "") {
			lines = append(lines, "    "+flat(one))
		}
	}
	switch {
	case c.LoadNote != "":
		lines = append(lines, labelled("load", "not compared: "+brief(c.LoadNote), columns)...)
	case c.Load != nil:
		lines = append(lines, "load:")
		for line := range strings.Lines(comparisonText(c.Load)) {
			lines = append(lines, visible.Text("    "+strings.TrimRight(line, "\n")))
		}
	}
	return append(lines, "Changes: "+Summary(c))
}

// changeText is a change in a line, such as "webhook.response.uid: Passed, now Failed: expected a, got b".
func changeText(c reports.Change) string {
	return joined(fmt.Sprintf("%s: %s, now %s", joined(string(c.ID), " of ", c.Subject), cmp.Or(c.Before, "absent"), cmp.Or(c.Now, "absent")), ": ", visible.Cut(firstLine(c.Reason), 150))
}

// markdownChanges describes what changed since an earlier run.
func markdownChanges(c *reports.Changes, b *strings.Builder) {
	const most = 200
	b.WriteString("\n## Changes\n\n")
	facts := []Fact{
		{Name: "baseline", Value: fmt.Sprintf("%s of %s", c.Baseline, c.Started.UTC().Format(time.RFC3339))},
		{Name: "then", Value: c.Headline},
		{Name: "changes", Value: Summary(c)},
	}
	for _, note := range c.Notes {
		facts = append(facts, Fact{Name: "also", Value: note})
	}
	if c.LoadNote != "" {
		facts = append(facts, Fact{Name: "load", Value: "not compared: " + brief(c.LoadNote)})
	}
	markdownFacts(b, facts)
	t := visible.Table{Head: []string{"requirement", "change", "before", "now", "reason"}}
	add := func(what string, sort reports.ChangeSort, before, now, reason string) {
		t.Add(what, sort, cmp.Or(before, "absent"), cmp.Or(now, "absent"), visible.Cut(reason, 150))
	}
	for _, one := range c.Requirements[:min(len(c.Requirements), most)] {
		add(joined(string(one.ID), " of ", one.Subject), one.Sort, one.Before, one.Now, one.Reason)
	}
	for _, one := range c.LoadChanges[:min(len(c.LoadChanges), most)] {
		add("load, "+one.What, one.Sort, one.Before, one.Now, one.Reason)
	}
	if len(t.Rows) > 0 {
		b.WriteString("\n" + t.Markdown())
	}
	b.WriteString(onPage(max(len(c.Requirements)-most, 0) + max(len(c.LoadChanges)-most, 0)))
	if c.Load != nil {
		fmt.Fprintf(b, "\n%s\n", fence(strings.TrimRight(comparisonText(c.Load), "\n")))
	}
}

// changesSuite has one case: that nothing got worse.
func changesSuite(c *reports.Changes) testsuite {
	lines := strings.Join(ChangeLines(c, Columns), "\n")
	one := testcase{Name: "nothing got worse", Classname: "changes", Time: seconds(0)}
	switch {
	case Worse(c):
		one.Failure = &problem{Message: brief(Summary(c)), Type: requirement.Failed.String(), Text: lines}
	case Undecided(c) != "":
		one.Error = &problem{Message: brief(Undecided(c)), Type: requirement.Errored.String(), Text: lines}
	}
	return testsuite{Name: "changes", Time: seconds(0), Cases: []testcase{one}, SystemOut: lines}
}
