package suites

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestByPriority has the example of the documents, with numbers of several digits and names that nearly follow the pattern.
func TestByPriority(t *testing.T) {
	t.Parallel()
	want := []string{"v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "v1beta", "v9rc1"}
	for range 20 {
		given := slices.Clone(want)
		rand.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		before := slices.Clone(given)
		if got := ByPriority(given); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if !slices.Equal(given, before) {
			t.Fatal("what was given was sorted too")
		}
	}
}
