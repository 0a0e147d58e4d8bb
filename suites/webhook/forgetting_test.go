package webhook

import (
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
	spectest "github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestForgetsAtTheEnd has the chapter keep what it has made until its last spec is over, and nothing beyond that, while others run.
func TestForgetsAtTheEnd(t *testing.T) {
	t.Parallel()
	ids := []requirement.ID{requirement.WebhookConversionRoundTrip, requirement.WebhookConversionZeroValues, requirement.WebhookResponseOrder}
	kept := func(ch *chapter) int {
		return len(ch.stock.pools) + len(ch.stock.everything) + len(ch.stock.special) + len(ch.journeys.trips) + len(ch.talk.written)
	}
	var ran *chapter
	var during []int
	env := spectest.Env(t, suites.Options{Subject: spectest.Subject(t), Seed: 1, Select: func(id requirement.ID) bool { return slices.Contains(ids, id) }})
	registered := suites.Area{Name: "webhook", Register: func(env *suites.Env) {
		var ch *chapter
		AfterEach(func() {
			ran = ch
			during = append(during, kept(ch))
		})
		ch = register(env, 0)
	}}
	if _, err := suites.Run(t.Context(), env, []suites.Area{registered}, spectest.Quiet{}); err != nil {
		t.Fatal(err)
	}
	if len(during) != len(ids) || slices.Min(during[1:]) == 0 {
		t.Errorf("at the end of its specs, it kept %v", during)
	}
	if left := kept(ran); left != 0 {
		t.Errorf("when all was over, it kept %d", left)
	}
}
