package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
)

// shownMost is how many differences of each list are shown as text.
const shownMost = 30

// Text shows a comparison of A and B on a screen. If anything is redacted, A is a recording, and is asked too unless that is all there is.
func (r Comparison) Text(s reporter.Screen, a, b string, redacted []string, asked bool) {
	fmt.Fprintf(s.Out, "A: %s\nB: %s\n\n", a, b)
	list(s, reporter.Red, "", r.Differences)
	list(s, reporter.Yellow, "changes by chance, not counted: ", r.Chance)
	list(s, reporter.Yellow, "possibly due to redaction, not counted: ", r.Redaction)
	for _, one := range r.Failures[:min(len(r.Failures), shownMost)] {
		text := visible.Count(one.Count, "request", "") + " failed on both sides"
		if one.Redacted > 0 {
			text += fmt.Sprintf(", %d of them redacted, which may be why", one.Redacted)
		}
		fmt.Fprintln(s.Out, s.Paint(reporter.Yellow, text))
		example(s.Out, one.First)
	}
	rest(s, reporter.Yellow, "failed on both sides: ", len(r.Failures))
	if len(redacted) > 0 {
		so := "both received redacted values"
		if !asked {
			so = "compared by form only"
		}
		fmt.Fprintf(s.Out, "redacted in the recording, so %s: %s\n", so, visible.Text(strings.Join(redacted, ", ")))
	}
	if r.Uncompared != "" {
		fmt.Fprintf(s.Out, "%s not compared, the first one because: %s\n", visible.Count(r.Requests-r.Compared-r.Left, "request", ""), visible.Text(r.Uncompared))
	}
	failed := ""
	if r.Failed > 0 {
		failed = fmt.Sprintf("; %s failed on both sides", visible.Count(r.Failed, "request", ""))
	}
	if r.Interrupted {
		fmt.Fprintln(s.Out, s.Paint(reporter.Yellow, interruption(r)))
	}
	fmt.Fprintf(s.Out, "%s in %s, of which %d have the same answers; %s compared%s\n",
		visible.Count(len(r.Differences), "difference", ""), visible.Count(r.Compared, "request", ""), r.Alike, visible.Count(r.Objects, "converted object", ""), failed)
}

// interruption says what was not done because of an interruption.
func interruption(r Comparison) string {
	text := fmt.Sprintf("Interrupted with %d of %s left", r.Left, visible.Count(r.Requests, "request", ""))
	if len(r.Differences) > 0 {
		text += "; some differences may be by chance, because not all were asked about again"
	}
	return text
}

// list shows the first differences of a list, and says how many more there are.
func list(s reporter.Screen, colour, heading string, differences []Difference) {
	for _, one := range differences[:min(len(differences), shownMost)] {
		fmt.Fprintln(s.Out, s.Paint(colour, heading+visible.Text(headline(one))))
		example(s.Out, one.First)
	}
	rest(s, colour, heading, len(differences))
}

// rest says how many of a list are not shown.
func rest(s reporter.Screen, colour, heading string, all int) {
	if more := all - shownMost; more > 0 {
		fmt.Fprintln(s.Out, s.Paint(colour, heading+visible.More(more)+"; "+s.More+" shows all"))
	}
}

// headline says what differs, and how often.
func headline(one Difference) string {
	switch one.What {
	case FieldDiffers:
		return fmt.Sprintf("%s %s differs in %s", one.Kind, one.Path, visible.Count(one.Count, "object", ""))
	case VerdictDiffers:
		return "the verdict differs in " + visible.Count(one.Count, "request", "")
	default:
		return "the message of failed conversions differs in " + visible.Count(one.Count, "request", "")
	}
}

func example(w io.Writer, e Example) {
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
