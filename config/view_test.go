package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	t.Parallel()
	view := parse(t, head+"crds: [a, 'b c']\nwebhook:\n  command:\n    args:\n    - a\n    env: {B: '1', A: true story}\nlossy:\n- path: spec.a\n  reason: |\n    one\n    two\nload: {rates: [1000000, 0.5]}\n").View()
	var got strings.Builder
	defaults := map[string]bool{}
	for line := range strings.Lines(view) {
		if text, isDefault := strings.CutSuffix(line, " # default\n"); isDefault {
			defaults[strings.TrimSpace(text)] = true
		} else {
			got.WriteString(line)
		}
	}
	want := `apiVersion: crdconform.dev/v1alpha1 # dir/crdconform.yaml:1
kind: Config # dir/crdconform.yaml:2
crds:
  - a # dir/crdconform.yaml:3
  - "b c" # dir/crdconform.yaml:3
webhook:
  command:
    args:
      - a # dir/crdconform.yaml:7
    env:
      A: "true story" # dir/crdconform.yaml:8
      B: "1" # dir/crdconform.yaml:8
lossy:
  - path: spec.a # dir/crdconform.yaml:10
    reason: "one\ntwo\n" # dir/crdconform.yaml:11
generate:
load:
  rates:
    - 1000000 # dir/crdconform.yaml:14
    - 0.5 # dir/crdconform.yaml:14
objectives:
rehearse:
disrupt:
`
	if got.String() != want {
		t.Errorf("besides defaults, got\n%s", &got)
	}
	for _, text := range []string{
		"samples: []", "dir: .", "path: /convert", "readyTimeout: 1m0s", "http2: false", "timeout: 30s", "strict: false", "apiServer: embedded",
		"objects: 50", "seed: 0", "reportDir: crdconform-report", "repeat: 1", "presets: []", "p99.9: 0s", "requestsPerSecond: 0",
	} {
		if !defaults[text] {
			t.Errorf("%q is not shown as a default in\n%s", text, view)
		}
	}
}

// TestViewIsAConfiguration reads what is shown, which has to be the same configuration.
func TestViewIsAConfiguration(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		head, everything, head + relisted, head + staged,
		head + "webhook: {fromCRD: {}}",
		head + "webhook: {fromCRD: {address: 'localhost:9443'}}",
		head + "webhook: {reference: {}}",
		head + "webhook: {reference: {faults: [a, b]}}",
		head + "reportDir: \"\\u2028\\x07\\U0001F600'\\\"\\\\ #\"",
	} {
		viewed(t, text)
	}
	for _, odd := range []string{"true", "null", "1", "0x1", "~", "- a", "# b", "a: b", " ", "\t", "\n", "'", `"`, `\`, "{port}", ".inf", "1e3", "1.5", "2001-01-01", "a:", "*a", "&a", "!a", "%a", "@a", "`a", "=", "<<", "yes", "on", "0o7", "1_0", "---", "...", "?", "-", "\u2028", "\u0085", "\x07", "\x7f", "\ufeff", "ü", "12:30:45", "a #b", "a# b", "+1", "-1", ".", "..", "1."} {
		viewed(t, head+"webhook: {command: {args: [a, "+quoted(odd)+"], env: {A: "+quoted(odd)+"}}}")
	}
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

func viewed(t *testing.T, text string) {
	t.Helper()
	c, err := Parse("a b:c #.yaml", []byte(text))
	if err != nil {
		t.Errorf("%v\nin\n%s", err, text)
		return
	}
	again, err := Parse("view", []byte(c.View()))
	if err != nil {
		t.Errorf("what is shown cannot be read: %v", err)
	}
	c.source, again.source = nil, nil
	if !reflect.DeepEqual(normal(again), normal(c)) {
		t.Errorf("got  %+v\nwant %+v", again, c)
	}
}

// normal makes lists with nothing in them of those that are missing.
func normal(c Config) Config {
	for _, list := range []*[]string{&c.CRDs, &c.Old, &c.Samples, &c.Expected, &c.Redact, &c.Filter, &c.Skip, &c.Objectives.Presets, &c.Rehearse.Programs, &c.Rehearse.Images, &c.Rehearse.Objects, &c.Disrupt.Objectives, &c.Disrupt.Scenarios} {
		*list = append([]string{}, *list...)
	}
	c.Lossy, c.KnownFailing = append([]Lossy{}, c.Lossy...), append([]KnownFailing{}, c.KnownFailing...)
	c.KnownFlaky = append([]KnownFailing{}, c.KnownFlaky...)
	c.Moved, c.RenamedValues = append([]Changed{}, c.Moved...), append([]Changed{}, c.RenamedValues...)
	c.Lint = append([]Lint{}, c.Lint...)
	if r := c.Webhook.Reference; r != nil {
		c.Webhook.Reference = &Reference{append([]string{}, r.Faults...)}
	}
	if command := c.Webhook.Command; command != nil && len(command.Env) == 0 {
		same := *command
		same.Env = nil
		c.Webhook.Command = &same
	}
	return c
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	c := parse(t, everything)
	for key, want := range map[string]string{
		"strict": "dir/crdconform.yaml:28", "webhook.command.args[2]": "dir/crdconform.yaml:8", "objectives.p99.9": "dir/crdconform.yaml:33",
		"knownFailing[0].id": "dir/crdconform.yaml:25", "webhook.url": "default", "nonsense": "default",
	} {
		if got := c.Origin(key); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	if got := Default().Origin("strict"); got != "default" {
		t.Errorf("got %s", got)
	}
}

// FuzzParse wants no file to panic, all that is taken to be shown as the same, and to be taken by the schema as well.
func FuzzParse(f *testing.F) {
	for _, text := range []string{everything, head + relisted, head + staged} {
		f.Add(text)
	}
	for _, test := range mistakes() {
		if len(test.text) < 2000 {
			f.Add(test.text)
		}
	}
	for _, text := range []string{"a: |\n  b\n", "? a\n: b\n", "a: &a [*a]\n", "{", "[", "\"", "'", "a: >-\n\n\n b", "- - - a", "%YAML 1.2\n---\n", "a: !!binary x", head + "webhook: {command: {args: [|"} {
		f.Add(text)
	}
	validate := validator(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return // how long the parser takes grows with the square of the depth
		}
		c, err := Parse("c.yaml", []byte(text))
		if err != nil {
			_ = c.View()
			if err.Error() == "" {
				t.Error("it does not say why")
			}
			return
		}
		viewed(t, text)
		if err := validate(text); err != nil {
			t.Errorf("the schema refuses what is taken: %v\nin\n%s", err, text)
		}
	})
}
