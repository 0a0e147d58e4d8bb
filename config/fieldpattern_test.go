package config_test

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]struct{ matches, not []string }{
		"spec.mode": {
			[]string{"spec.mode", "spec.mode.x", "spec.mode[3]", "spec.mode[0].x['a/b']", "spec['mode']", "['spec'].mode"},
			[]string{"spec", "spec.modes", "spec.mod", "status.mode", "specmode", "spec[0]", "x.spec.mode", ""},
		},
		"spec.legacy[*].mode": {
			[]string{"spec.legacy[0].mode", "spec.legacy[31].mode.x", "spec.legacy[*].mode"},
			[]string{"spec.legacy.mode", "spec.legacy.x.mode", "spec.legacy[0]", "spec.legacy[0].modes", "spec.legacy[0][0].mode"},
		},
		"spec.legacy[3]":    {[]string{"spec.legacy[3]", "spec.legacy[3].a"}, []string{"spec.legacy[30]", "spec.legacy[*]", "spec.legacy.3", "spec.legacy['3']"}},
		"spec.matrix[*][1]": {[]string{"spec.matrix[7][1]"}, []string{"spec.matrix[1]", "spec.matrix[1][7]"}},
		"spec.*.mode":       {[]string{"spec.a.mode", "spec['a.b'].mode"}, []string{"spec[0].mode", "spec.mode", "spec.a.b.mode"}},
		"spec.*":            {[]string{"spec.a", "spec.a.b", "spec['*']"}, []string{"spec", "spec[0]"}},
		"spec.['*']":        {},
		"spec['*']":         {[]string{"spec['*']"}, []string{"spec.a"}},
		"metadata.annotations['example.com/a']": {
			[]string{"metadata.annotations['example.com/a']"},
			[]string{"metadata.annotations.example.com/a", "metadata.annotations['example.com/ab']", "metadata.annotations"},
		},
		`data['it\'s \\ here']`: {[]string{`data['it\'s \\ here']`, `data['it\'s \\ here'].x`}, []string{`data['its']`, `data['it`}},
		"data[']']":             {[]string{"data[']']"}, []string{"data"}},
		"data['']":              {[]string{"data['']"}, []string{"data"}},
		"grün.größe":            {[]string{"grün.größe.x"}, []string{"grün.grosse"}},
		"a-b.c_d.e$":            {[]string{"a-b.c_d.e$"}, []string{"a-b"}},
	} {
		p, err := fieldpath.ParsePattern(text)
		if len(test.matches)+len(test.not) == 0 {
			if err == nil {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if err != nil || p.String() != text {
			t.Errorf("%s: %v, got %q", text, err, p)
		}
		for _, path := range test.matches {
			if !p.Matches(path) {
				t.Errorf("%s does not match %s", text, path)
			}
		}
		for _, path := range test.not {
			if p.Matches(path) {
				t.Errorf("%s matches %s", text, path)
			}
		}
	}
	if (fieldpath.Pattern{}).Matches("spec") {
		t.Error("no pattern matches")
	}
}

func TestNoPattern(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":             `the path "" is empty; write it as spec.list[*].name`,
		".spec":        "begins with a dot; leave the dot out",
		"spec.":        "has no key after a dot",
		"spec..a":      "has no key after a dot",
		".":            "begins with a dot",
		"spec[":        "has a [ without ]",
		"spec[*":       "has a [ without ]",
		"spec[]":       "has []; write [*]",
		"spec[-1]":     "has [-1]; write [*]",
		"spec[a]":      "has [a]; write [*] for any item of a list, [3] for one, and ['a/b'] for a key",
		"spec[\"a\"]":  `has ["a"]; write [*]`,
		"spec['a]":     "has a [' without ']",
		"spec['a":      "has a [' without ']",
		`spec['a\']`:   "has a [' without ']",
		"spec['a'b']":  `has a quote within quotes; write \' for it`,
		"spec[0]a":     `has "a" after a ]; put a dot in between`,
		"spec]":        `has the unusual key "spec]"; write ['...'] around it`,
		"spec. a":      `has the unusual key " a"`,
		"spec.'a'":     `has the unusual key "'a'"`,
		"$.spec":       "",
		"spec.a b":     "",
		"spec.[*]":     "has no key after a dot",
		"spec\n.a":     `has the unusual key "spec\n"`,
		"spec[1].a[x]": "has [x]",
	} {
		_, err := fieldpath.ParsePattern(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want something with %s", text, err, want)
		}
	}
}

// FuzzPattern wants a pattern to match itself, and all below it, and nothing to be both a pattern and a mistake.
func FuzzPattern(f *testing.F) {
	for _, text := range []string{"spec.a[*].b", "a['b/c']", `['\'']`, "a[3]", "*", ".", "a[", "['a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fieldpath.ParsePattern(text)
		if err != nil {
			if p.Matches(text) {
				t.Errorf("%q is no pattern, and matches", text)
			}
			return
		}
		if !p.Matches(text) || !p.Matches(text+".x") || !p.Matches(text+"[0]['a.b']") {
			t.Errorf("%q does not match itself", text)
		}
		if strings.HasPrefix(text, ".") {
			t.Errorf("%q begins with a dot", text)
		}
	})
}
