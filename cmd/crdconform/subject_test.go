package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// gadgets is a definition that the reference webhook can convert: it takes host and port apart at v1 for any kind.
const gadgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1, v1beta1]
      clientConfig: {service: {namespace: system, name: gadgets, path: /crdconvert}}
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          hostPort: {type: string, pattern: '^[^:]*:[0-9]*$'}
          spec: {type: object, properties: {size: {type: integer, format: int64}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          host: {type: string, pattern: '^[^:]*$'}
          port: {type: string, pattern: '^[0-9]*$'}
          spec: {type: object, properties: {size: {type: integer, format: int64}}}
`

const gadgetSamples = `apiVersion: example.com/v1
kind: Gadget
metadata: {name: large}
host: localhost
port: "80"
spec: {size: 9007199254740993}
---
apiVersion: example.com/v1beta1
kind: Gadget
metadata: {name: small}
hostPort: localhost:81
`

// doodads is a second kind, converted in the same way.
var doodads = strings.NewReplacer("gadget", "doodad", "Gadget", "Doodad").Replace(gadgets)

// folder returns a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

// TestDefinitionsThatCannotBeChecked wants to be told of each by its file.
func TestDefinitionsThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	oneVersion := gadgets[:strings.Index(gadgets, "  - name: v1\n")]
	for name, test := range map[string]struct{ crd, want string }{
		"does not parse":  {"kind: [CustomResourceDefinition\n", "document 1: "},
		"is truncated":    {gadgets[:500], "crd.yaml: "},
		"not structural":  {strings.Replace(gadgets, "spec: {type: object, properties", "spec: {properties", 1), "spec"},
		"no schema":       {strings.Replace(gadgets, "        type: object\n        properties:\n          host: {", "        x-nothing:\n          host: {", 1), "crd.yaml: "},
		"one version":     {strings.Replace(oneVersion, "storage: false", "storage: true", 1), "every definition has only one version, and a conversion needs two"},
		"v1beta1 of CRDs": {strings.Replace(gadgets, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", 1), "crd.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"crd.yaml": test.crd})
			r := startIn(t, dir, "check", "https://127.0.0.1:1/convert", "--crd", "crd.yaml").end()
			r.exits(t, exitUsage)
			if !strings.HasPrefix(r.err, "crdconform: --crd: ") || !strings.Contains(r.err, test.want) || strings.Contains(r.err, dir) || r.out != "" {
				t.Errorf("it says %q and %q, want %q", r.err, r.out, test.want)
			}
		})
	}
}

// TestSamplesThatDoNotValidate are told with file, name, path and reason.
func TestSamplesThatDoNotValidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sample string
		want   []string
	}{
		"wrong type":    {strings.Replace(gadgetSamples, "9007199254740993", "big", 1), []string{`samples.yaml: `, `"large"`, "spec.size", "integer"}},
		"pattern":       {strings.Replace(gadgetSamples, "localhost:81", "localhost", 1), []string{`"small"`, "hostPort", "should match"}},
		"unknown field": {strings.Replace(gadgetSamples, "host: localhost\n", "hots: localhost\n", 1), []string{`"large"`, "hots"}},
		"version":       {strings.Replace(gadgetSamples, "example.com/v1\n", "example.com/v3\n", 1), []string{`"large"`, "v3", "v1beta1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"crd.yaml": gadgets, "samples.yaml": test.sample})
			r := startIn(t, dir, "check", "https://127.0.0.1:1/convert", "--crd", "crd.yaml", "--samples", "samples.yaml").end()
			r.exits(t, exitUsage)
			for _, want := range append(test.want, "crdconform: --samples: samples.yaml: ") {
				if !strings.Contains(r.err, want) {
					t.Errorf("it says %q, want %q", r.err, want)
				}
			}
		})
	}
}

// TestGaps has a definition with a field that cannot be generated: the path is told, and the samples are converted.
func TestGaps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a whole check")
	}
	crd := strings.ReplaceAll(gadgets, "{size: {", "{odd: {type: string, pattern: 'a^b'}, size: {")
	dir := folder(t, map[string]string{"crd.yaml": crd, "samples.yaml": gadgetSamples})
	p := startIn(t, dir, append([]string{"check", "--cluster", "none", "--objects", few, "--crd", "crd.yaml", "--samples", "samples.yaml"}, webhookProgram(t, "serve")...)...)
	r := p.end()
	r.exits(t, exitConforms)
	report := r.report(t)
	if report.Webhook == nil || len(report.Webhook.Kinds) != 1 {
		t.Fatalf("got %+v", report.Webhook)
	}
	kind := report.Webhook.Kinds[0]
	if gaps := strings.Join(kind.Gaps, "\n"); !strings.Contains(gaps, "spec.odd at v1: ") || !strings.Contains(gaps, "spec.odd at v1beta1: ") || kind.Samples != 2 || kind.Generated != 4 {
		t.Errorf("got %+v", kind)
	}
	gone(t, p.temporary)
}

// TestProgramsThatDoNotStart are told with their last output, and leave nothing behind.
func TestProgramsThatDoNotStart(t *testing.T) {
	t.Parallel()
	for mode, test := range map[string]struct {
		args          []string
		timeout, want string
	}{
		"ends":  {webhookProgram(t, "ends")[1:], "10m", "it exited before it responded: exit status 3"},
		"never": {[]string{"sh", "-c", "echo mode never; exec sleep 3600", "sh", "{port}", "{certs}"}, "3s", "no response within 3s"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			want := test.want
			dir := folder(t, map[string]string{config.FileName: configHead + "cluster: none\nwebhook:\n  command:\n    args: ['" + strings.Join(test.args, "', '") + "']\n    readyTimeout: " + test.timeout + "\n"})
			p := startIn(t, dir, "check")
			r := p.end()
			r.exits(t, exitUnjudged)
			report := r.report(t)
			if !strings.Contains(report.Error, want) || !strings.Contains(report.Error, "mode "+mode) || len(report.Results) > 0 {
				t.Errorf("got %q, want %q", report.Error, want)
			}
			if !strings.Contains(r.out, want) || !strings.Contains(r.out, "\n    mode "+mode+"\n") || r.err != "" {
				t.Errorf("it says:\n%s%s", r.out, r.err)
			}
			gone(t, p.temporary)
		})
	}
}

// TestProgramThatCrashes holds the crash against one requirement, with the last output.
func TestProgramThatCrashes(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{"check", "--objects", few}, webhookProgram(t, "crashes")...)...)
	r := p.end()
	r.exits(t, exitViolates)
	report := r.report(t)
	failed := report.With(requirement.Failed, requirement.Errored, requirement.Unknown, requirement.Tolerated)
	if len(failed) != 1 || !strings.Contains(failed[0].Reason, "out of cheese") || !strings.Contains(failed[0].Reason, "exit status 7") {
		t.Errorf("got %v with %+v", report.Counts, failed)
	}
	gone(t, p.temporary)
}

// TestProgramsThatAreOdd are judged all the same, and nothing is left of them.
func TestProgramsThatAreOdd(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]requirement.ID{
		"daemon": nil,
		"leaks":  nil,
		"impure": {requirement.WebhookConversionPure},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"check", "--objects", few}, webhookProgram(t, mode)...)...)
			r := p.end()
			r.exits(t, map[bool]int{true: exitConforms, false: exitViolates}[len(want) == 0])
			report := r.report(t)
			if got := verdicts(report, requirement.Failed); !slices.Equal(got, want) || report.Error != "" || report.Counts[requirement.Errored] > 0 {
				t.Errorf("%v failed, want %v; %s", got, want, report.Error)
			}
			gone(t, p.temporary)
		})
	}
}

// TestSlowWebhooks are judged to the end: one that never answers in time, and one that takes 300 ms for each request.
func TestSlowWebhooks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for slow webhooks")
	}
	url, ca := serve(t, delayed(time.Hour), nil)
	r := invoke(t, "check", url, "--ca-file", ca, "--objects", few, "--timeout", "500ms")
	r.exits(t, exitViolates)
	if got := verdicts(r.report(t), requirement.Failed); !slices.Equal(got, []requirement.ID{requirement.WebhookResponseInTime}) {
		t.Errorf("%v failed, want %s alone", got, requirement.WebhookResponseInTime)
	}
	args := []string{"check", "--objects", "2", "--filter", "webhook.response,webhook.conversion.round-trip,webhook.conversion.pure"}
	invoke(t, append(args, webhookProgram(t, "slow")...)...).exits(t, exitConforms)
}

// TestSeveralDefinitions has one program convert two kinds, and leaves one definition out.
func TestSeveralDefinitions(t *testing.T) {
	t.Parallel()
	single := strings.NewReplacer("gadget", "thing", "Gadget", "Thing", "storage: false", "storage: true").Replace(gadgets[:strings.Index(gadgets, "  - name: v1\n")])
	dir := folder(t, map[string]string{"crds.yaml": gadgets + "---\n" + doodads + "---\n" + single, "samples.yaml": gadgetSamples, "other.yaml": sample("other.com/v1", "Other")})
	p := startIn(t, dir, append([]string{"check", "--cluster", "none", "--objects", few, "--filter", "webhook.response", "--crd", "crds.yaml", "--samples", "samples.yaml,other.yaml"}, webhookProgram(t, "serve")...)...)
	r := p.end()
	r.exits(t, exitConforms)
	report := r.report(t)
	if got := reporter.Subjects(report); !slices.Equal(got, []string{"gadgets.example.com", "doodads.example.com"}) {
		t.Errorf("it judged %v", got)
	}
	notes := strings.Join(report.Notes, "\n")
	for _, want := range []string{"things.example.com has only one version", "other.yaml has no objects of these definitions"} {
		if !strings.Contains(notes, want) {
			t.Errorf("it notes %q, want %q", notes, want)
		}
	}
	for _, want := range []string{": gadgets.example.com at https://", ": doodads.example.com at https://"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it says:\n%swant %q", r.out, want)
		}
	}
	gone(t, p.temporary)
}

// TestFromCRD takes the certificate from a definition, and reaches the service at another address.
func TestFromCRD(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, delayed(0), nil)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/crdconvert")
	dir := folder(t, map[string]string{"crd.yaml": gadgets})
	args := []string{"check", "--from-crd", "--crd", "crd.yaml", "--cluster", "none", "--filter", "webhook.response,webhook.transport.certificate", "--ca-file", ca}
	r := startIn(t, dir, append(args, "--address", address)...).end()
	r.exits(t, exitViolates) // the certificate is for localhost, and API servers ask for gadgets.system.svc
	failed := r.report(t).With(requirement.Failed)
	if len(failed) != 1 || failed[0].ID != requirement.WebhookTransportCertificate || !strings.Contains(failed[0].Reason, "gadgets.system.svc") {
		t.Errorf("got %+v", failed)
	}
	for _, name := range []string{"apiserver.log", "cluster"} {
		if _, err := os.Stat(filepath.Join(r.dir, "crdconform-report", name)); !os.IsNotExist(err) {
			t.Errorf("there is no API server, and its %s is there: %v", name, err)
		}
	}
	startIn(t, dir, append(args, "--address", address, "--server-name", "localhost")...).end().exits(t, exitConforms)
	r = startIn(t, dir, args...).end()
	r.exits(t, exitUnjudged)
	if !strings.Contains(r.out, "gadgets.system.svc:443 can be resolved only inside of its cluster") {
		t.Errorf("without an address it says:\n%s", r.out)
	}
}

// TestFlagsOverFile has a file that says everything wrong, and flags that put it right.
func TestFlagsOverFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"crd.yaml": gadgets, "samples.yaml": gadgetSamples})
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(below, "c.yaml"), configHead+"crds: [missing.yaml]\nsamples: [missing.yaml]\nfilter: [webhook.metadata]\nstrict: true\nreportDir: elsewhere\nwebhook:\n  url: https://localhost:1/\n  caFile: missing.crt\n  serverName: x\ngenerate: {seed: 7, objects: 3}\n")
	args := []string{"check", "--config", "below/c.yaml", "--crd", "crd.yaml", "--samples", "samples.yaml", "--filter", "webhook.response", "--strict=false", "--report-dir", "crdconform-report", "--objects", "0", "--cluster", "none"}
	r := startIn(t, dir, append(args, webhookProgram(t, "serve")...)...).end()
	r.exits(t, exitConforms)
	report := r.report(t)
	if report.Seed != 7 || report.Strict || len(report.Results) == 0 || report.Results[0].ID.Area() != "webhook" || report.Webhook.Kinds[0].Generated != 0 {
		t.Errorf("got %+v", report)
	}
	r = startIn(t, dir, "check", "--config", "below/c.yaml", "--crd", "crd.yaml").end()
	r.exits(t, exitUsage)
	if want := "crdconform: below/c.yaml:4:11: samples[0]: there is no file below/missing.yaml\n"; !strings.HasPrefix(r.err, want) {
		t.Errorf("it says %q, want %q", r.err, want)
	}
	r = startIn(t, dir, "check", "--config", "below/c.yaml", "--crd", "nowhere.yaml").end()
	if !strings.HasPrefix(r.err, "crdconform: --crd: there is no file ") || !strings.Contains(r.err, "nowhere.yaml") || strings.Contains(r.err, "c.yaml:3") {
		t.Errorf("it says %q", r.err)
	}
}

// TestFileAlone checks what crdconform.yaml of the folder says, known failures and declared losses included.
func TestFileAlone(t *testing.T) {
	t.Parallel()
	head := configHead + "crds: [crd.yaml]\nsamples: [samples.yaml]\ncluster: none\ngenerate: {objects: 4, seed: 3}\nfilter: [webhook.response.uid, webhook.conversion.round-trip]\n"
	url, ca := serve(t, faulty(t, "swaps-host-and-port"), nil)
	wrong, wrongCA := serve(t, faulty(t, "wrong-uid"), nil)
	for name, test := range map[string]struct {
		url, ca, more string
		code          int
		says          []string
	}{
		"a loss":          {url, ca, "", exitViolates, []string{"FAILED webhook.conversion.round-trip"}},
		"a declared loss": {url, ca, "lossy:\n- {path: host, reason: hosts move}\n- {path: port, reason: ports move}\n- {path: hostPort, reason: both move}\n", exitConforms, []string{"Conforms: 2 requirements passed"}},
		"known to fail":   {wrong, wrongCA, "knownFailing:\n- {id: webhook.response.uid, reason: issue 12}\n", exitConforms, []string{"KnownFailing webhook.response.uid: issue 12"}},
		"known and mended": {
			url, ca, "knownFailing:\n- {id: webhook.conversion.round-trip, reason: issue 13}\n- {id: webhook.response.uid, reason: issue 12}\n", exitViolates,
			[]string{"it passes, but crdconform.yaml:13 says that it fails; remove it from the list"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"crd.yaml": gadgets, "samples.yaml": gadgetSamples, "ca.crt": string(read(t, test.ca))})
			put(t, filepath.Join(dir, config.FileName), head+"webhook:\n  url: "+test.url+"\n  caFile: ca.crt\n"+test.more)
			r := startIn(t, dir, "check").end()
			r.exits(t, test.code)
			for _, want := range test.says {
				if !strings.Contains(r.out, want) {
					t.Errorf("it says:\n%swant %q", r.out, want)
				}
			}
			if name == "a declared loss" && !slices.Contains(r.report(t).Webhook.Kinds[0].Lossy, "host: hosts move") {
				t.Errorf("the report does not tell of the loss: %v", r.report(t).Webhook.Kinds[0].Lossy)
			}
		})
	}
}

// TestNothingToCheck has neither arguments nor a file.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	r := invoke(t, "check")
	r.exits(t, exitUsage)
	if !strings.Contains(r.err, "no webhook specified; give its URL") {
		t.Errorf("it says %q", r.err)
	}
}

// TestHold has the program go on after all is judged: the scripts of the report reach it until the interruption, which takes
// nothing from the verdict.
func TestHold(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{"check", "--objects", few, "--hold", "--filter", "webhook.response.uid"}, webhookProgram(t, "serve")...)...)
	p.await(t, "The webhook keeps running")
	served, err := filepath.Glob(filepath.Join(p.temporary, "crdconform-certs-*", "ca.crt"))
	if err != nil || len(served) != 1 {
		t.Fatalf("the program's certificates: %v, %v", served, err)
	}
	url := regexp.MustCompile(`https://127\.0\.0\.1:[0-9]+/convert`).FindString(p.out.String())
	ca, err := os.ReadFile(served[0])
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Reach(t.Context()); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
	p.signal(t, os.Interrupt)
	r := p.end()
	r.exits(t, exitConforms)
	if got := r.report(t).Outcome; got != reports.Conformant {
		t.Errorf("the report says %s", got)
	}
	gone(t, p.temporary)
}

// TestInterruptedProgram stops check while its program starts, and while specs run: nothing is left.
func TestInterruptedProgram(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode  string
		until func(*testing.T, *running)
	}{
		"while it starts": {"never", func(t *testing.T, p *running) {
			t.Helper()
			eventually(t, func() bool {
				found, err := filepath.Glob(filepath.Join(p.temporary, "crdconform-certs-*", "ca.crt"))
				return err == nil && len(found) > 0
			})
		}},
		"in specs": {"serve", said("[ 2/")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"check"}, webhookProgram(t, test.mode)...)...)
			test.until(t, p)
			p.signal(t, os.Interrupt)
			r := p.end()
			r.exits(t, exitInterrupted)
			report := r.report(t)
			if report.Outcome != reports.Interrupted || report.Error != "" || report.Counts[requirement.Failed]+report.Counts[requirement.Errored] > 0 {
				t.Errorf("got %s with %v and %q", report.Outcome, report.Counts, report.Error)
			}
			gone(t, p.temporary)
		})
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(time.Minute); !so(); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal("it did not come about")
		}
	}
}
