package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// sample is a custom resource for a file of samples.
func sample(apiVersion, kind string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: one\n---\n"
}

// obsolete returns a requirement that no spec checks.
func obsolete(t *testing.T) requirement.Requirement {
	t.Helper()
	for _, r := range requirement.All() {
		if r.Obsolete {
			return r
		}
	}
	t.Fatal("no requirement is obsolete")
	return requirement.Requirement{}
}

// TestUsage gives every command what it cannot work with. Each has to end with the code for usage before it does anything,
// with a sentence that says what is wrong where, and what to do.
func TestUsage(t *testing.T) {
	t.Parallel()
	const url = "https://127.0.0.1:1/convert"
	untested := string(obsolete(t).ID)
	files := map[string]string{
		"ca.txt":      "nonsense",
		"nothing.yml": "# nothing\n",
		"broken.yml":  "apiVersion: [\n",
		"text.yml":    "some words\n",
		"one.yml":     sample("example.com/v1", "Widget"),
		"two.yml":     sample("example.com/v1", "Widget") + sample("example.com/v2", "Gadget"),
		"core.yml":    sample("v1", "ConfigMap"),
		"unknown.txt": "# a comment\nwebhook.no-such-thing: because\n",
		"reason.txt":  "webhook.response.uid:\n",
		"bare.txt":    "webhook.response.uid\n",
		"stages.yml": "apiVersion: crdconform.dev/v1alpha1\nkind: Config\nwebhook: {url: " + url + "}\n" +
			"load: {stages: [{name: a, phases: [{rate: 1, duration: 1s}]}]}\n",
	}
	definition, err := os.ReadFile("../../fixtures/definitions/reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files["crd.yml"] = string(definition)
	for name, test := range map[string]struct {
		args string // separated by spaces
		want []string
	}{
		"no URL":              {"check", []string{"no webhook specified; give its URL, --from-crd, or a program"}},
		"no URL for load":     {"load", []string{"no webhook specified; give its URL, --from-crd, or a program"}},
		"two URLs":            {"load " + url + " " + url, []string{"load requires one URL, such as https://", "got 2 arguments"}},
		"plain http":          {"check http://127.0.0.1:1/convert", []string{`webhook URL: "http://127.0.0.1:1/convert" is http, but API servers call webhooks only over https; write it as https://`}},
		"plain http for load": {"load http://127.0.0.1:1/convert", []string{"is http, but API servers call webhooks only over https; write it as https://"}},
		"a password":          {"check https://me:secret@localhost/", []string{"not allowed", "leave them out"}},
		"no time":             {"check " + url + " --timeout 0s", []string{"--timeout: 0s must be greater than 0; API servers wait for 30s"}},
		"a negative budget":   {"check " + url + " --time-budget -5s", []string{"--time-budget: -5s is negative; leave it out"}},
		"too little coverage": {"check " + url + " --coverage -1%", []string{`"-1%" is not a share; write a percentage from 0% to 100%`}},
		"no objects":          {"check " + url + " --crd crd.yml --objects 0", []string{"--objects: with 0 only samples are used, and there are none; give --samples, or omit it"}},
		"help of nothing":     {"help chek", []string{`unknown command "chek" for "crdconform"; did you mean check?`}},
		"help of less":        {"help config vieww", []string{`crdconform config has no command "vieww"`}},
		"nothing to list":     {"list roundtrip", []string{"crdconform: roundtrip: unknown requirement; did you mean webhook.conversion.round-trip?"}},
		"no unit":             {"load " + url + " --timeout 30", []string{"--timeout 30: the unit is missing; write 30s for seconds"}},
		"not a number":        {"check " + url + " --seed abc", []string{"--seed abc: it must be a whole number"}},
		"nothing like it":     {"check " + url + " --nosuchthing", []string{"unknown flag --nosuchthing"}},
		"no such port":        {"check https://localhost:99999/convert", []string{`webhook URL: "https://localhost:99999/convert": the port 99999 is not one from 1 to 65535`}},
		"unknown to":          {"load " + url + " --from v1 --to v3", []string{`--to: there are no objects at version "v3"`}},
		"endless":             {"check " + url + " --crd /dev/zero", []string{"--crd: /dev/zero: it is larger than 32 MiB; give less at a time"}},
		"endless certificate": {"check " + url + " --ca-file /dev/zero", []string{"--ca-file: /dev/zero: it is larger than 1 MiB"}},
		"endless client":      {"check " + url + " --client-cert /dev/zero --client-key /dev/zero", []string{"--client-cert: /dev/zero: it is larger than 1 MiB"}},
		"endless kind config": {"run --cluster=kind --kind-config=/dev/zero", []string{"--kind-config: the kind configuration: /dev/zero: it is larger than 32 MiB"}},
		"endless server":      {"record " + url + " --out never --tls-cert /dev/zero --tls-key /dev/zero", []string{"--tls-cert: /dev/zero: it is larger than 1 MiB"}},
		"not a time":          {"load " + url + " --timeout soon", []string{"--timeout soon: it must be a duration such as 30s, 5m or 1h30m"}},

		"no CA file":        {"check " + url + " --ca-file missing.crt", []string{"--ca-file: open missing.crt: no such file"}},
		"no certificate":    {"load " + url + " --ca-file ca.txt", []string{"--ca-file: there is no certificate in ca.txt; give PEM"}},
		"no samples file":   {"check " + url + " --samples missing.yml", []string{"--samples: there is no file missing.yml"}},
		"samples: nothing":  {"check " + url + " --samples nothing.yml", []string{"--samples: there are no objects in nothing.yml"}},
		"samples: broken":   {"check " + url + " --samples broken.yml", []string{"--samples: broken.yml: ", "document 1: "}},
		"samples: text":     {"load " + url + " --samples text.yml", []string{"--samples: text.yml: ", "document 1: "}},
		"samples: one":      {"load " + url + " --samples one.yml", []string{"--samples: one.yml: ", "v1", "add an object at another version"}},
		"samples: kinds":    {"check " + url + " --samples two.yml", []string{"--samples: two.yml: ", `sample example.com/v2 "one": `, "check one kind at a time"}},
		"samples: built in": {"check " + url + " --samples core.yml", []string{"--samples: core.yml: ", "sample v1 ", "it needs an apiVersion of the form group/version"}},

		"unknown ID":          {"check " + url + " --filter webhook.response.uidd", []string{"--filter webhook.response.uidd: unknown requirement; did you mean webhook.response.uid?"}},
		"similar ID":          {"check " + url + " --filter webhook.uid", []string{"--filter webhook.uid: ", "did you mean ", "webhook.response.uid"}},
		"unknown ID to skip":  {"run --skip stor", []string{"--skip stor: unknown requirement", "storage."}},
		"malformed pattern":   {"run --filter [", []string{"--filter [: malformed pattern; use *"}},
		"empty filter":        {"run --filter=", []string{"--filter matches no requirement", `"crdconform list"`}},
		"nothing left":        {"run --filter storage --skip storage", []string{"--filter and --skip leave no requirement to check", `"crdconform list"`}},
		"without a spec":      {"run --filter " + untested, []string{"--filter " + untested + ": no command checks it. "}},
		"needs an API server": {"check " + url + " --filter storage", []string{`--filter storage: "crdconform run" and "crdconform storage safe-to-drop" check it, this command does not`}},
		"needs a definition":  {"run --filter resource.create", []string{`--filter resource.create: "crdconform check --crd FILE" checks it, this command does not`}},
		"unknown ID to list":  {"list --filter nothing", []string{"--filter nothing: unknown requirement"}},
		"many to explain":     {"explain webhook.response", []string{`webhook.response: several requirements begin with it; "crdconform list webhook.response" shows them`}},
		"unknown ID explain":  {"explain webhook.uid", []string{"webhook.uid: unknown requirement; did you mean ", "webhook.response.uid"}},
		"explain nothing":     {"explain", []string{"explain requires the ID of one requirement, but got 0 arguments", `"crdconform list"`}},

		"no list of failures":      {"run --known-failing missing.txt", []string{"--known-failing: open missing.txt: no such file"}},
		"unknown failure":          {"check " + url + " --known-failing unknown.txt", []string{"--known-failing unknown.txt:2: webhook.no-such-thing: unknown requirement"}},
		"failure without a reason": {"run --known-failing reason.txt", []string{`--known-failing reason.txt:1: webhook.response.uid has no reason; write "webhook.response.uid: why it fails"`}},
		"failure without a colon":  {"run --known-failing bare.txt", []string{"--known-failing bare.txt:1: webhook.response.uid has no reason"}},

		"unknown command": {"destroy", []string{`unknown command "destroy" for "crdconform"`}},
		"similar command": {"chekc " + url + " --ca-file ca.crt", []string{`unknown command "chekc" for "crdconform"; did you mean check?`}},
		"of storage":      {"storage statsu", []string{`unknown command "statsu" for "crdconform storage"; did you mean status?`}},
		"nothing of it":   {"storage nonsense", []string{`unknown command "nonsense" for "crdconform storage"`}},
		"no filter":       {"disrupt --filter x", []string{"unknown flag --filter; --scenario selects what this command checks"}},
		"scenario":        {"disrupt --scenario restart.gracful", []string{`--scenario: unknown scenario "restart.gracful"; did you mean restart.graceful?`}},
		"unknown flag":    {"check " + url + " --ca-fil ca.crt", []string{"unknown flag --ca-fil; did you mean --ca-file?"}},
		"an argument":     {"run " + url, []string{"run takes no arguments, but got " + url}},
		"unknown cluster": {"run --cluster minikube", []string{`--cluster: unknown cluster "minikube" (want embedded, kind, envtest, existing`}},
		"unknown fault":   {"serve --fault hang", []string{"--fault hang: unknown fault", `"crdconform serve --help"`}},
		"no address":      {"serve --address 9443", []string{"--address 9443: not an address; give a host and a port"}},
		"unknown output":  {"list --output yaml", []string{"--output yaml: unknown format (want text, json or markdown)"}},

		"a URL and a program":    {"check " + url + " -- ./manager {port} {certs}", []string{"either a URL or a program, not both"}},
		"no program":             {"check --", []string{"no program after --"}},
		"an empty program":       {"check -- ", []string{"program: no program"}},
		"a URL and a definition": {"check " + url + " --from-crd", []string{"give check only one of a URL, a program after --, and --from-crd"}},
		"no definition":          {"check --from-crd", []string{"--from-crd: there is no definition to take it from; give --crd"}},
		"address of a URL":       {"check " + url + " --address localhost:1", []string{"--address: only valid with --from-crd"}},
		"not an address":         {"check --from-crd --crd one.yml --address nowhere", []string{`--address: "nowhere" is not an address; write host:port`}},
		"path of a URL":          {"check " + url + " --path /x", []string{"--path: only valid with a program"}},
		"path without slash":     {"check --path x -- ./manager {port} {certs}", []string{`--path: "x" does not begin with /`}},
		"CA of a program":        {"check --ca-file ca.txt -- ./manager {port} {certs}", []string{"--ca-file: it is only valid with url and fromCRD"}},
		"half a client":          {"check " + url + " --client-cert ca.txt", []string{"--client-cert and --client-key, a certificate and its private key, must be given together"}},
		"other half of a client": {"check " + url + " --client-key ca.txt", []string{"--client-cert and --client-key, a certificate and its private key, must be given together"}},
		"no port to serve at":    {"check --crd " + there(t, definitionFile) + " -- true {certs}", []string{`webhook program "true": neither its arguments nor its environment contain {port}`}},
		"nothing to hold":        {"check " + url + " --hold", []string{"--hold: only valid with a program"}},
		"nothing of ours":        {"check --from-crd --hold --crd " + there(t, definitionFile), []string{"--hold: only valid with a program"}},
		"no client certificate":  {"check " + url + " --client-cert ca.txt --client-key ca.txt", []string{"--client-cert: tls: failed to find any PEM data"}},
		"unknown API server":     {"check " + url + " --cluster minikube", []string{`--cluster: unknown cluster "minikube" (want embedded, kind, envtest, existing`}},
		"negative objects":       {"check " + url + " --objects -1", []string{"--objects: -1 objects: want 0 to 100000"}},
		"no report folder":       {"check " + url + " --report-dir=", []string{"--report-dir: the name of the folder is empty"}},
		"no such config":         {"check --config missing.yaml", []string{"missing.yaml: file does not exist"}},
		"no such CRD":            {"check " + url + " --crd missing", []string{"--crd: there is no file missing"}},
		"no CRD that matches":    {"check " + url + " --crd *.json", []string{"--crd: no file matches *.json"}},
		"CRD: broken":            {"check " + url + " --crd broken.yml", []string{"--crd: broken.yml: ", "document 1: "}},
		"CRD: none in it":        {"check " + url + " --crd one.yml", []string{"--crd: no CustomResourceDefinition in one.yml"}},

		"no rate":                {"load " + url + " --rate 0", []string{"--rate: 0 requests a second: want more than 0"}},
		"no duration":            {"load " + url + " --duration 0s", []string{"--duration 0s: must be greater than 0"}},
		"no batch":               {"run --load-batch 0", []string{"--load-batch: 0 objects: want 1 to 100000"}},
		"no such load profile":   {"run --load-profile batch,serach", []string{`--load-profile: unknown profile "serach"; did you mean search?`}},
		"no load profile":        {"run --load-profile batch,,search", []string{"--load-profile: one of the names is empty; want constant, "}},
		"half a list of loads":   {"run --load-profile batch,", []string{"--load-profile: one of the names is empty"}},
		"a load of no pods":      {"run --cluster kind --webhook-image crdconform:none --load-profile batch,serach", []string{`--load-profile: unknown profile "serach"`}},
		"a load profile twice":   {"run --load-profile batch,batch", []string{"--load-profile: batch is listed twice; remove one"}},
		"a recording in a run":   {"run --load-profile replay", []string{"--load-profile replay: run has no recording to send; use crdconform load --recording"}},
		"profiles of no load":    {"run --load-profile batch --load-duration 0", []string{"--load-profile: no load is sent with --load-duration 0"}},
		"one with a rate to ask": {"run --load-profile batch,apiserver --load-rate 5", []string{"--load-rate: in the profile apiserver, clients send"}},
		"no such profile":        {"load " + url + " --profile bathc", []string{"bathc"}},
		"clients by the clock":   {"load " + url + " --clients 3", []string{"clients are for apiserver and relist"}},
		"a rate for clients":     {"load " + url + " --profile apiserver --rate 3", []string{"remove the rate"}},
		"no batch at all":        {"load " + url + " --batch 0", []string{"--batch: 0 objects: want 1 to"}},
		"nothing judged":         {"load " + url + " --judge-every 0", []string{"--judge-every: every 0-th response judged: want 1 or more"}},
		"an objective twice":     {"load " + url + " --objective p99=1s --objective p99=2s", []string{"--objective p99=2s: p99=1s is already given; give each statistic only one limit"}},
		"an objective of 0":      {"load " + url + " --objective p99=0", []string{"--objective p99=0: a limit of 0 is not an objective; must be greater than 0"}},
		"two goals":              {"load " + url + " --profile search --objective p99=1s --objective p90=1s", []string{"--objective p90=1s: the goal of a search is one percentile, but p99=1s is also given"}},
		"nothing to replay":      {"load " + url + " --profile replay", []string{"--profile replay: no recording; give the file that", "with --recording"}},
		"a recording not sent":   {"load " + url + " --profile batch --recording one.yml", []string{"--recording: the profile batch does not use it; leave --profile out"}},
		"batch of a recording":   {"load " + url + " --recording one.yml --batch 3", []string{"--batch: the recording is sent unchanged; leave the flag out"}},
		"a recording for long":   {"load " + url + " --recording one.yml --duration 3s", []string{"--duration: each request of a recording is sent once"}},
		"samples not sent":       {"load " + url + " --recording one.yml --samples one.yml", []string{"--samples: the objects are those of the recording"}},
		"definition not used":    {"load " + url + " --recording one.yml --crd one.yml", []string{"--crd: the objects are those of the recording"}},
		"half a client of load":  {"load " + url + " --client-key ca.txt", []string{"--client-cert and --client-key"}},
		"a rate beside stages":   {"load --config stages.yml --rate 5", []string{"--rate: it cannot be combined with load.stages in the configuration file; leave the flag out"}},
		"results of before":      {"load " + url + " --vegeta-results one.yml", []string{"--vegeta-results one.yml: the file already exists"}},
		"objects of no relist":   {"load " + url + " --relist-objects 5", []string{"--relist-objects: ", "--batch sets the number in a request"}},
		"a minor of no server":   {"load " + url + " --kubernetes 1.34", []string{"--kubernetes: only valid with --through-api-server"}},
		"a minor without one":    {"load " + url + " --through-api-server --kubernetes 1.5", []string{"--kubernetes 1.5: no such embedded API server (want " + knownMinors()}},
		"from without to":        {"load " + url + " --from v1", []string{"--from and --to must be given together"}},
		"no objective":           {"load " + url + " --objective p98=1ms", []string{"--objective p98=1ms: ", "p99"}},
		"no address for metrics": {"load " + url + " --metrics-address nowhere", []string{"--metrics-address nowhere: "}},
		"no folder":              {"load " + url + " --vegeta-results no/such/file", []string{"--vegeta-results: ", "no such file or directory"}},
		"no load to speak of":    {"load " + url + " --rate 0.1 --duration 1s", []string{"make no request at all: raise one of them"}},
		"content of no load":     {"run --load-duration 0 --judge-content", []string{"--judge-content: no load is sent with --load-duration 0"}},
		"negative duration":      {"run --load-duration -1s", []string{"--load-duration -1s: must be at least 0"}},
		"unknown review":         {"load " + url + " --review-version v2", []string{`"v2"`, "of ConversionReview (want v1 or v1beta1)"}},
		"unknown version":        {"load " + url + " --from v3 --to v1", []string{`--from: there are no objects at version "v3", only at v1alpha1, v1beta1, v1`}},
		"one version twice":      {"load " + url + " --from v1 --to v1", []string{"from and to are both v1"}},

		"a file for a folder": {"check " + url + " --report-dir ca.txt", []string{"report folder", "ca.txt", "give another one with --report-dir"}},
		"a folder in a file":  {"run --report-dir ca.txt/reports", []string{"report folder", "ca.txt", "give another one with --report-dir"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := strings.Split(test.args, " ")
			r := startIn(t, dir, args...).end()
			r.exits(t, exitUsage)
			what, where, found := strings.Cut(r.err, "\n")
			for _, want := range test.want {
				if !strings.HasPrefix(what, "crdconform: ") || !strings.Contains(what, want) {
					t.Errorf("it says %q, want something with %q", what, want)
				}
			}
			help := "crdconform " + args[0] + " --help"
			if strings.Contains(name, " command") {
				help = "crdconform --help"
			}
			if want := fmt.Sprintf("crdconform: see %q\n", help); !found || where != want || r.out != "" {
				t.Errorf("after that it says %q and %q, want %q", where, r.out, want)
			}
			if strings.Contains(r.err, "secret") {
				t.Errorf("it gives the password away: %s", r.err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != len(files) {
				t.Errorf("it began: %v, %v", left, err)
			}
		})
	}
}

// broken is a writer that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: b.err}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"list", "list --output json", "list --output markdown", "explain webhook.response.uid", "version"} {
		var said strings.Builder
		if code := execute(t.Context(), strings.Fields(args), streams{out: broken{syscall.ENOSPC}, err: &said}); code != exitUnjudged {
			t.Errorf("%s on a full disk: %d, want %d", args, code, exitUnjudged)
		}
		if want := "crdconform: output: write /dev/stdout: no space left on device\n"; said.String() != want {
			t.Errorf("%s on a full disk: %q, want %q", args, said.String(), want)
		}
		said.Reset()
		if code := execute(t.Context(), strings.Fields(args), streams{out: broken{syscall.EPIPE}, err: &said}); code != exitConforms || said.String() != "" {
			t.Errorf("%s without a reader: %d and %q, want %d and nothing", args, code, said.String(), exitConforms)
		}
	}
}

// TestOutcomesThatCannotBeWritten has a comparison end as it did, whoever reads it, and a full disk be no mistake of the user's.
func TestOutcomesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	base, slower := measured(t, 100, 10, 11, 12, 10, 11, 12), measured(t, 100, 30, 31, 32, 30, 31, 32)
	for name, test := range map[string]struct {
		now  string
		err  error
		code int
		want string
	}{
		"the same on a full disk":   {base, syscall.ENOSPC, exitUnjudged, "crdconform: output: write /dev/stdout: no space left on device\n"},
		"slower on a full disk":     {slower, syscall.ENOSPC, exitUnjudged, "crdconform: output: write /dev/stdout: no space left on device\n"},
		"the same without a reader": {base, syscall.EPIPE, exitConforms, ""},
		"slower without a reader":   {slower, syscall.EPIPE, exitViolates, ""},
	} {
		for _, output := range []string{"text", "json"} {
			var said strings.Builder
			args := []string{"compare", base, test.now, "--max-regress", "p99=10%", "--output", output}
			if code := execute(t.Context(), args, streams{out: broken{test.err}, err: &said}); code != test.code || said.String() != test.want {
				t.Errorf("%s, %s: exit code %d, want %d; it says %q, want %q", name, output, code, test.code, said.String(), test.want)
			}
		}
	}
}

func TestCodes(t *testing.T) {
	cause := errors.New("cause")
	if err := unjudged(cause); !errors.Is(err, cause) || err.Error() != "cause" {
		t.Errorf("got %v", err)
	}
	if got := (&exitError{code: exitInterrupted}).Error(); got != "exit code 130" {
		t.Errorf("got %q", got)
	}
	var said strings.Builder
	ends := streams{err: &said}
	for _, outcome := range []error{nil, &exitError{code: exitViolates}, &exitError{code: exitInterrupted}} {
		if got := ends.beside(outcome, nil); got != outcome { //nolint:errorlint // it is to be the same
			t.Errorf("beside nothing, %v is %v", outcome, got)
		}
	}
	var exit *exitError
	if got := ends.beside(nil, cause); !errors.As(got, &exit) || exit.code != exitUnjudged || !errors.Is(got, cause) || said.Len() > 0 {
		t.Errorf("got %v, and it says %q", got, said.String())
	}
	if got := ends.beside(&exitError{code: exitViolates}, cause); !errors.As(got, &exit) || exit.code != exitViolates || said.String() != "crdconform: cause\n" {
		t.Errorf("got %v, and it says %q", got, said.String())
	}
	for outcome, want := range map[reports.Outcome]int{
		reports.Conformant: 0, reports.Partial: 0, reports.NonConformant: 1, reports.Unjudged: 3, reports.Interrupted: 130, "": 3,
	} {
		var exit *exitError
		got := 0
		if err := finish(&reports.Report{Outcome: outcome}); errors.As(err, &exit) {
			got = exit.code
		}
		if got != want {
			t.Errorf("%q ends with %d, want %d", outcome, got, want)
		}
		if want != 0 && !strings.Contains(exitCodes, fmt.Sprintf("\n  %d ", want)) {
			t.Errorf("%d is not documented", want)
		}
	}
}
