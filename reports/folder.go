package reports

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Folder is where the forms of a report are written.
type Folder string

// Open makes the folder if it is missing, and fails when nothing can be written there: better now than when the run is
// over.
func Open(path string) (Folder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fmt.Errorf("report folder: %w; give another one by --report-dir", err)
	}
	probe, err := os.CreateTemp(path, ".crdconform-*")
	if err != nil {
		return "", fmt.Errorf("report folder %s: nothing can be written there (%w); give another one by --report-dir", path, err)
	}
	return Folder(path), errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Write writes every form of the report, and the files that belong to it. It goes on after errors, so that one form that
// cannot be written does not cost the others.
func (f Folder) Write(r *Report) error {
	forms := map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error { return encodeJSON(w, r) },
		"report.html": r.HTML,
		"junit.xml":   r.JUnit,
		"summary.md":  r.Markdown,
	}
	if r.Load != nil {
		forms["latency.json"] = r.Load.JSON
		forms["latency.hgrm"] = r.Load.Response.HGRM
	}
	var errs []error
	for name, form := range forms {
		errs = append(errs, f.create(name, form))
	}
	for _, result := range r.Results {
		for _, file := range result.Files {
			errs = append(errs, f.create(file.Path, func(w io.Writer) error {
				_, err := w.Write(file.Data)
				return err
			}))
		}
	}
	return errors.Join(errs...)
}

func (f Folder) create(name string, write func(io.Writer) error) error {
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("report %s: %w", path, err)
	}
	return nil
}
