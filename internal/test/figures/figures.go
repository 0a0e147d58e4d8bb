// Package figures compares what benchmarks measure with what the project promises. All packages share one table.
package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

// FileVariable names the file that benchmarks add what they measured to, for Read. Without it each benchmark prints a table of its own,
// and fails if a claim is missed.
const FileVariable = "CRDCONFORM_BENCH_FILE"

// Claim is a figure that the project promises, or hopes for.
type Claim struct {
	What     string  `json:"what"`
	Asked    float64 `json:"asked"`
	AtLeast  bool    `json:"atLeast"` // at most otherwise
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	How      string  `json:"how"`     // it was measured, and what else was seen
	Goal     bool    `json:"goal"`    // it is not promised yet
	Missing  string  `json:"missing"` // why there is no figure, or none that proves anything; empty if there is one
}

// Met reports whether the figure is as asked. One that is missing is not.
func (c Claim) Met() bool {
	switch {
	case c.Missing != "":
		return false
	case c.AtLeast:
		return c.Measured >= c.Asked
	}
	return c.Measured <= c.Asked
}

// Missed reports whether a promise is broken. Goals are no promises, and what was not measured says nothing.
func (c Claim) Missed() bool { return c.Missing == "" && !c.Goal && !c.Met() }

func (c Claim) asked() string {
	sign := "<="
	if c.AtLeast {
		sign = ">="
	}
	return strings.TrimSpace(fmt.Sprintf("%s %.4g %s", sign, c.Asked, c.Unit))
}

func (c Claim) measured() string {
	if c.Missing != "" {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", c.Measured, c.Unit))
}

func (c Claim) holds() string {
	switch {
	case c.Missing != "":
		return "not measured: " + c.Missing
	case c.Met():
		return "yes"
	case c.Goal:
		return "a goal, not yet a claim"
	}
	return "MISSED"
}

// Measure has a part of a benchmark measure its claims. If it cannot, the benchmark goes on with the next part, and fails in the end.
func Measure(b *testing.B, part string, measure func(*testing.B) []Claim) {
	b.Helper()
	b.Run(part, func(b *testing.B) {
		for b.Loop() {
			add(b, measure(b))
		}
	})
}

func add(b *testing.B, measured []Claim) {
	b.Helper()
	path := os.Getenv(FileVariable) //nolint:forbidigo // the Makefile sets it
	if path == "" {
		report(b, measured)
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range measured {
		err = errors.Join(err, json.NewEncoder(file).Encode(c))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		b.Fatal(err)
	}
}

func report(b *testing.B, measured []Claim) {
	b.Helper()
	var table strings.Builder
	if err := Write(&table, measured); err != nil {
		b.Fatal(err)
	}
	b.Logf("claims:\n%s", table.String())
	for _, c := range measured {
		if c.Missed() {
			b.Errorf("%s: %s, want %s", c.What, c.measured(), c.asked())
		}
	}
}

// Read reads the claims that benchmarks have added to a file.
func Read(r io.Reader) ([]Claim, error) {
	var all []Claim
	for decoder := json.NewDecoder(r); ; {
		var c Claim
		switch err := decoder.Decode(&c); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("figures: %w", err)
		}
		all = append(all, c)
	}
}

// Write writes claims as a table in Markdown that is aligned for terminals, with how each was measured below it.
func Write(out io.Writer, all []Claim) error {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| claim\t| asked\t| measured\t| holds\t|")
	fmt.Fprintln(w, "| ---\t| ---\t| ---\t| ---\t|")
	for _, c := range all {
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", c.What, c.asked(), c.measured(), c.holds())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var how strings.Builder
	for _, c := range all {
		if c.How != "" {
			fmt.Fprintf(&how, "- %s: %s\n", c.What, c.How)
		}
	}
	_, err := fmt.Fprintf(out, "\n%s", how.String())
	return err
}
