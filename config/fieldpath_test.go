package config_test

import (
	"testing"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

func TestAround(t *testing.T) {
	for _, test := range []struct {
		paths []string
		want  string
	}{
		{[]string{"spec.list[0].name"}, "spec.list[0].name"},
		{[]string{"spec.list[0].name", "spec.list[0].size"}, "spec.list[0]"},
		{[]string{"spec.list[0].name", "spec.list[1].name", "spec.other"}, "spec"},
		{[]string{"spec.specs", "spec.spec"}, "spec"},
		{[]string{"spec.a", "status.a"}, ""},
	} {
		if got := fieldpath.Around(test.paths...); got != test.want {
			t.Errorf("around %v is %q, want %q", test.paths, got, test.want)
		}
	}
}

func TestGeneralize(t *testing.T) {
	t.Parallel()
	for path, general := range map[string]string{
		"spec.list[3].name": "spec.list[*].name", "a[0][12]": "a[*][*]", "a['b[3]'].c": "a['b[3]'].c", "": "", "a[*].b": "a[*].b",
	} {
		if got := fieldpath.Generalize(path); got != general {
			t.Errorf("%s: got %s, want %s", path, got, general)
		}
	}
	for _, broken := range []string{"a['b", "a[", "a[']", "]", "...", `a['b\`, "a[-1]"} {
		fieldpath.Split(broken) // must come to an end
		fieldpath.Generalize(broken)
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		path, other string
		want        bool
	}{
		{"spec.list", "spec.list", true},
		{"spec.list[3].name", "spec.list", true},
		{"spec.list.name", "spec.list", true},
		{"spec.lists", "spec.list", false},
		{"spec", "spec.list", false},
	} {
		if got := fieldpath.Within(test.path, test.other); got != test.want {
			t.Errorf("%s within %s: got %t", test.path, test.other, got)
		}
	}
}
