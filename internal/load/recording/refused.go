package recording

import (
	"context"
	"slices"
	"sync"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/requirement"
)

// askers is how many requests are under way at once, at most, when it is found out what a webhook refuses.
const askers = 8

// Refused are exchanges whose request a webhook refuses that was not refused when it was recorded. Since it was redacted in
// between, it is unknown whether the webhook is to blame.
type Refused struct {
	Exchanges int
	Paths     []string // at which they were redacted
	First     string   // why the first one is refused
}

// LeaveOutRefused asks a webhook for all requests that were redacted, and takes those out of the recording that it refuses now and
// did not refuse when they were recorded. When the context ends, the rest stay in.
func (r *Recording) LeaveOutRefused(ctx context.Context, send func(context.Context, []byte) contract.Response) Refused {
	reasons := make([]string, len(r.Exchanges)) // why an exchange is left out; empty when it is not
	numbers := make(chan int)
	var work sync.WaitGroup
	for range askers {
		work.Go(func() {
			for i := range numbers {
				if response := send(ctx, r.Exchanges[i].Body); !response.Interrupted {
					reasons[i] = Refusal(r.Exchanges[i].Request.Judge(response))
				}
			}
		})
	}
	for i, x := range r.Exchanges {
		if len(x.Redacted) > 0 && Refusal(x.Request.Judge(x.Response)) == "" && ctx.Err() == nil {
			numbers <- i
		}
	}
	close(numbers)
	work.Wait()
	var refused Refused
	var left []Exchange
	for i, x := range r.Exchanges {
		if reasons[i] == "" {
			left = append(left, x)
			continue
		}
		if refused.Exchanges++; refused.Exchanges == 1 {
			refused.First = reasons[i]
		}
		refused.Paths = append(refused.Paths, x.Redacted...)
	}
	slices.Sort(refused.Paths)
	refused.Paths = slices.Compact(refused.Paths)
	r.Exchanges = left
	return refused
}

// Refusal is how a webhook refuses a request: it says that the conversion failed, or answers with a status that is a failure.
// Empty when it does not.
func Refusal(j contract.Judgement) string {
	for _, v := range j.Violations {
		if v.Severity == contract.Rejected && (v.Requirement == requirement.WebhookFailureAvoided || v.Requirement == requirement.WebhookResponseHTTPStatus) {
			return v.String()
		}
	}
	return ""
}
