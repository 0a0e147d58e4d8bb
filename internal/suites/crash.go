package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
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

// Ask sends a request to the webhook under test. A program that ended over it is started again, and how it ended is why nothing came back. If
// it had ended before, the request is sent again, for it is not to blame.
func (s *Subject) Ask(ctx context.Context, send func(context.Context) contract.Response) contract.Response {
	for {
		since, answered := time.Now(), s.spent.on(spentWebhook)
		response := send(ctx)
		answered()
		if s.Revive == nil || response.Err == nil || response.TimedOut || response.Interrupted {
			return response
		}
		switch before, ended := s.Revive(ctx, since); {
		case ended == nil:
			return response
		case before, errors.Is(response.Err, syscall.ECONNREFUSED):
		default:
			response.Err = EndedError{ended}
			return response
		}
	}
}

// Gone says why the webhook under test runs no more, or hangs, if that is known.
func (s *Subject) Gone() error {
	if s.hung != nil || s.Alive == nil {
		return s.hung
	}
	return s.Alive()
}

// Hangs notes that the webhook under test answers nothing any more. Each request would take as long as API servers wait.
func (s *Subject) Hangs(why error) { s.hung = why }

// EndedError is that a program ended over a request. It runs again.
type EndedError struct{ error }

// Ended reports whether a program ended over a request, and runs again.
func Ended(response contract.Response) bool {
	ended := EndedError{}
	return errors.As(response.Err, &ended)
}

// FewEnds is after how many objects of a batch, over each of which the program ended, the others are not asked for alone while it is learned what
// to generate: what is learned from the first may change all of them.
const FewEnds = 3

// Ends is over how many objects the program has ended.
func (s *Subject) Ends() int { return len(s.fatal) }

// Note remembers a response to a request for objects at a version, if the program ended over an object that it was asked for alone. It is
// not to be asked for that again.
func (s *Subject) Note(to string, objects []*unstructured.Unstructured, response contract.Response) {
	if len(objects) != 1 || !Ended(response) {
		return
	}
	if s.fatal == nil {
		s.fatal = map[string]contract.Response{}
	}
	s.fatal[nameless(to, objects[0])] = response
}

// Fatal returns what came back for one of some objects, if the program ended over it; nil if it did not.
func (s *Subject) Fatal(to string, objects []*unstructured.Unstructured) *contract.Response {
	if len(s.fatal) == 0 {
		return nil
	}
	for _, object := range objects {
		if response, known := s.fatal[nameless(to, object)]; known {
			return &response
		}
	}
	return nil
}

// nameless is an object, whatever it is called, and the version that it is asked for at.
func nameless(to string, object *unstructured.Unstructured) string {
	other := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	metadata, _, _ := unstructured.NestedMap(object.Object, "metadata") // an object without metadata has no name
	delete(metadata, "name")
	delete(metadata, "uid")
	other.Object["metadata"] = metadata
	return to + " " + string(corpus.JSON(other)[0])
}

// mostRevived is how often requests to an API server have a program started again in one spec: some specs wait for an answer, and ask again and
// again for it.
const mostRevived = 20

// reviving is a transport to an API server that calls the webhook under test. If the program ends over a request, it is started again. If it had
// ended before, the request is sent again.
type reviving struct {
	env  *Env
	next http.RoundTripper

	mu    sync.Mutex
	spec  requirement.ID // that runs
	times int            // the program was started again for it
}

// revive starts the program again, see Subject.Revive.
func (t *reviving) revive(ctx context.Context, since time.Time) (before bool, ended error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spec != t.env.running {
		t.spec, t.times = t.env.running, 0
	}
	if t.times == mostRevived {
		return false, nil
	}
	if before, ended = t.env.Subject.Revive(ctx, since); ended != nil {
		t.times++
	}
	return before, ended
}

// RoundTrip sends a request on.
func (t *reviving) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		since := time.Now()
		response, err := t.next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusInternalServerError {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte("conversion webhook for ")) {
			return response, nil
		}
		before, ended := t.revive(context.WithoutCancel(r.Context()), since)
		if ended == nil || !before && !bytes.Contains(body, []byte("connection refused")) {
			return response, nil
		}
		again := r.Clone(r.Context())
		if r.Body != nil && r.Body != http.NoBody {
			if r.GetBody == nil {
				return response, nil
			}
			if again.Body, err = r.GetBody(); err != nil {
				return nil, fmt.Errorf("sending the request again: %w", err)
			}
		}
		r = again
	}
}
