package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/crdconform/crdconform/requirement"
)

// Matrix is what several runs came to, side by side: one column for each API server.
type Matrix struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Columns    []MatrixColumn `json:"columns"` // by version, the oldest first
	Rows       []MatrixRow    `json:"rows"`    // by requirement, in the order of the first report
}

// MatrixColumn is one run.
type MatrixColumn struct {
	Version string                      `json:"version"`          // of Kubernetes, such as v1.36.3; empty when it could not be had
	Cluster string                      `json:"cluster"`          // sort of cluster, such as envtest
	Report  string                      `json:"report"`           // folder of its report
	Outcome Outcome                     `json:"outcome"`          //
	Error   string                      `json:"error,omitempty"`  // why it could not judge all that it was to
	Counts  map[requirement.Verdict]int `json:"counts,omitempty"` //
}

// MatrixRow is one requirement.
type MatrixRow struct {
	ID    requirement.ID `json:"id"`
	Cells []MatrixCell   `json:"cells"` // one for each column
}

// MatrixCell is what a requirement came to in one run. Its verdict is Unknown where the run has none.
type MatrixCell struct {
	Verdict requirement.Verdict `json:"verdict"`
	Reason  string              `json:"reason,omitempty"`
}

// NewMatrix puts reports side by side, whose folders are given beside them.
func NewMatrix(folders []string, all []*Report) *Matrix {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byVersion(all[a], all[b]) })
	m := &Matrix{APIVersion: APIVersion, Kind: "Matrix"}
	rows := map[requirement.ID]int{}
	for column, i := range order {
		m.Columns = append(m.Columns, columnOf(folders[i], all[i]))
		for _, result := range all[i].Results {
			at, known := rows[result.ID]
			if !known {
				at = len(m.Rows)
				rows[result.ID] = at
				m.Rows = append(m.Rows, MatrixRow{ID: result.ID, Cells: make([]MatrixCell, len(all))})
			}
			m.Rows[at].Cells[column] = MatrixCell{result.Verdict, result.Reason}
		}
	}
	return m
}

func columnOf(folder string, r *Report) MatrixColumn {
	c := MatrixColumn{Report: folder, Outcome: r.Outcome, Error: r.Error, Counts: r.Counts}
	if r.Cluster != nil {
		c.Version, c.Cluster = r.Cluster.Version, r.Cluster.Name
	}
	return c
}

func byVersion(a, b *Report) int {
	minor := func(r *Report) requirement.Minor {
		if r.Cluster == nil {
			return requirement.Minor{}
		}
		m, _ := requirement.ParseMinor(r.Cluster.Version)
		return m
	}
	x, y := minor(a), minor(b)
	return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor))
}

// Title is what a column is called.
func (c MatrixColumn) Title() string {
	if c.Version == "" {
		return "none"
	}
	return c.Version + " " + c.Cluster
}

// Differs tells whether the verdicts of a row are not all the same.
func (r MatrixRow) Differs() bool {
	return slices.ContainsFunc(r.Cells, func(c MatrixCell) bool { return c.Verdict != r.Cells[0].Verdict })
}

// Markdown shows the rows that differ as a table, and says how many do not.
func (m *Matrix) Markdown() string {
	var text strings.Builder
	text.WriteString("| requirement |")
	for _, c := range m.Columns {
		fmt.Fprintf(&text, " %s |", escapeMarkdown(c.Title()))
	}
	text.WriteString("\n| --- |" + strings.Repeat(" --- |", len(m.Columns)) + "\n")
	for _, row := range m.Rows {
		if !row.Differs() {
			continue
		}
		fmt.Fprintf(&text, "| `%s` |", row.ID)
		for _, cell := range row.Cells {
			fmt.Fprintf(&text, " %s |", escapeMarkdown(cell.text()))
		}
		text.WriteByte('\n')
	}
	text.WriteString("| all |")
	for _, c := range m.Columns {
		fmt.Fprintf(&text, " %s |", escapeMarkdown(c.summary()))
	}
	fmt.Fprintf(&text, "\n\n%s\n", m.Headline())
	return text.String()
}

// Text shows the rows that differ by words in columns, and says how many do not.
func (m *Matrix) Text() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "REQUIREMENT")
	for _, c := range m.Columns {
		fmt.Fprint(w, "\t", Visible(c.Title()))
	}
	fmt.Fprintln(w)
	for _, row := range m.Rows {
		if !row.Differs() {
			continue
		}
		fmt.Fprint(w, row.ID)
		for _, cell := range row.Cells {
			fmt.Fprint(w, "\t", cell.word())
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "all")
	for _, c := range m.Columns {
		fmt.Fprint(w, "\t", c.Outcome)
	}
	fmt.Fprintf(w, "\n%s\n", m.Headline())
	_ = w.Flush() // it goes to memory
	return text.String()
}

// Headline says in a sentence what the matrix shows.
func (m *Matrix) Headline() string {
	alike := 0
	for _, row := range m.Rows {
		if !row.Differs() {
			alike++
		}
	}
	return fmt.Sprintf("%d of %d requirements came to the same on %d API servers.", alike, len(m.Rows), len(m.Columns))
}

// word is the verdict.
func (c MatrixCell) word() string {
	if c.Verdict == requirement.Unknown {
		return "not run"
	}
	return c.Verdict.String()
}

// text is the verdict with the reason, where it is worth one.
func (c MatrixCell) text() string {
	if c.Reason == "" || c.Verdict == requirement.Passed {
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
