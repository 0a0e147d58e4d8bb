package webhook

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
)

// budget is the time that the chapter may take.
type budget struct {
	env *suites.Env

	began     time.Time // when the first spec ran
	exhausted bool      // whether Spent of the subject was called
}

// spent reports whether the time budget is used up.
func (b *budget) spent() bool {
	s := b.env.Subject
	if b.began.IsZero() {
		b.began = time.Now()
	}
	if s.Budget == 0 || time.Since(b.began) < s.Budget {
		return false
	}
	if s.Spent != nil && !b.exhausted {
		b.exhausted = true
		s.Spent()
	}
	return true
}

// inBudget skips the running spec when there is no time left for it.
func (b *budget) inBudget() {
	GinkgoHelper()
	if b.spent() {
		Skip(fmt.Sprintf("not judged: the time budget of %s is used up", b.env.Subject.Budget))
	}
}

// withinBudget is a context that ends with the time budget.
func (b *budget) withinBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if budget := b.env.Subject.Budget; budget > 0 {
		return context.WithDeadline(ctx, b.began.Add(budget))
	}
	return context.WithCancel(ctx)
}
