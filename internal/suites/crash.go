package suites

import (
	"regexp"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/requirement"
)

// Crashed reports whether a webhook broke down over a request, as opposed to saying that it cannot convert the objects. One that catches
// the crash, and answers with its words, has not foreseen the objects either.
func Crashed(response contract.Response, judgement contract.Judgement) bool {
	v := judgement.Rejected()
	return BrokeOff(response) || v != nil && v.Requirement == requirement.WebhookFailureAvoided && caughtCrash.MatchString(v.Actual)
}

// BrokeOff reports whether a webhook did not answer a request, or by an HTTP status that says that it is broken.
func BrokeOff(response contract.Response) bool { return response.Err != nil || response.Status >= 500 }

// caughtCrash matches what languages say of code that took for granted that something is there. What they say of text
// that cannot be parsed is not among it. The first is all that controller-runtime says of a panic.
var caughtCrash = regexp.MustCompile(`internal error occurred during conversion|runtime error: |KeyError|AttributeError|IndexError|'NoneType' object|NullPointerException|Cannot read propert(y|ies) of (undefined|null)`)
