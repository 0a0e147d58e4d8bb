package load

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// asks is how often each request is sent, and agreeing how many answers must be alike.
	asks     = 4
	agreeing = 3

	// tick is how long after the first answers the second half is asked for, so that what depends on the second shows.
	tick = 1100 * time.Millisecond

	// rare is how many times as many objects must have had something else in a field once than several times, for the field to be wrong
	// now and then rather than different each time.
	rare = 4

	// mostLost is how many losses of an answer are kept.
	mostLost = 3
)

// Rules are those by which check judges converted objects.
type Rules struct {
	Kind  corpus.Corpus
	Lossy func(pair corpus.Pair, path string) bool // whether what is at a path may be lost on the way to the second version and back
}

// Learn asks a webhook that has nothing else to do for the answers to all requests, one at a time: twice at once, and twice a second
// later. Of each object, the answer is what at least three of four agree on; what they disagree on each time is in Varying. What is wrong
// with answers by the rules of check is in them: objects that the webhook does not convert back to what they were, and answers that do
// not agree.
func Learn(ctx context.Context, client *wire.Client, requests []contract.Request, rules Rules) (*Content, error) {
	return learn(ctx, client, requests, rules, tick)
}

func learn(ctx context.Context, client *wire.Client, requests []contract.Request, rules Rules, tick time.Duration) (*Content, error) {
	l := &lesson{client: client, rules: rules, requests: requests, replies: make([][]reply, len(requests))}
	began := time.Now()
	for ask := range asks {
		if ask == asks/2 {
			if err := pause.For(ctx, time.Until(began.Add(tick))); err != nil {
				return nil, err
			}
		}
		for i, request := range requests {
			got, err := l.ask(ctx, request)
			if err != nil {
				return nil, err
			}
			l.replies[i] = append(l.replies[i], got)
		}
	}
	content := &Content{Varying: l.varying()}
	for i := range requests {
		answer := l.answer(i, content.Varying)
		lost, err := l.lost(ctx, requests[i], answer, content.Varying)
		if err != nil {
			return nil, err
		}
		answer.Violations = append(answer.Violations, lost...)
		content.Answers = append(content.Answers, answer)
	}
	return content, nil
}

// lesson learns what a webhook answers.
type lesson struct {
	client   *wire.Client
	rules    Rules
	requests []contract.Request
	asked    uint64
	replies  [][]reply // by request
}

// reply is an answer to a request.
type reply struct {
	uid      string
	body     []byte
	raw      [][]byte         // objects; nil if API servers reject the response
	objects  []map[string]any // the same
	rejected string           // why
}

// lessons is the number of the first request for learning, above those of any load.
const lessons = 1 << 44

// ask sends a request with a new uid. It fails if the context ends.
func (l *lesson) ask(ctx context.Context, request contract.Request) (reply, error) {
	request.UID = uid(lessons + l.asked)
	l.asked++
	body, err := request.Body()
	if err != nil {
		return reply{}, fmt.Errorf("load: %w", err)
	}
	response := l.client.Send(ctx, body)
	if response.Interrupted || ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	r := reply{uid: request.UID, body: response.Body}
	judgement := request.Judge(response)
	if rejected := judgement.Rejected(); rejected != nil {
		r.rejected = fmt.Sprintf("%s: %s", rejected.Requirement, rejected)
		return r, nil
	}
	for _, raw := range judgement.Objects {
		r.raw = append(r.raw, raw)
	}
	r.objects = decoded(r.raw)
	return r, nil
}

// accepted returns the answers to a request that API servers accept.
func (l *lesson) accepted(i int) []reply {
	return slices.DeleteFunc(slices.Clone(l.replies[i]), func(r reply) bool { return r.rejected != "" })
}

// varying returns the fields that differ each time. A field that is wrong now and then is not one of them: it differs once in many objects.
func (l *lesson) varying() []string {
	once, often := map[string]int{}, map[string]int{}
	for i := range l.requests {
		accepted := l.accepted(i)
		if len(accepted) < agreeing {
			continue
		}
		for object := range l.requests[i].Objects {
			for place, most := range votes(accepted, object) {
				if most < agreeing {
					often[place]++
				} else {
					once[place]++
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(often)), func(place string) bool { return rare*often[place] < once[place] })
}

// votes returns the fields of an object in which answers differ, each with how many answers agree at most.
func votes(replies []reply, object int) map[string]int {
	all := map[string]map[int]string{} // what each answer has, by field
	for n, r := range replies {
		if bytes.Equal(r.raw[object], replies[0].raw[object]) {
			continue
		}
		for _, l := range unlike(replies[0].objects[object], r.objects[object], nil) {
			place := fieldpath.Generalize(l.Path)
			if all[place] == nil {
				all[place] = map[int]string{}
			}
			all[place][n] += l.Path + value(l.After)
		}
	}
	most := map[string]int{}
	for place, has := range all {
		count := map[string]int{}
		for n := range replies {
			count[has[n]]++ // of the first, and of those like it, nothing
			most[place] = max(most[place], count[has[n]])
		}
	}
	return most
}

// answer returns what a request is to be answered with.
func (l *lesson) answer(i int, varying []string) Answer {
	accepted := l.accepted(i)
	if n := asks - len(accepted); len(accepted) < agreeing {
		at := slices.IndexFunc(l.replies[i], func(r reply) bool { return r.rejected != "" })
		return Answer{Violations: []contract.Violation{{
			Requirement: requirement.WebhookConversionPure, Severity: contract.Rejected, Object: -1, Path: "response",
			Expected: fmt.Sprintf("an answer as before the load, when %d of %d were rejected (%s)", n, asks, l.replies[i][at].rejected), Actual: "an accepted one",
		}}}
	}
	var a Answer
	for object := range l.requests[i].Objects {
		chosen, against := agreed(accepted, object, varying)
		if against != nil {
			return Answer{Violations: []contract.Violation{*violation(requirement.WebhookConversionPure, object, *against, " each time before the load")}}
		}
		a.Objects = append(a.Objects, chosen)
	}
	for _, r := range accepted {
		if slices.EqualFunc(r.raw, a.Objects, bytes.Equal) {
			a.Body, a.UID = r.body, r.uid
			break
		}
	}
	return a
}

// agreed returns the object that enough answers agree on, or else a difference between them.
func agreed(replies []reply, object int, varying []string) ([]byte, *corpus.Loss) {
	var against *corpus.Loss
	for _, one := range replies {
		alike := 0
		for _, other := range replies {
			if bytes.Equal(one.raw[object], other.raw[object]) {
				alike++
			} else if lost := unlike(one.objects[object], other.objects[object], varying); len(lost) == 0 {
				alike++
			} else if against == nil {
				against = &lost[0]
			}
		}
		if alike >= agreeing {
			return one.raw[object], nil
		}
	}
	return nil, against
}

// lost sends converted objects back and returns what they have lost, by the rules of check.
func (l *lesson) lost(ctx context.Context, request contract.Request, a Answer, varying []string) ([]contract.Violation, error) {
	originals := decoded(request.Objects)
	pair := corpus.Pair{From: path.Base(apiVersion(originals[0])), To: path.Base(request.DesiredAPIVersion)}
	if a.Objects == nil || l.rules.Kind.OneWay(pair) {
		return nil, nil
	}
	var converted []*unstructured.Unstructured
	for i, object := range decoded(a.Objects) {
		converted = append(converted, corpus.Restored(&unstructured.Unstructured{Object: originals[i]}, object))
	}
	back := contract.Request{ReviewVersion: request.ReviewVersion, DesiredAPIVersion: apiVersion(originals[0]), Objects: corpus.JSON(converted...)}
	got, err := l.ask(ctx, back)
	if err != nil {
		return nil, err
	}
	if got.rejected != "" {
		return []contract.Violation{{
			Requirement: requirement.WebhookConversionRoundTrip, Severity: contract.Rejected, Object: -1, Path: "response",
			Expected: "objects that are converted back to " + pair.From, Actual: "objects that are not: " + got.rejected,
		}}, nil
	}
	var schema *corpus.Schema
	if d := l.rules.Kind.Definition; d != nil {
		schema = d.Schema(pair.From)
	}
	var violations []contract.Violation
	for i := range originals {
		for _, loss := range schema.Losses(originals[i], got.objects[i]) {
			if len(violations) < mostLost && l.counts(pair, loss) && !varies(loss.Path, varying) {
				violations = append(violations, *violation(requirement.WebhookConversionRoundTrip, i, loss, " after the conversion back to "+pair.From))
			}
		}
	}
	return violations, nil
}

// counts reports whether a loss is a failure by the rules of check.
func (l *lesson) counts(pair corpus.Pair, loss corpus.Loss) bool {
	part := requirement.PartName("")
	if loss.Empty {
		part = requirement.PartEmpty
	}
	return requirement.SeverityOf(requirement.WebhookConversionRoundTrip, part) != requirement.Tolerated &&
		(l.rules.Lossy == nil || !l.rules.Lossy(pair, loss.Path))
}

func apiVersion(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GetAPIVersion()
}

// Notes say what is not judged under load, and why.
func (c *Content) Notes() []string {
	if len(c.Varying) == 0 {
		return nil
	}
	what := "these fields differ"
	if len(c.Varying) == 1 {
		what = "this field differs"
	}
	return []string{"the content under load is judged without " + visible.First(c.Varying, 10) + ": " + what + " each time the webhook is asked, also when nothing else is under way"}
}
