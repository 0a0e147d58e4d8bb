package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestNotForOthers has webhooks that answer otherwise as time goes by, or refuse a batch once. Neither is said to be for the other objects.
func TestNotForOthers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var refused atomic.Bool
	for name, handler := range map[string]stranger{
		"as time goes by": {change: func(object map[string]any) {
			if spec := specOf(object); spec != nil && spec["first"] != nil {
				spec["first"] = strconv.FormatInt(asked.Add(1)/400, 10)
			}
		}},
		"once": {refuses: func(review map[string]any) int {
			request, _ := review["request"].(map[string]any)
			if objects, _ := request["objects"].([]any); len(objects) > batched && strings.Contains(fmt.Sprint(objects), "namespace:other") && refused.CompareAndSwap(false, true) {
				return http.StatusInternalServerError
			}
			return 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: handler}.of(t, assorted)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchIndependent) {
				if r.Verdict == requirement.Failed {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			if name == "once" && !refused.Load() {
				t.Error("no batch was refused")
			}
		})
	}
}
