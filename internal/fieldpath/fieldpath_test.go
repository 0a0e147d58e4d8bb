package fieldpath

import "testing"

func TestGeneralize(t *testing.T) {
	t.Parallel()
	for path, general := range map[string]string{
		"spec.list[3].name": "spec.list[*].name", "a[0][12]": "a[*][*]", "a['b[3]'].c": "a['b[3]'].c", "": "", "a[*].b": "a[*].b",
	} {
		if got := Generalize(path); got != general {
			t.Errorf("%s: got %s, want %s", path, got, general)
		}
	}
	for _, broken := range []string{"a['b", "a[", "a[']", "]", "...", `a['b\`, "a[-1]"} {
		Split(broken) // must come to an end
		Generalize(broken)
	}
}
