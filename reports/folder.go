package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Where in the folder files are.
const (
	evidence  = "exchanges/" // of results
	findings  = "load/"      // of findings under load
	artifacts = "cluster/"   // what a cluster told
	latency   = "latency"    // times of a load test: what their files, or the folder for those of several stages, are called
)

// Folder is where the forms of a report are written.
type Folder string

// Open makes the folder if it is missing, and fails when nothing can be written there: better now than when the run is
// over. It removes what an earlier run wrote there, and nothing else, so that no stale file is taken for a new one.
func Open(name string) (Folder, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return "", fmt.Errorf("report folder: %w; give another one by --report-dir", err)
	}
	probe, err := os.CreateTemp(name, ".crdconform-*")
	if err != nil {
		return "", fmt.Errorf("report folder %s: nothing can be written there (%w); give another one by --report-dir", name, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name()), Folder(name).clear()); err != nil {
		return "", fmt.Errorf("report folder %s: %w; give another one by --report-dir", name, err)
	}
	return Folder(name), nil
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
				Name     string `json:"name"`
				Repeat   int    `json:"repeat"`
				Findings []struct {
					Files []File `json:"files"`
				} `json:"findings"`
			} `json:"stages"`
		} `json:"load"`
		Results []struct {
			Files []File `json:"files"`
		} `json:"results"`
		Artifacts []File `json:"artifacts"`
	}
	text, err := root.ReadFile(reportFile)
	if err != nil || json.Unmarshal(text, &old) != nil || old.APIVersion != APIVersion || old.Kind != ReportKind {
		return nil
	}
	names := []string{"report.html", "junit.xml", "summary.md"}
	files := old.Artifacts
	if old.Load != nil {
		names = append(names, "latency.json", "latency.hgrm")
		l := &Load{}
		for _, s := range old.Load.Stages {
			l.Stages = append(l.Stages, Stage{Name: s.Name, Repeat: s.Repeat})
			for _, f := range s.Findings {
				files = append(files, f.Files...)
			}
		}
		for _, base := range l.bases() {
			names = append(names, base+".hgrm", base+".csv")
		}
	}
	if old.Cluster != nil || old.Error != "" || old.Stopped { // an API server that did not come up has told why
		names = append(names, "apiserver.log")
	}
	for _, result := range old.Results {
		files = append(files, result.Files...)
	}
	for _, file := range files {
		if file.local() {
			names = append(names, file.Path)
		}
	}
	return append(names, reportFile)
}

// remove removes a file if it is there, and the directories that it leaves empty.
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

// is tells whether something of a sort is there.
func is(root *os.Root, name string, sort func(fs.FileMode) bool) bool {
	info, err := root.Lstat(name)
	return err == nil && sort(info.Mode())
}

// Write writes every form of the report, and the files that belong to it. It goes on after errors, so that one form that
// cannot be written does not cost the others.
func (f Folder) Write(r *Report) error {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	var errs []error
	form := func(name string, write func(io.Writer) error) {
		if err := create(root, name, write); err != nil {
			errs = append(errs, fmt.Errorf("report folder %s: %w", f, err))
		}
	}
	form(reportFile, r.JSON)
	form("report.html", r.HTML)
	form("junit.xml", r.JUnit)
	form("summary.md", r.Markdown)
	if r.Load != nil {
		form("latency.json", r.Load.JSON)
		for i, base := range r.Load.bases() {
			form(base+".hgrm", r.Load.Stages[i].Response.HGRM)
			form(base+".csv", r.Load.Stages[i].CSV)
		}
	}
	written := map[string][]byte{}
	for _, e := range r.evidence() {
		// Findings of one request share its exchange.
		data, known := written[e.file.Path]
		switch {
		case e.file.Missing:
		case !e.file.below(e.dir) || known && !bytes.Equal(data, e.file.Data):
			errs = append(errs, fmt.Errorf("report folder %s: evidence of %s: %q is not a path below %s that is its own", f, e.of, e.file.Path, e.dir))
		case !known:
			written[e.file.Path] = e.file.Data
			form(e.file.Path, func(w io.Writer) error {
				_, err := w.Write(e.file.Data)
				return err
			})
		}
	}
	return errors.Join(append(errs, root.Close())...)
}

// proof is a file that shows something.
type proof struct {
	file File
	of   string // what it shows
	dir  string // where it has to be
}

// Gather has something else than this package write into the folder of the report folder that is for what a cluster tells, and
// records in the report what is new there, so that the next run removes that and nothing else.
func (f Folder) Gather(r *Report, write func(dir string) error) error {
	dir := filepath.Join(string(f), filepath.FromSlash(artifacts))
	if err := os.MkdirAll(dir, 0o755); err != nil {
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
			r.Artifacts = append(r.Artifacts, File{Path: name})
		}
	}
	return errors.Join(wrong, err)
}

// gathered returns the files of a cluster in the folder, sorted.
func (f Folder) gathered() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(string(f)), strings.TrimSuffix(artifacts, "/"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// evidence returns the files of results, of the cluster and of findings, as far as they are to be written.
func (r *Report) evidence() []proof {
	var all []proof
	for _, result := range r.Results {
		for _, file := range result.Files {
			all = append(all, proof{file, joined(string(result.ID), " for ", result.Subject), evidence})
		}
	}
	for _, file := range r.Artifacts {
		if file.Data != nil { // otherwise it is there already, see Gather
			all = append(all, proof{file, "the cluster", artifacts})
		}
	}
	if r.Load == nil {
		return all
	}
	for _, s := range r.Load.Stages {
		for _, finding := range s.Findings {
			for _, file := range finding.Files {
				all = append(all, proof{file, fmt.Sprintf("%s in request %d of %s", finding.Requirement, finding.Request, r.Load.title(s)), findings})
			}
		}
	}
	return all
}

// bases returns what the files with the times of each stage are called, without their extensions. The number in a name has
// no two stages share one; what else is in it is letters and digits that every file system takes.
func (l *Load) bases() []string {
	if len(l.Stages) == 1 {
		return []string{latency}
	}
	var bases []string
	for i, s := range l.Stages {
		name := strings.Join(strings.FieldsFunc(strings.ToLower(l.title(s)), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}), "-")
		bases = append(bases, fmt.Sprintf("%s/%02d-%s", latency, i+1, name[:min(len(name), 60)]))
	}
	return bases
}

// local tells whether the path of a file is one below a folder of evidence.
func (f File) local() bool { return f.below(evidence) || f.below(findings) || f.below(artifacts) }

// below tells whether the path of a file is one below a folder, spelled in the only way there is.
func (f File) below(dir string) bool {
	return fs.ValidPath(f.Path) && strings.HasPrefix(f.Path, dir) && !strings.ContainsAny(f.Path, "\\\x00")
}

// create writes a file under another name first, so that nobody reads half of it.
func create(root *os.Root, name string, write func(io.Writer) error) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	partial := name + ".partial"
	file, err := root.Create(partial)
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
