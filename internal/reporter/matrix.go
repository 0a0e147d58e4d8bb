package reporter

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Matrix shows the results of several runs side by side, with a column for each.
type Matrix struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Columns    []MatrixColumn `json:"columns"`           // by version, the oldest first
	Rows       []MatrixRow    `json:"rows"`              // by requirement, in the order of the first report
	Missing    []string       `json:"missing,omitempty"` // folders of those that an interruption or the run timeout left out
	Cut        string         `json:"cut,omitempty"`     // that and why the time of all was over
}

// MatrixColumn is one run.
type MatrixColumn struct {
	Version string                      `json:"version"`          // of Kubernetes, such as v1.36.3; empty when it could not be had
	Cluster string                      `json:"cluster"`          // kind of cluster, such as envtest
	Report  string                      `json:"report"`           // folder of its report
	Outcome reports.Outcome             `json:"outcome"`          //
	Error   string                      `json:"error,omitempty"`  // why it could not judge all that it was to
	Counts  map[requirement.Verdict]int `json:"counts,omitempty"` //

	Alike bool `json:"-"` // another column has the same API server
}

// MatrixRow is one requirement.
type MatrixRow struct {
	ID      requirement.ID `json:"id"`
	Subject string         `json:"subject,omitempty"` // definition; absent if no run has several
	Cells   []MatrixCell   `json:"cells"`             // one for each column
	Changed []string       `json:"changed,omitempty"` // versions that came to something else than the version before
	Note    string         `json:"note,omitempty"`    // what the verdicts say of the minors that the catalogue gives
}

// MatrixCell is the result of a requirement in one run. Its verdict is Unknown if the run has none.
type MatrixCell struct {
	Verdict requirement.Verdict `json:"verdict"`
	Reason  string              `json:"reason,omitempty"`
	Bound   string              `json:"bound,omitempty"` // why it does not hold there, such as "since 1.31"
}

// NewMatrix puts reports side by side. folders has the folder of each.
func NewMatrix(folders []string, all []*reports.Report) *Matrix {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byVersion(all[a], all[b]) })
	m := &Matrix{APIVersion: reports.APIVersion, Kind: "Matrix"}
	rows := map[string]int{}
	several := slices.ContainsFunc(all, func(r *reports.Report) bool { return len(Subjects(r)) > 1 })
	for column, i := range order {
		m.Columns = append(m.Columns, columnOf(folders[i], all[i]))
		for _, result := range all[i].Results {
			row := MatrixRow{ID: result.ID, Cells: make([]MatrixCell, len(all))}
			if several {
				row.Subject = result.Subject
			}
			at, known := rows[row.Name()]
			if !known {
				at = len(m.Rows)
				rows[row.Name()] = at
				m.Rows = append(m.Rows, row)
			}
			m.Rows[at].Cells[column] = MatrixCell{result.Verdict, result.Reason, boundOf(result, minorOf(all[i]))}
		}
	}
	for i, c := range m.Columns {
		m.Columns[i].Alike = slices.ContainsFunc(m.Columns, func(other MatrixColumn) bool {
			return other.Report != c.Report && other.Version == c.Version && other.Cluster == c.Cluster
		})
	}
	for i := range m.Rows {
		m.Rows[i].Changed = m.changed(m.Rows[i])
		m.Rows[i].Note = m.note(m.Rows[i])
	}
	return m
}

// boundOf returns why a requirement does not hold for a minor, if it does not.
func boundOf(r reports.Result, minor requirement.Minor) string {
	switch {
	case r.Verdict != requirement.NotApplicable || minor == requirement.Minor{} || r.HoldsFor(minor):
		return ""
	case minor.Less(r.Since):
		return "since " + r.Since.String()
	}
	return "until " + r.Until.String()
}

// changed returns the versions at which a requirement came to something else than at the version before that was judged. What
// differs between two API servers of the same version is not because of the version, and neither is what one kind of cluster can
// check and another cannot.
func (m *Matrix) changed(row MatrixRow) []string {
	var at []string
	for i, cell := range row.Cells {
		before := i - 1
		for before >= 0 && !m.comparable(row, before, i) {
			before--
		}
		if before >= 0 && cell.word() != row.Cells[before].word() && m.Columns[i].Version != m.Columns[before].Version {
			at = append(at, m.Columns[i].Version)
		}
	}
	return at
}

// comparable reports whether two cells of a row differ because of the version, if they do: both were judged, and neither is without
// a verdict for want of something that its kind of cluster lacks, which that of the other may have and other minors do not want.
func (m *Matrix) comparable(row MatrixRow, a, b int) bool {
	x, y := row.Cells[a], row.Cells[b]
	if x.Verdict == requirement.Unknown || y.Verdict == requirement.Unknown {
		return false
	}
	if x.lacking() || y.lacking() {
		return m.Columns[a].Cluster == m.Columns[b].Cluster && x.Bound == "" && y.Bound == ""
	}
	return true
}

// note says what speaks against the minors that the catalogue gives for a requirement on API servers: it fails up to a version and
// passes from there on, or the other way round.
func (m *Matrix) note(row MatrixRow) string {
	one, known := requirement.Lookup(row.ID)
	if !known || one.Binds != requirement.Server {
		return ""
	}
	turned, turns, last := -1, 0, -1
	for i, cell := range row.Cells {
		if cell.Verdict != requirement.Passed && cell.Verdict != requirement.Failed {
			continue
		}
		if last >= 0 && cell.Verdict != row.Cells[last].Verdict {
			if m.Columns[i].Version == m.Columns[last].Version {
				return "" // it is not because of the version
			}
			turned, turns = i, turns+1
		}
		last = i
	}
	switch {
	case turns != 1:
		return ""
	case row.Cells[last].Verdict == requirement.Passed:
		return fmt.Sprintf("fails before %s: the catalogue may say since too early", m.Columns[turned].Version)
	}
	return fmt.Sprintf("fails from %s on: the catalogue may say until too late, or that release is broken", m.Columns[turned].Version)
}

func columnOf(folder string, r *reports.Report) MatrixColumn {
	c := MatrixColumn{Report: folder, Outcome: r.Outcome, Error: r.Error, Counts: r.Counts}
	if r.Cluster != nil {
		c.Version, c.Cluster = r.Cluster.Version, r.Cluster.Name
	}
	return c
}

// minorOf returns the minor of the API server, or none.
func minorOf(r *reports.Report) requirement.Minor {
	if r.Cluster == nil {
		return requirement.Minor{}
	}
	m, _ := requirement.ParseMinor(r.Cluster.Version)
	return m
}

func byVersion(a, b *reports.Report) int {
	x, y := minorOf(a), minorOf(b)
	return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor))
}

// Title is what a column is called: the API server, and the report if others are of the same API server.
func (c MatrixColumn) Title() string {
	title := c.Version + " " + c.Cluster
	if c.Version == "" {
		title = "none"
	}
	if c.Alike {
		title += ", " + c.Report
	}
	return title
}

// Of is what the columns are about: API servers where they differ, or runs otherwise, such as those on several webhooks.
func (m *Matrix) Of() string {
	if slices.ContainsFunc(m.Columns, func(c MatrixColumn) bool { return c.Alike }) {
		return "run"
	}
	return "API server"
}

// Name is what a row is called: the requirement, and the definition if runs have several.
func (r MatrixRow) Name() string { return joined(string(r.ID), ", ", r.Subject) }

// Differs reports whether the verdicts of a row are not all the same.
func (r MatrixRow) Differs() bool {
	return slices.ContainsFunc(r.Cells, func(c MatrixCell) bool { return c.word() != r.Cells[0].word() })
}

// table returns the rows that differ, and what all come to, with a cell for each column.
func (m *Matrix) table(head, last string, name func(MatrixRow) any, cell func(MatrixCell) string, all func(MatrixColumn) string) *visible.Table {
	t := &visible.Table{Head: []string{head}}
	end := []any{"all"}
	for _, c := range m.Columns {
		t.Head, end = append(t.Head, c.Title()), append(end, all(c))
	}
	t.Head = append(t.Head, last)
	for _, row := range m.Rows {
		if !row.Differs() {
			continue
		}
		cells := []any{name(row)}
		for _, c := range row.Cells {
			cells = append(cells, cell(c))
		}
		t.Add(append(cells, strings.Join(row.Changed, ", "))...)
	}
	t.Add(append(end, "")...)
	return t
}

// Markdown shows the rows that differ as a table, and says how many do not.
func (m *Matrix) Markdown(w io.Writer) error {
	name := func(r MatrixRow) any {
		return visible.Raw(fmt.Sprintf("`%s`%s", r.ID, visible.Markdown(joined("", " ", r.Subject))))
	}
	var notes strings.Builder
	for _, note := range m.notes() {
		fmt.Fprintf(&notes, "- %s %s\n", name(note), visible.Markdown(note.Note))
	}
	if notes.Len() > 0 {
		notes.WriteString("\n")
	}
	table := m.table("requirement", "changed in", name, MatrixCell.text, MatrixColumn.summary).Markdown()
	_, err := fmt.Fprintf(w, "%s\n%s%s\n", table, &notes, visible.Markdown(m.Headline()))
	return err
}

// Text shows the rows that differ in columns of text, and says how many do not.
func (m *Matrix) Text(w io.Writer) error {
	outcome := func(c MatrixColumn) string { return string(c.Outcome) }
	var notes strings.Builder
	for _, note := range m.notes() {
		notes.WriteString(visible.Text(note.Name()+" "+note.Note) + "\n")
	}
	table := m.table("REQUIREMENT", "CHANGED IN", func(r MatrixRow) any { return r.Name() }, MatrixCell.word, outcome).Text()
	_, err := fmt.Fprintf(w, "%s%s%s\n", table, &notes, visible.Text(m.Headline()))
	return err
}

// notes returns the rows that have one.
func (m *Matrix) notes() []MatrixRow {
	var all []MatrixRow
	for _, row := range m.Rows {
		if row.Note != "" {
			all = append(all, row)
		}
	}
	return all
}

// Partial reports whether something is missing because of an interruption.
func (m *Matrix) Partial() bool {
	return len(m.Missing) > 0 || slices.ContainsFunc(m.Columns, func(c MatrixColumn) bool { return c.Outcome == reports.Interrupted })
}

// Headline says in a sentence what the matrix shows.
func (m *Matrix) Headline() string {
	alike := 0
	for _, row := range m.Rows {
		if !row.Differs() {
			alike++
		}
	}
	text := fmt.Sprintf("%d of %d requirements gave the same result on all %d API servers.", alike, len(m.Rows), len(m.Columns))
	if m.Of() == "run" {
		text = fmt.Sprintf("%d of %d requirements gave the same result in all %d runs.", alike, len(m.Rows), len(m.Columns))
	}
	switch {
	case m.Cut != "":
		text = strings.ToUpper(m.Cut[:1]) + m.Cut[1:] + ", so this is incomplete. " + text
	case m.Partial():
		text = "Interrupted, so this is incomplete. " + text
	}
	if len(m.Missing) > 0 {
		text += " Not checked: " + strings.Join(m.Missing, ", ") + "."
	}
	return text
}

// word returns the verdict, or why it is missing.
func (c MatrixCell) word() string {
	if c.Verdict == requirement.Unknown {
		return "not run"
	}
	if c.Bound != "" {
		return c.Bound
	}
	return c.Verdict.String()
}

// lacking reports whether a requirement could not be judged for another reason than the minor.
func (c MatrixCell) lacking() bool { return c.Verdict == requirement.NotApplicable && c.Bound == "" }

// text is the verdict with the reason, where it is worth one.
func (c MatrixCell) text() string {
	if c.Reason == "" || c.Bound != "" || c.Verdict == requirement.Passed {
		return c.word()
	}
	reason, _, _ := strings.Cut(c.Reason, "\n")
	return c.word() + ": " + reason
}

// summary is the outcome with the numbers of verdicts.
func (c MatrixColumn) summary() string {
	parts := []string{string(c.Outcome)}
	for _, v := range slices.Sorted(maps.Keys(c.Counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Counts[v], v))
	}
	if c.Error != "" {
		parts = append(parts, c.Error)
	}
	return strings.Join(parts, ", ")
}

// Passing are the requirements that passed on at least one of several API servers, and are known to fail on none.
func Passing(all []*reports.Report) map[requirement.ID]bool {
	passing := map[requirement.ID]bool{}
	for _, report := range all {
		for _, result := range report.With(requirement.Passed) {
			passing[result.ID] = true
		}
	}
	for _, report := range all {
		for _, result := range report.With(requirement.KnownFailing) {
			delete(passing, result.ID)
		}
	}
	return passing
}
