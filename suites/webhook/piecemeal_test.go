package webhook

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// TestPiecemeal has a property look at no more objects at once than there are in a request, and finds the same in the same objects.
func TestPiecemeal(t *testing.T) {
	t.Parallel()
	objects := make([]*unstructured.Unstructured, 2*perRequest+1)
	for i := range objects {
		objects[i] = &unstructured.Unstructured{}
	}
	var sizes []int
	what := property{check: func(_ context.Context, _ corpus.Pair, part []*unstructured.Unstructured) []finding {
		sizes = append(sizes, len(part))
		return []finding{{object: len(part) - 1}}
	}}
	var got []int
	for _, f := range what.piecemeal().check(t.Context(), corpus.Pair{}, objects) {
		got = append(got, f.object)
	}
	if want := []int{perRequest, perRequest, 1}; !slices.Equal(sizes, want) {
		t.Errorf("it looks at %v objects, want %v", sizes, want)
	}
	if want := []int{perRequest - 1, 2*perRequest - 1, 2 * perRequest}; !slices.Equal(got, want) {
		t.Errorf("it finds %v, want %v", got, want)
	}
}
