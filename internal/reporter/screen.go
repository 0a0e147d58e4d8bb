package reporter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// The escape sequences of a screen that has colors.
const (
	Green  = "\x1b[32m"
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// Screen is where the end of a run is shown: a terminal, or what takes lines of any length.
type Screen struct {
	Out      io.Writer
	Terminal bool
	Width    int // of the terminal
	Color    bool
	More     string // the flag for what there is no room for
	Stepped  bool   // the steps of upgrades were shown when they came
}

// What a summary has room for, so that it fits on one screen with what is below it.
const (
	mostChapters = 14
	mostNotes    = 6
	mostChanges  = 12 // lines
	mostCauses   = 10
	mostLosses   = 3
)

// Summarize shows the outcome on one screen: what failed comes last, above the headline, where eyes are when a run ends.
func (s Screen) Summarize(report *reports.Report) {
	fmt.Fprintln(s.Out)
	s.chapters(report)
	s.notes(report)
	for _, line := range CoverageLines(report) {
		s.Line("", "", line)
	}
	if text := spentText(report); text != "" {
		s.Line("", "", "time: "+text)
	}
	if l := report.Load; l != nil {
		for _, line := range LoadLines(l, s.columns()) {
			fmt.Fprintln(s.Out, line)
		}
	}
	if c := report.Changes; c != nil {
		s.changes(c)
	}
	if len(report.Upgrade) > 0 {
		s.upgrades(report)
	} else {
		s.causes(report)
		s.losses(report)
	}
	s.conclude(report)
}

// Failures shows the outcome, and what fails, but for the results of specs, which are shown when they come.
func (s Screen) Failures(report *reports.Report) {
	fails := report.Outcome == reports.NonConformant || report.Outcome == reports.Unjudged
	if l := report.Load; l != nil && fails {
		for _, line := range LoadLines(l, s.columns()) {
			fmt.Fprintln(s.Out, line)
		}
	}
	for _, leg := range report.Upgrade {
		for _, f := range leg.Findings {
			if f.Verdict == requirement.Failed || report.Strict {
				s.legFinding(report, f)
			}
		}
	}
	s.conclude(report)
}

// conclude shows the headline, which ends a summary.
func (s Screen) conclude(report *reports.Report) {
	color := map[reports.Outcome]string{reports.Conformant: Green, reports.Partial: Green, reports.NonConformant: Red}[report.Outcome]
	if color == "" {
		color = Yellow
	}
	fmt.Fprint(s.Out, s.Paint(color, visible.Text(Headline(report))))
	if report.Error == "" { // what went wrong has an end of its own
		fmt.Fprintf(s.Out, ", in %.1f s", report.Seconds)
	}
	fmt.Fprintln(s.Out)
	if _, more, found := strings.Cut(strings.TrimSpace(report.Error), "\n"); found { // such as the last output of a program
		fmt.Fprintf(s.Out, "    %s\n", strings.ReplaceAll(visible.Text(more), "\n", "\n    "))
	}
}

// columns is how many characters a sentence may have in a line.
func (s Screen) columns() int {
	if s.Terminal && s.Width > 0 {
		return s.Width
	}
	return Columns
}

// Line prints a line whose head has a color, as much of it as there is room for on a terminal. Nothing in it is obeyed there.
func (s Screen) Line(color, head, text string) {
	visible := []rune(strings.ReplaceAll(visible.Text(text), "\n", " "))
	if most := s.Width - utf8.RuneCountInString(head); s.Terminal && most > 1 && len(visible) > most {
		visible = append(visible[:most-1], '…')
	}
	if color != "" {
		head = s.Paint(color, head)
	}
	fmt.Fprintln(s.Out, head+string(visible))
}

// chapters shows how many results of each chapter came to what. Those of many definitions are added up, and of many areas it shows those
// with problems.
func (s Screen) chapters(report *reports.Report) {
	chapters, width := Chapters(report), 12
	if len(chapters) > mostChapters {
		chapters = Areas(report)
	}
	shown := chapters
	if len(chapters) > mostChapters {
		shown = slices.DeleteFunc(slices.Clone(chapters), func(c Chapter) bool {
			return !slices.ContainsFunc(c.Results, func(result reports.Result) bool { return Problem(report, result) })
		})
		shown = shown[:min(len(shown), mostChapters)]
	}
	most := 0
	counts := make([]string, len(shown))
	for i, chapter := range shown {
		for _, v := range Verdicts(report) {
			if n := chapter.Count(v); n > 0 {
				counts[i] += fmt.Sprintf(" %3d %s", n, v)
			}
		}
		width, most = max(width, utf8.RuneCountInString(chapter.Name)), max(most, len(counts[i]))
	}
	if s.Terminal { // what is cut, if anything, is the name
		width = min(width, max(s.Width-most, 12))
	}
	for i, chapter := range shown {
		name := []rune(visible.Text(chapter.Name))
		if len(name) > width {
			name = append(name[:width-1], '…')
		}
		s.Line("", "", fmt.Sprintf("%-*s%s", width, string(name), counts[i]))
	}
	if n := len(chapters) - len(shown); n > 0 {
		s.Line("", "", visible.More(n)+" chapters, in report.html")
	}
}

// notes lists what neither passed nor failed, with the reasons; a reason that many share is shown once.
func (s Screen) notes(report *reports.Report) {
	order := unpassedResults(report, material)
	for _, n := range order[:min(len(order), mostNotes)] {
		s.Line(Yellow, n.verdict.String(), " "+n.which()+": "+n.reason)
	}
	if n := len(order) - mostNotes; n > 0 {
		s.Line("", "", visible.More(n)+" notes, in report.html")
	}
}

// changes shows what differs from an earlier run, the worst first, and what it comes to. A terminal has no room for all of it.
func (s Screen) changes(c *reports.Changes) {
	lines := ChangeLines(c, s.columns())
	if last := len(lines) - 1; s.Terminal && len(lines) > mostChanges {
		more := visible.More(last-(mostChanges-2)) + " lines, with " + s.More
		lines = append(slices.Clone(lines[:mostChanges-2]), more, lines[last])
	}
	for _, line := range lines {
		s.Line("", "", line)
	}
}

// causes lists what counts against somebody or could not be judged, by cause: in a line each, or in more if they are few and the terminal
// is narrow. The problems were shown when they came.
func (s Screen) causes(report *reports.Report) {
	all := Causes(report)
	for _, c := range all[:min(len(all), mostCauses)] {
		verdict, which, extent := strings.ToUpper(c.Verdict.String()), " "+c.What, ""
		switch {
		case len(c.Pairs) > 0, c.isOfAnswers():
			extent = c.Extent()
		case c.Extent() != "" && len(Subjects(report)) > 1:
			which += " of " + c.Extent()
		}
		line := which + ": " + c.Example
		if extent != "" {
			line = which + " (" + extent + "): " + c.Example
		}
		if s.Terminal && len(all) <= mostCauses/2 && utf8.RuneCountInString(verdict+line) > s.Width {
			s.Line(Red, verdict, which+":")
			if extent != "" {
				s.Line("", "    ", extent)
			}
			s.Line("", "    ", c.Example)
			continue
		}
		s.Line(Red, verdict, line)
	}
	if n := len(all) - mostCauses; n > 0 {
		s.Line("", "", visible.More(n)+" causes, in report.html")
	}
}

// losses shows how to declare the fields that a conversion may be meant to lose.
func (s Screen) losses(report *reports.Report) {
	meant := slices.DeleteFunc(Losses(report), func(l Loss) bool { return !l.Meant })
	if len(meant) == 0 {
		return
	}
	fmt.Fprintf(s.Out, "To declare the losses that are intended, add this to crdconform.yaml; \"crdconform check --write-lossy FILE\" writes all %d:\nlossy:\n", len(meant))
	for _, l := range meant[:min(len(meant), mostLosses)] {
		fmt.Fprintln(s.Out, l.Line())
	}
}

// Paint gives a text a color, if the screen has any.
func (s Screen) Paint(color, text string) string {
	if !s.Color {
		return text
	}
	return color + text + plain
}

// Problem shows what violates a requirement, and how, with all there is to say.
func (s Screen) Problem(verdict requirement.Verdict, id requirement.ID, statement, reason string) {
	head := strings.ToUpper(verdict.String())
	first := s.wrapped(fmt.Sprintf("%s %s: %s", head, id, statement), "")
	fmt.Fprintln(s.Out, s.Paint(Red, head)+strings.TrimPrefix(first[0], head))
	for _, line := range append(first[1:], strings.Split(strings.TrimSpace(visible.Text(reason)), "\n")...) {
		for _, part := range s.wrapped(line, problemIndent) {
			fmt.Fprintln(s.Out, part)
		}
	}
}

// problemIndent begins the lines of a problem after the first.
const problemIndent = "    "

// wrapped breaks a text between its words where a terminal would break it anywhere.
func (s Screen) wrapped(text, indent string) []string {
	if !s.Terminal || s.Width <= len(indent) {
		return []string{indent + text}
	}
	lines := visible.Wrapped(text, s.Width-len(indent))
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// Sequel ends what is shown of a problem: why it matters, and the command that checks the requirement again, if there is one.
func (s Screen) Sequel(id requirement.ID, verdict requirement.Verdict, again string) {
	if known, found := requirement.Lookup(id); found && known.Why != "" && verdict != requirement.Errored {
		for _, line := range s.wrapped("why it matters: "+known.Why, problemIndent) {
			fmt.Fprintln(s.Out, s.Paint(Dim, line))
		}
	}
	if again != "" {
		fmt.Fprintf(s.Out, "    %s\n", s.Paint(Dim, "again: "+again))
	}
}

// mostShownFindings is how many findings of an upgrade a summary has in full.
const mostShownFindings = 10

// upgrades shows what came of the upgrades that were rehearsed: a table of steps and definitions, the findings, and the way back.
func (s Screen) upgrades(report *reports.Report) {
	shown := map[requirement.ID]bool{}
	for _, leg := range report.Upgrade {
		fmt.Fprintln(s.Out)
		s.Line("", "", fmt.Sprintf("From %s to %s", leg.From, leg.To))
		if !s.Stepped || len(leg.Kinds) > 1 {
			for _, line := range LegTable(leg, s.columns()) {
				s.Line("", "", line)
			}
		}
		for _, text := range leg.Return {
			s.Line("", "", text)
		}
		for _, f := range leg.Findings[:min(len(leg.Findings), mostShownFindings)] {
			s.legFinding(report, f)
			at := slices.IndexFunc(report.Results, func(r reports.Result) bool { return r.ID == f.Requirement && Problem(report, r) })
			if at >= 0 && !shown[f.Requirement] {
				s.Sequel(f.Requirement, f.Verdict, report.Results[at].Rerun)
			}
			shown[f.Requirement] = true
		}
		if more := len(leg.Findings) - mostShownFindings; more > 0 {
			s.Line("", "", visible.More(more)+" findings, in report.html")
		}
	}
	for _, result := range report.With(requirement.Errored) {
		s.Line(Red, "ERRORED", fmt.Sprintf(" %s: %s", result.ID, Brief(result)))
	}
	fmt.Fprintln(s.Out)
}

// legFinding shows a finding, in several lines.
func (s Screen) legFinding(report *reports.Report, f reports.LegFinding) {
	color := Yellow
	if f.Verdict == requirement.Failed || report.Strict {
		color = Red
	}
	fmt.Fprintf(s.Out, "\n%s %s (%s)\n", s.Paint(color, strings.ToUpper(f.Verdict.String())), f.Requirement, f.Step)
	for line := range strings.Lines(LegFindingText(f)) {
		fmt.Fprintf(s.Out, "    %s\n", visible.Text(strings.TrimRight(line, "\n")))
	}
}
