package storage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTeller finds versions by times, which takes longer than a test can wait.
func TestTeller(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	known := teller{changed: noon, storage: "v1", segments: []segment{{100, "v1"}, {50, "v1beta1"}}}
	object := func(revision string, created, changed time.Duration) *stored {
		o := &stored{}
		o.ResourceVersion, o.CreationTimestamp = revision, metav1.NewTime(noon.Add(created))
		if changed != 0 {
			at := metav1.NewTime(noon.Add(changed))
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &at}, {}}
		}
		return o
	}
	for name, test := range map[string]struct {
		teller teller
		object *stored
		want   string
		basis  Basis
	}{
		"after the change":         {known, object("100", -time.Hour, 0), "v1", History},
		"before the change":        {known, object("99", -time.Hour, 0), "v1beta1", History},
		"forgotten":                {known, object("49", -time.Hour, 0), "", ""},
		"created later":            {known, object("49", time.Minute, 0), "v1", Times},
		"created at nearly once":   {known, object("49", margin, 0), "", ""},
		"changed later":            {known, object("49", -time.Hour, time.Minute), "v1", Times},
		"changed before":           {known, object("49", -time.Hour, -time.Minute), "", ""},
		"nothing is known":         {teller{}, object("49", time.Hour, 0), "", ""},
		"never changed":            {teller{only: "v2", created: noon}, object("1", 0, 0), "v2", NeverChanged},
		"never changed, nearly":    {teller{only: "v2", created: noon}, object("1", -margin, 0), "v2", NeverChanged},
		"older than what did not":  {teller{only: "v2", created: noon}, object("1", -time.Minute, 0), "", ""},
		"revisions of another way": {known, object("a", -time.Hour, 0), "", ""},
	} {
		if got, basis := test.teller.version(test.object); got != test.want || basis != test.basis {
			t.Errorf("%s: got %s by %s, want %s by %s", name, got, basis, test.want, test.basis)
		}
	}
}
