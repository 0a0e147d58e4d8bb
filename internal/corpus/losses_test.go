package corpus

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// parsed is an object of JSON as Kubernetes decodes it.
func parsed(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var object map[string]any
	if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return object
}

// texts are losses as text.
func texts(losses []Loss) string {
	var all []string
	for _, l := range losses {
		text := l.String()
		if l.Empty {
			text += " (empty)"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

const comparedSchema = `{type: object, properties: {status: {type: object}, spec: {type: object, properties: {
	quantity: {x-kubernetes-int-or-string: true, pattern: '^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$'}, port: {x-kubernetes-int-or-string: true}, bytes: {type: string, format: byte},
	set: {type: array, x-kubernetes-list-type: set, items: {type: string}}, list: {type: array, items: {type: integer}},
	selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}, matchExpressions: {type: array, items: {type: object}}}},
	mode: {type: object, properties: {pass: {type: object}, reject: {type: object}}}, metadata: {type: object}, kept: {type: object, x-kubernetes-preserve-unknown-fields: true},
	issuer: {type: object, oneOf: [{required: [ca]}, {required: [acme]}], properties: {ca: {type: object, properties: {secret: {type: string}}}, acme: {type: object, properties: {url: {type: string}}}, options: {type: object, properties: {a: {type: string}}}}},
	volume: {type: object, properties: {size: {type: string, pattern: '^[1-9][0-9]{0,3}(Gi?|Ti?)$'}, code: {type: string, pattern: '^[0-9]+[A-Z]+$'}, emptyDir: {type: object, properties: {medium: {type: string}}}}},
	map: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, kind], items: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string, default: A}, value: {type: integer}}}},
	lit: {type: boolean, default: true}, dark: {type: boolean, default: false}, level: {type: integer, nullable: true, default: 3}, words: {type: array, default: [a], items: {type: string}}, free: {type: object, additionalProperties: {type: string}},
	toleration: {type: object, properties: {key: {type: string}, operator: {type: string}, value: {type: string}, effect: {type: string}, tolerationSeconds: {type: integer}}},
	container: {type: object, properties: {containerPort: {type: integer}, hostIP: {type: string}, hostPort: {type: integer}, name: {type: string}, protocol: {type: string, default: TCP}}},
	ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [containerPort, protocol], items: {type: object, required: [containerPort], properties: {containerPort: {type: integer}, hostIP: {type: string}, hostPort: {type: integer}, name: {type: string}, protocol: {type: string, default: TCP}}}},
	listeners: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [containerPort, protocol], items: {type: object, required: [containerPort], properties: {containerPort: {type: integer}, protocol: {type: string, default: TCP}}}},
	listener: {type: object, properties: {containerPort: {type: integer}, protocol: {type: string, default: TCP}}}}}}}`

func TestLosses(t *testing.T) {
	t.Parallel()
	known := defined(t, widget(comparedSchema)).Schema("v1")
	for _, test := range []struct{ before, after, unknown, known string }{
		{`{"a":1}`, `{"a":1.0}`, "", ""},
		{`{"a":-0}`, `{"a":0}`, "", ""},
		{`{"a":-0.0}`, `{"a":0}`, "", ""},
		{`{"a":1}`, `{"a":2}`, "a: expected 1, got 2", "a: expected 1, got 2"},
		{`{"a":1}`, `{"a":"1"}`, `a: expected 1, got "1"`, `a: expected 1, got "1"`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, "a: expected 9007199254740993, got 9007199254740992", "a: expected 9007199254740993, got 9007199254740992"},
		{`{"a":9223372036854775807}`, `{"a":9223372036854775808}`, "a: expected 9223372036854775807, got 9223372036854776000", "a: expected 9223372036854775807, got 9223372036854776000"},
		{`{"a":"2024-01-01T12:00:00Z"}`, `{"a":"2024-01-01T14:00:00+02:00"}`, "", ""},
		{`{"a":"2024-01-01T12:00:00Z"}`, `{"a":"2024-01-01T12:00:01Z"}`, `a: expected "2024-01-01T12:00:00Z", got "2024-01-01T12:00:01Z"`, `a: expected "2024-01-01T12:00:00Z", got "2024-01-01T12:00:01Z"`},
		{`{"a":"60m"}`, `{"a":"1h0m0s"}`, "", ""},
		{`{"spec":{"free":{"a":"","b":"1"}}}`, `{"spec":{"free":{"b":"1"}}}`, `spec.free.a: expected "", got nothing (empty)`, `spec.free.a: expected "", got nothing`},
		{`{"a":"60m"}`, `{"a":"61m"}`, `a: expected "60m", got "61m"`, `a: expected "60m", got "61m"`},
		{`{"spec":{"quantity":"1000m"}}`, `{"spec":{"quantity":1}}`, `spec.quantity: expected "1000m", got 1`, ""},
		{`{"spec":{"quantity":"1Gi"}}`, `{"spec":{"quantity":"1024Mi"}}`, `spec.quantity: expected "1Gi", got "1024Mi"`, ""},
		{`{"spec":{"volume":{"size":"4000G"}}}`, `{"spec":{"volume":{"size":"4T"}}}`, `spec.volume.size: expected "4000G", got "4T"`, ""},
		{`{"spec":{"volume":{"size":"4000G"}}}`, `{"spec":{"volume":{"size":"4Ti"}}}`, `spec.volume.size: expected "4000G", got "4Ti"`, `spec.volume.size: expected "4000G", got "4Ti"`},
		{`{"spec":{"volume":{"code":"4000G"}}}`, `{"spec":{"volume":{"code":"4T"}}}`, `spec.volume.code: expected "4000G", got "4T"`, `spec.volume.code: expected "4000G", got "4T"`},
		{`{"spec":{"quantity":"10m"}}`, `{"spec":{"quantity":"10M"}}`, `spec.quantity: expected "10m", got "10M"`, `spec.quantity: expected "10m", got "10M"`},
		{`{"spec":{"port":5}}`, `{"spec":{"port":"5"}}`, `spec.port: expected 5, got "5"`, `spec.port: expected 5, got "5"`},
		{`{"spec":{"bytes":"YQ=="}}`, `{"spec":{"bytes":"YQ\n=="}}`, `spec.bytes: expected "YQ==", got "YQ\n=="`, ""},
		{`{"spec":{"set":["a","b"]}}`, `{"spec":{"set":["b","a"]}}`, `spec.set: expected ["a","b"], got ["b","a"]: the same items in another order`, ""},
		{`{"spec":{"set":["a","b"]}}`, `{"spec":{"set":["b"]}}`, `spec.set: expected ["a","b"], got ["b"]`, `spec.set[0]: expected "a", got nothing`},
		{`{"spec":{"set":["a"]}}`, `{"spec":{"set":["b","a"]}}`, `spec.set: expected ["a"], got ["b","a"]`, `spec.set: expected ["a"], got ["b","a"]`},
		{
			`{"spec":{"list":[1,2,3]}}`, `{"spec":{"list":[2,1,4]}}`, `spec.list: expected [1,2,3], got [2,1,4]: items in another order; spec.list[2]: expected 3, got 4`,
			`spec.list: expected [1,2,3], got [2,1,4]: items in another order; spec.list[2]: expected 3, got 4`,
		},
		{`{"spec":{"list":[1,2]}}`, `{"spec":{"list":[2,1]}}`, `spec.list: expected [1,2], got [2,1]: the same items in another order`, `spec.list: expected [1,2], got [2,1]: the same items in another order`},
		{`{"a":["1h","60m"]}`, `{"a":["60m","1h"]}`, "", ""},
		{`{"a":"o\u0302"}`, `{"a":"\u00f4"}`, `a: expected "o\u0302", got "\u00f4" (Unicode normalised)`, `a: expected "o\u0302", got "\u00f4" (Unicode normalised)`},
		{`{"a\nb":"\u202e"}`, `{}`, `['a\nb']: expected "\u202e", got nothing`, `['a\nb']: expected "\u202e", got nothing`},
		{`{"spec":{"map":[{"name":"a","value":1},{"name":"b","value":2}]}}`, `{"spec":{"map":[{"name":"b","kind":"A","value":2},{"name":"a","value":3}]}}`, `spec.map[0].name: expected "a", got "b"; spec.map[0].value: expected 1, got 2; spec.map[1].name: expected "b", got "a"; spec.map[1].value: expected 2, got 3`, `spec.map[0].value: expected 1, got 3`},
		{`{"a":0,"b":"","c":false}`, `{}`, `a: expected 0, got nothing (empty); b: expected "", got nothing (empty); c: expected false, got nothing (empty)`, `a: expected 0, got nothing (empty); b: expected "", got nothing (empty); c: expected false, got nothing (empty)`},
		{`{"spec":{"lit":false,"dark":false}}`, `{"spec":{}}`, `spec.dark: expected false, got nothing (empty); spec.lit: expected false, got nothing (empty)`, `spec.dark: expected false, got nothing (empty); spec.lit: expected false, got nothing, which becomes the default true`},
		{`{"a":{},"b":[],"c":null}`, `{}`, "", ""},
		{`{"a":"0s"}`, `{}`, `a: expected "0s", got nothing (empty)`, `a: expected "0s", got nothing (empty)`},
		{`{"spec":{"selector":{}}}`, `{"spec":{}}`, "", `spec.selector: expected {}, got nothing (an empty selector selects everything, a missing one nothing)`},
		{`{"spec":{}}`, `{"spec":{"selector":{}}}`, "", ""},
		{`{"spec":{"toleration":{"value":"","tolerationSeconds":0}}}`, `{"spec":{"toleration":{}}}`, `spec.toleration.tolerationSeconds: expected 0, got nothing (empty); spec.toleration.value: expected "", got nothing (empty)`, `spec.toleration.tolerationSeconds: expected 0, got nothing; spec.toleration.value: expected "", got nothing (empty)`},
		{`{"spec":{"toleration":{"tolerationSeconds":0}}}`, `{"spec":{}}`, `spec.toleration.tolerationSeconds: expected 0, got nothing (empty)`, `spec.toleration.tolerationSeconds: expected 0, got nothing`},
		{`{"spec":{"container":{"name":"a","protocol":""}}}`, `{"spec":{"container":{"name":"a"}}}`, `spec.container.protocol: expected "", got nothing (empty)`, ""},
		{`{"spec":{"container":{"protocol":""}}}`, `{"spec":{"container":{"protocol":"TCP"}}}`, `spec.container.protocol: expected "", got "TCP"`, ""},
		{`{"spec":{"container":{"protocol":"TCP"}}}`, `{"spec":{"container":{"protocol":""}}}`, `spec.container.protocol: expected "TCP", got ""`, ""},
		{`{"spec":{"container":{"protocol":""}}}`, `{"spec":{"container":{"protocol":"UDP"}}}`, `spec.container.protocol: expected "", got "UDP"`, `spec.container.protocol: expected "", got "UDP"`},
		{`{"spec":{"container":{"protocol":"UDP"}}}`, `{"spec":{"container":{"protocol":""}}}`, `spec.container.protocol: expected "UDP", got ""`, `spec.container.protocol: expected "UDP", got ""`},
		{`{"spec":{"container":{"protocol":"UDP"}}}`, `{"spec":{"container":{}}}`, `spec.container.protocol: expected "UDP", got nothing`, `spec.container.protocol: expected "UDP", got nothing, which becomes the default "TCP"`},
		{`{"spec":{"listener":{"protocol":""}}}`, `{"spec":{"listener":{}}}`, `spec.listener.protocol: expected "", got nothing (empty)`, `spec.listener.protocol: expected "", got nothing, which becomes the default "TCP"`},
		{`{"spec":{"ports":[{"containerPort":1,"protocol":""}]}}`, `{"spec":{"ports":[{"containerPort":1}]}}`, `spec.ports[0].protocol: expected "", got nothing (empty)`, ""},
		{`{"spec":{"ports":[{"containerPort":1,"protocol":"","name":"a"}]}}`, `{"spec":{"ports":[{"containerPort":1,"protocol":"TCP"}]}}`, `spec.ports[0].name: expected "a", got nothing; spec.ports[0].protocol: expected "", got "TCP"`, `spec.ports[0].name: expected "a", got nothing`},
		{`{"spec":{"ports":[{"containerPort":1,"protocol":""}]}}`, `{"spec":{"ports":[{"containerPort":1,"protocol":"UDP"}]}}`, `spec.ports[0].protocol: expected "", got "UDP"`, `spec.ports[0]: expected {"containerPort":1,"protocol":""}, got nothing`},
		{`{"spec":{"ports":[{"containerPort":1,"protocol":""},{"containerPort":1,"protocol":"TCP"}]}}`, `{"spec":{"ports":[{"containerPort":1}]}}`, `spec.ports: expected [{"containerPort":1,"protocol":""},{"containerPort":1,"protocol":"TCP"}], got [{"containerPort":1}]`, `spec.ports: expected [{"containerPort":1,"protocol":""},{"containerPort":1,"protocol":"TCP"}], got [{"containerPort":1}]`},
		{`{"spec":{"listeners":[{"containerPort":1,"protocol":""}]}}`, `{"spec":{"listeners":[{"containerPort":1}]}}`, `spec.listeners[0].protocol: expected "", got nothing (empty)`, `spec.listeners[0]: expected {"containerPort":1,"protocol":""}, got nothing`},
		{`{"spec":{"mode":{"pass":{}}}}`, `{"spec":{"mode":{}}}`, "", `spec.mode.pass: expected {}, got nothing`},
		{`{"spec":{"mode":{"pass":{}}}}`, `{"spec":{}}`, "", `spec.mode.pass: expected {}, got nothing`},
		{`{"spec":{"mode":{}}}`, `{"spec":{"mode":{"pass":{}}}}`, "", ""},
		{`{"spec":{"issuer":{"ca":{}}}}`, `{"spec":{"issuer":{"acme":{}}}}`, "", `spec.issuer.ca: expected {}, got nothing`},
		{`{"spec":{"issuer":{"ca":{"secret":""}}}}`, `{"spec":{"issuer":{}}}`, `spec.issuer.ca.secret: expected "", got nothing (empty)`, `spec.issuer.ca: expected {"secret":""}, got nothing`},
		{`{"spec":{"issuer":{"ca":{"secret":""}}}}`, `{"spec":{"issuer":{"ca":{}}}}`, `spec.issuer.ca.secret: expected "", got nothing (empty)`, `spec.issuer.ca.secret: expected "", got nothing (empty)`},
		{`{"spec":{"issuer":{"options":{}}}}`, `{"spec":{"issuer":{}}}`, "", ""},
		{`{"spec":{"volume":{"emptyDir":{}}}}`, `{"spec":{"volume":{}}}`, "", `spec.volume.emptyDir: expected {}, got nothing`},
		{`{"spec":{"metadata":{}},"status":{}}`, `{"spec":{}}`, "", ""},
		{`{"spec":{"kept":{"5 *":{}}}}`, `{"spec":{"kept":{}}}`, "", `spec.kept['5 *']: expected {}, got nothing (empty)`},
		{`{"spec":{"kept":{"a":[{"b":{}}]}}}`, `{"spec":{"kept":{"a":[{}]}}}`, "", `spec.kept.a[0].b: expected {}, got nothing (empty)`},
		{`{}`, `{"a":{},"b":[],"c":null,"d":1}`, "", ""},
		{`{"a":null}`, `{"a":{}}`, "", ""},
		{`{"spec":{"level":null,"words":[]}}`, `{"spec":{}}`, "", `spec.level: expected null, got nothing, which becomes the default 3; spec.words: expected [], got nothing, which becomes the default ["a"]`},
		{`{"spec":{"level":null}}`, `{"spec":{"level":null}}`, "", ""},
		{`{"a":{"b":1}}`, `{}`, "a.b: expected 1, got nothing", "a.b: expected 1, got nothing"},
		{`{"a":"<b> & c"}`, `{}`, `a: expected "<b> & c", got nothing`, `a: expected "<b> & c", got nothing`},
		{`{"a":{"b":1}}`, `{"a":[]}`, `a: expected {"b":1}, got []`, `a: expected {"b":1}, got []`},
		{`{"a":[1]}`, `{}`, `a: expected [1], got nothing`, `a: expected [1], got nothing`},
		{`{"metadata":{"name":"a","labels":{"app.x/y":"1"}}}`, `{"metadata":{"name":"b"}}`, `metadata.labels['app.x/y']: expected "1", got nothing`, `metadata.labels['app.x/y']: expected "1", got nothing`},
		{`{"metadata":{"name":"a"}}`, `{}`, "", ""},
		{`{"kind":"A"}`, `{"kind":"B"}`, `kind: expected "A", got "B"`, `kind: expected "A", got "B"`},
	} {
		before, after := parsed(t, test.before), parsed(t, test.after)
		if got := texts((*Schema)(nil).Losses(before, after)); got != test.unknown {
			t.Errorf("%s -> %s: got %q, want %q", test.before, test.after, got, test.unknown)
		}
		if got := texts(known.Losses(before, after)); got != test.known {
			t.Errorf("%s -> %s with the schema: got %q, want %q", test.before, test.after, got, test.known)
		}
	}
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	text := Loss{Path: "a", Before: strings.Repeat("é", 100)}.String()
	if len(text) > 160 || !utf8.ValidString(text) || !strings.HasSuffix(text, `..., got nothing`) {
		t.Errorf("got %q", text)
	}
	for want, l := range map[string]Loss{
		"a: expected null, got nothing":                            {Path: "a"},
		"a: expected nothing, got 0, where the default is 1":       {Path: "a", After: 0, Added: true, Default: 1},
		`a: expected "", got nothing, which becomes the default 1`: {Path: "a", Before: "", Default: 1},
	} {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: parsed(t, `{"kind":"A","metadata":{"name":"a"},"spec":{"list":[{"name":"x"},{}],"a.b/c['0']\\":{"x":null},"":1,"e":[],"[3]":2}}`)}
	paths := Leaves(object)
	want := []string{`spec['']`, `spec['[3]']`, `spec['a.b/c[\'0\']\\'].x`, "spec.e", "spec.list[0].name", "spec.list[1]"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	for _, path := range paths {
		if value, found := fieldpath.Value(object.Object, fieldpath.Split(path)); !found {
			t.Errorf("%s leads to %v", path, value)
		}
		if again := fieldpath.Join(fieldpath.Split(path)); again != path {
			t.Errorf("%s became %s", path, again)
		}
	}
}

// FuzzLosses holds that nothing is lost of what stayed as it is, with and without a schema.
func FuzzLosses(f *testing.F) {
	known := defined(f, widget(comparedSchema)).Schema("v1")
	for _, seed := range []string{
		`{"spec":{"set":["a","a"],"map":[{"name":"a"},{"name":"a"}],"level":null,"lit":null}}`, `{"a":[null,{},[],1.5,"60m"],"metadata":{"labels":{"a":"b"}}}`,
		`{"spec":{"set":[{}],"map":[1],"quantity":"1e999999999","bytes":"%"}}`, `{"metadata":7}`, `{"spec":[]}`, `{"a":1e400}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if utiljson.Unmarshal([]byte(text), &object) != nil || object == nil {
			return
		}
		var again map[string]any
		data, err := json.Marshal(object)
		if err != nil || utiljson.Unmarshal(data, &again) != nil {
			return
		}
		for _, s := range []*Schema{nil, known} {
			if lost := s.Losses(object, again); len(lost) > 0 {
				t.Errorf("%s: %s", text, texts(lost))
			}
			s.Losses(object, map[string]any{"spec": map[string]any{}})
			s.Problems(object)
		}
	})
}

// TestHas asks for paths that a schema has, and for others.
func TestHas(t *testing.T) {
	t.Parallel()
	s := CronTabs("v1beta1", "v1").Definition.Schema("v1")
	for path, want := range map[string]bool{
		"host": true, "hostPort": false, "spec.image": true, "spec.nothing": false, "metadata.labels['a/b']": true, "spec": true, "spec.image.inside": false,
	} {
		if s.Has(path) != want {
			t.Errorf("%s: got %t", path, !want)
		}
	}
}

// TestFractionsOfSeconds has a time without the fraction that it had: that is a loss, but one that samples alone can show.
func TestFractionsOfSeconds(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("at: {type: string, format: date-time}, note: {type: string}")))
	at := func(text string) map[string]any { return map[string]any{"spec": map[string]any{"at": text}} }
	lost := d.Schema("v1").Losses(at("2024-02-29T23:59:59.250Z"), at("2024-02-29T23:59:59Z"))
	if len(lost) != 1 || lost[0].Path != "spec.at" || lost[0].Empty {
		t.Errorf("without the fraction: got %v", lost)
	}
	if lost = d.Schema("v1").Losses(at("2024-02-29T23:59:59.250Z"), at("2024-03-01T05:29:59.25+05:30")); len(lost) > 0 {
		t.Errorf("at the same instant: got %v", lost)
	}
	g, times := d.Generator("v1", 1, nil), 0
	objects := objectsOf(g.Singles())
	for _, style := range styles() {
		objects = append(objects, g.Objects(style, 40)...)
	}
	for _, object := range objects {
		value, found := Value(object.Object, "spec.at")
		text, _ := value.(string)
		if found {
			times++
		}
		if strings.Contains(text, ".") {
			t.Errorf("generated %q, which metav1.Time cuts", text)
		}
	}
	if times < 50 {
		t.Errorf("%d times were generated, want 50 or more", times)
	}
}

// TestLossesSayWhatIsCutAway has values that look the same as far as they are shown, and says how they differ all the same.
func TestLossesSayWhatIsCutAway(t *testing.T) {
	t.Parallel()
	items := func(n int) (list []any) { return slices.Repeat([]any{strings.Repeat("A", 30)}, n) }
	long := strings.Repeat("A", 200)
	for _, test := range []struct {
		before, after any
		want          string
	}{
		{items(64), items(65), " (65 items, and not 64)"},
		{long, long + "A", " (201 bytes, and not 200)"},
		{long + "a", long + "b", " (they differ from byte 201 on)"},
		{"a", "ab", `got "ab"`},
		{items(1), items(2), `AAA"]`},
	} {
		if got := (Loss{Path: "spec.a", Before: test.before, After: test.after}).String(); !strings.HasSuffix(got, test.want) {
			t.Errorf("it does not end with %q: %s", test.want, got)
		}
	}
}

// TestReplaces distinguishes what is left of a value, or stands for none, from another value.
func TestReplaces(t *testing.T) {
	t.Parallel()
	list := func(items ...any) []any { return items }
	item := func(name string, fields ...any) map[string]any {
		return map[string]any{"name": name, "more": fields}
	}
	for name, test := range map[string]struct {
		before, after any
		replaces      bool
	}{
		"nothing":               {"orders/", nil, false},
		"an empty text":         {"orders/", "", false},
		"another text":          {"orders/", "orders", true},
		"another number":        {int64(3), int64(2), true},
		"zero":                  {int64(3), int64(0), false},
		"no time":               {"1m", "0s", false},
		"false":                 {true, false, false},
		"true":                  {false, true, true},
		"a shorter list":        {list("a", "b", "c"), list("a", "c"), false},
		"no items":              {list("a"), list(), false},
		"another order":         {list("a", "b"), list("b", "a"), true},
		"a shorter, other list": {list("a", "b", "c"), list("a", "d"), true},
		"a longer list":         {list("a"), list("a", "a"), true},
		"items with less":       {list(item("a", "x"), item("b", "y")), list(map[string]any{"name": "b"}), false},
		"items with others":     {list(item("a", "x"), item("b", "y")), list(item("b", "x")), true},
		"another type":          {list("a"), "a", true},
	} {
		var schema *Schema
		if got := schema.Replaces(Loss{Path: "spec.a", Before: test.before, After: test.after}); got != test.replaces {
			t.Errorf("%s: %t", name, got)
		}
	}
}
