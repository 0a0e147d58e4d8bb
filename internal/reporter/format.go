package reporter

import (
	"io"
	"slices"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// Format is a form in which something is written.
type Format[T any] struct {
	Name  string // as users choose it
	File  string // that a run writes to the report folder; empty when no run writes it
	Write func(T, io.Writer) error
}

// Formats are the formats of a report, but for the text that terminals show. The implementation is who was judged, for a
// ConformanceReport; it may be nil.
func Formats(i *Implementation) []Format[*reports.Report] {
	return []Format[*reports.Report]{
		{"html", "report.html", HTML},
		{"junit", "junit.xml", JUnit},
		{"markdown", "summary.md", Markdown},
		{"json", layout.Report, JSON[reports.Report]},
		{"conformance", "", func(r *reports.Report, w io.Writer) error { return Conformance(r, i).YAML(w) }},
		{"prometheus", "", Prometheus},
		{"badge", "", Badge},
		{"lossy", "", Lossy},
	}
}

// MatrixFormats are the formats of reports side by side.
func MatrixFormats() []Format[*Matrix] {
	return []Format[*Matrix]{
		{"text", "", (*Matrix).Text},
		{"markdown", "matrix.md", (*Matrix).Markdown},
		{"html", "", (*Matrix).HTML},
		{"json", "matrix.json", JSON[Matrix]},
	}
}

// stageFormats are those of the times of a stage, by the extensions of their files.
func stageFormats() []Format[loadgen.Stage] {
	return []Format[loadgen.Stage]{
		{"hgrm", ".hgrm", func(s loadgen.Stage, w io.Writer) error { return hgrm(s.Response, w) }},
		{"csv", ".csv", stageCSV},
	}
}

// Named returns the format with a name.
func Named[T any](formats []Format[T], name string) (format Format[T], found bool) {
	i := slices.IndexFunc(formats, func(f Format[T]) bool { return f.Name == name })
	if i < 0 {
		return format, false
	}
	return formats[i], true
}

// Names returns the names of formats, in their order.
func Names[T any](formats []Format[T]) []string {
	names := make([]string, 0, len(formats))
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Filed returns the formats that a run writes. The report itself comes first, because it lists the files that the next run is to remove.
func Filed[T any](formats []Format[T]) []Format[T] {
	filed := slices.DeleteFunc(slices.Clone(formats), func(f Format[T]) bool { return f.File == "" })
	slices.SortStableFunc(filed, func(a, b Format[T]) int {
		switch {
		case a.File == layout.Report:
			return -1
		case b.File == layout.Report:
			return 1
		}
		return 0
	})
	return filed
}

// stageFiles returns the files with the times of stages, for these names without extensions.
func stageFiles(bases ...string) []string {
	var files []string
	for _, base := range bases {
		for _, f := range stageFormats() {
			files = append(files, base+f.File)
		}
	}
	return files
}
