package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// Read parses a report in JSON. It rejects data that is not a report, has another format, is truncated, or contradicts itself. Each
// error is one sentence, without the name of the file. Read ignores unknown fields, since later versions of crdconform may add fields
// without changing the format.
func Read(data []byte) (*Report, error) {
	var of struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Tool       string `json:"tool"`
		Load       *struct {
			Stages json.RawMessage `json:"stages"`
		} `json:"load"`
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty; give the report.json of a run")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return nil, errors.New("not a report of crdconform; give the report.json of a run")
	}
	if err := unmarshal(data, &of); err != nil {
		return nil, err
	}
	switch {
	case !strings.HasPrefix(of.APIVersion, "crdconform.dev/"):
		return nil, errors.New("not a report of crdconform; give the report.json of a run")
	case of.Kind != ReportKind:
		return nil, fmt.Errorf("it is of kind %s; give the report.json of a run, which is of kind %s", visible.Text(of.Kind), ReportKind)
	case of.APIVersion != APIVersion:
		return nil, fmt.Errorf("its format is %s, and this crdconform reads %s; read it with the one that wrote it, %s", visible.Text(of.APIVersion), APIVersion, visible.Text(of.Tool))
	case of.Load != nil && of.Load.Stages == nil:
		return nil, errors.New("its load test has no stages, as it was before the first release; run it again")
	}
	r := new(Report)
	if err := unmarshal(data, r); err != nil {
		return nil, err
	}
	if err := r.consistent(); err != nil {
		return nil, fmt.Errorf("%w; it was changed after the run, or was not written by crdconform", err)
	}
	return r, nil
}

// unmarshal decodes JSON. Its errors name the line that is wrong.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	line := func(offset int64) int { return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n")) }
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && int(syntax.Offset) >= len(bytes.TrimRight(data, " \t\r\n")):
		return fmt.Errorf("it is truncated in line %d; the run was killed, or the file was not copied completely", line(syntax.Offset))
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d is not JSON: %w", line(syntax.Offset), syntax)
	case errors.As(err, &typed):
		return fmt.Errorf("line %d: %s: want a %[4]s, got a %[3]s", line(typed.Offset), visible.Text(typed.Field), typed.Value, sort(typed.Type))
	}
	return errors.New(visible.Text(err.Error())) // such as a verdict that there is not
}

// sort returns the JSON name for the values of a type.
func sort(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the others are numbers
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "number"
}

// consistent fails if a report contradicts its results.
func (r *Report) consistent() error {
	counts := map[requirement.Verdict]int{}
	known := map[[2]string]bool{}
	for _, result := range r.Results {
		key := [2]string{string(result.ID), result.Subject}
		if result.ID == "" {
			return errors.New("a result is about no requirement")
		}
		if err := identifies(result.ID); err != nil {
			return err
		}
		if known[key] {
			return fmt.Errorf("there are two results for %s", visible.Text(strings.TrimSuffix(key[0]+" of "+key[1], " of ")))
		}
		known[key] = true
		counts[result.Verdict]++
	}
	for v, n := range counts {
		if r.Counts[v] != n {
			return fmt.Errorf("it counts %d results as %s, but has %d", r.Counts[v], v, n)
		}
	}
	for v, n := range r.Counts {
		if counts[v] != n {
			return fmt.Errorf("it counts %d results as %s, but has %d", n, v, counts[v])
		}
	}
	if !slices.Contains([]Outcome{Conformant, Partial, NonConformant, Unjudged, Interrupted}, r.Outcome) {
		return fmt.Errorf("unknown outcome %q", visible.Text(string(r.Outcome)))
	}
	if !r.credible() {
		return fmt.Errorf("its outcome is %s, but its results contradict that", r.Outcome)
	}
	if r.Changes != nil {
		for _, change := range r.Changes.Requirements {
			if err := identifies(change.ID); err != nil {
				return err
			}
		}
	}
	for _, leg := range r.Upgrade {
		for _, finding := range leg.Findings {
			if err := identifies(finding.Requirement); err != nil {
				return err
			}
		}
	}
	return readable(r.Load)
}

// idForm matches the IDs of requirements, of this version and of later ones. Nothing that it matches is interpreted as markup or as a
// command.
var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,199}$`)

// identifies fails if an ID cannot be that of a requirement.
func identifies(id requirement.ID) error {
	if !idForm.MatchString(string(id)) {
		return fmt.Errorf("%q is not the ID of a requirement", visible.Text(visible.Cut(string(id), 80)))
	}
	return nil
}

// credible reports whether the results allow the outcome. If they allow several, the version that wrote the report decided which
// applies.
func (r *Report) credible() bool {
	failed := r.Counts[requirement.Failed]
	if r.Strict {
		failed += r.Counts[requirement.Tolerated]
	}
	switch r.Outcome {
	case Conformant, Partial:
		unsent := r.Load == nil || r.Load.Search == nil && !slices.ContainsFunc(r.Load.Stages, func(s loadgen.Stage) bool { return s.Requests > 0 })
		return failed+r.Counts[requirement.Errored]+r.Counts[requirement.Unknown] == 0 && r.Error == "" && !r.Interrupted && (len(r.Results) > 0 || !unsent)
	case NonConformant:
		return failed > 0 || r.Load != nil
	case Unjudged, Interrupted:
	}
	return true
}

// readable fails if a histogram cannot be decoded, or if an ID is not valid.
func readable(l *loadgen.Load) error {
	if l == nil {
		return nil
	}
	for _, s := range slices.Concat(l.Stages, l.Control) {
		for id := range s.Violations {
			if err := identifies(id); err != nil {
				return err
			}
		}
		for _, finding := range s.Findings {
			if err := identifies(finding.Requirement); err != nil {
				return err
			}
		}
		for i, times := range []loadgen.Times{s.Response, s.Service, s.Lag} {
			if _, err := histogram.Decode(times.Histogram); err != nil {
				return fmt.Errorf("stage %q of the load test: %s: %w", visible.Text(s.Name), []string{"response, from when it was due", "service, from when it was sent", "lag of the generator"}[i], err)
			}
		}
	}
	return nil
}

// ReadFile reads a report with its evidence from a file, or from the report folder if name is a directory. Evidence that no longer
// exists is known only by its name.
func ReadFile(name string) (*Report, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, layout.Report)
	}
	data, err := files.Read(name, files.Reports)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file; give the folder of a run, or the report.json in it", name)
	}
	if err != nil {
		return nil, err
	}
	r, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	for _, file := range r.Files() {
		*file = loaded(*file, root)
	}
	return r, root.Close()
}

// Files returns all files that the report names: files of results, files of findings under load, and artifacts.
func (r *Report) Files() []*File {
	var all []*File
	add := func(files []File) {
		for i := range files {
			all = append(all, &files[i])
		}
	}
	for i := range r.Results {
		add(r.Results[i].Files)
	}
	if r.Load != nil {
		for i := range r.Load.Stages {
			for j := range r.Load.Stages[i].Findings {
				add(r.Load.Stages[i].Findings[j].Files)
			}
		}
	}
	add(r.Artifacts)
	return all
}

// mostOfFile is the maximum size of a file of evidence in bytes. A request of an API server has 2 MB or less.
const mostOfFile = 64 << 20

// loaded returns a file with its data, or with Missing set if the data cannot be read.
func loaded(f File, root *os.Root) File {
	f.Missing = true
	if !layout.Local(f.Path) {
		return f
	}
	if info, err := root.Lstat(f.Path); err != nil || !info.Mode().IsRegular() {
		return f
	}
	file, err := root.Open(f.Path)
	if err != nil {
		return f
	}
	data, err := io.ReadAll(io.LimitReader(file, mostOfFile+1))
	if errors.Join(err, file.Close()) == nil && len(data) <= mostOfFile {
		f.Data, f.Missing = data, false
	}
	return f
}
