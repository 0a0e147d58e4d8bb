package reporter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// latency is the name of the files with the times of a load test, or of the folder for those of several stages.
const latency = "latency"

// latencyFile has the numbers of a load test, and latencyMark at its beginning.
const latencyFile, latencyMark = latency + ".json", `"stages": [`

// pageFile is the file of the report that people open.
const pageFile = "report.html"

// LogFile has the log of the API server. Its first line, LogTitle, distinguishes it from the log of an API server of others.
const (
	LogFile  = "apiserver.log"
	LogTitle = "# the log of an API server, as crdconform saw it"
)

// Folder is where the forms of a report are written.
type Folder string

// ignored is the file that keeps git from taking what is in a folder.
const ignored = ".gitignore"

// Open creates the folder if it is missing, as one that git ignores, and fails early if it is not writable. It removes the files of an earlier run, and nothing
// else, so that no stale file is taken for a new one.
func Open(name string) (Folder, error) {
	_, missing := os.Stat(name)
	if err := Writable(name); err != nil {
		return "", fmt.Errorf("report folder %w", err)
	}
	if err := Folder(name).clear(); err != nil {
		return "", fmt.Errorf("report folder %s: %w", name, err)
	}
	if errors.Is(missing, fs.ErrNotExist) {
		if err := os.WriteFile(filepath.Join(name, ignored), []byte("*\n"), 0o644); err != nil { //nolint:gosec // it has no secrets
			return "", fmt.Errorf("report folder %s: %w", name, err)
		}
	}
	// A run that was killed while it wrote leaves forms of ours without the report.
	marks := marks()
	for _, file := range slices.Sorted(maps.Keys(marks)) {
		if isForeign(filepath.Join(name, file), marks[file]) {
			return "", fmt.Errorf("report folder %s: the %s in it was not written by crdconform, and would be overwritten", name, file)
		}
	}
	return Folder(name), nil
}

// Writable makes a folder if it is missing, and fails if no file can be written there.
func Writable(name string) error {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("%s: it cannot be made (%w)", name, err)
	}
	probe, err := os.CreateTemp(name, ".crdconform-*")
	if err != nil {
		return fmt.Errorf("%s: nothing can be written there (%w)", name, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// marks are what the files of this program have at their beginning, and those of others in folders that are shared have not.
func marks() map[string]string {
	return map[string]string{
		pageFile:      "<title>crdconform",
		"junit.xml":   `<testsuites name="crdconform`,
		"summary.md":  "# crdconform",
		layout.Report: `"apiVersion": "crdconform.dev/`,
		LogFile:       LogTitle,
	}
}

// isForeign reports whether a file is there that has not at its beginning what those of this program have there.
func isForeign(file, mark string) bool {
	text, err := beginning(file)
	return err == nil && len(text) > 0 && !bytes.Contains(text, []byte(mark))
}

// beginning is the part of a form in which its title is.
func beginning(file string) ([]byte, error) {
	const enough = 64 << 10
	form, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = form.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(form, enough))
}

// clear removes the files of the run whose report is in the folder.
func (f Folder) clear() error {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range stale(root) {
		errs = append(errs, remove(root, name))
	}
	return errors.Join(append(errs, root.Close())...)
}

// stale returns the files of an earlier run. Without a report of ours, nothing in the folder is known to be ours; so the
// report is the last of them.
func stale(root *os.Root) []string {
	var old struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Cluster    any    `json:"cluster"`
		Error      string `json:"error"`
		Stopped    bool   `json:"interrupted"`
		Load       *struct {
			Stages []struct {
				Name       string                    `json:"name"`
				Repeat     int                       `json:"repeat"`
				Violations map[requirement.ID]uint64 `json:"violations"`
				Findings   []struct {
					Files []reports.File `json:"files"`
				} `json:"findings"`
			} `json:"stages"`
		} `json:"load"`
		Results []struct {
			ID      requirement.ID `json:"id"`
			Verdict string         `json:"verdict"`
			Files   []reports.File `json:"files"`
		} `json:"results"`
		Artifacts []reports.File `json:"artifacts"`
	}
	text, err := root.ReadFile(layout.Report)
	if err != nil || json.Unmarshal(text, &old) != nil || old.APIVersion != reports.APIVersion || old.Kind != reports.ReportKind {
		return nil
	}
	var names []string
	for _, f := range Filed(Formats(nil))[1:] { // all but the report
		names = append(names, f.File)
	}
	files := old.Artifacts
	if old.Load != nil {
		names = append(names, latencyFile, "latency.hgrm")
		l := &loadgen.Load{}
		for _, s := range old.Load.Stages {
			l.Stages = append(l.Stages, loadgen.Stage{Name: s.Name, Repeat: s.Repeat})
			for _, f := range s.Findings {
				files = append(files, f.Files...)
			}
			for id := range s.Violations {
				names = append(names, nonempty(requirementFile(id))...)
			}
		}
		names = append(names, stageFiles(bases(l)...)...)
	}
	if old.Cluster != nil || old.Error != "" || old.Stopped { // an API server that did not come up has logged why
		names = append(names, LogFile)
	}
	for _, result := range old.Results {
		files = append(files, result.Files...)
		if slices.ContainsFunc(explainedVerdicts(), func(v requirement.Verdict) bool { return v.String() == result.Verdict }) {
			names = append(names, nonempty(requirementFile(result.ID))...)
		}
	}
	for _, file := range files {
		if layout.Local(file.Path) {
			names = append(names, file.Path)
		}
	}
	return append(names, layout.Report)
}

// remove removes a file if it exists, and directories that become empty.
func remove(root *os.Root, name string) error {
	if !is(root, name, fs.FileMode.IsRegular) {
		return nil
	}
	if err := root.Remove(name); err != nil {
		return err
	}
	for dir := path.Dir(name); dir != "." && is(root, dir, fs.FileMode.IsDir) && root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}

// is reports whether something of a sort is there.
func is(root *os.Root, name string, sort func(fs.FileMode) bool) bool {
	info, err := root.Lstat(name)
	return err == nil && sort(info.Mode())
}

// Write writes every form of the report, and the files that belong to it. The forms can be read by other users, since CI systems collect
// them as such; the files that belong to it hold whole objects, and are the user's alone. It goes on after errors, so that one form that
// cannot be written does not cost the others.
func (f Folder) Write(r *reports.Report) error {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	var errs []error
	full := false // and everything else fails in the same way
	written := map[string][]byte{}
	file := func(name string, mode fs.FileMode, write func(io.Writer) error) {
		if full {
			return
		}
		if err := create(root, name, mode, write); err != nil {
			full = errors.Is(err, syscall.ENOSPC)
			errs = append(errs, fmt.Errorf("report folder %s: %w", f, err))
		}
	}
	form := func(name string, write func(io.Writer) error) { file(name, 0o644, write) }
	for _, f := range Filed(Formats(nil)) {
		form(f.File, func(w io.Writer) error { return f.Write(r, w) })
	}
	if r.Load != nil {
		if isForeign(filepath.Join(string(f), latencyFile), latencyMark) { // only a load test needs the name
			errs = append(errs, fmt.Errorf("report folder %s: the %s in it was not written by crdconform, and is left as it is", f, latencyFile))
		} else {
			form(latencyFile, func(w io.Writer) error { return JSON(r.Load, w) })
		}
		for i, base := range bases(r.Load) {
			for _, f := range stageFormats() {
				form(base+f.File, func(w io.Writer) error { return f.Write(r.Load.Stages[i], w) })
			}
		}
	}
	for _, page := range requirementPages(r) {
		form(page.file, page.HTML)
	}
	for _, e := range evidence(r) {
		// Findings of one request share its exchange.
		data, known := written[e.file.Path]
		switch {
		case e.file.Missing:
		case !layout.Below(e.file.Path, e.dir) || known && !bytes.Equal(data, e.file.Data):
			errs = append(errs, fmt.Errorf("report folder %s: evidence of %s: %q is not a path below %s that is its own", f, e.of, e.file.Path, e.dir))
		case !known:
			written[e.file.Path] = e.file.Data
			file(e.file.Path, 0o600, func(w io.Writer) error {
				_, err := w.Write(e.file.Data)
				return err
			})
		}
	}
	return errors.Join(append(errs, root.Close())...)
}

// proof is a file that shows something.
type proof struct {
	file reports.File
	of   string // what it shows
	dir  string // where it has to be
}

// Gather calls a function that writes artifacts of a cluster into their folder in the report folder. It records new files in the
// report, so that the next run removes these and nothing else.
func (f Folder) Gather(r *reports.Report, write func(dir string) error) error {
	dir := filepath.Join(string(f), filepath.FromSlash(layout.Artifacts))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	before, err := f.gathered()
	if err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	wrong := write(dir)
	after, err := f.gathered()
	for _, name := range after {
		if _, was := slices.BinarySearch(before, name); !was {
			r.Artifacts = append(r.Artifacts, reports.File{Path: name})
		}
	}
	return errors.Join(wrong, err)
}

// History writes a history into the report folder, and records it in the report.
func (f Folder) History(r *reports.Report, name string, write func(io.Writer) error) error {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	file := reports.File{Path: layout.Histories + name}
	if err = errors.Join(create(root, file.Path, 0o600, write), root.Close()); err != nil {
		return fmt.Errorf("report folder %s: %w", f, err)
	}
	r.Artifacts = append(r.Artifacts, file)
	return nil
}

// gathered returns the files of a cluster in the folder, sorted.
func (f Folder) gathered() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(string(f)), strings.TrimSuffix(layout.Artifacts, "/"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// evidence returns the files of results, of the cluster and of findings that are to be written.
func evidence(r *reports.Report) []proof {
	var all []proof
	for _, result := range r.Results {
		for _, file := range result.Files {
			all = append(all, proof{file, joined(string(result.ID), " for ", result.Subject), layout.Exchanges})
		}
	}
	for _, file := range r.Artifacts {
		dir := layout.Artifacts
		if layout.Below(file.Path, layout.Histories) {
			dir = layout.Histories
		}
		if file.Data != nil { // otherwise it is there already, see Gather
			all = append(all, proof{file, "the cluster", dir})
		}
	}
	if r.Load == nil {
		return all
	}
	for _, s := range r.Load.Stages {
		for _, finding := range s.Findings {
			for _, file := range finding.Files {
				all = append(all, proof{file, fmt.Sprintf("%s in request %d of %s", finding.Requirement, finding.Request, stageTitle(r.Load, s)), layout.Findings})
			}
		}
	}
	return all
}

// bases returns the names of the files with the times of each stage, without extensions. The number in a name makes sure that
// no two stages share one; the rest is letters and digits that every file system accepts.
func bases(l *loadgen.Load) []string {
	if len(l.Stages) == 1 {
		return []string{latency}
	}
	var bases []string
	for i, s := range l.Stages {
		name := strings.Join(strings.FieldsFunc(strings.ToLower(stageTitle(l, s)), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}), "-")
		bases = append(bases, fmt.Sprintf("%s/%02d-%s", latency, i+1, name[:min(len(name), 60)]))
	}
	return bases
}

// create writes a file under a temporary name first, so that a partial file is never read.
func create(root *os.Root, name string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	partial := name + ".partial"
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), root.Remove(partial))
	}
	if err := root.Rename(partial, name); err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return nil
}
