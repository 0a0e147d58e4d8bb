package subjects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/wire"
)

// asker asks a program for conversions.
type asker struct {
	crd    *apiextensionsv1.CustomResourceDefinition
	client *wire.Client
	asked  int
}

func connect(t *testing.T, p *Program, bug string) *asker {
	t.Helper()
	client, err := wire.Connect(p.Start(t, bug))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &asker{crd: definitionOf(t, p.Name), client: client}
}

// ask returns the objects at another version, or an error when the judge finds anything that API servers would reject.
func (a *asker) ask(tb testing.TB, to string, objects ...map[string]any) ([]map[string]any, error) {
	tb.Helper()
	a.asked++
	request := contract.Request{ReviewVersion: "v1", UID: fmt.Sprintf("request-%d", a.asked), DesiredAPIVersion: a.crd.Spec.Group + "/" + to}
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			tb.Fatal(err)
		}
		request.Objects = append(request.Objects, raw)
	}
	body, err := request.Body()
	if err != nil {
		tb.Fatal(err)
	}
	judgement := request.Judge(a.client.Send(tb.Context(), body))
	if v := judgement.Rejected(); v != nil {
		return nil, fmt.Errorf("%s", v)
	}
	converted := make([]map[string]any, len(judgement.Objects))
	for i, raw := range judgement.Objects {
		converted[i] = decode(tb, raw)
	}
	return converted, nil
}

// decode keeps the digits of numbers.
func decode(tb testing.TB, raw []byte) map[string]any {
	tb.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		tb.Fatal(err)
	}
	return object
}

// again returns an object as it looks after being written and read.
func again(tb testing.TB, object map[string]any) map[string]any {
	tb.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return decode(tb, raw)
}

// numbers compares those that are written in different ways: 0.1 and 1e-1, 2 and 2.0, 0 and -0. Integers are compared exactly.
func numbers() cmp.Option {
	return cmp.Comparer(func(a, b json.Number) bool {
		i, err1 := a.Int64()
		j, err2 := b.Int64()
		if err1 == nil && err2 == nil {
			return i == j
		}
		x, err1 := a.Float64()
		y, err2 := b.Float64()
		return a == b || err1 == nil && err2 == nil && x == y
	})
}

// TestPrograms tries every program, which is made once for all that is tried.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name == Kubebuilder {
				t.Skip("left out by -short: to link controller-runtime takes longer than all else here")
			}
			p := Build(t, name)
			t.Run("is lossless", func(t *testing.T) { t.Parallel(); lossless(t, p) })
			t.Run("has its bugs", func(t *testing.T) { t.Parallel(); showsBugs(t, p) })
			t.Run("refuses bad requests", func(t *testing.T) { t.Parallel(); refuses(t, p) })
			t.Run("refuses bad arguments", func(t *testing.T) { t.Parallel(); refusesArguments(t, p) })
			if name == Example {
				t.Run("converts parts of objects", func(t *testing.T) { t.Parallel(); convertsParts(t, p) })
				t.Run("refuses odd objects", func(t *testing.T) { t.Parallel(); refusesOdd(t, p) })
			}
		})
	}
}

// lossless has a program convert generated objects to every other version and back: nothing is different then.
func lossless(t *testing.T, p *Program) {
	t.Helper()
	crd := definitionOf(t, p.Name)
	a := connect(t, p, "")
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.SampledFrom(crd.Spec.Versions).Draw(rt, "from")
		want := again(t, object(crd, from).Draw(rt, "object"))
		for _, to := range crd.Spec.Versions {
			if to.Name == from.Name {
				continue
			}
			there, err := a.ask(t, to.Name, want)
			if err != nil {
				rt.Fatalf("%s -> %s: %v", from.Name, to.Name, err)
			}
			back, err := a.ask(t, from.Name, there...)
			if err != nil {
				rt.Fatalf("%s -> %s: %v", to.Name, from.Name, err)
			}
			if diff := cmp.Diff(want, back[0], numbers()); diff != "" {
				rt.Fatalf("%s -> %s -> %s:\n%s", from.Name, to.Name, from.Name, diff)
			}
		}
	})
}

// samplesOf reads the samples of a program.
func samplesOf(t *testing.T, p *Program) corpus.Corpus {
	t.Helper()
	text, err := os.ReadFile(p.Samples)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := corpus.ReadSamples(p.Samples, text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.FromSamples(samples)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func objectsOf(t *testing.T, c corpus.Corpus, version string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, o := range c.Objects(version) {
		objects = append(objects, again(t, o.Object))
	}
	return objects
}

// The checks that findings are named by.
const (
	rejects     = "rejects"     // a response that API servers reject
	loses       = "loses"       // a round trip changes something
	grows       = "grows"       // a second round trip does not end where the first did
	changeable  = "changeable"  // the same request has different answers
	dependent   = "dependent"   // an object in a batch is converted otherwise than alone
	overwritten = "overwritten" // what is changed after a conversion is gone after the next
	misplaces   = "misplaces"   // the converted object has fields that its version does not have
)

// findings tries a program with its samples, and returns what is wrong.
func findings(t *testing.T, a *asker, p *Program) []string {
	t.Helper()
	c := samplesOf(t, p)
	found := map[string]bool{}
	for _, pair := range c.Pairs() {
		for _, check := range []func(*testing.T, *asker, corpus.Pair, []map[string]any) string{roundTrips, repeats, batches, edits, places} {
			if finding := check(t, a, pair, objectsOf(t, c, pair.From)); finding != "" {
				found[finding] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func roundTrips(t *testing.T, a *asker, pair corpus.Pair, objects []map[string]any) string {
	t.Helper()
	objects = append(objects, long(objects[0]))
	trip := func(objects []map[string]any) ([]map[string]any, error) {
		there, err := a.ask(t, pair.To, objects...)
		if err != nil {
			return nil, err
		}
		return a.ask(t, pair.From, there...)
	}
	once, err := trip(objects)
	if err != nil {
		return rejects
	}
	twice, err := trip(once)
	switch {
	case err != nil:
		return rejects
	case !reflect.DeepEqual(once, twice):
		return grows
	case !reflect.DeepEqual(objects, once):
		return loses
	}
	return ""
}

// long returns an object in which the texts of the spec that may be long are.
func long(object map[string]any) map[string]any {
	object = maps.Clone(object)
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return object
	}
	spec = maps.Clone(spec)
	object["spec"] = spec
	for _, name := range []string{"title", "displayName", "cronSpec", "schedule"} {
		if text, ok := spec[name].(string); ok {
			spec[name] = strings.Repeat(text, 30)
		}
	}
	return object
}

func repeats(t *testing.T, a *asker, pair corpus.Pair, objects []map[string]any) string {
	t.Helper()
	first, err := a.ask(t, pair.To, objects...)
	for range 5 {
		next, nextErr := a.ask(t, pair.To, objects...)
		if (err == nil) != (nextErr == nil) || !reflect.DeepEqual(first, next) {
			return changeable
		}
	}
	return ""
}

func batches(t *testing.T, a *asker, pair corpus.Pair, objects []map[string]any) string {
	t.Helper()
	many := slices.Repeat(objects, 6)
	for i := range many {
		many[i] = maps.Clone(many[i])
		meta, _ := many[i]["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		meta["name"], meta["uid"] = fmt.Sprintf("many-%d", i), fmt.Sprintf("uid-%d", i)
		many[i]["metadata"] = meta
	}
	together, err := a.ask(t, pair.To, many...)
	for i, one := range slices.Backward(many) { // so that another object comes before
		alone, aloneErr := a.ask(t, pair.To, one)
		switch {
		case err != nil && aloneErr != nil:
			return rejects
		case err != nil || aloneErr != nil || !reflect.DeepEqual(together[i], alone[0]):
			return dependent
		}
	}
	return ""
}

// edits changes what can be changed at both versions, and looks whether it comes through.
func edits(t *testing.T, a *asker, pair corpus.Pair, objects []map[string]any) string {
	t.Helper()
	there, err := a.ask(t, pair.To, objects...)
	if err != nil {
		return rejects
	}
	for _, object := range there {
		if spec, ok := object["spec"].(map[string]any); ok {
			spec["args"] = []any{"edited"}
		}
	}
	back, err := a.ask(t, pair.From, there...)
	if err != nil {
		return rejects
	}
	for i, object := range back {
		spec, ok := there[i]["spec"].(map[string]any)
		if ok && !reflect.DeepEqual(spec["args"], object["spec"].(map[string]any)["args"]) {
			return overwritten
		}
	}
	return ""
}

// places looks for names of one version in objects of another.
func places(t *testing.T, a *asker, pair corpus.Pair, objects []map[string]any) string {
	t.Helper()
	there, err := a.ask(t, pair.To, objects...)
	if err != nil {
		return rejects
	}
	i := slices.IndexFunc(a.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == pair.To })
	known := a.crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	for _, object := range there {
		spec, _ := object["spec"].(map[string]any)
		for name := range spec {
			if _, found := known[name]; !found {
				return misplaces
			}
		}
	}
	return ""
}

// showing returns what each bug of a program shows as.
func showing(program string) map[string]string {
	return map[string]map[string]string{
		Kubebuilder: {
			"loses-field": loses, "loses-status": loses, "float64": loses, "drops-false": loses, "fills-in": loses,
			"truncates": loses, "panics": rejects, "shares-state": dependent, "stale-annotation": overwritten,
			"map-order": changeable, "timestamp": changeable, "grows": grows,
		},
		Example: {
			"keeps-old-field": misplaces, "only-version": misplaces, "trims-zeros": loses, "lower-case": loses,
			"drops-labels": loses, "renames": rejects, "reorders": rejects, "at-most-ten": dependent, "first-spec": dependent,
		},
		Python: {
			"float-integers": loses, "latin-1": loses, "loses-unknown": loses, "stale-uid": rejects,
			"drops-falsy": loses, "shares-defaults": dependent, "no-spec": rejects,
		},
		Wide: {"misnames": loses},
	}[program]
}

// showsBugs holds that each bug shows in the findings, and that there are none without a bug or when it is merely slow.
func showsBugs(t *testing.T, p *Program) {
	t.Helper()
	for _, bug := range append(p.Bugs(t), "") {
		got, want := findings(t, connect(t, p, bug), p), showing(p.Name)[bug]
		switch {
		case bug == "" || bug == "slow":
			if len(got) > 0 {
				t.Errorf("bug %q: got %v", bug, got)
			}
		case want == "" || !slices.Contains(got, want):
			t.Errorf("bug %q: got %v, want %q", bug, got, want)
		}
	}
}

// refuses holds that a program without a bug refuses what makes no sense, and goes on.
func refuses(t *testing.T, p *Program) {
	t.Helper()
	a := connect(t, p, "")
	for what, body := range map[string]string{
		"nothing": "", "no JSON": "{", "binary": "\x00\xff", "list": "[]", "null": "null", "deep": strings.Repeat("[", 100_000),
		"no request": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`,
	} {
		if response := a.client.Send(t.Context(), []byte(body)); response.Err != nil || response.Status != 400 {
			t.Errorf("%s: got %d %s, %v, want status 400", what, response.Status, response.Body, response.Err)
		}
	}
	pair := samplesOf(t, p).Pairs()[0]
	objects := objectsOf(t, samplesOf(t, p), pair.From)
	if got, err := a.ask(t, "v99", objects...); err == nil {
		t.Errorf("an unknown version: got %v", got)
	}
	if _, err := a.ask(t, pair.To, objects...); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// refusesArguments holds that arguments that make no sense end a program, with a reason.
func refusesArguments(t *testing.T, p *Program) {
	t.Helper()
	for _, args := range [][]string{nil, {"--certs", t.TempDir()}, {"--certs", ".", "--bug", "unheard"}, {"--port", "x"}, {"now"}} {
		out, err := exec.CommandContext(t.Context(), p.command[0], slices.Concat(p.command[1:], args)...).CombinedOutput()
		if err == nil || len(out) == 0 || bytes.Contains(out, []byte("Traceback")) || bytes.Contains(out, []byte("goroutine")) {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}

// answer asks a program for one object at another version, and returns that or the message of the failure.
func (a *asker) answer(t *testing.T, object, desired string) (converted, message string) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":%q,"objects":[%s]}}`, desired, object)
	var review struct {
		Response struct {
			ConvertedObjects []json.RawMessage `json:"convertedObjects"`
			Result           struct {
				Message string `json:"message"`
			} `json:"result"`
		} `json:"response"`
	}
	if err := json.Unmarshal(a.client.Send(t.Context(), []byte(body)).Body, &review); err != nil {
		t.Fatal(err)
	}
	for _, one := range review.Response.ConvertedObjects {
		converted = string(one)
	}
	return converted, review.Response.Result.Message
}

// convertsParts has specs converted there and back that have a part of the fields, as in server-side apply, or others.
func convertsParts(t *testing.T, p *Program) {
	t.Helper()
	a := connect(t, p, "")
	for v1beta1, v1 := range map[string]string{
		`{"hostPort":"localhost:80"}`:               `{"host":"localhost","port":"80"}`,
		`{"hostPort":"localhost:0080","x":1}`:       `{"host":"localhost","port":"0080","x":1}`,
		`{"hostPort":"localhost"}`:                  `{"host":"localhost"}`,
		`{"hostPort":":80"}`:                        `{"port":"80"}`,
		`{"cronSpec":"* * * * *"}`:                  `{"schedule":"* * * * *"}`,
		`{"retries":9007199254740993,"x":{"y":[]}}`: `{"retries":9007199254740993,"x":{"y":[]}}`,
		`{}`:   `{}`,
		`null`: `null`,
	} {
		whole := func(version, spec string) string {
			return `{"apiVersion":"cron.example.org/` + version + `","kind":"Job","spec":` + spec + `}`
		}
		for _, way := range [][4]string{{"v1beta1", v1beta1, "v1", v1}, {"v1", v1, "v1beta1", v1beta1}} {
			if got, message := a.answer(t, whole(way[0], way[1]), "cron.example.org/"+way[2]); got != whole(way[2], way[3]) {
				t.Errorf("%s: got %s, %s, want %s", way[1], got, message, way[3])
			}
		}
	}
}

// refusesOdd has objects refused that cannot be converted.
func refusesOdd(t *testing.T, p *Program) {
	t.Helper()
	a := connect(t, p, "")
	const older = "cron.example.org/v1beta1"
	for name, test := range map[string]struct{ object, desired, want string }{
		"no kind":         {`{"apiVersion":"cron.example.org/v1"}`, older, "Kind"},
		"no object":       {`[]`, older, "object 0"},
		"text as spec":    {`{"apiVersion":"cron.example.org/v1","kind":"Job","spec":"x"}`, older, "spec is not an object"},
		"number as host":  {`{"apiVersion":"cron.example.org/v1","kind":"Job","spec":{"host":1}}`, older, "host"},
		"list as address": {`{"apiVersion":"cron.example.org/v1beta1","kind":"Job","spec":{"hostPort":[]}}`, "cron.example.org/v1", "hostPort"},
		"other group":     {`{"apiVersion":"example.org/v1","kind":"Job"}`, older, "cannot convert example.org/v1"},
		"unknown target":  {`{"apiVersion":"cron.example.org/v1","kind":"Job"}`, "cron.example.org/v7", "cannot convert"},
	} {
		if got, message := a.answer(t, test.object, test.desired); got != "" || !strings.Contains(message, test.want) {
			t.Errorf("%s: got %s, %s, want something with %q", name, got, message, test.want)
		}
	}
}
