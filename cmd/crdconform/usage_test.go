package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/reports"
)

const configHead = "apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"

func put(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// has fails the test for each text that another lacks.
func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// broken is a writer that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: b.err}
}

// TestOutputThatCannotBeWritten has a full disk be no mistake of the user's, and a comparison end as it did, whoever reads it.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	base, slower := t.TempDir(), t.TempDir()
	store(t, base, repeats)
	store(t, slower, repeats, "response: *fast", "response: *slow")
	for line, code := range map[string]int{ // without a reader
		"list": 0, "list --output json": 0, "list --output markdown": 0, "explain webhook.response.uid": 0, "version": 0,
		"config view": 0, "config schema": 0, "init " + definitionFile + " --output -": 0,
		"compare --max-regress p99=10% --output text " + base + " " + base:   0,
		"compare --max-regress p99=10% --output json " + base + " " + base:   0,
		"compare --max-regress p99=10% --output text " + base + " " + slower: exitViolates,
		"compare --max-regress p99=10% --output json " + base + " " + slower: exitViolates,
	} {
		for failure, want := range map[error]result{
			syscall.ENOSPC: {Code: exitUnjudged, Err: "crdconform: output: write /dev/stdout: no space left on device\n"},
			syscall.EPIPE:  {Code: code},
		} {
			var said strings.Builder
			if got := execute(t.Context(), strings.Fields(line), streams{out: broken{failure}, err: &said}); got != want.Code || said.String() != want.Err {
				t.Errorf("%s: %v: exit code %d, %q, want %+v", line, failure, got, said.String(), want)
			}
		}
	}
}

func TestCodes(t *testing.T) {
	cause, violates, interrupted := errors.New("cause"), &exitError{code: exitViolates}, &exitError{code: exitInterrupted}
	if err := unjudged(cause); !errors.Is(err, cause) || err.Error() != "cause" || interrupted.Error() != "exit code 130" {
		t.Errorf("got %v and %v", err, interrupted)
	}
	for _, test := range []struct {
		outcome, wrong, want error
		said                 string
	}{
		{nil, nil, nil, ""},
		{violates, nil, violates, ""},
		{interrupted, nil, interrupted, ""},
		{nil, cause, unjudged(cause), ""},
		{violates, cause, violates, "crdconform: cause\n"},
	} {
		var said strings.Builder
		if got := (streams{err: &said}).beside(test.outcome, test.wrong); !reflect.DeepEqual(got, test.want) || said.String() != test.said {
			t.Errorf("%+v: got %v, and it says %q", test, got, said.String())
		}
	}
	for outcome, want := range map[reports.Outcome]int{
		reports.Conformant: 0, reports.Partial: 0, reports.NonConformant: 1, reports.Unjudged: 3, reports.Interrupted: 130, "": 3,
	} {
		exit := &exitError{}
		if errors.As(finish(&reports.Report{Outcome: outcome}), &exit); exit.code != want {
			t.Errorf("%q ends with %d, want %d", outcome, exit.code, want)
		}
		if want != 0 {
			has(t, exitCodes, fmt.Sprintf("\n  %d ", want))
		}
	}
}
