package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
)

// shownMost is how many differences of each list are shown as text.
const shownMost = 30

func (d *differ) text(w io.Writer, r recording.Comparison) {
	a, b := d.sides()
	fmt.Fprintf(w, "A: %s\nB: %s\n\n", a, b)
	d.list(w, reporter.Red, "", r.Differences)
	d.list(w, reporter.Yellow, "changes by chance, not counted: ", r.Chance)
	d.list(w, reporter.Yellow, "possibly due to redaction, not counted: ", r.Redaction)
	for _, one := range r.Failures[:min(len(r.Failures), shownMost)] {
		text := count(one.Count, "request") + " failed on both sides"
		if one.Redacted > 0 {
			text += fmt.Sprintf(", %d of them redacted, which may be why", one.Redacted)
		}
		fmt.Fprintln(w, d.screen().Paint(reporter.Yellow, text))
		d.example(w, one.First)
	}
	d.rest(w, reporter.Yellow, "failed on both sides: ", len(r.Failures))
	if paths := d.redaction.Paths(); len(paths) > 0 {
		so := "both received redacted values"
		if len(d.urls) == 1 {
			so = "compared by form only"
		}
		fmt.Fprintf(w, "redacted in the recording, so %s: %s\n", so, visible.Text(strings.Join(paths, ", ")))
	}
	if r.Uncompared != "" {
		fmt.Fprintf(w, "%s not compared, the first one because: %s\n", count(r.Requests-r.Compared-r.Left, "request"), visible.Text(r.Uncompared))
	}
	failed := ""
	if r.Failed > 0 {
		failed = fmt.Sprintf("; %s failed on both sides", count(r.Failed, "request"))
	}
	if r.Interrupted {
		fmt.Fprintln(w, d.screen().Paint(reporter.Yellow, interruption(r)))
	}
	fmt.Fprintf(w, "%s in %s, of which %d have the same answers; %s compared%s\n",
		count(len(r.Differences), "difference"), count(r.Compared, "request"), r.Alike, count(r.Objects, "converted object"), failed)
}

// interruption says what was not done because of an interruption.
func interruption(r recording.Comparison) string {
	text := fmt.Sprintf("Interrupted with %d of %s left", r.Left, count(r.Requests, "request"))
	if len(r.Differences) > 0 {
		text += "; some differences may be by chance, because not all were asked about again"
	}
	return text
}

// list shows the first differences of a list, and says how many more there are.
func (d *differ) list(w io.Writer, colour, heading string, differences []recording.Difference) {
	for _, one := range differences[:min(len(differences), shownMost)] {
		fmt.Fprintln(w, d.screen().Paint(colour, heading+visible.Text(headline(one))))
		d.example(w, one.First)
	}
	d.rest(w, colour, heading, len(differences))
}

// rest says how many of a list are not shown.
func (d *differ) rest(w io.Writer, colour, heading string, all int) {
	if more := all - shownMost; more > 0 {
		fmt.Fprintln(w, d.screen().Paint(colour, fmt.Sprintf("%sand %d more; --output json shows all", heading, more)))
	}
}

// headline says what differs, and how often.
func headline(one recording.Difference) string {
	switch one.What {
	case recording.FieldDiffers:
		return fmt.Sprintf("%s %s differs in %s", one.Kind, one.Path, count(one.Count, "object"))
	case recording.VerdictDiffers:
		return "the verdict differs in " + count(one.Count, "request")
	default:
		return "the message of failed conversions differs in " + count(one.Count, "request")
	}
}

func (d *differ) example(w io.Writer, e recording.Example) {
	where := ""
	if e.Line > 0 {
		where = fmt.Sprintf(" (line %d)", e.Line)
	}
	what := fmt.Sprintf("%s, %s -> %s%s", e.Object, e.From, e.To, where)
	if e.Path != "" {
		what += ", " + e.Path
	}
	fmt.Fprintf(w, "    %s\n      A: %s\n      B: %s\n", visible.Text(what), shownValue(e.A), shownValue(e.B))
}

// shownValue is a value of at most 300 bytes.
func shownValue(raw json.RawMessage) string {
	const most = 300
	switch {
	case raw == nil:
		return "nothing"
	case len(raw) > most:
		return fmt.Sprintf("%s... (%d bytes)", visible.Text(strings.ToValidUTF8(string(raw[:most]), "")), len(raw))
	}
	return visible.Text(string(raw))
}
