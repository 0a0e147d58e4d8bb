package proof

import (
	"slices"
	"strings"
	"testing"
)

// owned is an entry of a manager with a field each for spec and metadata.annotations.
func owned(manager, fields string) owner {
	return owner{manager, "Update", "", "example.com/v1", fields, "2026-01-01T12:00:00Z"}
}

// TestUndone finds writes that others undid, and leaves what may be meant.
func TestUndone(t *testing.T) {
	t.Parallel()
	const host, note = `{"f:spec":{"f:host":{}}}`, `{"f:metadata":{"f:annotations":{"f:example.com/note":{}}}}`
	spec := func(host string, owners ...owner) written {
		return written{map[string]any{"spec": map[string]any{"host": host, "hosts": []any{host}}}, owners}
	}
	noted := func(note any, owners ...owner) written {
		annotations := map[string]any{}
		if note != nil {
			annotations["example.com/note"] = note
		}
		return written{map[string]any{"metadata": map[string]any{"annotations": annotations}}, owners}
	}
	lists := strings.Replace(host, `"f:host":{}`, `"f:host":{},"f:hosts":{}`, 1)
	for name, test := range map[string]struct {
		all  []written
		want []string
	}{
		"one write":                     {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists))}, nil},
		"a stale write":                 {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("migrator", lists))}, []string{`migrator undid controller: .spec.host ("b", now "a"), .spec.hosts (["b"], now ["a"])`}},
		"another value":                 {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("c", owned("migrator", lists))}, nil},
		"who wrote it puts it back":     {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("controller", lists))}, nil},
		"who had it puts it back":       {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("kubectl", lists))}, nil},
		"a write between":               {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("c", owned("other", lists)), spec("a", owned("migrator", lists))}, nil},
		"what was added is taken away":  {[]written{noted(nil), noted("x", owned("controller", note)), noted(nil, owned("migrator", host))}, []string{`migrator undid controller: .metadata.annotations.example.com/note ("x", now nothing)`}},
		"what was removed is back":      {[]written{noted("x", owned("kubectl", note)), noted(nil, owned("controller", host)), noted("x", owned("migrator", note))}, []string{`migrator undid controller: .metadata.annotations.example.com/note (nothing, now "x")`}},
		"only the last is known":        {[]written{spec("a", owned("migrator", lists))}, nil},
		"nothing is known":              {nil, nil},
		"fields that nobody knows":      {[]written{spec("a"), spec("b"), spec("a")}, nil},
		"a field that begins like that": {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists), owned("kubectl", `{"f:spec":{"f:hostess":{}}}`)), spec("a", owned("migrator", lists))}, []string{`migrator undid controller: .spec.host ("b", now "a"), .spec.hosts (["b"], now ["a"])`}},
	} {
		var got []string
		for _, u := range undone(test.all) {
			got = append(got, u.by+" undid "+u.writer+": "+strings.Join(u.differences, ", "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
