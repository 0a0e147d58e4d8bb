package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/reports"
)

// The assets by which columns of the tests are something else than envtest.
const (
	asEmbedded = "as-embedded" // an embedded API server
	asLast     = "as-last"     // the same, once the column 2-envtest has a report
	asCrash    = "as-crash"    // a process that ends at once
	asCut      = "as-cut"      // one that ends while it writes its report
)

// makeAssets makes a folder with the programs that a matrix looks for. They end at once, so that no API server of them comes up.
func makeAssets(dir string) error {
	err := os.Mkdir(dir, 0o700)
	for _, program := range []string{"kube-apiserver", "etcd"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	}
	return err
}

// isColumn reports whether this executable is to be a column of a matrix, which a test runs inside of this process.
func isColumn(args []string) bool { return len(args) > 1 && args[1] == "column" }

// runColumn is the process of a column.
func runColumn() {
	var kept []string
	dir, as := "", ""
	for _, arg := range os.Args {
		flag, value, _ := strings.Cut(arg, "=")
		value = strings.TrimPrefix(value, "cluster.assets=")
		switch {
		case flag == "--report-dir":
			dir = value
		case arg == "--set=cluster.assets="+value && slices.Contains([]string{asEmbedded, asLast, asCrash, asCut}, filepath.Base(value)):
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
		kept = slices.DeleteFunc(kept, func(arg string) bool { return arg == "--api-server=envtest" })
	}
	os.Args = kept
	main()
}

// stoppedMatrix stops a whole matrix by a signal in the specs of a column, and has the column end with a report.
func stoppedMatrix(t *testing.T, signal os.Signal) {
	t.Helper()
	broken := filepath.Join(t.TempDir(), "broken")
	check(t, makeAssets(broken))
	p := start(t, "matrix", "--assets", broken, "--parallel", "2") // of all chapters, which takes too long to end by itself
	p.Await(t, "1-embedded-"+newest+": [  2/")
	p.Signal(t, signal)
	if r := p.End(); signal != os.Kill {
		r.Exits(t, exitInterrupted)
		executable.Gone(t, p.Temporary)
	}
	eventually(t, func() bool { return len(executable.OfTemporary(t, p.Temporary)) == 0 })
	report, err := reports.ReadFile(filepath.Join(p.Dir, "crdconform-matrix", "1-embedded-"+newest))
	if err != nil || report.Outcome != reports.Interrupted {
		t.Errorf("the column is %+v: %v", report, err)
	}
}

// TestMatrixIsKilled leaves a matrix no time to stop its columns.
func TestMatrixIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a column is a run")
	}
	stoppedMatrix(t, os.Kill)
}

// TestBoard compares what is shown of two columns at a time on a terminal with testdata/golden/board.txt, where ⌫ wipes a line.
func TestBoard(t *testing.T) {
	t.Parallel()
	var said, wrong bytes.Buffer
	b := &matrixProgress{progress: progress{streams: streams{out: &said, err: &wrong, terminal: true, width: 80}}, several: true, total: 3}
	first := b.begin(column{folder: "1-a", flags: []string{"--api-server=a"}})
	second := b.begin(column{folder: "2-b"})
	first.say("crdconform v1: Kubernetes v1.37.2 (a), seed 42")
	second.say("[ 7/99] Passed        a.b.c (0.100 s)")
	second.say("FAILED a.b.c: \x1b[2Jit does")
	second.complain("crdconform: it is bad")
	second.complain("it is worse")
	report := &reports.Report{}
	reporter.Conclude(report)
	first.end("dir/1-a", report)
	golden(t, "board.txt", strings.NewReplacer(erase, "⌫", "\x1b", "␛").Replace(said.String())+"\n\n"+wrong.String())
	if second.complaint != "it is bad" {
		t.Errorf("it complains first %q", second.complaint)
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
	for _, users := range []string{"", "GOMEMLIMIT", "GOGC"} {
		undo := process.LimitMemory(func(name string) bool { return name == users })
		want := limits()
		undo()
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
