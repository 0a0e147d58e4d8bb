package disruption

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/kube"
)

// TestUndisturbed holds against the webhook what fails while nothing is disrupted, but for what a busy machine is to blame for.
func TestUndisturbed(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{
		`Post "https://webhook.ns.svc:443/convert?timeout=30s": EOF`:                       true,
		`Post "https://webhook.ns.svc:443/convert?timeout=30s": context deadline exceeded`: false,
		"a panic": true,
	} {
		refused := &kube.RefusedError{Code: http.StatusInternalServerError, Status: metav1.Status{Message: "conversion webhook for example.com/v1, Kind=CronTab failed: " + text}}
		o := outcomeOf(Scenario{}, nil, undisturbed(fmt.Errorf("creating an object at v1: %w", refused)))
		if got := o.Wrong != ""; got != wrong || wrong != (o.Err == nil) || wrong && !strings.Contains(o.Wrong, text) {
			t.Errorf("%s: got %+v", text, o)
		}
		if advised := strings.Contains(o.Wrong, "keep idle ones for more than 90 s"); advised != strings.HasSuffix(text, "EOF") {
			t.Errorf("%s: got %q", text, o.Wrong)
		}
	}
}

// TestVoidIsTriedAgain distinguishes what a busy machine has spoiled from what can be judged.
func TestVoidIsTriedAgain(t *testing.T) {
	t.Parallel()
	history := func(change func(r *record.Recorder)) *record.History {
		r := record.New(record.Header{Scenario: string(Scenarios()[0].ID)})
		change(r)
		return r.History()
	}
	for name, test := range map[string]struct {
		outcome Outcome
		want    bool
	}{
		"too slow to begin": {Outcome{Err: voidError{errors.New("void")}}, true},
		"another error":     {Outcome{Err: errors.New("no such file")}, false},
		"wrong":             {Outcome{Wrong: "it fails"}, false},
		"skipped":           {Outcome{Skipped: "it does not apply"}, false},
		"no requests":       {Outcome{History: history(func(*record.Recorder) {})}, true},
		"a violation":       {Outcome{History: history(func(r *record.Recorder) { r.Mark(violation+"1", "it was killed") })}, false},
	} {
		if got := test.outcome.isVoid(); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
