package resource

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/requirement"
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

// TestAnswered wants the requirement that a response violates by what an API server says of that, and none by what the webhook says.
func TestAnswered(t *testing.T) {
	t.Parallel()
	const of = "conversion webhook for example.com/v1, Kind=Widget "
	for message, want := range map[string]requirement.ID{
		of + `failed: Post "https://127.0.0.1:1/convert": EOF`:                                           requirement.WebhookFailureAvoided,
		of + `failed: Post "https://127.0.0.1:1/convert": stream error: stream ID 1; INTERNAL_ERROR`:     requirement.WebhookFailureAvoided,
		of + `failed: Post "https://127.0.0.1:1/convert": read tcp a->b: read: connection reset by peer`: requirement.WebhookFailureAvoided,
		of + `failed: Post "https://127.0.0.1:1/convert": context deadline exceeded`:                     "",
		of + `failed: no response provided`:                                                              requirement.WebhookResponseStanza,
		of + `failed: expected webhook response of a, got b`:                                             requirement.WebhookResponseReviewVersion,
		of + `failed: spec.x: must have the same name: a != b`:                                           "",
		"reading failed: " + of + `returned invalid object: must have the same UID: a != b`:              requirement.WebhookMetadataUID,
		`must have the same UID: a != b`:                                                                 "",
	} {
		found := (&violation{message: message}).answered()
		var got requirement.ID
		for _, f := range found {
			if got = f.Violates; f.From != "v1" || f.To != "" || f.Message != message {
				t.Errorf("%s: got %+v", message, f)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}
