package corpus

import (
	"slices"
	"strings"
	"testing"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	s := services(t).Schema("v1")
	const spec = `"replicas":1,"maxReplicas":2,"image":"x","ports":[{"port":1,"protocol":"TCP"}]`
	object := func(more string) map[string]any {
		return parsed(t, `{"apiVersion":"shop.example.com/v1","kind":"ShopService","metadata":{"name":"a"},"spec":{`+spec+more+`}}`)
	}
	if got := s.Problems(object("")); got != nil {
		t.Errorf("got %v", got)
	}
	for _, test := range []struct {
		more, path string
		sort       ProblemSort
	}{
		{`,"enabled":"yes"`, "spec.enabled", WrongType},
		{`,"generation":1.5`, "spec.generation", WrongType},
		{`,"extra":1`, "spec.extra", Unknown},
		{`,"enabled":null`, "spec.enabled", Unknown},
		{`,"template":{"metadata":{"uid":"x"}}`, "spec.template.metadata.uid", Unknown},
		{`,"manifest":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","extra":"x"}}`, "spec.manifest.metadata.extra", Unknown},
		{`,"strategy":"Never"`, "spec.strategy", Invalid},
		{`,"batch":7`, "spec.batch", Invalid},
		{`,"ratio":1.5`, "spec.ratio", Invalid},
		{`,"deadline":"tomorrow"`, "spec.deadline", Invalid},
		{`,"limits":{"cpu":"lots"}`, "spec.limits.cpu", Invalid},
		{`,"backend":{"service":{"name":"a"},"bucket":{"key":"b"}}`, "spec.backend", Invalid},
		{`,"auth":{"type":"basic"}`, "spec.auth.user", Invalid},
		{`,"zones":["a","a"]`, "spec.zones[1]", Invalid},
		{`,"window":{}`, "spec.window", Invalid},
		{`,"manifest":{"kind":"A"}`, "spec.manifest.apiVersion", Invalid},
		{`,"manifest":{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":"?"}}}`, "spec.manifest.metadata.labels", Invalid},
		{`,"replicas":3`, "spec", Rule},
		{`,"rows":[{},{"low":2,"high":1}]`, "spec.rows[1]", Rule},
	} {
		problems := s.Problems(object(test.more))
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == test.path && p.Sort == test.sort && p.Message != "" }) {
			t.Errorf("%s: got %+v, want one of the sort %s at %s", test.more, problems, test.sort, test.path)
		}
	}
	long := object(`,"strategy":"` + strings.Repeat("x", 10_000) + `"`)
	if problems := s.Problems(long); len(problems) != 1 || len(problems[0].String()) > 500 {
		t.Errorf("got %d problems, the first with %d bytes", len(problems), len(problems[0].String()))
	}
	var none *Schema
	if none.Problems(long) != nil {
		t.Error("nothing is known, and there are problems")
	}
	none.Prepare(long)
}

func TestProblemsLeavesTheObjectAsItIs(t *testing.T) {
	t.Parallel()
	object := parsed(t, `{"spec":{"extra":1,"note":null,"enabled":null}}`)
	services(t).Schema("v1").Problems(object)
	if got := encoded(object); got != `{"spec":{"enabled":null,"extra":1,"note":null}}` {
		t.Errorf("it became %s", got)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	object := parsed(t, `{"apiVersion":"shop.example.com/v1","kind":"ShopService","metadata":{"name":"a","odd":1},"spec":{
		"extra":1,"note":null,"enabled":null,"strategy":null,"ports":[{"port":1}],"values":{"any":null},"template":{"metadata":{"uid":"x","labels":{"a":"b"}}},
		"manifest":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","odd":1},"data":{}}}}`)
	services(t).Schema("v1").Prepare(object)
	delete(object, "metadata")
	want := `{"apiVersion":"shop.example.com/v1","kind":"ShopService","spec":{` +
		`"manifest":{"apiVersion":"v1","data":{},"kind":"A","metadata":{"name":"a"}},"maxReplicas":10,"note":null,"ports":[{"port":1,"protocol":"TCP"}],` +
		`"strategy":"RollingUpdate","template":{"metadata":{"labels":{"a":"b"}}},"values":{"any":null}}}`
	if got := encoded(object); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUnknownKeysWithDots wants the paths of what API servers drop to name keys with dots as such, in lists too.
func TestUnknownKeysWithDots(t *testing.T) {
	t.Parallel()
	s := defined(t, widget(spec("list: {type: array, items: {type: object, properties: {known: {type: object}}}}"))).Schema("v1")
	object := parsed(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"list":[{},{"known":{"app.kubernetes.io/part-of":{}}}]}}`)
	problems := s.Problems(object)
	if len(problems) != 1 || problems[0].Path != "spec.list[1].known['app.kubernetes.io/part-of']" {
		t.Errorf("got %v", problems)
	}
	if _, found := Value(object, problems[0].Path); !found {
		t.Error("there is nothing at the path")
	}
	// What is against a limit is named in another way upstream.
	s = defined(t, widget(spec("plugins: {type: object, additionalProperties: {type: integer, maximum: 3}}"))).Schema("v1")
	problems = s.Problems(parsed(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"plugins":{"app.kubernetes.io/part-of":7}}}`))
	if len(problems) != 1 || problems[0].Path != "spec.plugins['app.kubernetes.io/part-of']" {
		t.Errorf("got %v", problems)
	}
}
