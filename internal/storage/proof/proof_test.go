package proof

import (
	"context"
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/history"
)

// TestOutcomes wants a client to know no more than its answer says.
func TestOutcomes(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed"))
	for _, test := range []struct {
		kind history.Kind
		err  error
		want history.Outcome
	}{
		{history.Patch, nil, history.Acknowledged},
		{history.Patch, context.DeadlineExceeded, history.Unknown},
		{history.Patch, apierrors.NewNotFound(schema.GroupResource{}, "a"), history.NotFound},
		{history.Create, apierrors.NewNotFound(schema.GroupResource{}, "namespace"), history.Refused},
		{history.Create, apierrors.NewAlreadyExists(schema.GroupResource{}, "a"), history.Exists},
		{history.Update, conflict, history.Refused},
		{history.Update, apierrors.NewInternalError(errors.New("the webhook failed")), history.Unknown},
		{history.Update, apierrors.NewTimeoutError("slow", 1), history.Unknown},
		{history.Update, apierrors.NewTooManyRequestsError("later"), history.Refused},
		{history.Update, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "put", schema.GroupResource{}, "a", "", 0, false), history.Refused},
	} {
		if got := outcomeOf(test.kind, test.err); got != test.want {
			t.Errorf("%s, %v: got %q, want %q", test.kind, test.err, got, test.want)
		}
	}
}
