package reporter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// previous is the folder in a report folder to which the report of the last run that judged something is moved.
const previous = "previous"

// SetAside moves the report that is in a folder, with its files, to the folder previous in it, so that a run that cannot judge anything
// does not cost it. A report that judged nothing itself stays. Open is called after it.
func SetAside(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil // it is not there, or Open says what is wrong with it
	}
	defer func() { _ = root.Close() }() // what matters was done by then
	text, err := root.ReadFile(layout.Report)
	if err != nil {
		return nil // there is no report
	}
	if r, err := reports.Read(text); err != nil || !judgedAny(r) {
		return nil // it is not worth keeping
	}
	if err := Folder(name).Forget(); err != nil {
		return err
	}
	for _, file := range stale(root) {
		if !is(root, file, fs.FileMode.IsRegular) {
			continue
		}
		to := path.Join(previous, file)
		if err := errors.Join(root.MkdirAll(path.Dir(to), 0o755), root.Rename(file, to)); err != nil {
			return fmt.Errorf("report folder %s: %w", name, err)
		}
		for dir := path.Dir(file); dir != "." && root.Remove(dir) == nil; {
			dir = path.Dir(dir)
		}
	}
	return nil
}

// Keep decides what becomes of the report that was set aside, when another was written: one that judged something takes its place. It
// returns the path of the page that stays, or nothing.
func (f Folder) Keep(r *reports.Report) (page string, err error) {
	if judgedAny(r) {
		return "", f.Forget()
	}
	page = filepath.Join(string(f), previous, pageFile)
	if info, err := os.Lstat(page); err != nil || !info.Mode().IsRegular() {
		return "", nil //nolint:nilerr // nothing was set aside
	}
	return page, nil
}

// Forget removes the report that was set aside, and no file that is not its own.
func (f Folder) Forget() error {
	dir := filepath.Join(string(f), previous)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil //nolint:nilerr // nothing was set aside
	}
	if err := Folder(dir).clear(); err != nil {
		return fmt.Errorf("report folder %s: %w", dir, err)
	}
	_ = os.Remove(dir) // it stays if somebody else has files in it
	return nil
}

// FailedBefore returns the results that failed in the last run that judged something, of which the report is in a folder; none if there is
// no such report.
func FailedBefore(name string) []reports.Result {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil // there was no run
	}
	defer func() { _ = root.Close() }() // it was only read
	for _, file := range []string{layout.Report, path.Join(previous, layout.Report)} {
		text, err := root.ReadFile(file)
		if err != nil {
			continue
		}
		if r, err := reports.Read(text); err == nil && judgedAny(r) {
			return slices.DeleteFunc(r.Results, func(result reports.Result) bool { return !r.Failing(result) })
		}
	}
	return nil
}

// judgedAny reports whether a report has a verdict, or the results of a load test.
func judgedAny(r *reports.Report) bool {
	return r.Load != nil || slices.ContainsFunc(r.Results, func(result reports.Result) bool {
		return result.Verdict != requirement.Unknown && result.Verdict != requirement.Errored
	})
}
