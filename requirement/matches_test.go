package requirement

import "testing"

func TestMatches(t *testing.T) {
	const id = ID("storage.update.rewrites")
	for pattern, want := range map[string]bool{
		"storage.update.rewrites":      true,
		"storage.update":               true,
		"storage":                      true,
		"stor":                         false,
		"storage.":                     false,
		"storage.up":                   false,
		"storage.update.rewrites.more": false,
		"update":                       false,
		"":                             false,
		"*":                            true,
		"*.rewrites":                   true,
		"storage.*":                    true,
		"storage.*.read":               false,
		"storage.update.rewrite?":      true,
		"[rs]torage.*":                 true,
		"STORAGE":                      false,
	} {
		if got, err := id.Matches(pattern); err != nil || got != want {
			t.Errorf("%q: %t, %v, want %t", pattern, got, err, want)
		}
	}
	for _, pattern := range []string{"[", "storage.[a", `\`, "zzz["} {
		if _, err := id.Matches(pattern); err == nil {
			t.Errorf("%q: no error", pattern)
		}
	}
}
