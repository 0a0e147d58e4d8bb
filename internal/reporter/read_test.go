package reporter

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestReadGivesTheSameBytes has every form be the same when it is made again.
func TestReadGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	if err := open(t, dir).Write(r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "report.json")} {
		again, err := reports.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for file, form := range map[string]func(io.Writer) error{
			"report.json": func(w io.Writer) error { return JSON(again, w) }, "report.html": func(w io.Writer) error { return HTML(again, w) }, "junit.xml": func(w io.Writer) error { return JUnit(again, w) }, "summary.md": func(w io.Writer) error { return Markdown(again, w) }, "latency.json": func(w io.Writer) error { return JSON(again.Load, w) },
		} {
			want, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if got := writtenBy(t, form); !bytes.Equal(got, want) {
				t.Errorf("%s: %s", file, difference(got, want))
			}
		}
	}
	other := t.TempDir()
	again, err := reports.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, other).Write(again); err != nil {
		t.Fatal(err)
	}
	for file, want := range list(t, dir) {
		if got := list(t, other)[file]; got != want {
			t.Errorf("written again, %s: %s", file, difference([]byte(got), []byte(want)))
		}
	}
}

// TestReadWithoutEvidence has a report that came alone be shown, with the names of what is missing and no links to it.
func TestReadWithoutEvidence(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	fill(t, dir, map[string]string{"report.json": string(written(t, r, JSON))})
	alone, err := reports.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := string(written(t, alone, HTML))
	if strings.Contains(page, `href="exchanges/`) || !strings.Contains(page, "exchanges/conversion.answer.uid/request.json") {
		t.Error("the page has links to what is not there, or does not name it")
	}
	if err := open(t, t.TempDir()).Write(alone); err != nil {
		t.Errorf("it cannot be written: %v", err)
	}
}

// TestReadRefuses has what is no report, or none any more, be refused in one sentence that says why.
func TestReadRefuses(t *testing.T) {
	good := string(written(t, sample(t), JSON))
	load := sample(t).Load.Stages[0].Response.Histogram
	change := func(old, changed string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the report has no %s", old)
		}
		return strings.Replace(good, old, changed, 1)
	}
	lenient := sample(t)
	lenient.Load, lenient.Error = nil, ""
	lenient.Results = []reports.Result{{Requirement: requirement.Requirement{ID: "versions.served.read"}, Verdict: requirement.Tolerated}}
	Conclude(lenient)
	strict := strings.Replace(string(written(t, lenient, JSON)), `"outcome": "Conformant"`, `"strict": true, "outcome": "Conformant"`, 1)
	empty := &reports.Report{Error: "no cluster"}
	Conclude(empty)
	other := changed(t)
	other.Changes.Requirements[0].ID = "a|b"
	changes := string(written(t, other, JSON))
	becomes := func(outcome string) string {
		return strings.NewReplacer(`"outcome": "Unjudged"`, outcome, `"error": "no cluster",`, "").Replace(string(written(t, empty, JSON)))
	}
	for name, test := range map[string]struct{ text, want string }{
		"nothing that conforms":    {becomes(`"outcome": "Conformant"`), "its outcome is Conformant, but its results contradict that"},
		"no request that conforms": {becomes(`"outcome": "Conformant", "load": {"stages": [{"requests": 0}]}`), "its outcome is Conformant, but its results contradict that"},
		"nothing that fails":       {becomes(`"outcome": "NonConformant"`), "its outcome is NonConformant, but its results contradict that"},
		"nothing":                  {" \n", "it is empty; give the report.json of a run"},
		"text":                     {"hello", "not a report of crdconform; give the report.json of a run"},
		"a list":                   {"[]", "not a report of crdconform; give the report.json of a run"},
		"something else":           {`{"apiVersion":"v1","kind":"Report"}`, "not a report of crdconform; give the report.json of a run"},
		"latency.json":             {string(written(t, sample(t).Load, JSON)), "not a report of crdconform; give the report.json of a run"},
		"a matrix":                 {`{"apiVersion":"crdconform.dev/v1alpha1","kind":"Matrix"}`, "it is of kind Matrix; give the report.json of a run, which is of kind Report"},
		"a newer format":           {change(`"crdconform.dev/v1alpha1"`, `"crdconform.dev/v2"`), "its format is crdconform.dev/v2, and this crdconform reads crdconform.dev/v1alpha1; read it with the one that wrote it, v0.1.0"},
		"cut off":                  {good[:len(good)/2], "it is truncated in line "},
		"cut off at a value":       {strings.TrimRight(good, "}\n"), "it is truncated in line "},
		"two of them":              {good + good, "is not JSON: invalid character '{' after top-level value"},
		"an unknown verdict":       {change(`"verdict": "Passed"`, `"verdict": "Fine"`), `"Fine" is not a verdict`},
		"a wrong type":             {change(`"seed": 7`, `"seed": "7"`), "seed: want a number, got a string"},
		"a verdict changed":        {change(`"verdict": "Failed"`, `"verdict": "Passed"`), "it was changed after the run, or was not written by crdconform"},
		"the outcome changed":      {change(`"outcome": "NonConformant"`, `"outcome": "Conformant"`), "its outcome is Conformant, but its results contradict that; it was changed after the run"},
		"strict made of it":        {strict, "its outcome is Conformant, but its results contradict that; it was changed after the run"},
		"no outcome":               {change(`"outcome": "NonConformant"`, `"outcome": "Fine\u001b[2J"`), "unknown outcome"},
		"a result twice":           {change(`"versions.served.write"`, `"versions.served.read"`), "there are two results for versions.served.read; it was changed"},
		"an ID that is markup":     {change(`"versions.served.write"`, `"a`+"`"+`<img src=x>\u001b[2J"`), "is not the ID of a requirement; it was changed"},
		"an ID that is a table":    {change(`"versions.served.write"`, `"a | b"`), `"a | b" is not the ID of a requirement; it was changed`},
		"an ID of a finding":       {change(`"requirement": "conversion.answer.uid"`, `"requirement": "a\nb"`), "is not the ID of a requirement; it was changed"},
		"an ID of a violation":     {change(`"conversion.answer.order": 40`, `"<b>": 40`), `"<b>" is not the ID of a requirement; it was changed`},
		"an ID of a change":        {changes, "is not the ID of a requirement; it was changed"},
		"no requirement":           {change(`"versions.served.write"`, `""`), "a result is about no requirement"},
		"a broken histogram":       {change(load, "SElTVEZBQUFB"), `stage "constant" of the load test: response, from when it was due: decoding a histogram: `},
		"an evil histogram":        {change(load, evil), `stage "constant" of the load test: response, from when it was due: decoding a histogram: `},
	} {
		_, err := reports.Read([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
			continue
		}
		if strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 400 {
			t.Errorf("%s: that is not one clear sentence: %q", name, err)
		}
	}
	if _, err := reports.Read([]byte(change(`"tool":`, `"addedLater": {"a": [1]}, "tool":`))); err != nil {
		t.Errorf("a field that a later version may add: %v", err)
	}
}

// evil is a histogram of nine digits, which none has.
const evil = "HISTFAAAACJ4nJNpmSzMwMDAwgABnFCaEURcm7yEwf4DAwwwAQBkOgST"

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"empty.json": ""})
	for name, want := range map[string]string{
		filepath.Join(dir, "missing"):    "no such file; give the folder of a run, or the report.json in it",
		dir:                              filepath.Join(dir, "report.json") + ": no such file",
		filepath.Join(dir, "empty.json"): "empty.json: it is empty",
	} {
		if _, err := reports.ReadFile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestReadStaysInTheFolder has no name in a report make anybody read another file.
func TestReadStaysInTheFolder(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	fill(t, dir, map[string]string{"secret": "it", "report/exchanges/x": "fine"})
	if err := os.Symlink(secret, filepath.Join(dir, "report", "exchanges", "link")); err != nil {
		t.Fatal(err)
	}
	r := &reports.Report{Results: must(requirement.Failed)}
	for _, name := range []string{"exchanges/x", "../secret", "exchanges/../../secret", secret, "exchanges/link", "report.json"} {
		r.Results[0].Files = append(r.Results[0].Files, reports.File{Path: name})
	}
	Conclude(r)
	fill(t, dir, map[string]string{"report/report.json": string(written(t, r, JSON))})
	again, err := reports.ReadFile(filepath.Join(dir, "report"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range again.Results[0].Files {
		if read := !file.Missing; read != (i == 0) || i > 0 && file.Data != nil {
			t.Errorf("%s is read: %t, %q", file.Path, read, file.Data)
		}
	}
}

// TestEmptyAndHuge has a run of nothing and one of 10,000 failures be shown.
func TestEmptyAndHuge(t *testing.T) {
	empty := &reports.Report{}
	Conclude(empty)
	huge := &reports.Report{}
	for i := range 10_000 {
		one := must(requirement.Failed)[0]
		one.ID, one.Statement, one.Reason = requirement.ID(fmt.Sprintf("area.topic.rule-%d", i)), "It holds.", strings.Repeat("expected a, got b\n", 20)
		huge.Results = append(huge.Results, one)
	}
	Conclude(huge)
	for name, r := range map[string]*reports.Report{"empty": empty, "huge": huge} {
		read, err := reports.Read(written(t, r, JSON))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		most := map[string]int{"json": 24_000_000, "conformance": 8_000_000, "markdown": 1_000_000, "badge": 2_000, "prometheus": 10_000}
		for _, format := range Formats(nil) {
			limit := cmp.Or(most[format.Name], 16_000_000)
			if n := len(written(t, read, format.Write)); n == 0 || n > limit {
				t.Errorf("%s: %s has %d bytes, want %d at most", name, format.Name, n, limit)
			}
		}
	}
	if page := string(written(t, huge, HTML)); strings.Count(page, `<details class="problem`) != mostProblems || !strings.Contains(page, "and 9700 more, which are shown with their chapters") {
		t.Error("the page shows too many problems above all others, or does not say that there are more")
	}
	if text := string(written(t, huge, Markdown)); !strings.Contains(text, "more, all of them in report.html") || !strings.Contains(text, "\n## Run\n") {
		t.Error("the summary does not say that there is more, or lacks its end")
	}
}
