package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
)

// definitionFile is the definition of what the reference webhook converts.
const definitionFile = "../../fixtures/definitions/reference.yaml"

// there returns the whole name of a file, for processes that run elsewhere.
func there(t *testing.T, name string) string {
	t.Helper()
	whole, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// altering is the reference webhook with a field of the spec of its own.
func altering(field string, value func() any) http.Handler {
	return webhook.Changing(func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
			object["spec"] = spec
		}
		spec[field] = value()
	})
}

// outcome reads the output as JSON.
func outcome(t *testing.T, r result) differences {
	t.Helper()
	var d differences
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	if d.Kind != "Differences" || d.APIVersion != "crdconform.dev/v1alpha1" || d.Tool == "" {
		t.Errorf("got %+v", d)
	}
	return d
}

func TestDiff(t *testing.T) {
	t.Parallel()
	random := func() any { return strconv.FormatInt(rand.Int64(), 10) }
	one := func() any { return int64(1) }
	for name, test := range map[string]struct {
		a, b   http.Handler
		args   []string
		code   int
		want   []string // of the differences
		chance []string
		text   string
	}{
		"the same": {webhook.Handler(), webhook.Handler(), nil, exitConforms, nil, nil, "0 differences in "},
		"a field": {
			webhook.Handler(), altering("added", one), nil, exitViolates,
			[]string{"field spec.added"},
			nil,
			"CronTab spec.added differs in %d objects\n    %s, example.com/v1alpha1 -> example.com/v1beta1, spec.added\n      A: nothing\n      B: 1\n",
		},
		"a verdict": {faulty(t, "wrong-uid"), webhook.Handler(), nil, exitViolates, []string{"verdict "}, nil, "the verdict differs in %d requests\n    %s, example.com/v1alpha1 -> example.com/v1beta1\n      A: \"violates webhook.response.uid: "},
		"by chance": {
			altering("added", random), altering("added", random), nil, exitConforms, nil,
			[]string{"field spec.added"},
			"changes by chance, not counted: CronTab spec.added differs in %d objects\n    %s, ",
		},
		"samples":        {webhook.Handler(), altering("added", one), []string{"--samples", "crontabs.yaml"}, exitViolates, []string{"field spec.added"}, nil, "1 difference in "},
		"nobody":         {http.NotFoundHandler(), http.NotFoundHandler(), nil, exitUnjudged, nil, nil, "0 differences in "},
		"nobody answers": {faulty(t, "drops-connection"), faulty(t, "drops-connection"), nil, exitUnjudged, nil, nil, "requests not compared, the first one because: webhook https://"},
		"old review":     {webhook.Handler(), altering("added", one), []string{"--review-version", "v1beta1", "--objects", "0", "--samples", "crontabs.yaml"}, exitViolates, []string{"field spec.added"}, nil, "1 difference in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			urlA, caA := serve(t, test.a, nil)
			urlB, caB := serve(t, test.b, nil)
			args := []string{"diff", urlA, urlB, "--ca-file-a", caA, "--ca-file-b", caB}
			crd := []string{"--crd", there(t, definitionFile), "--objects", "6"}
			if len(test.args) > 0 {
				crd = slices.Clone(test.args)
				crd[slices.Index(crd, "crontabs.yaml")] = there(t, "testdata/crontabs.yaml")
			}
			args = append(args, crd...)
			r := invoke(t, append(args, "--output", "json")...)
			r.exits(t, test.code)
			d := outcome(t, r)
			short := func(all []recording.Difference) []string {
				var short []string
				for _, one := range all {
					short = append(short, fmt.Sprintf("%s %s", one.What, one.Path))
				}
				return short
			}
			if got, chance := short(d.Differences), short(d.Chance); !slices.Equal(got, test.want) || !slices.Equal(chance, test.chance) || d.A != urlA || d.B != urlB || d.Requests == 0 {
				t.Errorf("got %q, by chance %q, %+v", got, chance, d)
			}
			if wrong := "crdconform: no request was converted by both, so only failures were compared; see the messages of the webhooks above, and check the requests\n"; name == "nobody" && r.err != wrong {
				t.Errorf("it says %q, want %q", r.err, wrong)
			}
			r = invoke(t, args...)
			r.exits(t, test.code)
			want := test.text
			if strings.Contains(want, "%d") {
				first := slices.Concat(d.Differences, d.Chance)[0]
				want = fmt.Sprintf(want, first.Count, first.First.Object)
			}
			if !strings.HasPrefix(r.out, "A: "+urlA+"\nB: "+urlB+"\n\n") || !strings.Contains(r.out, want) {
				t.Errorf("it says\n%swant %q", r.out, want)
			}
		})
	}
}

// TestDiffOfARecording records one build and compares the next one with it, alone and side by side.
func TestDiffOfARecording(t *testing.T) {
	t.Parallel()
	build := func(name string) http.Handler { return altering("build", func() any { return name }) }
	oldURL, oldCA := serve(t, build("old"), nil)
	newURL, newCA := serve(t, build("new"), nil)
	p := record(t, oldURL, oldCA, "--out", "out.jsonl.gz", "--redact", "spec.image")
	client := p.client(t, nil)
	n := 0
	for _, q := range crontabs(t) {
		client.Send(t.Context(), q.Body)
		n++
	}
	p.ended(t).exits(t, exitConforms)
	file := filepath.Join(p.dir, "out.jsonl.gz")

	r := invoke(t, "diff", newURL, "--ca-file", newCA, "--recording", file, "-o", "json")
	r.exits(t, exitViolates)
	d := outcome(t, r)
	if len(d.Differences) != 1 || d.Differences[0].Path != "spec.build" || d.Differences[0].Count != n || d.A != file || d.B != newURL || d.Requests != n || !slices.Equal(d.Redacted, []string{"spec.image"}) {
		t.Errorf("with the recording: %+v", d)
	}
	if first := d.Differences[0].First; string(first.A) != `"old"` || string(first.B) != `"new"` || first.Line != 2 {
		t.Errorf("the example is %+v", first)
	}
	r = invoke(t, "diff", newURL, "--ca-file", newCA, "--recording", file)
	r.exits(t, exitViolates)
	if want := " (line 2), spec.build\n      A: \"old\"\n      B: \"new\"\nredacted in the recording, so compared by form only: spec.image\n"; !strings.Contains(r.out, want) {
		t.Errorf("it says\n%swant %q", r.out, want)
	}
	invoke(t, "diff", oldURL, "--ca-file", oldCA, "--recording", file, "--crd", there(t, definitionFile)).exits(t, exitConforms)
	invoke(t, "diff", oldURL, oldURL, "--ca-file", oldCA, "--recording", file).exits(t, exitConforms)
	r = invoke(t, "diff", oldURL, newURL, "--ca-file", newCA, "--ca-file-a", oldCA, "--recording", file, "-o", "json")
	r.exits(t, exitViolates)
	if d := outcome(t, r); len(d.Differences) != 1 || d.Differences[0].Count != n || d.A != oldURL || d.Recording != file {
		t.Errorf("side by side: %+v", d)
	}

	// What is cut off is told, and the rest is compared.
	whole := read(t, file)
	cut := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	if err := os.WriteFile(cut, whole[:len(whole)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	r = invoke(t, "diff", oldURL, "--ca-file", oldCA, "--recording", cut)
	r.exits(t, exitConforms)
	if want := fmt.Sprintf("crdconform: --recording %s: it is truncated after %d whole exchanges\n", cut, n-1); r.err != want {
		t.Errorf("it says %q, want %q", r.err, want)
	}
}

// TestDiffLeavesOut tells which samples are of no kind that there is a definition of.
func TestDiffLeavesOut(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	dir := folder(t, map[string]string{"crd.yaml": gadgets, "samples.yaml": gadgetSamples + "---\n" + sample("example.com/v1", "Widget")})
	r := startIn(t, dir, "diff", url, url, "--ca-file", ca, "--crd", "crd.yaml", "--samples", "samples.yaml", "--objects", "0").end()
	if want := "crdconform: --samples: Widget.example.com \"one\" is left out: no definition of --crd with two versions or more is of its kind\n"; !strings.Contains(r.err, want) || strings.Contains(r.err, "Gadget") {
		t.Errorf("it says %q, want %q", r.err, want)
	}
}

// TestDiffSaysWhatItLeavesOut says of each list how many of it are not shown.
func TestDiffSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	some := func(n int) []recording.Difference {
		return slices.Repeat([]recording.Difference{{What: recording.FieldDiffers}}, shownMost+n)
	}
	r := recording.Comparison{Differences: some(1), Chance: some(2), Redaction: some(3), Failures: slices.Repeat([]recording.Failure{{}}, shownMost+4)}
	var b strings.Builder
	(&differ{urls: []string{"A", "B"}}).text(&b, r)
	for _, want := range []string{"\nand 1 more; ", "not counted: and 2 more; ", "not counted: and 3 more; ", "failed on both sides: and 4 more; "} {
		if !strings.Contains(b.String(), want+"--output json shows all\n") {
			t.Errorf("%q is missing: %s", want, b.String())
		}
	}
	b.Reset()
	(&differ{urls: []string{"A", "B"}}).text(&b, recording.Comparison{Differences: some(0), Chance: some(0), Redaction: some(0), Failures: r.Failures[:shownMost]})
	if strings.Contains(b.String(), "more") {
		t.Errorf("more than all: %s", b.String())
	}
}

func TestDiffInterrupted(t *testing.T) {
	t.Parallel()
	handler, hangs := hanging(10)
	urlA, caA := serve(t, webhook.Handler(), nil)
	urlB, caB := serve(t, handler, nil)
	p := start(t, "diff", urlA, urlB, "--ca-file-a", caA, "--ca-file-b", caB, "--crd", there(t, definitionFile))
	<-hangs
	p.signal(t, os.Interrupt)
	r := p.end()
	r.exits(t, exitInterrupted)
	says := regexp.MustCompile(`\nInterrupted with (\d+) of (\d+) requests left\n0 differences in (\d+) requests?, `).FindStringSubmatch(r.out)
	if says == nil || r.err != "" {
		t.Fatalf("it says %q and %q", r.out, r.err)
	}
	left, err1 := strconv.Atoi(says[1])
	all, err2 := strconv.Atoi(says[2])
	sent, err3 := strconv.Atoi(says[3])
	// Both builds have answered ten requests, and several are asked at a time.
	if err := errors.Join(err1, err2, err3); err != nil || left+sent != all || sent > 10 || left == 0 {
		t.Errorf("%d of %d are left, and %d were sent: %v", left, all, sent, err)
	}
}

// TestDiffSaysWhatWasInterrupted says how many requests are left, and does not count them among those without an answer.
func TestDiffSaysWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	some := []recording.Difference{{What: recording.FieldDiffers}}
	for name, test := range map[string]struct {
		result recording.Comparison
		want   string
	}{
		"requests are left":      {recording.Comparison{Requests: 20, Left: 13, Compared: 7, Interrupted: true}, "\nInterrupted with 13 of 20 requests left\n0 differences in 7 requests, "},
		"some had no answer":     {recording.Comparison{Requests: 20, Left: 13, Compared: 5, Interrupted: true, Uncompared: "why"}, "\n2 requests not compared, the first one because: why\nInterrupted with 13 of 20 "},
		"with differences":       {recording.Comparison{Requests: 1, Compared: 1, Interrupted: true, Differences: some}, "Interrupted with 0 of 1 request left; some differences may be by chance, because not all were asked about again\n1 difference in 1 request, "},
		"it was not interrupted": {recording.Comparison{Requests: 20, Compared: 20}, "A: A\nB: B\n\n0 differences in 20 requests, "},
	} {
		var b strings.Builder
		(&differ{urls: []string{"A", "B"}}).text(&b, test.result)
		if !strings.Contains(b.String(), test.want) {
			t.Errorf("%s: it says\n%swant %q", name, b.String(), test.want)
		}
	}
}

// TestDiffInterruptedInGenerating has the interruption come before anything is asked.
func TestDiffInterruptedInGenerating(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &differ{crds: []string{definitionFile}}
	d.given.Generate.Objects, d.given.Load.ReviewVersion = 6, "v1"
	exit := (*exitError)(nil)
	if err := d.read(ctx); !errors.As(err, &exit) || exit.code != exitInterrupted || len(d.questions) > 0 {
		t.Errorf("got %v and %d questions", err, len(d.questions))
	}
}

// TestDiffAdvisesFlagsOfASide has a flag for both sides advised only where it is for both.
func TestDiffAdvisesFlagsOfASide(t *testing.T) {
	t.Parallel()
	urlA, caA := serve(t, webhook.Handler(), nil)
	urlB, caB := serve(t, webhook.Handler(), nil)
	crontabs := []string{"--samples", there(t, "testdata/crontabs.yaml")}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{urlA, urlB, "--ca-file-a", caA, "--ca-file-b", caB, "--server-name-b", "nope"}, "give the name in its certificate by --server-name-b\n"},
		{[]string{urlA, urlB, "--ca-file", caA}, "give the authority's certificate by --ca-file-b\n"},
		{[]string{urlA, urlB, "--ca-file-b", caB}, "give the authority's certificate by --ca-file-a\n"},
	} {
		r := invoke(t, slices.Concat([]string{"diff"}, test.args, crontabs)...)
		r.exits(t, exitUnjudged)
		if !strings.HasSuffix(r.err, test.want) {
			t.Errorf("%q: it says %q, want something with %q", test.args, r.err, test.want)
		}
	}
}

// TestDiffUsage gives diff what it cannot work with.
func TestDiffUsage(t *testing.T) {
	t.Parallel()
	const a, b = "https://127.0.0.1:1/a", "https://127.0.0.1:1/b"
	crontabs := " --samples " + there(t, "testdata/crontabs.yaml")
	for name, test := range map[string]struct {
		args string
		code int
		want string
	}{
		"no URL":           {"--recording x", exitUsage, "diff requires the URLs of two webhooks, or of one and --recording, but got 0 arguments"},
		"three URLs":       {a + " " + b + " " + b, exitUsage, "but got 3 arguments"},
		"one URL":          {a + crontabs, exitUsage, "diff requires a second URL, or --recording"},
		"no requests":      {a + " " + b, exitUsage, "give --recording, --crd or --samples"},
		"both":             {a + " " + b + " --recording x" + crontabs, exitUsage, "--samples: a recording has the objects to convert"},
		"objects":          {a + " --recording x --objects 3", exitUsage, "--objects and --seed: nothing is generated where a recording has the objects"},
		"seed":             {a + " --recording x --seed 3", exitUsage, "--objects and --seed: nothing is generated where a recording has the objects"},
		"no recording":     {a + " --recording missing", exitUsage, "--recording: open missing: no such file"},
		"another file":     {a + " --recording nothing.yml", exitUsage, "--recording nothing.yml: recording: line 1: its kind must be Recording"},
		"empty recording":  {a + " --recording empty.jsonl", exitUsage, "--recording empty.jsonl: no exchange in it"},
		"odd redaction":    {a + " --recording odd.jsonl", exitUsage, `--recording odd.jsonl: line 1: the path "." begins with a dot`},
		"no CRD":           {a + " " + b + " --crd missing", exitUsage, "--crd: there is no file missing"},
		"no CRD in it":     {a + " " + b + " --crd nothing.yml", exitUsage, "--crd: no CustomResourceDefinition in nothing.yml"},
		"a broken CRD":     {a + " " + b + " --crd broken.yml", exitUsage, "--crd broken.yml: document 1: "},
		"one version":      {a + " " + b + " --samples one.yml", exitUsage, "--samples: all objects are at v1, and a conversion needs two versions"},
		"no objects":       {a + " " + b + " --objects 0 --crd " + there(t, definitionFile), exitUsage, "no objects to convert; give --samples, or --objects"},
		"fewer than none":  {a + " " + b + " --objects -1" + crontabs, exitUsage, "--objects: -1 objects: want 0 to 100000"},
		"a slip":           {a + " " + b + " --objects 100001" + crontabs, exitUsage, "--objects: 100001 objects: want 0 to 100000"},
		"no time":          {a + " " + b + " --timeout 0s" + crontabs, exitUsage, "--timeout: 0s must be greater than 0"},
		"unknown review":   {a + " " + b + " --review-version v2" + crontabs, exitUsage, `--review-version: unknown version "v2" of ConversionReview (want v1 or v1beta1)`},
		"unknown output":   {a + " " + b + " --output yaml" + crontabs, exitUsage, "--output yaml: unknown format (want text or json)"},
		"plain http":       {a + " http://127.0.0.1:1/" + crontabs, exitUsage, "give a URL that begins with https://"},
		"no CA":            {a + " " + b + " --ca-file-b missing" + crontabs, exitUsage, "--ca-file-b: open missing: no such file"},
		"no certificate":   {a + " " + b + " --ca-file nothing.yml" + crontabs, exitUsage, "--ca-file nothing.yml: no certificate in it; give PEM"},
		"CA of the second": {a + " --recording x --ca-file-b x", exitUsage, "--ca-file-b: there is one URL only; give --ca-file"},
		"not there":        {a + " " + b + crontabs, exitUnjudged, "webhook " + a + ": connection refused; check that the webhook is running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"nothing.yml": "# nothing\n",
				"broken.yml":  "apiVersion: [\n",
				"one.yml":     sample("example.com/v1", "Widget"),
				"empty.jsonl": `{"apiVersion":"crdconform.dev/v1alpha1","kind":"Recording"}` + "\n",
				"odd.jsonl":   `{"apiVersion":"crdconform.dev/v1alpha1","kind":"Recording","redacted":["."]}` + "\n" + `{"request":{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}},"response":{}}` + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := startIn(t, dir, append([]string{"diff"}, strings.Split(test.args, " ")...)...).end()
			r.exits(t, test.code)
			if !strings.HasPrefix(r.err, "crdconform: ") || !strings.Contains(r.err, test.want) || r.out != "" {
				t.Errorf("it says %q and %q, want something with %q", r.out, r.err, test.want)
			}
		})
	}
}

func TestShownValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "nothing", `"a"`: `"a"`, strings.Repeat("é", 200): strings.Repeat("é", 150) + "... (400 bytes)"} {
		var raw json.RawMessage
		if value != "" {
			raw = json.RawMessage(value)
		}
		if got := shownValue(raw); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
