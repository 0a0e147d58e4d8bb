package corpus

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Fields whose values a rule limits are in objects all the same, with any seed.
func TestRulesAreSolved(t *testing.T) {
	slow(t)
	t.Parallel()
	for name, test := range map[string]struct{ schema, path string }{
		"duration":          {"a: {type: string, x-kubernetes-validations: [{rule: \"duration(self) >= duration('1ms')\"}]}", "spec.a"},
		"duration of other": {"a: {type: string}, x: {type: string}, part: {type: object, required: [b], properties: {b: {type: string}}, x-kubernetes-validations: [{rule: \"duration(self.b) < duration('1h')\"}]}", "spec.part.b"},
		"pattern":           {"a: {type: string, x-kubernetes-validations: [{rule: \"self.matches('^[a-z]+@v[0-9]{4}$')\"}]}", "spec.a"},
		"prefix":            {"a: {type: string, x-kubernetes-validations: [{rule: \"self.startsWith('unix://') && !self.endsWith('/')\"}]}", "spec.a"},
		"size":              {"a: {type: string, x-kubernetes-validations: [{rule: \"size(self) == 17\"}]}", "spec.a"},
		"url":               {"a: {type: string, maxLength: 100, x-kubernetes-validations: [{rule: \"isURL(self) && url(self).getScheme() == 'https'\"}]}", "spec.a"},
		"quantity":          {"a: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: \"isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))\"}]}", "spec.a"},
		"network":           {"a: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: \"isCIDR(self)\"}]}, b: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: \"isIP(self) && ip(self).family() == 6\"}]}", "spec.b"},
		"number":            {"a: {type: integer, x-kubernetes-validations: [{rule: 'self > 30000 && self < 30003'}]}", "spec.a"},
		"siblings":          {"part: {type: object, required: [low, high], properties: {low: {type: integer}, high: {type: integer}}, x-kubernetes-validations: [{rule: 'self.low + 1 == self.high'}]}", "spec.part.low"},
		"both or none":      {"part: {type: object, properties: {a: {type: string}, b: {type: string}}, x-kubernetes-validations: [{rule: 'has(self.a) == has(self.b)'}]}", "spec.part.a"},
		"one of many":       {"part: {type: object, properties: {a: {type: string}, b: {type: string}, c: {type: integer}, d: {type: boolean}, e: {type: string}}, x-kubernetes-validations: [{rule: '[has(self.a),has(self.b),has(self.c),has(self.d),has(self.e)].filter(x,x==true).size() == 1'}]}", "spec.part.e"},
		"same lengths":      {"part: {type: object, required: [a, b], properties: {a: {type: array, maxItems: 9, items: {type: string}}, b: {type: array, maxItems: 9, items: {type: string}}}, x-kubernetes-validations: [{rule: 'size(self.a) == size(self.b) && size(self.a) > 0'}]}", "spec.part.a[*]"},
		"items":             {"part: {type: array, maxItems: 9, items: {type: object, required: [op], properties: {op: {type: string, enum: [In, Gt]}, values: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}}, x-kubernetes-validations: [{rule: \"self.all(x, x.op == 'Gt' ? (has(x.values) && x.values.size() == 1 && int(x.values[0]) >= 0) : true)\"}]}", "spec.part[*].values[*]"},
		"keys":              {"part: {type: object, maxProperties: 9, additionalProperties: {type: string}, x-kubernetes-validations: [{rule: 'self.all(key, 0 < int(key) && int(key) <= 65535)'}]}", "spec.part.<key>"},
		"not a star":        {"part: {type: array, maxItems: 9, items: {type: string, maxLength: 9}, x-kubernetes-validations: [{rule: \"!('*' in self && self.size() > 1)\"}]}", "spec.part[*]"},
		"parts":             {"a: {type: string, maxLength: 30, x-kubernetes-validations: [{rule: \"self.split('@')[0] in ['x1', 'y1']\"}, {rule: \"self.split('@')[0] == 'y1' ? self.split('@')[1] == 'latest' : true\"}, {rule: \"self.matches('^[a-z0-9]+@.+$')\"}]}", "spec.a"},
		"unchanged":         {"a: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}", "spec.a"},
	} {
		d := defined(t, widget(spec(test.schema)))
		for seed := range int64(10) {
			g := d.Generator("v1", seed, nil)
			objects := g.Objects(Plain, 20)
			sound(t, d.Schema("v1"), objects)
			reached := 0
			for _, object := range objects {
				if reaches(object.Object, fieldpath.Split(test.path)) {
					reached++
				}
			}
			if len(objects) != 20 || reached < 2 {
				t.Errorf("%s, seed %d: %d objects, %d of them with %s; %v", name, seed, len(objects), reached, test.path, g.Gaps())
			}
		}
	}
}

// TestWhatRulesTalkAbout has the reader of rules find places, strings and numbers.
func TestWhatRulesTalkAbout(t *testing.T) {
	t.Parallel()
	fields := `list: {type: array, maxItems: 5, items: {type: object, properties: {name: {type: string, maxLength: 9}, namespace: {type: string, maxLength: 9}}}},
		map: {type: object, maxProperties: 5, additionalProperties: {type: object, properties: {count: {type: integer}}}}, t: {type: string}`
	rule := `!has(self.list) || self.list.all(x, has(x.name) && x.__namespace__ != 'kube') && self.map.exists(k, self.map[k].count > 7) && (has(self.t) ? self.t : '').startsWith('s3://')`
	d := defined(t, widget("{type: object, properties: {spec: {type: object, properties: {"+fields+"}, x-kubernetes-validations: [{rule: \""+rule+"\"}]}}}"))
	ruling := d.Schema("v1").rulings()["spec"]
	if ruling == nil || len(ruling.rules) != 1 {
		t.Fatalf("got %v", ruling)
	}
	read := ruling.rules[0]
	var paths []string
	for _, n := range read.fields {
		paths = append(paths, n.path)
	}
	slices.Sort(paths)
	if want := []string{"spec.list", "spec.list[*]", "spec.list[*].name", "spec.list[*].namespace", "spec.map", "spec.map.<key>", "spec.map.<key>.count", "spec.t"}; !slices.Equal(paths, want) {
		t.Errorf("got the fields %v", paths)
	}
	if got := strings.Join(read.texts, " "); !strings.Contains(got, "kube") || !strings.Contains(got, "s3://") || !slices.Equal(read.numbers, []int64{7}) || !slices.Contains(read.functions["startsWith"], "s3://") {
		t.Errorf("got %q, %v, %v", got, read.numbers, read.functions)
	}
}
