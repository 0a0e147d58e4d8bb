package corpus

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/reports"
)

// widgetOf is a widget with a spec.
func widgetOf(tb testing.TB, metadata, spec string) *unstructured.Unstructured {
	tb.Helper()
	return &unstructured.Unstructured{Object: parsed(tb, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":`+metadata+`,"spec":`+spec+`}`)}
}

const covering = `text: {type: string, maxLength: 70}, count: {type: integer, minimum: 0, maximum: 5, default: 3}, flag: {type: boolean, nullable: true},
	mode: {type: string, enum: [A, B, ""]}, port: {x-kubernetes-int-or-string: true}, list: {type: array, items: {type: string}, minItems: 1}, other: {type: array, items: {type: integer}},
	map: {type: object, additionalProperties: {type: object, properties: {deep: {type: number}}}}, free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}},
	to: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}, none: {type: object}, any: {type: object, additionalProperties: true},
	never: {type: integer, minimum: 3, maximum: 2}, held: {type: object, required: [x], properties: {x: {type: string, minLength: 3, maxLength: 2}, z: {type: string}}}`

func TestCoverage(t *testing.T) {
	t.Parallel()
	s := defined(t, widget(spec(covering))).Schema("v1")
	for _, test := range []struct{ spec, path, want string }{
		{`{"text":"abcd"}`, "spec.text", `{"other":1}`},
		{`{}`, "spec.text", `{"absent":1}`},
		{`{"text":""}`, "spec.text", `{"empty":1}`},
		{`{"text":"abc"}`, "spec.text", `{"other":1,"short":1}`},
		{`{"text":"` + strings.Repeat("x", 70) + `"}`, "spec.text", `{"highest":1,"long":1,"other":1}`},
		{`{"count":0}`, "spec.count", `{"empty":1,"lowest":1}`},
		{`{"count":3}`, "spec.count", `{"default":1}`},
		{`{"count":5}`, "spec.count", `{"highest":1,"other":1}`},
		{`{"flag":null}`, "spec.flag", `{"null":1}`},
		{`{"flag":true}`, "spec.flag", `{"other":1}`},
		{`{"mode":"B"}`, "spec.mode", `{"is \"B\"":1,"other":1,"short":1}`},
		{`{"mode":""}`, "spec.mode", `{"empty":1,"is \"\"":1}`},
		{`{"port":"http"}`, "spec.port", `{"other":1,"string":1}`},
		{`{"port":80}`, "spec.port", `{"integer":1,"other":1}`},
		{`{"list":["abcd"]}`, "spec.list", `{"lowest":1,"one inside":1,"other":1}`},
		{`{"list":["abcd","efgh"]}`, "spec.list[*]", `{"other":2}`},
		{`{"list":["abcd","efgh"],"other":[1,2]}`, "spec.list", `{"as long as another list beside it":1,"other":1,"several inside":1}`},
		{`{"list":["abcd","efgh"],"other":[]}`, "spec.other", `{"empty":1,"not as long as another list beside it":1}`},
		{`{"map":{"k":{"deep":-0.5},"l":{}}}`, "spec.map.<key>.deep", `{"absent":1,"fraction":1,"negative":1,"other":1}`},
		{`{"map":{"k":{"deep":-0.5},"l":{}}}`, "spec.map", `{"other":1,"several inside":1}`},
		{`{"to":{"b":"xyzz"}}`, "spec.to", `{"branch 2 of 2":1,"other":1}`},
		{`{"free":{"known":"abcd","unknown":{"x":1}}}`, "spec.free.known", `{"other":1}`},
	} {
		c := NewCoverage(s)
		c.Add(widgetOf(t, `{"name":"a"}`, test.spec))
		result := c.Result(nil)
		at := slices.IndexFunc(result.Fields, func(f reports.FieldCoverage) bool { return f.Path == test.path })
		if at < 0 || encoded(result.Fields[at].Seen) != test.want {
			t.Errorf("%s: got %v, want %s of %s", test.spec, result.Fields, test.want, test.path)
		}
	}
}

func TestCoverageCounts(t *testing.T) {
	t.Parallel()
	s := defined(t, widget(spec(covering))).Schema("v1")
	c := NewCoverage(s)
	exercised := func(object string) []string {
		before := c.Result(nil).Never
		c.Add(widgetOf(t, `{"name":"a"}`, object))
		var paths []string
		for _, field := range before {
			if !slices.ContainsFunc(c.Result(nil).Never, func(other reports.FieldNote) bool { return other.Path == field.Path }) {
				paths = append(paths, field.Path)
			}
		}
		return paths
	}
	if got := c.Result(nil); got.Total != 20 || got.Exercised != 0 || len(got.Never) != 20 {
		t.Errorf("got %+v", got)
	}
	for _, step := range []struct {
		object string
		want   []string
	}{
		{`{"text":"","count":3,"flag":null,"mode":"","list":[],"map":{}}`, []string{"spec"}},
		{`{"text":"a","flag":false,"map":{"a":{}},"none":{}}`, []string{"spec.map", "spec.none", "spec.text"}},
		{`{"count":0,"flag":true,"mode":"A"}`, []string{"spec.count", "spec.flag", "spec.mode"}},
		{`{"list":[""],"port":80,"any":{"x":1}}`, []string{"spec.any", "spec.list", "spec.port"}},
		{`{"free":{"unknown":"x"},"to":{"a":"x"}}`, []string{"spec.free", "spec.to", "spec.to.a"}},
		{`{"list":["x"],"other":[1],"map":{"a":{"deep":0.5}}}`, []string{"spec.list[*]", "spec.map.<key>", "spec.map.<key>.deep", "spec.other", "spec.other[*]"}},
	} {
		if got := exercised(step.object); !slices.Equal(got, step.want) {
			t.Errorf("%s exercises %v, want %v", step.object, got, step.want)
		}
	}
	result := c.Result([]Gap{{Path: "spec.free", Reason: "for some reason"}, {Path: "spec.to.b", Reason: "the reason"}, {Path: "spec.t", Reason: "another path"}})
	if want := []reports.FieldNote{{Path: "spec.free.known", Reason: "spec.free: for some reason"}, {Path: "spec.to.b", Reason: "the reason"}}; !reflect.DeepEqual(result.Never, want) || result.Exercised != 18 || result.Objects != 6 {
		t.Errorf("got %+v", result)
	}
	var impossible []string
	for _, one := range result.Impossible {
		impossible = append(impossible, one.Path+": "+one.Reason)
	}
	if want := []string{"spec.held: it requires x: its minimum is more than its maximum", "spec.held.x: it requires x: its minimum is more than its maximum", "spec.held.z: it requires x: its minimum is more than its maximum", "spec.never: no number was found within its limits"}; !slices.Equal(impossible, want) {
		t.Errorf("got %q", impossible)
	}
	data, err := json.Marshal(result)
	var back reports.Coverage
	if err != nil || json.Unmarshal(data, &back) != nil || !reflect.DeepEqual(back, result) {
		t.Errorf("%v, %s", err, data)
	}
}

// A field is left out where it is proved that no valid object has a value there whose loss would be seen, and counts otherwise.
func TestCoverageOfWhatRulesForbid(t *testing.T) {
	t.Parallel()
	c := NewCoverage(defined(t, widget(spec(`flag: {type: boolean, x-kubernetes-validations: [{rule: self == false}]}, free: {type: boolean, x-kubernetes-validations: [{rule: self == true}]},
		mode: {type: string, enum: [A, B], default: A, x-kubernetes-validations: [{rule: self == 'A'}]}, zero: {type: integer, minimum: 0, maximum: 3, x-kubernetes-validations: [{rule: self == 0}]},
		many: {type: integer, x-kubernetes-validations: [{rule: self == 7 && self == 8}]}, empty: {type: object, maxProperties: 0, properties: {x: {type: string}}},
		none: {type: array, maxItems: 0, items: {type: object, properties: {x: {type: string}}}},
		part: {type: object, properties: {gone: {type: object, properties: {a: {type: string}}}}, x-kubernetes-validations: [{rule: '!has(self.gone)'}]}`))).Schema("v1"))
	const refused = "its rules refuse every value but empty ones and its default"
	want := []reports.FieldNote{
		{Path: "spec.empty.x", Reason: "maxProperties is 0 around it"},
		{Path: "spec.flag", Reason: refused},
		{Path: "spec.mode", Reason: refused},
		{Path: "spec.none[*]", Reason: "maxItems is 0 around it"},
		{Path: "spec.none[*].x", Reason: "maxItems is 0 around it"},
		{Path: "spec.part.gone", Reason: "a rule forbids it: !has(self.gone)"},
		{Path: "spec.part.gone.a", Reason: "a rule forbids it: !has(self.gone)"},
		{Path: "spec.zero", Reason: refused},
	}
	result := c.Result(nil)
	if !slices.Equal(result.Impossible, want) {
		t.Errorf("got %q", result.Impossible)
	}
	if want := []reports.FieldNote{{Path: "spec"}, {Path: "spec.empty"}, {Path: "spec.free"}, {Path: "spec.many"}, {Path: "spec.none"}, {Path: "spec.part"}}; !slices.Equal(result.Never, want) {
		t.Errorf("got %q", result.Never)
	}
}

// What only has to be converted counts as seen, and not as exercised.
// TestCoverageOfDefaults has a field with its default alone, and one that is absent. It is said why the first is not exercised.
func TestCoverageOfDefaults(t *testing.T) {
	t.Parallel()
	c := NewCoverage(defined(t, widget(spec(`sealed: {type: boolean, default: true}, text: {type: string}`))).Schema("v1"))
	c.Add(widgetOf(t, `{"name":"a"}`, `{"sealed":true}`))
	if want, got := []reports.FieldNote{{Path: "spec.sealed", Reason: "it only had its default, or was empty"}, {Path: "spec.text"}}, c.Result(nil).Never; !slices.Equal(got[len(got)-2:], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCoverageMeets(t *testing.T) {
	t.Parallel()
	c := NewCoverage(defined(t, widget(spec("a: {type: integer, nullable: true}, list: {type: array, items: {type: string}}"))).Schema("v1"))
	items := strings.Repeat(`"`+strings.Repeat("x", 20_000)+`",`, 17)
	for _, object := range []string{`{"a":null}`, `{"a":9007199254740993,"list":[` + strings.TrimSuffix(items, ",") + `]}`} {
		c.Meet(widgetOf(t, `{"name":"a"}`, object))
	}
	result := c.Result(nil)
	if want := map[string]int{withoutBoth: 2, withSize: 1}; result.Objects != 0 || result.Exercised != 0 || !reflect.DeepEqual(result.Metadata, want) {
		t.Errorf("got %+v", result)
	}
	for i, want := range []string{"", `{"beyond 2^53":1,"null":1,"other":1}`, `{"absent":1,"many inside":1,"other":1,"several inside":1}`, `{"long":17,"other":17}`} {
		if got := encoded(result.Fields[i].Seen); i > 0 && got != want {
			t.Errorf("%s: got %s, want %s", result.Fields[i].Path, got, want)
		}
	}
}

func TestCoverageOfMetadata(t *testing.T) {
	t.Parallel()
	d := namespaced(t, spec("a: {type: string}"))
	c := NewCoverage(d.Schema("v1"))
	for _, object := range d.Generator("v1", 1, nil).Objects(Plain, 32) {
		c.Add(object)
	}
	want := map[string]int{withoutBoth: 8, withoutLabels: 4, withoutAnnotations: 4, withOwner: 8, withGenerateName: 2, withDots: 4, withLongLabel: 2, withLongName: 2, withLongNamespace: 2}
	if got := c.Result(nil).Metadata; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// Plain objects and those of one field each exercise all that can be, and every member and branch.
func TestCoverageOfARealDefinition(t *testing.T) {
	t.Parallel()
	d := services(t)
	g := d.Generator("v1", 1, nil)
	c := NewCoverage(d.Schema("v1"))
	for _, object := range append(g.Objects(Plain, 20), objectsOf(g.Singles())...) {
		c.Add(object)
	}
	result := c.Result(g.Gaps())
	if len(result.Never) > 0 || len(result.Impossible) > 0 || result.Exercised != result.Total {
		t.Errorf("%d of %d: %v, %v", result.Exercised, result.Total, result.Never, result.Impossible)
	}
	seen := map[string]map[string]int{}
	for _, field := range result.Fields {
		seen[field.Path] = field.Seen
		if strings.HasPrefix(field.Path, "metadata") || strings.HasPrefix(field.Path, "spec.manifest.") {
			t.Errorf("%s counts", field.Path)
		}
	}
	for path, sorts := range map[string][]string{
		"spec.strategy": {`is "Recreate"`, `is ""`, seenDefault}, "spec.backend": {"branch 1 of 2", "branch 2 of 2", seenAbsent}, "spec.auth": {"branch 1 of 2", "branch 2 of 2"},
		"spec.surge": {seenInteger, seenString}, "spec.ports": {seenOne, seenSeveral, seenLowest},
	} {
		for _, sort := range sorts {
			if seen[path][sort] == 0 {
				t.Errorf("%s: no %s in %v", path, sort, seen[path])
			}
		}
	}
}
