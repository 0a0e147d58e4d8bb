package config

import "testing"

func TestLossyMatches(t *testing.T) {
	t.Parallel()
	everywhere := Lossy{Path: pattern(t, "spec.a")}
	here := Lossy{Path: pattern(t, "spec.a"), Group: "g", Kind: "K", From: "v1", Through: "v2"}
	for _, test := range []struct {
		group, kind, from, through, path string
		everywhere, here                 bool
	}{
		{"g", "K", "v1", "v2", "spec.a.b", true, true},
		{"h", "K", "v1", "v2", "spec.a", true, false},
		{"g", "L", "v1", "v2", "spec.a", true, false},
		{"g", "K", "v2", "v2", "spec.a", true, false},
		{"g", "K", "v1", "v1", "spec.a", true, false},
		{"g", "K", "v1", "v2", "spec.b", false, false},
		{"", "", "", "", "spec.a", true, false},
	} {
		if got := everywhere.Matches(test.group, test.kind, test.from, test.through, test.path); got != test.everywhere {
			t.Errorf("anywhere, %+v: got %v", test, got)
		}
		if got := here.Matches(test.group, test.kind, test.from, test.through, test.path); got != test.here {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}
