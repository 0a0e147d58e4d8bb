package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
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

// TestOutputThatCannotBeWritten expects a full disk to be no mistake of the user's, and a comparison to end the same without a reader.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	base, slower := t.TempDir(), t.TempDir()
	store(t, base, string(read(t, "testdata/repeats.yaml")))
	store(t, slower, string(read(t, "testdata/repeats.yaml")), "response: *fast", "response: *slow")
	for line, code := range map[string]int{ // without a reader
		"list": 0, "list --output json": 0, "list --output markdown": 0, "explain webhook.response.uid": 0, "version": 0, "--version": 0, "help check": 0,
		"config view": 0, "config schema": 0, "init " + definitionFile + " --file -": 0,
		"report --max-regress p99=10% --output text --baseline " + base + " " + base:   0,
		"report --max-regress p99=10% --output json --baseline " + base + " " + base:   0,
		"report --max-regress p99=10% --output text --baseline " + base + " " + slower: exitViolates,
		"report --max-regress p99=10% --output json --baseline " + base + " " + slower: exitViolates,
	} {
		worse := ""
		if code == exitViolates {
			worse = "crdconform: worse than " + base + ": 9 statistics of the load slower\n"
		}
		for failure, want := range map[error]result{
			syscall.ENOSPC: {Code: exitUnjudged, Err: "crdconform: output: write /dev/stdout: no space left on device\n"},
			syscall.EPIPE:  {Code: code, Err: worse},
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

func TestResolve(t *testing.T) {
	t.Parallel()
	empty := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(optionFlags).bind(empty, "run")
	check(t, empty.Parse([]string{"--filter="}))
	const uid, kind, failure, other = "webhook.response.uid", "webhook.response.kind", "webhook.failure.uid", "storage.update.rewrites"
	list := func(ids ...string) []string { return ids }
	for _, test := range []struct {
		selection selection
		in, out   []string
		err       string
	}{
		{selection{}, list(uid, failure), nil, ""},
		{selection{filter: list("webhook.response")}, list(uid), list(failure, other), ""},
		{selection{skip: list("*.uid")}, list(kind), list(uid, failure), ""},
		{selection{filter: list("*.uid"), skip: list("webhook.failure")}, list(uid), list(failure, kind), ""},
		{selection{filter: list("*.uid", "webhook.response")}, list(uid, kind, failure), list("webhook.failure.status"), ""},
		{selection{filter: list(uid, "*.uid", "webhook")}, list(uid, kind, failure, "webhook.failure.status"), list(other), ""},
		{selection{skip: list("webhook")}, nil, nil, "leave no requirement"},
		{selection{filter: list("*.uid", "storage")}, nil, nil, `--filter storage: "crdconform run" and "crdconform storage safe-to-drop" check it`},
		{selection{filter: list("webhook", uid+"d")}, nil, nil, "--filter " + uid + "d: unknown"},
		{selection{filter: list("webhook"), skip: list(uid + "d")}, nil, nil, "--skip " + uid + "d: unknown"},
		{selection{skip: list("[")}, nil, nil, "--skip [: malformed pattern"},
		{selection{filter: list("")}, nil, nil, "--filter"},
		{selection{filter: list("webhook.failure"), skip: list("webhook.failure")}, nil, nil, "leave no requirement"},
		{selection{flags: empty}, nil, nil, "--filter matches no requirement"},
	} {
		selects, err := test.selection.resolve([]suites.Area{chapter.Area})
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%+v: %v, want %q", test.selection, err, test.err)
		}
		for _, id := range append(test.in, test.out...) {
			if selects(requirement.ID(id)) != slices.Contains(test.in, id) {
				t.Errorf("%+v: is %s selected: %t", test.selection, id, !slices.Contains(test.in, id))
			}
		}
	}
}

func TestReadKnownFailing(t *testing.T) {
	none, err := new(selection).known()
	_, missing := (&selection{knownFailing: "missing.txt"}).known()
	if err != nil || len(none.failing)+len(none.flaky) > 0 || missing == nil || !strings.HasPrefix(missing.Error(), "--known-failing: open missing.txt: no such file") {
		t.Errorf("without a file: %v, %v, %v", none, err, missing)
	}
	long := strings.Repeat("x", 1<<17)
	path := file(t, "known.txt", "# a comment: with a colon\r\n\n  webhook.response.uid :  it makes one up: see issue 12  \r\nflaky webhook.response.kind: at night\r\nstorage.update.rewrites:"+long)
	got, err := (&selection{knownFailing: path}).known()
	want := knownLists{
		failing: []config.KnownFailing{{ID: "storage.update.rewrites", Reason: long}, {ID: "webhook.response.uid", Reason: "it makes one up: see issue 12"}},
		flaky:   []config.KnownFailing{{ID: "webhook.response.kind", Reason: "at night"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %.200v, %v", got, err)
	}
	for text, want := range map[string]string{
		"webhook.response.*: all": ":1: webhook.response.*: unknown requirement",
		": a reason":              ":1: : unknown requirement",
		"webhook.response.uid:":   `:1: webhook.response.uid has no reason; write "webhook.response.uid: why it fails"`,
		"#\nwebhook.response.uid": ":2: webhook.response.uid has no reason",
		"flaky webhook.a: b":      ":1: webhook.a: unknown requirement",
	} {
		path := file(t, "known.txt", text)
		if got, err := (&selection{knownFailing: path}).known(); err == nil || !strings.HasPrefix(err.Error(), "--known-failing "+path+want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}
