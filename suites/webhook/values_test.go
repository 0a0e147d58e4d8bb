package webhook

import (
	"slices"
	"testing"
)

func TestFewZeros(t *testing.T) {
	t.Parallel()
	added := func(path string, dull bool) found {
		return found{finding: finding{path: path, message: path, effect: effect{sort: "added", dull: dull}}}
	}
	all := []found{
		added("spec.image", false), added("spec.a", true), added("spec.b[0]", true), added("spec.b[1]", true),
		added("spec.c", true), added("spec.d", true), added("spec.e[3]", true), added("spec.e[4]", true), added("spec.a", true),
	}
	var messages []string
	for _, f := range fewZeros(all) {
		messages = append(messages, f.message)
	}
	want := []string{"spec.image", "spec.a", "spec.b[0]", "spec.b[1]", `spec.c; 2 more fields get 0, false or ""`, "spec.a"}
	if !slices.Equal(messages, want) {
		t.Errorf("got %q, want %q", messages, want)
	}
}
