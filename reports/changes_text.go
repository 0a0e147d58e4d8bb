package reports

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/requirement"
)

// Lines tells what differs from an earlier run, for a terminal, in lines of so many columns where they are sentences.
func (c *Changes) Lines(columns int) []string {
	const most = 15
	lines := labelled("compared", fmt.Sprintf("with %s of %s: %s", c.Baseline, c.Started.UTC().Format("2006-01-02 15:04"), c.Headline), columns)
	for _, note := range c.Notes {
		lines = append(lines, labelled("", note, columns)...)
	}
	for _, sort := range changeSorts() {
		var changes []string
		for _, one := range c.Of(sort) {
			changes = append(changes, one.String())
		}
		for _, one := range c.ofLoad(sort) {
			changes = append(changes, one.String())
		}
		if len(changes) == 0 {
			continue
		}
		lines = append(lines, string(sort)+":")
		for _, one := range changes[:min(len(changes), most)] {
			lines = append(lines, "    "+flat(one))
		}
		if n := len(changes) - most; n > 0 {
			lines = append(lines, "    "+more(n))
		}
	}
	switch {
	case c.LoadNote != "":
		lines = append(lines, labelled("load", "not compared: "+brief(c.LoadNote), columns)...)
	case c.Load != nil:
		lines = append(lines, "load:")
		for line := range strings.Lines(c.Load.Text()) {
			lines = append(lines, Visible("    "+strings.TrimRight(line, "\n")))
		}
	}
	return append(lines, "Changes: "+c.Summary())
}

// String is a change in a line, such as "webhook.response.uid: Passed, now Failed: expected a, got b".
func (c Change) String() string {
	return joined(fmt.Sprintf("%s: %s, now %s", joined(string(c.ID), " of ", c.Subject), cmp.Or(c.Before, "absent"), cmp.Or(c.Now, "absent")), ": ", cut(firstLine(c.Reason), 150))
}

// markdown tells what differs from an earlier run.
func (c *Changes) markdown(b *strings.Builder) {
	const most = 200
	b.WriteString("\n## Changes\n\n")
	facts := []Fact{
		{Name: "baseline", Value: fmt.Sprintf("%s of %s", c.Baseline, c.Started.UTC().Format(time.RFC3339))},
		{Name: "then", Value: c.Headline},
		{Name: "changes", Value: c.Summary()},
	}
	for _, note := range c.Notes {
		facts = append(facts, Fact{Name: "also", Value: note})
	}
	if c.LoadNote != "" {
		facts = append(facts, Fact{Name: "load", Value: "not compared: " + brief(c.LoadNote)})
	}
	markdownFacts(b, facts)
	if len(c.Requirements)+len(c.LoadChanges) > 0 {
		b.WriteString("\n| requirement | change | before | now | reason |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, one := range c.Requirements[:min(len(c.Requirements), most)] {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", escapeMarkdown(joined(string(one.ID), " of ", one.Subject)), escapeMarkdown(string(one.Sort)),
			escapeMarkdown(cmp.Or(one.Before, "absent")), escapeMarkdown(cmp.Or(one.Now, "absent")), escapeMarkdown(cut(one.Reason, 150)))
	}
	for _, one := range c.LoadChanges[:min(len(c.LoadChanges), most)] {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", escapeMarkdown("load, "+one.What), escapeMarkdown(string(one.Sort)),
			escapeMarkdown(cmp.Or(one.Before, "absent")), escapeMarkdown(cmp.Or(one.Now, "absent")), escapeMarkdown(cut(one.Reason, 150)))
	}
	if n := max(len(c.Requirements)-most, 0) + max(len(c.LoadChanges)-most, 0); n > 0 {
		fmt.Fprintf(b, "\n%s, all of them in report.html\n", more(n))
	}
	if c.Load != nil {
		fmt.Fprintf(b, "\n%s\n", fence(strings.TrimRight(c.Load.Text(), "\n")))
	}
}

// suite has one case: that nothing got worse.
func (c *Changes) suite() testsuite {
	lines := strings.Join(c.Lines(Columns), "\n")
	one := testcase{Name: "nothing got worse", Classname: "changes", Time: seconds(0)}
	switch {
	case c.Worse():
		one.Failure = &problem{Message: brief(c.Summary()), Type: requirement.Failed.String(), Text: lines}
	case c.Open() != "":
		one.Error = &problem{Message: brief(c.Open()), Type: requirement.Errored.String(), Text: lines}
	}
	return testsuite{Name: "changes", Time: seconds(0), Cases: []testcase{one}, SystemOut: lines}
}
