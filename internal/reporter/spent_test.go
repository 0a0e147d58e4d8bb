package reporter

import (
	"maps"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
)

// TestSpent shows what was measured, in the order in which it happened, and adds up what merged runs spent.
func TestSpent(t *testing.T) {
	t.Parallel()
	r := &reports.Report{Spent: map[string]float64{
		"starting": 0.25, "chapter.webhook": 4, "chapter.resource": 7.46, "stopping": 2, "webhook": 3, "apiServer": 5, "shrinking": 0.75, "generating": 0.01,
	}}
	const want = "starting 0.2 s, webhook 4.0 s, resource 7.5 s, stopping 2.0 s; in the chapters, the webhook's answers 3.0 s, the API server's answers 5.0 s, shrinking objects 0.8 s"
	if got := spentText(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var out strings.Builder
	Screen{Out: &out}.Summarize(r)
	if !strings.Contains(out.String(), "\ntime: "+want+"\n") {
		t.Errorf("the terminal has\n%s", &out)
	}
	facts := Facts(r)
	if last := facts[len(facts)-1]; last.Name != "spent on" || last.Value != want {
		t.Errorf("the page has %+v", facts)
	}
	if got := spentText(&reports.Report{}); got != "" || addedUp(nil, nil) != nil {
		t.Errorf("of nothing: %q, %v", got, addedUp(nil, nil))
	}
	if got := addedUp(map[string]float64{"a": 1, "b": 2}, map[string]float64{"b": 3}); !maps.Equal(got, map[string]float64{"a": 1, "b": 5}) {
		t.Errorf("together: %v", got)
	}
}
