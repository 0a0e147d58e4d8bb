package reporter

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// fill writes files into a folder.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// list returns the files in a folder, and the directories that are empty.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			inside, err := os.ReadDir(path)
			if len(inside) == 0 {
				files[filepath.ToSlash(name)+"/"] = ""
			}
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

func open(t *testing.T, dir string) Folder {
	t.Helper()
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// withFiles is a report with evidence.
func withFiles(files ...reports.File) *reports.Report {
	r := &reports.Report{Results: must(requirement.Failed)}
	r.Results[0].Files = files
	Conclude(r)
	return r
}

func TestOpenMakesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "build", "reports")
	if folder := open(t, dir); string(folder) != dir {
		t.Errorf("got %s, want %s", folder, dir)
	}
	if got := list(t, dir); len(got) != 1 || got[ignored] != "*\n" {
		t.Errorf("the folder has %q, want one that git ignores", got)
	}
	theirs := t.TempDir()
	open(t, theirs)
	if got := names(list(t, theirs)); !slices.Equal(got, []string{"./"}) {
		t.Errorf("a folder that was there has %v, want an empty one", got)
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"file": "text"})
	paths := map[string]string{"a file": filepath.Join(dir, "file"), "below a file": filepath.Join(dir, "file", "reports"), "no path": ""}
	if runtime.GOOS == "linux" {
		paths["where nobody writes"] = "/proc/self" // not even root
	}
	for name, path := range paths {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "report folder") {
			t.Errorf("%s: got %v, want an error that names --report-dir", name, err)
		}
	}
	if got := list(t, dir); len(got) != 1 || got["file"] != "text" {
		t.Errorf("the folder has become %v", got)
	}
}

// TestOpenRemovesWhatIsStale has nothing of an earlier run be there when the next one begins, and everything else be.
func TestOpenRemovesWhatIsStale(t *testing.T) {
	dir := t.TempDir()
	mine := map[string]string{
		"notes.txt": "mine", "exchanges/notes.txt": "mine", "exchanges/conversion.answer.uid/mine.json": "mine", "exchanges.txt": "mine",
		"report.html.orig": "mine", "old/report.json": "mine",
	}
	fill(t, dir, mine)
	folder := open(t, dir)
	r := sample(t)
	r.Results[3].Files = []reports.File{{Path: "exchanges/conversion.answer.order/deep/down.json"}}
	if err := folder.Write(r); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, map[string]string{"apiserver.log": "its log"})
	if got, want := len(list(t, dir)), len(mine)+7+1+3+8+2+6; got != want {
		t.Errorf("a run leaves %d files, want %d: %v", got, want, names(list(t, dir)))
	}
	open(t, dir)
	if got := list(t, dir); !maps.Equal(got, mine) {
		t.Errorf("the folder has %v, want %v", names(got), names(mine))
	}
	open(t, dir)
	if got := list(t, dir); !maps.Equal(got, mine) {
		t.Errorf("opened again, the folder has %v, want %v", names(got), names(mine))
	}
}

// TestOpenRemovesTheLogOfWhatDidNotComeUp has the log of an API server go that no report could be about.
func TestOpenRemovesTheLogOfWhatDidNotComeUp(t *testing.T) {
	for name, r := range map[string]*reports.Report{"failed": {Error: "no cluster"}, "stopped": {Interrupted: true}} {
		dir := t.TempDir()
		Conclude(r)
		if err := open(t, dir).Write(r); err != nil {
			t.Fatal(err)
		}
		fill(t, dir, map[string]string{"apiserver.log": "its log"})
		open(t, dir)
		if got := names(list(t, dir)); !slices.Equal(got, []string{"./"}) {
			t.Errorf("%s: left are %q", name, got)
		}
	}
}

// TestOpenKeepsWhatTheRunDidNotWrite has files survive that some runs write, but not the one before.
func TestOpenKeepsWhatTheRunDidNotWrite(t *testing.T) {
	dir := t.TempDir()
	mine := map[string]string{LogFile: LogTitle, "latency.json": "mine", "latency.hgrm": "mine", "latency/01-batch-1.csv": "mine", "load/1-17-response": "mine"}
	fill(t, dir, mine)
	r := sample(t)
	r.Cluster, r.Load = nil, nil
	if err := open(t, dir).Write(r); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if got := list(t, dir); !maps.Equal(got, mine) {
		t.Errorf("the folder has %v, want %v", names(got), names(mine))
	}
}

// TestOpenKeepsWhatIsNotOurs has files survive that have the names of ours, but are known to be somebody else's or are
// not known to be ours.
func TestOpenKeepsWhatIsNotOurs(t *testing.T) {
	for name, report := range map[string]string{
		"no report":       "",
		"not JSON":        "apiVersion: " + reports.APIVersion,
		"half of it":      `{"apiVersion": "` + reports.APIVersion + `", "kind": "Report", "results": [`,
		"another version": `{"apiVersion": "crdconform.dev/v2", "kind": "Report"}`,
		"another kind":    `{"apiVersion": "` + reports.APIVersion + `", "kind": "Summary"}`,
		"another program": `{"tests": 7}`,
	} {
		dir := t.TempDir()
		files := map[string]string{"junit.xml": "theirs", "badge.svg": "theirs", "exchanges/a.json": "theirs", "apiserver.log": "theirs"}
		if report != "" {
			files["report.json"] = report
		}
		fill(t, dir, files)
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "was not written by crdconform") {
			t.Errorf("%s: it says: %v", name, err)
		}
		if got := list(t, dir); !maps.Equal(got, files) {
			t.Errorf("%s: the folder has %v, want %v", name, names(got), names(files))
		}
	}
}

// TestGather expects the output of a cluster to be removed when the next run begins, and nothing that somebody else put beside it.
func TestGather(t *testing.T) {
	dir := t.TempDir()
	mine := map[string]string{"cluster/notes.txt": "mine", "cluster/deep/notes.txt": "mine"}
	fill(t, dir, mine)
	folder, r := open(t, dir), &reports.Report{}
	err := folder.Gather(r, func(into string) error {
		fill(t, into, map[string]string{"server.log": "it stopped", "deep/etcd.log": "", "notes.txt": "overwritten"})
		return errors.New("not all was to be had")
	})
	if err == nil || err.Error() != "not all was to be had" {
		t.Errorf("got %v", err)
	}
	if want := []reports.File{{Path: "cluster/deep/etcd.log"}, {Path: "cluster/server.log"}}; !cmp.Equal(r.Artifacts, want) {
		t.Errorf("the report has %v, want %v", r.Artifacts, want)
	}
	Conclude(r)
	if err := folder.Write(r); err != nil {
		t.Fatal(err)
	}
	if page := list(t, dir)["report.html"]; !strings.Contains(page, `<a href="cluster/server.log">`) {
		t.Error("the page does not lead to it")
	}
	open(t, dir)
	mine["cluster/notes.txt"] = "overwritten"
	if got := list(t, dir); !maps.Equal(got, mine) {
		t.Errorf("the next run leaves %v, want %v", names(got), names(mine))
	}
}

// TestOpenIsNotLedAstray has a report that somebody changed remove nothing that no run can have written.
func TestOpenIsNotLedAstray(t *testing.T) {
	parent := t.TempDir()
	fill(t, parent, map[string]string{
		"secret":               "theirs",
		"reports/notes.txt":    "theirs",
		"reports/junit.xml/a":  "theirs",
		"reports/exchanges/ok": "ours",
		"reports/load/ok":      "ours",
		"reports/report.json": `{"apiVersion": "` + reports.APIVersion + `", "kind": "Report", "results": [{"files": [
			{"path": "../secret"}, {"path": "exchanges/../../secret"}, {"path": "exchanges/../notes.txt"}, {"path": "notes.txt"},
			{"path": "` + filepath.ToSlash(parent) + `/secret"}, {"path": "exchanges"}, {"path": ""}, {"path": "exchanges/link/secret"}, {"path": "exchanges/ok/below"},
			{"path": "exchanges/ok"}, {"path": "exchanges/gone"}]}],
			"artifacts": [{"path": "cluster/../notes.txt"}, {"path": "cluster"}],
			"load": {"stages": [{"name": "../../secret"}, {"name": "b", "findings": [{"files": [{"path": "load/../notes.txt"}, {"path": "load/ok"}]}]}]}}`,
	})
	if err := os.Symlink(parent, filepath.Join(parent, "reports", "exchanges", "link")); err != nil {
		t.Fatal(err)
	}
	open(t, filepath.Join(parent, "reports"))
	if err := os.Remove(filepath.Join(parent, "reports", "exchanges", "link")); err != nil {
		t.Error(err)
	}
	want := []string{"reports/exchanges/", "reports/junit.xml/a", "reports/notes.txt", "secret"}
	if got := names(list(t, parent)); !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}

// TestWriteKeepsEvidenceApart has no file of one result replace that of another.
func TestWriteKeepsEvidenceApart(t *testing.T) {
	r := &reports.Report{Results: slices.Concat(of("a.example.com", requirement.Failed), of("b.example.com", requirement.Failed))}
	for i := range r.Results {
		r.Results[i].Files = []reports.File{{Path: "exchanges/area.topic.rule/object.yaml", Data: []byte(r.Results[i].Subject)}}
	}
	Conclude(r)
	folder := open(t, t.TempDir())
	err := folder.Write(r)
	if err == nil || !strings.Contains(err.Error(), `area.topic.rule for b.example.com: "exchanges/area.topic.rule/object.yaml"`) {
		t.Errorf("got %v, want an error that names the second result and the file", err)
	}
	if text, err := os.ReadFile(filepath.Join(string(folder), "exchanges", "area.topic.rule", "object.yaml")); err != nil || string(text) != "a.example.com" {
		t.Errorf("got %q, %v, want the evidence of the first", text, err)
	}
}

func TestWrite(t *testing.T) {
	r := sample(t)
	folder := open(t, filepath.Join(t.TempDir(), "reports"))
	if err := os.RemoveAll(string(folder)); err != nil {
		t.Fatal(err)
	}
	// The folder is made again if it went while the run lasted, and a second report replaces the first.
	for range 2 {
		if err := folder.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for name, form := range forms(r) {
		want[name] = string(writtenBy(t, form))
	}
	for _, file := range r.Files() {
		want[file.Path] = string(file.Data)
	}
	for _, page := range requirementPages(r) {
		want[page.file] = string(writtenBy(t, page.HTML))
	}
	got := list(t, string(folder))
	if !slices.Equal(names(got), names(want)) {
		t.Errorf("got %v, want %v", names(got), names(want))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s", name, difference([]byte(got[name]), []byte(want[name])))
		}
	}
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	if len(r.Files()) == 0 {
		t.Error("there is nothing that is the user's alone")
	}
	for _, file := range r.Files() {
		if info, err := os.Stat(filepath.Join(string(folder), filepath.FromSlash(file.Path))); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: other users can read it: %v, %v", file.Path, info, err)
		}
	}
}

func TestWriteWithoutLoad(t *testing.T) {
	folder := open(t, t.TempDir())
	if err := folder.Write(withFiles()); err != nil {
		t.Fatal(err)
	}
	if got, want := names(list(t, string(folder))), []string{"junit.xml", "report.html", "report.json", "requirements/area.topic.rule.html", "summary.md"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestWriteGoesOn has one file that cannot be written not cost the others.
func TestWriteGoesOn(t *testing.T) {
	everything := names(list(t, string(writtenSample(t, nil, ""))))
	for _, way := range []string{"report.json", "report.html", "junit.xml", "summary.md", "latency.json", "latency.hgrm", "latency.csv", "load/1-17-response", "requirements/conversion.answer.uid.html", "exchanges/conversion.answer.uid/request.json"} {
		folder := writtenSample(t, map[string]string{way + "/in/the": "way"}, way)
		want := slices.DeleteFunc(slices.Clone(everything), func(name string) bool { return name == way })
		want = append(want, way+"/in/the")
		slices.Sort(want)
		if got := names(list(t, string(folder))); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", way, got, want)
		}
	}
}

// writtenSample writes the sample into a folder that has files already, and expects an error that names one file.
func writtenSample(t *testing.T, files map[string]string, want string) Folder {
	t.Helper()
	folder := open(t, t.TempDir())
	fill(t, string(folder), files)
	err := folder.Write(sample(t))
	if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), string(folder))) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	return folder
}

// TestWriteOfABrokenHistogram has no half of a page be written.
func TestWriteOfABrokenHistogram(t *testing.T) {
	r := sample(t)
	r.Load.Stages[0].Response.Histogram = "broken"
	folder := open(t, t.TempDir())
	fill(t, string(folder), map[string]string{"report.html": "theirs"})
	err := folder.Write(r)
	if err == nil || !strings.Contains(err.Error(), "report.html") || !strings.Contains(err.Error(), "latency.hgrm") {
		t.Errorf("got %v, want an error with both files", err)
	}
	files := list(t, string(folder))
	got := slices.DeleteFunc(names(files), func(name string) bool {
		return strings.HasPrefix(name, layout.Exchanges) || strings.HasPrefix(name, layout.Requirements) || strings.HasPrefix(name, layout.Findings)
	})
	want := []string{"junit.xml", "latency.csv", "latency.json", "report.html", "report.json", "summary.md"}
	if !slices.Equal(got, want) || files["report.html"] != "theirs" {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEvidenceStaysInTheFolder(t *testing.T) {
	for _, path := range []string{
		"", ".", "..", "../x", filepath.ToSlash(t.TempDir()) + "/x", "exchanges", "exchanges/", "exchanges/.", "exchanges/../x", "exchanges/../../x", "exchanges//x",
		"exchanges/a/../b", "./exchanges/x", "report.json", "x", `exchanges\x`, `exchanges/..\..\x`, "exchanges/\x00", "exchanges/\xff", "https://example.org/x",
	} {
		parent := t.TempDir()
		folder := open(t, filepath.Join(parent, "reports"))
		err := folder.Write(withFiles(reports.File{Path: path, Data: []byte("evidence")}, reports.File{Path: "exchanges/good", Data: []byte("good")}))
		if err == nil || !strings.Contains(err.Error(), "is not a path below exchanges/") || !strings.Contains(err.Error(), "area.topic.rule") {
			t.Errorf("%q: got %v, want an error that names the requirement", path, err)
		}
		want := []string{"reports/.gitignore", "reports/exchanges/good", "reports/junit.xml", "reports/report.html", "reports/report.json", "reports/requirements/area.topic.rule.html", "reports/summary.md"}
		got := list(t, parent)
		if !slices.Equal(names(got), want) || got["reports/exchanges/good"] != "good" {
			t.Errorf("%q: there are %v, want %v", path, names(got), want)
		}
	}
}

func TestEvidenceFollowsNoLinkOut(t *testing.T) {
	outside := t.TempDir()
	folder := open(t, t.TempDir())
	if err := os.Symlink(outside, filepath.Join(string(folder), "exchanges")); err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(withFiles(reports.File{Path: "exchanges/x"})); err == nil {
		t.Error("the link was followed")
	}
	if got := names(list(t, outside)); !slices.Equal(got, []string{"./"}) {
		t.Errorf("outside there are %v", got)
	}
}

// TestWriteOfStages has the times of each stage and the evidence of each finding be files of their own, and the next run remove
// them all.
func TestWriteOfStages(t *testing.T) {
	r := grid(t)
	r.Load.Stages[1].Name = "../../Batch  10 <é>"
	folder := open(t, t.TempDir())
	if err := folder.Write(r); err != nil {
		t.Fatal(err)
	}
	want := []string{"junit.xml", "latency.json", "report.html", "report.json", "summary.md"}
	for i, name := range []string{
		"01-batch-1", "02-batch-10", "03-batch-100", "04-batch-500", "05-batch-1500", "06-batch-1-repeat-2", "07-batch-10-repeat-2", "08-batch-100-repeat-2",
		"09-batch-500-repeat-2", "10-batch-1500-repeat-2", "11-batch-1-repeat-3", "12-batch-10-repeat-3", "13-batch-100-repeat-3", "14-batch-500-repeat-3", "15-batch-1500-repeat-3",
	} {
		want = append(want, "latency/"+name+".csv", "latency/"+name+".hgrm")
		if got, err := os.ReadFile(filepath.Join(string(folder), "latency", name+".hgrm")); err != nil || string(got) != string(written(t, r.Load.Stages[i].Response, hgrm)) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for n := 20; n < 26; n++ { // of which each is shared by two findings
		want = append(want, fmt.Sprintf("load/9-%d-request.json", n))
	}
	slices.Sort(want)
	if got := names(list(t, string(folder))); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	open(t, string(folder))
	if got := names(list(t, string(folder))); !slices.Equal(got, []string{"./"}) {
		t.Errorf("left are %v", got)
	}
}

// TestFindingsKeepTheirEvidence has no exchange of one finding replace another, nor be among those of results.
func TestFindingsKeepTheirEvidence(t *testing.T) {
	for name, paths := range map[string][2]string{
		"the same path": {"load/1-7-request.json", "load/1-7-request.json"}, "of a result": {"load/1-7-request.json", "exchanges/x/request.json"},
		"no path": {"load/1-7-request.json", ""}, "outside": {"load/1-7-request.json", "load/../x"}, "a report": {"load/1-7-request.json", "report.json"},
	} {
		r := grid(t)
		for i, path := range paths {
			r.Load.Stages[i+1].Findings = []loadgen.Finding{{Request: 7, Requirement: "area.topic.rule", Files: []reports.File{{Path: path, Data: []byte{byte('a' + i)}}}}}
		}
		folder := open(t, t.TempDir())
		err := folder.Write(r)
		if err == nil || !strings.Contains(err.Error(), "evidence of area.topic.rule in request 7 of batch 100: ") || !strings.Contains(err.Error(), "is not a path below load/") {
			t.Errorf("%s: got %v, want an error that names the finding", name, err)
		}
		if text, err := os.ReadFile(filepath.Join(string(folder), "load", "1-7-request.json")); err != nil || string(text) != "a" {
			t.Errorf("%s: got %q, %v, want the evidence of the first", name, text, err)
		}
	}
	r := withFiles(reports.File{Path: "load/1-7-request.json"})
	if err := open(t, t.TempDir()).Write(r); err == nil || !strings.Contains(err.Error(), "is not a path below exchanges/") {
		t.Errorf("a result among findings: got %v", err)
	}
}
