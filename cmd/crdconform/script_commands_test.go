package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/test/hostile"
	"github.com/crdconform/crdconform/internal/test/lab"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
)

// refuses runs a command line that is mistaken: refuses 'MESSAGE' ARGUMENT... It must say so on one line that begins with the message,
// lead to the help of its command, print nothing else, and end before it leaves a file.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refuses 'MESSAGE' ARGUMENT...")
	}
	before, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	ends(ts, exitUsage, args[1:])
	message, help, _ := strings.Cut(fmt.Sprint(ts.Stderr()), "\n")
	if at := like("crdconform: " + args[0]).FindStringIndex(message); at == nil || at[0] > 0 {
		ts.Fatalf("it does not say %q", args[0])
	}
	root := newRoot(streams{})
	root.InitDefaultHelpCmd()
	named, _, _ := root.Find(args[1:])
	if want := fmt.Sprintf("crdconform: see \"%s --help\"\n", named.CommandPath()); help != want || fmt.Sprint(ts.Stdout()) != "" {
		ts.Fatalf("after that it does not say only %q", want)
	}
	if after, err := os.ReadDir(ts.MkAbs(".")); err != nil || len(after) != len(before) {
		ts.Fatalf("it began: %v, %v", after, err)
	}
}

// shows runs a command line that says something: shows [CODE] 'TEXT' ARGUMENT... The text may begin on the standard output, and must go on
// or begin on the standard error if anything is there.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: shows [CODE] 'TEXT' ARGUMENT...")
	}
	code, err := strconv.Atoi(args[0])
	if err == nil {
		args = args[1:]
	}
	ends(ts, code, args[1:])
	out, errs := fmt.Sprint(ts.Stdout()), fmt.Sprint(ts.Stderr())
	if text := like(args[0]); !text.MatchString(out+errs) || errs != "" && (code == exitConforms || text.MatchString(out)) {
		ts.Fatalf("it does not say only %q", args[0])
	}
}

// like matches what has a text, in which … stands for anything, \n for the end of a line, and \A and \z for the beginning and the end of all.
func like(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)" + strings.NewReplacer("…", ".*", `\\n`, `\n`, `\\A`, `\A`, `\\z`, `\z`).Replace(regexp.QuoteMeta(text)))
}

// replaced replaces the first of each old text by a new one.
func replaced(t failer, text string, pairs []string) string {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		if !strings.Contains(text, pairs[0]) {
			t.Fatalf("there is no %q to replace", pairs[0])
		}
		text = strings.Replace(text, pairs[0], pairs[1], 1)
	}
	return text
}

// stores writes a report as a run does, after texts in it are replaced: stores FROM.yaml FOLDER [OLD NEW]...
func stores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: stores FROM.yaml FOLDER [OLD NEW]...")
	}
	store(ts, ts.MkAbs(args[1]), ts.ReadFile(args[0]), args[2:]...)
}

// store writes a report in YAML to a folder as a run does, after texts in it are replaced.
func store(t failer, dir, text string, pairs ...string) {
	var report reports.Report
	check(t, yaml.UnmarshalStrict([]byte(replaced(t, text, pairs)), &report))
	reporter.Conclude(&report)
	folder, err := reporter.Open(dir)
	check(t, err)
	check(t, folder.Write(&report))
}

// testOf is the test that runs the script.
func testOf(ts *testscript.TestScript) *testing.T { return ts.Value("t").(scripted).T } //nolint:forcetypeassert // see runScripts

// interrupts interrupts a command line once its output matches: interrupts PATTERN ARGUMENT...
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupts PATTERN ARGUMENT...")
	}
	pattern, err := regexp.Compile("(?s)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var said strings.Builder
	out := watching{io.MultiWriter(&said, ts.Stdout()), func() {
		if pattern.MatchString(said.String()) {
			cancel()
		}
	}}
	if code := commandLine(ctx, ts, out, ts.Stderr(), args[1:]); code != exitInterrupted {
		ts.Fatalf("exit code %d, want %d", code, exitInterrupted)
	}
}

// watching calls a function after whatever is written.
type watching struct {
	io.Writer
	then func()
}

func (w watching) Write(text []byte) (int, error) {
	defer w.then()
	return w.Writer.Write(text)
}

// assets makes folders of programs that end at once, of which no API server comes up, or what runColumn takes their names for:
// assets NAME...
func assets(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		ts.Check(makeAssets(ts.MkAbs(name)))
	}
}

// allForms fails unless all forms of the report in a folder agree: forms FOLDER.
func allForms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forms FOLDER")
	}
	reportIn(ts, ts.MkAbs(args[0]))
}

// onPath puts this program on the PATH as crdconform.
func onPath(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(errors.Join(err, os.MkdirAll(ts.MkAbs("bin"), 0o755)))
	ts.Check(os.Symlink(self, ts.MkAbs("bin/crdconform")))
	ts.Setenv("PATH", ts.MkAbs("bin")+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	ts.Setenv(asProgram, "yes")
}

// upgrade builds a program and writes old.yaml and new.yaml to the folder of the script, as subjects.BuildReleases does. The variable
// PROGRAM is the path of the program.
func upgrade(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PROGRAM", subjects.BuildReleases(testOf(ts), ts.MkAbs(".")).Serve()[0])
}

// scriptVariables sets what scripts know: TESTDATA and DEFINITIONS are folders of files that several read, WEBHOOK is a program that serves a
// webhook (see hostile.Program), SPECS is how many requirements check judges, and MINORS are those of embedded API servers, of which NEWEST is one.
func scriptVariables(e *testscript.Env, module string) error {
	e.Values["proxy"], e.Values["touched"] = new(recordingProxy), new(func() int64)
	e.Setenv("SPECS", strconv.Itoa(len(suites.Preview([]suites.Area{chapter.Area}))))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	e.Setenv("WEBHOOK", self)
	for name, value := range map[string]string{
		"TESTDATA": filepath.Join(module, "cmd", "crdconform", "testdata"), "DEFINITIONS": filepath.Join(module, "fixtures", "definitions"),
		"NEWEST": newest, "MINORS": knownMinors(),
	} {
		e.Setenv(name, value)
	}
	return nil
}

// behaving serves a webhook in the way of the command webhook, but one that behaves in a way of its own: behaving NAME [ARGUMENT...]. They are
// those of hostile.Odd, and webhooks that die after 5 answers, go without TLS, and say nothing.
func behaving(ts *testscript.TestScript, _ bool, args []string) {
	t := testOf(ts)
	ts.Setenv("BEHAVING", args[0])
	switch args[0] {
	case "dying": // it hangs up, and closes its port
		died := make(chan struct{})
		die := sync.OnceFunc(func() { close(died) })
		serveTo(ts, hostile.After(5, webhook.Handler(), func() {
			die()
			panic(http.ErrAbortHandler)
		}), died)
	case "plain":
		server := httptest.NewServer(webhook.Handler())
		t.Cleanup(server.Close)
		ts.Setenv("URL", "https"+strings.TrimPrefix(server.URL, "http"))
	case "silent":
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		ts.Check(err)
		t.Cleanup(func() { listener.Close() })
		ts.Setenv("URL", "https://"+listener.Addr().String())
		ts.Setenv("ADDRESS", listener.Addr().String())
	default:
		handler := hostile.Odd(args)
		if handler == nil {
			ts.Fatalf("there is no behavior %q", args)
		}
		serveTo(ts, handler, nil)
	}
}

// serveTo serves a webhook until the channel is closed or the script ends. The variable URL is where, and ca.crt has the certificate of its
// authority.
func serveTo(ts *testscript.TestScript, handler http.Handler, until <-chan struct{}) {
	t := testOf(ts)
	url, ca := serve(t, handler, until)
	ts.Setenv("URL", url)
	ts.Setenv("ADDRESS", strings.TrimSuffix(strings.TrimPrefix(url, "https://"), webhook.Path))
	ts.Check(os.WriteFile(ts.MkAbs("ca.crt"), read(t, ca), 0o600))
}

// unreached has check and load find no webhook to judge at $URL, and say why in one line that has a text: unreached TEXT [FLAG...].
func unreached(ts *testscript.TestScript, _ bool, args []string) {
	url := ts.Getenv("URL")
	for _, command := range []string{"check", "load"} {
		if command == "check" && slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "webhook.serverName=") }) {
			continue // a verdict
		}
		var out, errs strings.Builder
		code := commandLine(context.Background(), ts, &out, &errs, append([]string{command, url}, args[1:]...))
		report := reportOf(testOf(ts), result{Dir: ts.MkAbs(".")})
		if code != exitUnjudged || report.Outcome != reports.Unjudged || len(report.Results) > 0 || report.Load != nil {
			ts.Fatalf("%s: exit code %d, and the report is %s with %v", command, code, report.Outcome, report.Results)
		}
		if wrong := report.Error; !strings.HasPrefix(wrong, "webhook "+url+": ") || !strings.Contains(wrong, args[0]) || strings.Contains(wrong, "\n") {
			ts.Fatalf("%s: the error is %q", command, wrong)
		}
		if !strings.Contains(out.String(), "\nCould not judge: "+report.Error+"\n") || errs.String() != "" {
			ts.Fatalf("%s says:\n%s%s", command, out.String(), errs.String())
		}
	}
}

// attempt runs a command with a load, which must end with an exit code, again when this machine was too busy for the run to count. What is
// wrong is wrong however busy the machine is: attempt CODE|... COMMAND ARGUMENT..., or load CODE|... ARGUMENT...
func attempt(ts *testscript.TestScript, _ bool, args []string) {
	for range 50 {
		var out, errs strings.Builder
		code := commandLine(context.Background(), ts, &out, &errs, args[1:])
		if void(result{Code: code, Out: out.String()}) {
			args = revived(ts, args)
			continue
		}
		io.WriteString(ts.Stdout(), out.String())
		io.WriteString(ts.Stderr(), errs.String())
		if !regexp.MustCompile("^(" + args[0] + ")$").MatchString(strconv.Itoa(code)) {
			ts.Fatalf("exit code %d, want %s", code, args[0])
		}
		return
	}
	ts.Fatalf("this machine is too busy to load a webhook")
}

// revived returns arguments for another attempt: a webhook that dies did so in the last one, so it is served again, elsewhere.
func revived(ts *testscript.TestScript, args []string) []string {
	if ts.Getenv("BEHAVING") != "dying" {
		return args
	}
	dead := ts.Getenv("URL")
	behaving(ts, false, []string{"dying"})
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], dead, ts.Getenv("URL"))
	}
	return args
}

// wantReport holds the report to the forms that it has and to what was printed before, and looks for values in it: report [PATH VALUE]...
func wantReport(ts *testscript.TestScript, _ bool, args []string) {
	t := testOf(ts)
	r := result{Dir: ts.MkAbs("."), Out: ts.ReadFile("stdout")}
	report := reportOf(t, r)
	headline, _, _ := strings.Cut(reporter.Headline(report), "\n")
	if !strings.Contains(r.Out, "\n"+headline) || !regexp.MustCompile(`(?m)^Report: \S*crdconform-report/report\.html$`).MatchString(r.Out) {
		ts.Fatalf("it does not say %s, or where the report is", headline)
	}
	alone := report.Webhook == nil || len(report.Webhook.Kinds) < 2
	if lines := len(regexp.MustCompile(`(?m)^\[ *\d+/\d+\] `).FindAllString(r.Out, -1)); alone && lines != len(report.Results) || strings.ContainsAny(r.Out, "\x1b\r\x00") || !utf8.ValidString(r.Out) {
		ts.Fatalf("there are %d lines of progress for %d results, or what is for a terminal", lines, len(report.Results))
	}
	for _, result := range report.Results {
		for _, file := range result.Files {
			read(t, filepath.Join(r.Dir, "crdconform-report", filepath.FromSlash(file.Path)))
		}
		if result.Verdict != requirement.Failed {
			continue
		}
		again := report.Counts[requirement.Failed] > 1 || result.Rerun == "" || strings.Contains(r.Out, "again: "+result.Rerun)
		if !again || !strings.Contains(r.Out, "\nFAILED "+string(result.ID)+": ") || !strings.HasPrefix(result.Location, "suites/") {
			ts.Fatalf("%s at %s is not shown as failed, with %q", result.ID, result.Location, result.Rerun)
		}
	}
	lab.JSON(ts, false, append([]string{"crdconform-report/report.json"}, args...))
}

// wantVerdicts wants these requirements alone have one of the verdicts: verdicts VERDICT,... [ID]...
func wantVerdicts(ts *testscript.TestScript, _ bool, args []string) {
	report, err := reports.ReadFile(ts.MkAbs("crdconform-report/report.json"))
	ts.Check(err)
	var got []string
	for _, result := range report.Results {
		if slices.Contains(strings.Split(args[0], ","), result.Verdict.String()) {
			got = append(got, string(result.ID))
		}
	}
	if want := slices.Sorted(slices.Values(args[1:])); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		ts.Fatalf("%s: %v, want %v", args[0], got, want)
	}
}

// again runs the command line at a path in a file, which must end with an exit code: again CODE FILE PATH.
func again(ts *testscript.TestScript, _ bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &value))
	exits(ts, false, append([]string{args[0]}, strings.Fields(lab.ValueAt(value, args[2]))...))
}

// beginRecord runs crdconform record in front of the webhook at $URL until the command interrupt, in the folder of this package:
// record FILE [FLAG...].
func beginRecord(ts *testscript.TestScript, _ bool, args []string) {
	p := record(testOf(ts), ts.Getenv("URL"), ts.MkAbs("ca.crt"), ts.MkAbs(args[0]), args[1:]...)
	ts.Check(os.WriteFile(ts.MkAbs("proxy.crt"), p.caBundle, 0o600))
	*proxyOf(ts) = *p
}

func proxyOf(ts *testscript.TestScript) *recordingProxy { return ts.Value("proxy").(*recordingProxy) } //nolint:forcetypeassert // see scriptVariables

// send passes a number of requests to the proxy, or the one in a file, or questions about CronTabs, and prints the last answer: send
// N|FILE|crontabs. It sets $SENT to how many they were, and $WHOLE to one less.
func send(ts *testscript.TestScript, _ bool, args []string) {
	t, client := testOf(ts), proxyOf(ts).client(testOf(ts), nil)
	n, err := strconv.Atoi(args[0])
	bodies := slices.Repeat([][]byte{fixtures.ReviewRequest("v1")}, n)
	if args[0] == "crontabs" {
		bodies = crontabs(t)
	} else if err != nil {
		bodies = [][]byte{[]byte(ts.ReadFile(args[0]))}
	}
	var last contract.Response
	for _, body := range bodies {
		if last = client.Send(t.Context(), body); n > 0 && last.Status != http.StatusOK {
			ts.Fatalf("got %+v", last)
		}
	}
	ts.Setenv("SENT", strconv.Itoa(len(bodies)))
	ts.Setenv("WHOLE", strconv.Itoa(len(bodies)-1))
	fmt.Fprintf(ts.Stdout(), "%s", last.Body)
}

// interruptRecord ends the proxy, which must end with an exit code: interrupt CODE.
func interruptRecord(ts *testscript.TestScript, _ bool, args []string) {
	r := proxyOf(ts).stop()
	io.WriteString(ts.Stdout(), r.Out)
	io.WriteString(ts.Stderr(), r.Err)
	if strconv.Itoa(r.Code) != args[0] {
		ts.Fatalf("exit code %d, want %s", r.Code, args[0])
	}
}

// newest is the minor that is built in.
var newest = minors.BuiltIn().String()

// knownMinors lists the minors of embedded API servers as errors do.
func knownMinors() string {
	var names []string
	for _, minor := range minors.All() {
		names = append(names, minor.String())
	}
	return strings.Join(append(names, newest), ", ")
}
