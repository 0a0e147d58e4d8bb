package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/options"
)

// head begins every configuration.
const head = "apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"

// everything says something of every key but load.clients, load.objects and load.stages, which do not go with others.
const everything = head + `crds: [config/crd/bases/*.yaml]
samples:
- config/samples
webhook:
  command:
    args: [./bin/manager, "--webhook-port={port}", "--webhook-cert-path={certs}"]
    env: {KUBECONFIG: "{kubeconfig}", DEBUG: "1"}
    dir: ..
    path: /crdconvert
    readyTimeout: 1m30s
    serverName: widgets.system.svc
  clientCertificate: {certFile: client.crt, keyFile: client.key}
  http2: true
  timeout: 5s
lossy:
- path: spec.legacy[*].mode
  group: example.com
  kind: Widget
  from: v1beta1
  through: v1
  reason: the field was removed on purpose, see ADR 7
knownFailing:
- {id: webhook.response.uid, reason: "issue 12"}
filter: [webhook, "*.uid"]
skip: [webhook.response.in-time]
strict: true
apiServer: none
generate: {objects: 7, seed: -42}
reportDir: reports
load: {profile: constant, rates: [12.5, 20], batches: [3, 1], bytes: [0, 1024], duration: 10s, pairs: [{from: v1, to: v2}], reviewVersion: v1beta1, inFlight: 9, judgeContent: true, repeat: 4, warmUp: 2s}
objectives: {presets: [kep, trace], mean: 1ms, p50: 2ms, p90: 3ms, p95: 4ms, p99: 50ms, p99.9: 60ms, p99.99: 70ms, max: 1s, errors: 0.01, requestsPerSecond: 30, objectsPerSecond: 40.5}
redact: [spec.password, "spec.users[*].token"]
old: [v1/crds, "git://v2:crds"]
rehearse: {programs: ["./v1/manager '--webhook-port={port}'"], images: ["", "widgets:v2"], objects: [dump.yaml], install: replace}
disrupt: {objectives: [rolling, restart.graceful.recovery=5s, failed=0], scenarios: [restart], oldProgram: ./v1/manager, oldImage: "widgets:v1", rate: 50, objects: 5, quiet: 2s, recoveryLimit: 20s, pickUpLimit: 3s}
moved:
- {path: spec.host, into: spec.internalHost, kind: Widget, reason: the external host came first}
renamedValues:
- {path: spec.timeout, group: example.com, reason: milliseconds}
expected: [testdata/conversions]
lint:
- {rule: list-type-differs, definition: widgets.example.com, field: "spec.list[*].ports", level: note, reason: "only the operator applies"}
- {rule: ca-bundle-missing, level: "off", reason: "the operator adds it"}
`

func parse(t *testing.T, text string) Config {
	t.Helper()
	c, err := Parse("dir/crdconform.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c
}

func pattern(t *testing.T, text string) Pattern {
	t.Helper()
	p, err := fieldpath.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEverything(t *testing.T) {
	t.Parallel()
	got := parse(t, everything)
	seconds := func(n float64) Duration { return Duration{time.Duration(n * float64(time.Second))} }
	want := Config{
		APIVersion: APIVersion, Kind: Kind,
		CRDs: []string{"config/crd/bases/*.yaml"}, Samples: []string{"config/samples"}, Expected: []string{"testdata/conversions"}, Redact: []string{"spec.password", "spec.users[*].token"},
		Webhook: Webhook{
			Command: &Command{
				Args: []string{"./bin/manager", "--webhook-port={port}", "--webhook-cert-path={certs}"},
				Env:  map[string]string{"KUBECONFIG": "{kubeconfig}", "DEBUG": "1"},
				Dir:  "..", Path: "/crdconvert", ReadyTimeout: seconds(90), ServerName: "widgets.system.svc",
			},
			ClientCertificate: ClientCertificate{"client.crt", "client.key"}, HTTP2: true, Timeout: seconds(5),
		},
		Lossy: []Lossy{{
			Path: pattern(t, "spec.legacy[*].mode"), Group: "example.com", Kind: "Widget", From: "v1beta1", Through: "v1",
			Reason: "the field was removed on purpose, see ADR 7",
		}},
		Moved:         []Changed{{Path: pattern(t, "spec.host"), Into: pattern(t, "spec.internalHost"), Kind: "Widget", Reason: "the external host came first"}},
		RenamedValues: []Changed{{Path: pattern(t, "spec.timeout"), Group: "example.com", Reason: "milliseconds"}},
		KnownFailing:  []KnownFailing{{"webhook.response.uid", "issue 12"}},
		Lint: []Lint{
			{Rule: "list-type-differs", Definition: "widgets.example.com", Field: pattern(t, "spec.list[*].ports"), Level: "note", Reason: "only the operator applies"},
			{Rule: "ca-bundle-missing", Level: "off", Reason: "the operator adds it"},
		},
		Filter: []string{"webhook", "*.uid"}, Skip: []string{"webhook.response.in-time"},
		Strict: true, APIServer: None, Generate: Generate{Objects: 7, Seed: -42}, ReportDir: "reports",
		Load: Load{
			Profile: "constant", Rates: []float64{12.5, 20}, Batches: []int{3, 1}, Bytes: []int{0, 1024}, Duration: seconds(10),
			Pairs: []Pair{{"v1", "v2"}}, ReviewVersion: "v1beta1", InFlight: 9, JudgeContent: true, Repeat: 4, WarmUp: seconds(2),
		},
		Objectives: Objectives{
			Presets: []string{options.KEPPreset, options.TracePreset}, Mean: seconds(.001), P50: seconds(.002), P90: seconds(.003), P95: seconds(.004),
			P99: seconds(.05), P999: seconds(.06), P9999: seconds(.07), Max: seconds(1), Errors: new(0.01), RequestsPerSecond: 30, ObjectsPerSecond: 40.5,
		},
		Old: []string{"v1/crds", "git://v2:crds"},
		Rehearse: Rehearse{
			Programs: []string{"./v1/manager '--webhook-port={port}'"}, Images: []string{"", "widgets:v2"}, Objects: []string{"dump.yaml"}, Install: "replace",
		},
		Disrupt: Disrupt{
			Objectives: []string{"rolling", "restart.graceful.recovery=5s", "failed=0"}, Scenarios: []string{"restart"}, OldProgram: "./v1/manager", OldImage: "widgets:v1",
			Rate: 50, Objects: 5, Quiet: seconds(2), RecoveryLimit: seconds(20), PickUpLimit: seconds(3),
		},
	}
	if got.source = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDefaults wants what a file does not say to be as by default, in sections that are begun as well.
func TestDefaults(t *testing.T) {
	t.Parallel()
	got := parse(t, head)
	if got.source = nil; !reflect.DeepEqual(got, Default()) {
		t.Errorf("got %+v", got)
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	got = parse(t, head+"webhook: {command: {args: [a]}}\ngenerate: {seed: 3}\nload: {duration: 5s}\n")
	want := Default()
	want.Webhook.Command = &Command{Args: []string{"a"}, Dir: ".", Path: "/convert", ReadyTimeout: Duration{time.Minute}}
	want.Generate.Seed, want.Load.Duration = 3, Duration{5 * time.Second}
	if got.source = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"webhook: {url: 'https://localhost/convert'}": "url",
		"webhook: {fromCRD: {}}":                      "fromCRD",
		"webhook: {command: {args: [a]}}":             "command",
		"webhook: {reference: {}}":                    "reference",
		"webhook: {timeout: 1s, caFile: ca.crt}":      "",
		"strict: true":                                "",
	} {
		if got := parse(t, head+text).Webhook.Source(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestForms reads files that are written in unusual ways, but say what is wanted.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"JSON":             `{"apiVersion": "crdconform.dev/v1alpha1", "kind": "Config", "crds": ["a", "b"], "load": {"repeat": 2}}`,
		"a mark":           "\ufeff" + head + "crds: [a, b]\nload: {repeat: 2}\n",
		"Windows":          strings.ReplaceAll("\ufeff"+head+"crds:\n- a\n- b\nload:\n  repeat: 2\n", "\n", "\r\n"),
		"dashes":           "---\n" + head + "crds: [a, b]\nload: {repeat: 2}\n...\n",
		"an empty rest":    head + "crds: [a, b]\nload: {repeat: 2}\n---\n# nothing\n",
		"comments":         "# one\n" + head + "crds: # two\n  # three\n  - a # four\n  - b\nload:\n  # five\n  repeat: 2\n",
		"no newline":       head + "crds: [a, b]\nload: {repeat: 2}",
		"quotes":           head + "'crds': [\"a\", 'b']\n\"load\": {repeat: 2}\n",
		"a number of nice": head + "crds: [a, b]\nload: {repeat: 2.0}\n",
		"hexadecimal":      head + "crds: [a, b]\nload: {repeat: 0x2}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, text)
			want := Default()
			want.CRDs, want.Load.Repeat = []string{"a", "b"}, 2
			if got.source = nil; !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// mistake is a file that Read refuses.
type mistake struct {
	text   string
	want   []string // parts of the error
	beyond bool     // whether the schema cannot see it
}

// mistakes has files with something wrong in them, for Read and for the schema.
func mistakes() map[string]mistake {
	all := mistakesInLoads()
	maps.Copy(all, otherMistakes())
	return all
}

func otherMistakes() map[string]mistake {
	at := func(text string, want ...string) mistake { return mistake{head + text, want, false} }
	beyond := func(text string, want ...string) mistake { return mistake{head + text, want, true} }
	return map[string]mistake{
		"unknown key":       at("strikt: true", "crdconform.yaml:3:1: strikt: unknown key; did you mean strict?\n  3 | strikt: true\n      ^"),
		"case":              at("Strict: true", "did you mean strict?"),
		"key without like":  at("banana: 1", "banana: unknown key; there are apiVersion, kind, crds, "),
		"key elsewhere":     at("timeout: 3s", "3:1: timeout: unknown key here; did you mean webhook.timeout?"),
		"key in a section":  at("webhook:\n  ulr: x", "crdconform.yaml:4:3: webhook.ulr: unknown key; did you mean url?\n  4 |   ulr: x\n        ^"),
		"key in an item":    at("lossy:\n- path: a\n  reason: b\n- {path: a, reasn: b}", "6:13: lossy[1].reasn: unknown key; did you mean reason?"),
		"key twice":         beyond("strict: true\nstrict: false", "crdconform.yaml:4:1: it is not YAML: ", `"strict" already defined`),
		"merge":             beyond("load: {<<: {repeat: 3}}", "3:8", "cannot be a key here"),
		"an anchor":         beyond("crds: &a [a]\nsamples: *a", "3:7: crds: anchors, aliases and tags are not supported; write the value out", "4:10: samples: "),
		"a tag":             beyond("reportDir: !!str a", "anchors, aliases and tags"),
		"a key of a number": beyond("webhook: {command: {args: [a], env: {1: b}}}", "webhook.command.env: 1 cannot be a key here; use text"),
		"nothing":           at("webhook:\n  # url: later\nstrict: true", "3:", "webhook: the value is missing; add one, or leave the key out"),
		"tilde":             at("reportDir: ~", "reportDir: the value is missing"),

		"text for truth":     at("strict: yes", `3:9: strict: want true or false, got the text "yes"`),
		"truth for text":     at("reportDir: true", "reportDir: want text, got true; quote it"),
		"list for a URL":     at("webhook: {url: [a]}", "3:16: webhook.url: want text, got a list\n"),
		"too large":          at("generate: {objects: 9999999999999999999}", "generate.objects: 9999999999999999999 is too large"),
		"too long":           beyond("load: {duration: 99999999999s}", `load.duration: "99999999999s" is not a duration that can be counted; write at most 2562047h`),
		"mapping twice":      beyond("webhook: {url: https://a/}\nwebhook: {url: https://b/}", `already defined at [3:1]; remove one of them`),
		"another scheme":     beyond("webhook: {url: 'ftp://a.example.com/x'}", `"ftp://a.example.com/x" is not the URL of a webhook; write it as https://a.example.com/x`),
		"a port, no scheme":  beyond("webhook: {url: 'a.example.com:8443'}", `"a.example.com:8443" is not the URL of a webhook; write it as https://a.example.com:8443/convert`),
		"only a name":        beyond("webhook: {url: a.example.com}", `"a.example.com" is not the URL of a webhook; write it as https://localhost:9443/convert`),
		"port without host":  beyond("webhook: {url: 'https://:9443/x'}", `"https://:9443/x" is not the URL of a webhook; write it as https://localhost:9443/convert`),
		"number for text":    at("webhook: {command: {args: [a, 1]}}", "3:31: webhook.command.args[1]: want text, got 1; quote it"),
		"number in env":      at("webhook: {command: {args: [a], env: {DEBUG: 1}}}", "webhook.command.env.DEBUG: want text, got 1"),
		"text for number":    at("load: {rates: [fast]}", `load.rates[0]: want a number, got the text "fast"`),
		"half an object":     at("load: {batches: [10, 1.5]}", "load.batches[1]: want a whole number, got 1.5"),
		"too many objects":   at("generate: {objects: 99999999999999999999999}", "3:21: generate.objects: "),
		"infinity":           beyond("load: {rates: [.inf]}", "load.rates[0]: want a number, got .inf"),
		"not a number":       beyond("objectives: {errors: .nan}", "objectives.errors: want a number, got .nan"),
		"list for text":      at("reportDir: [a]", "reportDir: want text, got a list"),
		"text for list":      at("crds: a.yaml", "3:7: crds: want a list, got the text \"a.yaml\"; write [...] around it"),
		"section for list":   at("crds: {a: b}", "crds: want a list, got keys and values"),
		"list for section":   at("webhook: [a]", "webhook: want keys and values, got a list"),
		"text for section":   at("webhook: https://localhost/", `webhook: want keys and values, got the text "https://localhost/"`),
		"number for item":    at("lossy: [1]", "lossy[0]: want keys and values, got 1"),
		"list for path":      at("lossy: [{path: [a], reason: b}]", "lossy[0].path: want text, got a list"),
		"long text":          at("strict: "+strings.Repeat("x", 1000), `got the text "`+strings.Repeat("x", 40)+`…"`),
		"time without unit":  at("webhook: {timeout: 30}", `webhook.timeout: "30" has no unit; write 30s for seconds or 30ms for milliseconds`),
		"time as quoted":     at("webhook: {timeout: '30'}", `"30" has no unit`),
		"no time":            at("load: {duration: soon}", `load.duration: "soon" is not a duration; write it as 500ms, 30s or 1m30s`),
		"time before":        at("load: {duration: -5s}", `load.duration: "-5s" is negative`),
		"days":               at("load: {duration: 1d}", `load.duration: "1d" is not a duration`),
		"endless time":       beyond("load: {duration: 99999999h}", `"99999999h" is not a duration`),
		"a truth for a time": at("load: {duration: true}", `load.duration: "true" is not a duration`),
		"a list for a time":  at("load: {duration: [1s]}", "load.duration: want text, got a list"),

		"two webhooks":          at("webhook: {url: 'https://localhost/', command: {args: [a]}}", "3:38: webhook.command: webhook.url is also set; give only one of url, fromCRD, command, inCluster and reference"),
		"three webhooks":        at("webhook: {fromCRD: {}, reference: {}, command: {args: [a]}}", "webhook.fromCRD is also set"),
		"plain http":            at("webhook: {url: 'http://localhost/convert'}", `webhook.url: "http://localhost/convert" is http, but API servers call webhooks only over https; write it as https://localhost/convert`),
		"no scheme":             at("webhook: {url: 'localhost:9443'}", "webhook.url: "),
		"empty URL":             at("webhook: {url: ''}", `webhook.url: "" is not the URL`),
		"URL without host":      beyond("webhook: {url: 'https:///convert'}", "is not the URL of a webhook"),
		"URL that is none":      beyond("webhook: {url: 'https://[::1'}", "webhook.url: it is not a URL"),
		"URL with a password":   beyond("webhook: {url: 'https://me:secret@localhost/'}", "webhook.url: a user or a password is not allowed in it; leave them out"),
		"password, no scheme":   at("webhook: {url: 'me:secret@localhost/'}", "webhook.url: a user or a password is not allowed in it"),
		"URL with a query":      beyond("webhook: {url: 'https://localhost/?a=b'}", "webhook.url: a ? or a # is not allowed"),
		"port alone":            beyond("webhook: {fromCRD: {address: '9443'}}", `webhook.fromCRD.address: "9443" is not an address; write host:port`),
		"port too large":        beyond("webhook: {fromCRD: {address: 'localhost:70000'}}", "is not an address"),
		"no args":               at("webhook: {command: {dir: .}}", "webhook.command.args: no program"),
		"empty args":            at("webhook: {command: {args: []}}", "webhook.command.args: no program"),
		"empty program":         beyond("webhook: {command: {args: ['']}}", "webhook.command.args: no program"),
		"path without slash":    at("webhook: {command: {args: [a], path: convert}}", `webhook.command.path: "convert" does not begin with /`),
		"no time to begin":      beyond("webhook: {command: {args: [a], readyTimeout: 0s}}", "webhook.command.readyTimeout: 0s must be greater than 0"),
		"odd variable":          beyond("webhook: {command: {args: [a], env: {'A=B': c}}}", `webhook.command.env: "A=B" is not a valid variable name`),
		"CA for a command":      at("webhook: {caFile: ca.crt, command: {args: [a]}}", "webhook.caFile: it is only valid with url and fromCRD"),
		"no CA for a reference": at("webhook: {caFile: '', reference: {}}", "webhook.caFile: it is only valid with url and fromCRD"),
		"name for a command":    at("webhook: {serverName: a, command: {args: [a]}}", "webhook.serverName: it is only valid with url and fromCRD; command has its own serverName"),
		"certificate for ours":  at("webhook: {clientCertificate: {certFile: a, keyFile: b}, reference: {}}", "the reference webhook does not request one"),
		"CA for pods":           at("webhook: {caFile: a, inCluster: {image: a}}", "webhook.caFile: it is only valid with url and fromCRD"),
		"certificate for pods":  at("webhook: {clientCertificate: {certFile: a, keyFile: b}, inCluster: {image: a}}", "so a deployed webhook must not require one"),
		"nothing to deploy":     beyond("webhook: {inCluster: {}}", "webhook.inCluster: nothing to deploy; give image, archive or manifests"),
		"no manifest":           beyond("webhook: {inCluster: {manifests: ['']}}", "webhook.inCluster.manifests[0]: the name is empty"),
		"odd service":           at("webhook: {inCluster: {image: a, service: a/b/c}}", `webhook.inCluster.service: "a/b/c" is not the name of a service; write name or namespace/name`),
		"pods: odd path":        at("webhook: {inCluster: {image: a, path: convert}}", `webhook.inCluster.path: "convert" does not begin with /`),
		"two certificates":      beyond("webhook: {inCluster: {manifests: [a], secret: b, caSecret: c}}", "webhook.inCluster.caSecret: there is webhook.inCluster.secret too"),
		"service port":          at("webhook: {inCluster: {image: a, port: 70000}}", "webhook.inCluster.port: 70000 is not a port"),
		"port of a pod":         at("webhook: {inCluster: {image: a, targetPort: -1}}", "webhook.inCluster.targetPort: -1 is not a port"),
		"many pods":             at("webhook: {inCluster: {image: a, replicas: 1000}}", "webhook.inCluster.replicas: 1000 pods: want 1 to 100"),
		"odd folder":            at("webhook: {inCluster: {image: a, certs: certs}}", `webhook.inCluster.certs: "certs" is not a folder in a container`),
		"secret for an image":   beyond("webhook: {inCluster: {image: a, secret: b}}", "webhook.inCluster.secret: it is only valid with manifests"),
		"pods of manifests":     beyond("webhook: {inCluster: {manifests: [a], replicas: 2}}", "webhook.inCluster.replicas: it is only valid for an image alone"),
		"half a certificate":    at("webhook: {clientCertificate: {certFile: a}}", "webhook.clientCertificate: it needs both certFile and keyFile"),
		"other half":            at("webhook: {clientCertificate: {keyFile: a}}", "webhook.clientCertificate: it needs"),
		"empty certificate":     at("webhook: {clientCertificate: {certFile: '', keyFile: ''}}", "webhook.clientCertificate: it needs"),
		"no timeout":            beyond("webhook: {timeout: 0s}", "webhook.timeout: 0s must be greater than 0"),

		"loss without reason":  at("lossy:\n- path: spec.a", "4:3: lossy[0]: it has no reason; write reason: why the loss is right"),
		"loss with blank":      at("lossy:\n- path: spec.a\n  reason: ' '", "lossy[0]: it has no reason"),
		"loss without path":    at("lossy:\n- reason: because", "4:3: lossy[0]: it has no path; write path: spec.list[*].name"),
		"loss with empty path": at("lossy: [{path: '', reason: b}]", `lossy[0].path: the path "" is empty`),
		"path with a dot":      at("lossy: [{path: .spec, reason: b}]", `lossy[0].path: the path ".spec" begins with a dot; leave the dot out`),
		"path with a bracket":  beyond("lossy:\n- path: spec.list[].a\n  reason: b", `4:9: lossy[0].path: the path "spec.list[].a" has []; write [*]`),
		"move without path":    at("moved:\n- {into: spec.a, reason: b}", "4:3: moved[0]: it has no path; write path: spec.list[*].name"),
		"move to nowhere":      beyond("moved: [{path: spec.a, reason: b}]", "moved[0]: it does not say where the value is at the other version; write into: spec.other"),
		"move without reason":  at("moved: [{path: spec.a, into: spec.b}]", "moved[0]: it has no reason; write reason: why this is right"),
		"values elsewhere":     beyond("renamedValues: [{path: spec.a, into: spec.b, reason: c}]", "renamedValues[0].into: a value that is in another field is for moved"),
		"values without path":  at("renamedValues: [{reason: b}]", "renamedValues[0]: it has no path; write path: spec.list[*].name"),
		"values without cause": at("renamedValues: [{path: spec.a, reason: ' '}]", "renamedValues[0]: it has no reason; write reason: why this is right"),
		"loss in place":        beyond("lossy: [{path: a, reason: b, from: v1, through: v1}]", "lossy[0]: from and through are both v1"),
		"failure without ID":   at("knownFailing: [{reason: b}]", "knownFailing[0]: it has no id"),
		"level without rule":   at("lint:\n- {level: note, reason: x}", "lint[0]: it has no rule"),
		"level that is none":   at("lint:\n- {rule: a, level: info, reason: x}", "lint[0]"),
		"level without reason": at("lint:\n- {rule: a, level: note}", "lint[0]: it has no reason; write reason: why this is right here"),
		"failure: reason":      at("knownFailing:\n- id: webhook.response.uid", "knownFailing[0]: it has no reason; write reason: why it fails"),
		"failure: unknown":     beyond("knownFailing:\n- {id: webhook.response.uidd, reason: b}", `4:4: knownFailing[0].id: "webhook.response.uidd": unknown requirement; did you mean webhook.response.uid?`),
		"failure: twice":       beyond("knownFailing:\n- {id: webhook.response.uid, reason: b}\n- {id: webhook.response.uid, reason: c}", "5:4: knownFailing[1].id: webhook.response.uid is listed twice"),
		"filter: unknown":      beyond("filter: [webhook, nonsense]", `3:19: filter[1]: "nonsense": unknown requirement; "crdconform list" shows all`),
		"filter: malformed":    beyond("filter: ['[']", `filter[0]: "[" is not a pattern; use * for any characters`),
		"filter: empty":        beyond("filter: ['']", `filter[0]: "": unknown requirement`),
		"redact: no path":      beyond("redact: [spec.a, 'spec.list[].b']", `redact[1]: the path "spec.list[].b" has []; write [*]`),
		"skip: half an ID":     beyond("skip: [webhook.resp]", `skip[0]: "webhook.resp": unknown requirement`),
		"cluster":              at("apiServer: minikube", `apiServer: unknown kind of API server "minikube" (want embedded, kind, envtest, existing`),
		"negative objects":     at("generate: {objects: -1}", "generate.objects: -1 objects: want 0 to 100000"),
		"no folder":            at("reportDir: ''", "reportDir: the name of the folder is empty"),
		"empty name":           beyond("crds: ['']", "crds[0]: the name is empty"),
		"no pattern":           beyond("samples: ['a[.yaml']", `samples[0]: "a[.yaml" is not a pattern; a [ needs a ]`),

		"no apiVersion":     {"kind: Config\n", []string{"crdconform.yaml: apiVersion: want crdconform.dev/v1alpha1"}, false},
		"no kind":           {"apiVersion: crdconform.dev/v1alpha1\n", []string{"crdconform.yaml: kind: want Config"}, false},
		"other kind":        {"apiVersion: v1\nkind: ConfigMap\n", []string{`crdconform.yaml:2:7: this is a "ConfigMap", not a configuration, which has kind: Config`}, false},
		"other version":     {"apiVersion: crdconform.dev/v2\nkind: Config\n", []string{`1:13: apiVersion: unknown apiVersion "crdconform.dev/v2" (want crdconform.dev/v1alpha1`}, false},
		"a definition":      {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", []string{`2:7: this is a CustomResourceDefinition, not a configuration; "crdconform init dir/crdconform.yaml" creates one from it`}, false},
		"only text":         {"hello\n", []string{`crdconform.yaml:1:1: it is the text "hello", not a configuration`}, false},
		"only a list":       {"- a\n", []string{"it is a list, not a configuration"}, false},
		"empty":             {"", []string{`dir/crdconform.yaml: it is empty; "crdconform init CRD..." writes one`}, true},
		"comments only":     {"# nothing\n\n", []string{"it is empty"}, true},
		"two documents":     {head + "---\n" + head, []string{"crdconform.yaml:4:1: a second document begins here"}, true},
		"tabs":              {head + "webhook:\n\turl: x\n", []string{"crdconform.yaml:4:1: there is a tab; YAML is indented with spaces"}, true},
		"not YAML":          {head + "webhook: [a\n", []string{"crdconform.yaml:", "it is not YAML: "}, true},
		"bytes":             {head + "reportDir: \xff\xfe\n", []string{"crdconform.yaml: it is not text in UTF-8"}, true},
		"UTF-16":            {"\xff\xfea\x00", []string{"it is not text in UTF-8"}, true},
		"a zero":            {head + "reportDir: a\x00b\n", []string{"it is not text in UTF-8"}, true},
		"large":             {head + strings.Repeat("# CustomResourceDefinition\n", 5000), []string{"it is larger than 64 KiB", `"crdconform init dir/crdconform.yaml"`}, true},
		"large other":       {head + strings.Repeat("# a\n", 50000), []string{"it is larger than 64 KiB, so it is not a configuration"}, true},
		"bare braces":       {head + "webhook: {command: {args: [a, --port={port}]}}\n", []string{"crdconform.yaml:3:", "text with { or } in it needs quotes"}, true},
		"template":          {head + "reportDir: {{ .Values.dir }}\n", []string{"crdconform.yaml:3:"}, true},
		"mistakes together": at("strikt: true\nload: {repeat: 0, batches: x}\nlossy:\n- path: a\napiServer: c", "3:1: strikt", "4:28: load.batches", "4:8: load.repeat", "6:3: lossy[0]: it has no reason", `7:1: apiServer: unknown kind of API server "c"`),
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range mistakes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("dir/crdconform.yaml", []byte(test.text))
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it says\n%v\nwant something with\n%s", err, want)
				}
			}
			if strings.Contains(test.text, "me:secret") && strings.Contains(err.Error(), "secret") {
				t.Errorf("it gives the password away: %v", err)
			}
		})
	}
}

// TestOneMistakeIsReportedOnce wants no second problem to be made of the first.
func TestOneMistakeIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range mistakes() {
		_, err := Parse("dir/crdconform.yaml", []byte(test.text))
		if n := len(test.want); name == "mistakes together" || name == "an anchor" || err == nil || n == 0 {
			continue
		}
		if all := problemsOf(err); len(all) != 1 {
			t.Errorf("%s: reported as %d problems:\n%v", name, len(all), err)
		}
	}
}

func problemsOf(err error) []error {
	if many, is := err.(interface{ Unwrap() []error }); is {
		return many.Unwrap()
	}
	return []error{err}
}

func TestManyMistakes(t *testing.T) {
	t.Parallel()
	_, err := Parse("c.yaml", []byte(head+"filter:\n"+strings.Repeat("- nonsense\n", 50)))
	if all := problemsOf(err); len(all) != shown+1 || all[shown].Error() != "and 30 more" {
		t.Errorf("got %d problems: %v", len(all), err)
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	_, err := Parse("c.yaml", []byte(head+"webhook:\n  timeout: soon # "+strings.Repeat("x", 500)))
	var problem *ProblemError
	if !errors.As(err, &problem) {
		t.Fatalf("got %v", err)
	}
	if problem.File != "c.yaml" || problem.Line != 4 || problem.Column != 12 || problem.Key != "webhook.timeout" {
		t.Errorf("got %+v", problem)
	}
	if line, mark, _ := strings.Cut(problem.Excerpt, "\n"); len(line) > 120 || len(mark) != len("  4 |   timeout: ")+1 {
		t.Errorf("the excerpt is\n%s", problem.Excerpt)
	}
}

// TestExcerptOfALongLine wants the part of it that is to blame.
func TestExcerptOfALongLine(t *testing.T) {
	t.Parallel()
	_, err := Parse("c.yaml", []byte(head+"crds: ["+strings.Repeat("äöü, ", 300)+"12, "+strings.Repeat("x, ", 300)+"x]"))
	var problem *ProblemError
	if !errors.As(err, &problem) {
		t.Fatalf("got %v", err)
	}
	line, mark, _ := strings.Cut(problem.Excerpt, "\n")
	at := []rune(line)[len([]rune(mark))-1:]
	if !strings.HasPrefix(string(at), "12, x") || len([]rune(line)) > 120 {
		t.Errorf("the excerpt is\n%s", problem.Excerpt)
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	c := parse(t, head+"webhook:\n  reference:\n    faults:\n    - hang\n    - hangs\n")
	for key, want := range map[string]string{
		"webhook.reference.faults[1]": "dir/crdconform.yaml:7:7: webhook.reference.faults[1]: no\n  7 |     - hangs\n            ^",
		"webhook.url":                 "dir/crdconform.yaml:3:1: webhook.url: no\n  3 | webhook:\n      ^",
		"crds":                        "dir/crdconform.yaml: crds: no",
	} {
		if got := c.At(key, "no").Error(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", key, got, want)
		}
	}
	if got := Default().At("crds[0]", "no").Error(); got != "crds[0]: no" {
		t.Errorf("got %s", got)
	}
}

// TestValidate looks at a configuration that no file says.
func TestValidate(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Webhook.URL, c.Webhook.Command, c.Load.Rates = "https://localhost/", &Command{Args: []string{"a"}}, []float64{-1}
	err := c.Validate()
	for _, want := range []string{"webhook.command: webhook.url is also set", "load.rates[0]: -1 requests", "webhook.command.path: \"\" does not begin with /", "webhook.command.readyTimeout: 0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %s", err, want)
		}
	}
	if (Config{}).Validate() == nil {
		t.Error("nothing is taken for a configuration")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, FileName)
	write(t, file, everything)
	c, err := Read(file)
	if err != nil || c.Origin("strict") != file+":28" {
		t.Errorf("got %v, and strict is from %s", err, c.Origin("strict"))
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if c, err = Read(link); err != nil || c.Path("a") != filepath.Join(filepath.Dir(link), "a") {
		t.Errorf("through a link: %v, and a is %s", err, c.Path("a"))
	}
	_, err = Read(filepath.Join(dir, "missing.yaml"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `missing.yaml: file does not exist; "crdconform init CRD..." writes one`) {
		t.Errorf("of a file that is not there it says: %v", err)
	}
	if _, err = Read(dir); err == nil || !strings.Contains(err.Error(), dir+" is a folder; give the configuration file in it, such as "+file) {
		t.Errorf("of a folder it says: %v", err)
	}
	if _, err = Read(filepath.Join(file, "below")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("of a file in a file it says: %v", err)
	}
	write(t, file, strings.Repeat("#", 10<<20))
	if _, err = Read(file); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") {
		t.Errorf("of a huge file it says: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
