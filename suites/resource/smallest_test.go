package resource

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestConflictsAreExplained wants to be said what to do about a controller that writes the objects of specs, and nothing of other errors.
func TestConflictsAreExplained(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "widgets"}, "a", errors.New("the object has been modified"))
	if err := explained(conflict); !errors.Is(err, conflict) || !strings.Contains(err.Error(), "a controller in the webhook's program") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{nil, apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "a")} {
		if got := explained(err); !errors.Is(got, err) || got != nil && strings.Contains(got.Error(), "controller") {
			t.Errorf("got %v of %v", got, err)
		}
	}
}
