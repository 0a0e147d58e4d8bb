package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// The assets by which columns of the tests are something else than envtest.
const (
	asEmbedded = "as-embedded" // an embedded API server
	asLast     = "as-last"     // the same, once the column 2-envtest has a report
	asCrash    = "as-crash"    // a process that ends at once
	asCut      = "as-cut"      // one that ends while it writes its report
)

// assetsCalled returns a folder of a name, of which a matrix finds the programs that it looks for. They end at once, so that an API
// server of them does not come up.
func assetsCalled(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	err := os.Mkdir(dir, 0o700)
	for _, program := range []string{"kube-apiserver", "etcd"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// isColumn reports whether this executable is to be a column of a matrix, which a test runs inside of this process.
func isColumn(args []string) bool { return len(args) > 1 && args[1] == "column" }

// runColumn is the process of a column.
func runColumn() {
	var kept []string
	dir, as := "", ""
	for _, arg := range os.Args {
		flag, value, _ := strings.Cut(arg, "=")
		switch {
		case flag == "--report-dir":
			dir = value
		case flag == "--assets" && slices.Contains([]string{asEmbedded, asLast, asCrash, asCut}, filepath.Base(value)):
			as = filepath.Base(value)
			continue
		}
		kept = append(kept, arg)
	}
	switch as {
	case asLast:
		for err := fs.ErrNotExist; err != nil; _, err = os.Stat(filepath.Join(filepath.Dir(dir), "2-envtest", "report.html")) {
			<-time.After(10 * time.Millisecond)
		}
	case asCut:
		if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(`{"apiVersion"`), 0o600); err != nil {
			panic(err)
		}
		fallthrough
	case asCrash:
		fmt.Fprint(os.Stderr, "out of cheese\nredo from start")
		os.Exit(7) //nolint:forbidigo // it is a program of its own
	}
	if as != "" {
		kept = slices.DeleteFunc(kept, func(arg string) bool { return arg == "--cluster=envtest" })
	}
	os.Args = kept
	main()
}

// inProcess runs a matrix inside of this process until its context ends, and returns its exit code and the matrix. No column may run
// when it is over.
func inProcess(ctx context.Context, t *testing.T, dir string, s streams, args ...string) (int, *reporter.Matrix) {
	t.Helper()
	code := execute(ctx, append([]string{"matrix", "--report-dir", dir}, args...), s)
	for _, of := range columnsIn(t, dir) {
		t.Errorf("the process %s of a column still runs", of)
	}
	m := new(reporter.Matrix)
	if err := json.Unmarshal(read(t, filepath.Join(dir, "matrix.json")), m); err != nil {
		t.Fatal(err)
	}
	return code, m
}

// columnsIn returns the processes of columns that write to a folder.
func columnsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		// Processes end while they are looked at.
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte("\x00column\x00")) && bytes.Contains(line, []byte(dir)) {
			all = append(all, filepath.Dir(file))
		}
	}
	return all
}

// TestColumnsSideBySide has the first of two columns end after the second, which it could not if they were not checked at the same time.
func TestColumnsSideBySide(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: two columns are two runs")
	}
	var said, wrong bytes.Buffer
	dir := t.TempDir()
	last, other := assetsCalled(t, asLast), assetsCalled(t, asEmbedded)
	code, m := inProcess(t.Context(), t, dir, streams{out: &said, err: &wrong},
		"--parallel", "2", "--embedded", "none", "--assets", last+","+other, "--filter", "versions.scope.cluster", "--seed", "42", "--strict")
	if code != exitConforms || wrong.Len() > 0 {
		t.Errorf("the exit code is %d, and it complains: %s", code, &wrong)
	}
	if len(m.Columns) != 2 || m.Columns[0].Report != "1-envtest" || m.Columns[1].Report != "2-envtest" || m.Columns[0].Outcome != reports.Partial && m.Columns[0].Outcome != reports.Conformant {
		t.Errorf("the columns are %+v", m.Columns)
	}
	for _, want := range []string{
		"== 1 of 2: 1-envtest --cluster=envtest --assets=" + last + "\n\n== 2 of 2: 2-envtest --cluster=envtest --assets=" + other + "\n",
		"\n2-envtest: [1/1] Passed        versions.scope.cluster (", "\n1-envtest: [1/1] Passed        versions.scope.cluster (",
		"\n\n== 2 of 2 is done: 2-envtest\n\nversions ", "\n\n== 1 of 2 is done: 1-envtest\n\nversions ", "\nReport: " + dir + "/1-envtest/report.html\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says:\n%swant something with %q", &said, want)
		}
	}
	report, err := reports.ReadFile(filepath.Join(dir, "2-envtest"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "crdconform run --filter=versions.scope.cluster --report-dir=" + dir + "/2-envtest --seed=42 --strict=true --load-duration=0"; report.Command != want || report.Seed != 42 || !report.Strict {
		t.Errorf("the command of the second is %s, want %s", report.Command, want)
	}
}

// TestColumnsAreInterrupted interrupts two columns in their specs, with one more to come.
func TestColumnsAreInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: two columns are two runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said, wrong bytes.Buffer
	out := watching{&said, func() {
		if strings.Contains(said.String(), "1-envtest: [ 2/") && strings.Contains(said.String(), "2-envtest: [ 2/") {
			cancel()
		}
	}}
	assets := []string{assetsCalled(t, asEmbedded), assetsCalled(t, asEmbedded), assetsCalled(t, "broken")}
	code, m := inProcess(ctx, t, t.TempDir(), streams{out: out, err: &wrong},
		"--parallel", "2", "--embedded", "none", "--assets", strings.Join(assets, ","), "--filter", "storage")
	if code != exitInterrupted || wrong.Len() > 0 {
		t.Errorf("the exit code is %d, and it complains: %s", code, &wrong)
	}
	if len(m.Columns) != 2 || !slices.Equal(m.Missing, []string{"3-envtest"}) {
		t.Fatalf("got %+v without %v", m.Columns, m.Missing)
	}
	for _, c := range m.Columns {
		// A busy API server may not get to removing definitions in time.
		if c.Outcome != reports.Interrupted || c.Error != "" && !strings.Contains(c.Error, "to be removed") || c.Counts[requirement.Passed] == 0 || c.Counts[requirement.Unknown] == 0 || c.Counts[requirement.Failed]+c.Counts[requirement.Errored] > 0 {
			t.Errorf("%s came to %s with %v and the error %q", c.Report, c.Outcome, c.Counts, c.Error)
		}
	}
}

// TestColumnWithoutReport has a process end before there is a report, and another one in the middle of it. That costs the other
// columns nothing, and nobody takes a report of an earlier matrix for that of this one.
func TestColumnWithoutReport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a column is a run")
	}
	for _, parallel := range []string{"1", "2"} {
		var said, wrong bytes.Buffer
		dir := t.TempDir()
		earlier := &reports.Report{Tool: "an earlier one"}
		reporter.Conclude(earlier)
		folder, err := reporter.Open(filepath.Join(dir, "2-envtest"))
		if err := errors.Join(err, folder.Write(earlier)); err != nil {
			t.Fatal(err)
		}
		code, m := inProcess(t.Context(), t, dir, streams{out: &said, err: &wrong},
			"--parallel", parallel, "--assets", assetsCalled(t, asCrash)+","+assetsCalled(t, asCut), "--filter", "versions.scope.cluster")
		if code != exitUnjudged || len(m.Columns) != 3 || m.Missing != nil || m.Partial() {
			t.Fatalf("the exit code is %d, and the matrix is %+v", code, m)
		}
		for i, want := range []string{
			"its process ended without a report (exit status 7): out of cheese",
			"its process ended without a readable report: report.json: it is truncated in line",
		} {
			if c := m.Columns[i]; c.Outcome != reports.Unjudged || !strings.HasPrefix(c.Error, want) || m.Rows[0].Cells[i].Verdict != requirement.Unknown {
				t.Errorf("it came to %+v, want the error %q", c, want)
			}
			report, err := reports.ReadFile(filepath.Join(dir, m.Columns[i].Report))
			if err != nil || report.Error != m.Columns[i].Error {
				t.Errorf("the report is %+v: %v", report, err)
			}
		}
		if last := m.Columns[2]; last.Outcome != reports.Conformant || last.Report != "1-embedded-"+newest || m.Rows[0].Cells[2].Verdict != requirement.Passed {
			t.Errorf("what was judged is lost: %+v", last)
		}
		for _, want := range []string{"crdconform: 2-envtest: out of cheese\n", "crdconform: 2-envtest: redo from start\n", "crdconform: 3-envtest: out of cheese\n"} {
			if !strings.Contains(wrong.String(), want) {
				t.Errorf("it complains %q, want something with %q", &wrong, want)
			}
		}
		if want := "\ncrdconform: 2-envtest: " + m.Columns[0].Error + "\n"; !strings.HasSuffix(wrong.String(), want) {
			t.Errorf("it complains %q, want %q at last", &wrong, want)
		}
	}
}

// TestMatrixIsStopped stops a whole matrix by signals, of which the last gives it no time to stop its columns.
func TestMatrixIsStopped(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "matrix", "--assets", assetsCalled(t, "broken"), "--filter", "storage", "--parallel", "2")
			p.await(t, "1-embedded-"+newest+": [ 2/")
			p.signal(t, signal)
			r := p.end()
			if signal == os.Interrupt {
				r.exits(t, exitInterrupted)
				gone(t, p.temporary)
			}
			path := filepath.Join(p.dir, "crdconform-matrix", "1-embedded-"+newest)
			deadline := time.After(time.Minute)
			for report, err := reports.ReadFile(path); ; report, err = reports.ReadFile(path) {
				if err == nil && len(ofTemporary(t, p.temporary)) == 0 {
					if report.Outcome != reports.Interrupted {
						t.Errorf("the column is %s", report.Outcome)
					}
					break
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-deadline:
					t.Fatalf("the column did not stop: %v", err)
				}
			}
			gone(t, p.temporary)
		})
	}
}

// TestMatrixRunsOutOfTime ends a matrix by its own limit: the report of what had begun says so, and what had not is named.
func TestMatrixRunsOutOfTime(t *testing.T) {
	t.Parallel()
	r := invoke(t, "matrix", "--assets", assetsCalled(t, "broken"), "--filter", "lifecycle", "--parallel", "1", "--run-timeout", "3s")
	r.exits(t, exitUnjudged)
	var m reporter.Matrix
	if err := json.Unmarshal(read(t, filepath.Join(r.dir, "crdconform-matrix", "matrix.json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Columns) != 1 || m.Columns[0].Outcome != reports.Unjudged || !strings.Contains(m.Columns[0].Error, "expired before everything was judged; ") {
		t.Errorf("the columns are %+v", m.Columns)
	}
	said := strings.Join(strings.Fields(r.out), " ")
	if want := "The run timeout of 3s expired before everything was judged, so this is incomplete. "; !strings.Contains(said, want) || !strings.Contains(said, " Not checked: 2-envtest.") {
		t.Errorf("it says:\n%s", r.out)
	}
	r = invoke(t, "matrix", "--run-timeout", "-1s")
	r.exits(t, exitUsage)
	if !strings.Contains(r.err, "--run-timeout -1s: must be at least 0s") {
		t.Errorf("it says %s", r.err)
	}
}

// TestBoard shows two columns at a time on a terminal.
func TestBoard(t *testing.T) {
	t.Parallel()
	var said, wrong bytes.Buffer
	b := &matrixProgress{progress: progress{streams: streams{out: &said, err: &wrong, terminal: true, width: 80}}, several: true, total: 3}
	first := b.begin(column{folder: "1-a", flags: []string{"--cluster=a"}})
	second := b.begin(column{folder: "2-b"})
	first.say("crdconform v1: Kubernetes v1.37.2 (a), seed 42")
	second.say("[ 7/99] Passed        a.b.c (0.100 s)")
	second.say("FAILED a.b.c: \x1b[2Jit does")
	second.complain("crdconform: it is bad")
	second.complain("it is worse")
	report := &reports.Report{}
	reporter.Conclude(report)
	first.end("dir/1-a", report)
	shows := func(text string) string { return erase + text }
	want := "== 1 of 3: 1-a --cluster=a\n" + shows("1-a starting, 2 to come") +
		erase + "\n== 2 of 3: 2-b\n" + shows("1-a starting, 2-b starting, 1 to come") +
		erase + "1-a: crdconform v1: Kubernetes v1.37.2 (a), seed 42\n" + shows("1-a starting, 2-b starting, 1 to come") +
		shows("1-a starting, 2-b [7/99], 1 to come") +
		erase + "2-b: FAILED a.b.c: \uFFFD[2Jit does\n" + shows("1-a starting, 2-b [7/99], 1 to come") +
		strings.Repeat(erase+shows("1-a starting, 2-b [7/99], 1 to come"), 2) +
		erase + "\n== 1 of 3 is done: 1-a\n\n" + reporter.Headline(report) + ", in 0.0 s\nReport: dir/1-a/report.html\n" + shows("2-b [7/99], 1 to come")
	if said.String() != want {
		t.Errorf("it shows:\n%q, want:\n%q", &said, want)
	}
	if want := "crdconform: 2-b: it is bad\ncrdconform: 2-b: it is worse\n"; wrong.String() != want || second.complaint != "it is bad" {
		t.Errorf("it complains %q, want %q", &wrong, want)
	}
}

// TestLines cuts what is written into lines.
func TestLines(t *testing.T) {
	t.Parallel()
	var told []string
	w := &lines{tell: func(line string) { told = append(told, line) }}
	for _, text := range []string{"a", "b\n\nc", "\nd"} {
		if n, err := io.WriteString(w, text); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	w.flush()
	w.flush()
	if want := []string{"ab", "", "c", "d"}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}

// TestColumnLimitsMemory looks at the limits of the process while a column looks for its API server, which was not built.
func TestColumnLimitsMemory(t *testing.T) { // not parallel: the limits are those of the process
	limits := func() [2]int64 {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return [2]int64{debug.SetMemoryLimit(-1), int64(percent)}
	}
	before := limits()
	for users, want := range map[string][2]int64{
		"":           {softMemory, garbage},
		"GOMEMLIMIT": {before[0], garbage},
		"GOGC":       {softMemory, before[1]},
	} {
		var during [2]int64
		variable := func(name string) (string, bool) {
			if name != kinds.MinorsVariable {
				return "", name == users
			}
			during = limits()
			return t.TempDir(), true
		}
		in, end := io.Pipe()
		cmd := newColumn(streams{out: io.Discard, err: io.Discard, variable: variable}, in)
		cmd.SetArgs([]string{"--kubernetes=" + minors.All()[0].String(), "--filter=versions.scope.cluster", "--report-dir=" + t.TempDir()})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("with %q set there is an API server", users)
		}
		end.Close()
		if after := limits(); during != want || after != before {
			t.Errorf("with %q set the limits are %d while the column runs, and %d after it, want %d and %d", users, during, after, want, before)
		}
	}
}

// TestColumnsAtATime has whole clusters be checked one at a time, unless somebody says otherwise.
func TestColumnsAtATime(t *testing.T) {
	t.Parallel()
	whole := []column{{of: &kinds.Columns{Alone: true}}, {of: &kinds.Columns{Alone: true}}}
	if got := (&matrix{}).atATime(whole); got != 1 {
		t.Errorf("%d kind clusters at a time", got)
	}
	if got := (&matrix{parallel: 3}).atATime(whole); got != 3 {
		t.Errorf("%d at a time, want 3", got)
	}
	if got := (&matrix{}).atATime([]column{{of: &kinds.Columns{}}}); got < 1 || got > 2 {
		t.Errorf("%d at a time", got)
	}
}

// TestMemoryLimit has more room where more is in use, and the limit of before once it ends.
func TestMemoryLimit(t *testing.T) { // not parallel: the limit is that of the process
	for live, want := range map[uint64]int64{0: softMemory, softMemory / room: softMemory, softMemory/room + 1: softMemory + 16<<20, 300 << 20: 608 << 20} {
		if got := memoryLimit(live); got != want {
			t.Errorf("with %d bytes in use it is %d, want %d", live, got, want)
		}
	}
	before := debug.SetMemoryLimit(softMemory)
	defer debug.SetMemoryLimit(before)
	var live, asked atomic.Uint64
	stop := raiseLimit(time.Millisecond, func() (times, inUse uint64) {
		n := asked.Add(1)
		if got := debug.SetMemoryLimit(-1); n <= collections && got != softMemory {
			t.Errorf("what was in use after %d collections has it be %d", n-1, got)
		}
		if n < collections {
			return n, 4 << 30
		}
		return n, live.Load()
	})
	defer stop()
	eventually(t, func() bool { return asked.Load() > collections })
	live.Store(1 << 30)
	eventually(t, func() bool { return debug.SetMemoryLimit(-1) == 2<<30 })
	live.Store(0)
	eventually(t, func() bool { return debug.SetMemoryLimit(-1) == softMemory })
}

// TestMemoryLimitWaitsForCollections looks at what one collection left once, however often it could.
func TestMemoryLimitWaitsForCollections(t *testing.T) { // not parallel: the limit is that of the process
	before := debug.SetMemoryLimit(softMemory)
	defer debug.SetMemoryLimit(before)
	var asked atomic.Uint64
	stop := raiseLimit(time.Millisecond, func() (times, inUse uint64) {
		asked.Add(1)
		return 1, 4 << 30
	})
	defer stop()
	eventually(t, func() bool { return asked.Load() > 3*collections })
	if got := debug.SetMemoryLimit(-1); got != softMemory {
		t.Errorf("one collection has it be %d", got)
	}
}
