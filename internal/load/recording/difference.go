package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/wire"
)

// Sides says who is asked.
type Sides struct {
	A *wire.Client // nil for what was recorded
	B *wire.Client

	// Schema returns the schema of a group, kind and version, or nil if none is known. It may be nil.
	Schema func(group, kind, version string) *corpus.Schema

	// Redaction is that of the recording. It is done to the answers that are compared with recorded ones.
	Redaction Redaction
}

// What says what differs.
type What string

// What can differ: a field of converted objects, whether responses keep the contract, and what is said of a conversion that
// failed.
const (
	FieldDiffers   What = "field"
	VerdictDiffers What = "verdict"
	MessageDiffers What = "message"
)

// Difference is one way in which answers differ.
type Difference struct {
	What  What    `json:"what"`
	Kind  string  `json:"kind,omitempty"` // of the objects, for fields
	Path  string  `json:"path,omitempty"` // of the field, with [*] for any index
	Count int     `json:"count"`          // objects in which the field differs, otherwise requests
	First Example `json:"first"`
}

// Example is the first object or request with a difference.
type Example struct {
	Line   int    `json:"line,omitempty"` // of the recording
	Object string `json:"object"`         // namespace and name; of a request the first one
	From   string `json:"from"`           // apiVersion
	To     string `json:"to"`             // apiVersion
	Path   string `json:"path,omitempty"` // with indices

	// A and B are what each has: the value of a field as JSON, absent for nothing, and otherwise a sentence.
	A json.RawMessage `json:"a,omitempty"`
	B json.RawMessage `json:"b,omitempty"`
}

// Failure is one way in which requests fail on both sides.
type Failure struct {
	Count    int     `json:"count"`    // requests
	Redacted int     `json:"redacted"` // of them, those that were recorded with other values, and perhaps fail for that
	First    Example `json:"first"`    // what the sides say
}

// Comparison is what came of a comparison.
type Comparison struct {
	Requests  int `json:"requests"`  // that were to be compared
	Compared  int `json:"compared"`  // those that at least one side answered
	Converted int `json:"converted"` // those of them that both sides converted
	Objects   int `json:"objects"`   // converted by both, and compared
	Alike     int `json:"alike"`     // requests without a difference, but by chance or for redaction
	Failed    int `json:"failed"`    // requests that both sides answered, and neither converted

	Differences []Difference `json:"differences"`
	Chance      []Difference `json:"chance"`    // in what the same side answers otherwise each time
	Redaction   []Difference `json:"redaction"` // from recorded answers, as may come of asking with redacted values
	Failures    []Failure    `json:"failures"`  // what failed on both sides, by what A says

	Uncompared  string `json:"uncompared,omitempty"`  // why the first request was not compared that was not
	Interrupted bool   `json:"interrupted,omitempty"` // the context ended before all was compared, or before all differences were confirmed
	Left        int    `json:"left,omitempty"`        // requests that were not sent for that, or whose answers were not awaited
}

const (
	// workers is how many requests are under way at once, at most.
	workers = 8

	// tick is how long after the webhook's answer to a recorded question it is asked again: times that it writes have seconds.
	tick = 1100 * time.Millisecond
)

// comparing is the work on a comparison.
type comparing struct {
	Sides
	questions []Question

	mu     sync.Mutex
	result Comparison
	apart  map[key]*difference
	chance map[key]bool
	unlike map[int][]key // by question
	failed map[string]*failure
	broken int  // the first question that was not compared, with the reason in the result
	cut    bool // whether the context ended before a side was asked again
}

// key is what differences are grouped by.
type key struct {
	what       What
	kind, path string
	a, b       string // of verdicts
	redacted   bool   // redaction may be the reason
}

// failure is a Failure with the question that it was first met in.
type failure struct {
	Failure
	question int
}

// difference is a Difference with what it takes to look at it again.
type difference struct {
	Difference
	question, object int
	answered         time.Time
	live             outcome // of the side that is asked again
}

// Compare asks both sides and compares what they answer. Where they differ, A is asked again, or B if A is a recording.
func Compare(ctx context.Context, questions []Question, o Sides) Comparison {
	c := &comparing{
		Sides: o, questions: questions, result: Comparison{Requests: len(questions), Left: len(questions)},
		apart: map[key]*difference{}, chance: map[key]bool{}, unlike: map[int][]key{}, failed: map[string]*failure{}, broken: len(questions),
	}
	numbers := make(chan int)
	var work sync.WaitGroup
	for range min(workers, len(questions)) {
		work.Go(func() {
			for i := range numbers {
				c.compare(ctx, i)
			}
		})
	}
	for i := range questions {
		if ctx.Err() != nil {
			break
		}
		numbers <- i
	}
	close(numbers)
	work.Wait()
	c.confirm(ctx)
	return c.conclude()
}

// compare compares the answers to one question.
func (c *comparing) compare(ctx context.Context, i int) {
	q := &c.questions[i]
	a, b := c.answers(ctx, q)
	answered := time.Now()
	if a.interrupted || b.interrupted {
		return
	}
	redacted := c.A == nil && len(q.Redacted) > 0 // and asked with other values than B
	if missing := cmp.Or(a.withheld, both(a.missing, b.missing), decided(redacted, q, a, b)); missing != "" {
		c.skip(i, missing)
		return
	}
	found := c.deviations(q, a, b)
	var unsteady []deviation
	cut, live := false, c.live(a, b)
	if len(found) > 0 {
		again := c.again(ctx, q)
		if cut = again.interrupted; !cut {
			unsteady = c.deviations(q, live, again)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = c.cut || cut
	c.result.Left--
	c.result.Compared++
	if a.objects != nil && b.objects != nil {
		c.result.Converted++
		c.result.Objects += len(a.objects)
	}
	c.fail(i, a, b)
	for _, f := range found {
		chance := f.among(unsteady)
		f.redacted = redacted && !chance && f.explained(c.Redaction, a, b)
		c.add(i, f, answered, live)
		if chance {
			c.chance[f.key] = true
		}
	}
	if len(found) == 0 {
		c.result.Alike++
	}
}

// both is a reason that holds for both sides.
func both(a, b string) string {
	if b == "" {
		return ""
	}
	return a
}

// decided says that redaction decides whether a request is refused, so that nothing can be compared; nothing if it does not.
func decided(redacted bool, q *Question, a, b outcome) string {
	if !redacted || a.refused == b.refused {
		return ""
	}
	who, why := "B", b.detail
	if a.refused {
		who, why = "A", a.detail
	}
	return fmt.Sprintf("its request was redacted at %s since A was asked, and only %s refuses it: %s", strings.Join(q.Redacted, ", "), who, why)
}

// fail counts a question that failed on both sides.
func (c *comparing) fail(i int, a, b outcome) {
	if a.verdict == fine || b.verdict == fine || a.objects != nil || b.objects != nil {
		return
	}
	c.result.Failed++
	f := c.failed[a.verdict]
	if f == nil {
		f = &failure{question: len(c.questions)}
		c.failed[a.verdict] = f
	}
	f.Count++
	if len(c.questions[i].Redacted) > 0 {
		f.Redacted++
	}
	if i < f.question {
		f.question, f.First = i, c.example(i, deviation{object: -1, a: a.words(), b: b.words()})
	}
}

// skip counts a question out.
func (c *comparing) skip(i int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Left--
	if i < c.broken {
		c.broken, c.result.Uncompared = i, reason
	}
}

// add counts a deviation. The example is the one of the first question, in whatever order they are answered.
func (c *comparing) add(i int, f deviation, answered time.Time, live outcome) {
	if !slices.Contains(c.unlike[i], f.key) {
		c.unlike[i] = append(c.unlike[i], f.key)
	}
	d := c.apart[f.key]
	if d == nil {
		d = &difference{Difference: Difference{What: f.what, Kind: f.kind, Path: f.path}, question: len(c.questions)}
		c.apart[f.key] = d
	}
	d.Count++
	if i < d.question {
		d.First, d.question, d.object, d.answered = c.example(i, f), i, f.object, answered
		d.live = live.only(f.object)
	}
}

// confirm asks once more for the example of each difference that is left. A field that one side changes now and then only may
// have been the same twice.
func (c *comparing) confirm(ctx context.Context) {
	for k, d := range c.apart {
		if c.chance[k] || k.redacted {
			continue
		}
		if c.A == nil {
			_ = pause.For(ctx, time.Until(d.answered.Add(tick)))
		}
		q := &c.questions[d.question]
		again := c.again(ctx, q)
		if again.interrupted {
			c.cut = true
			return
		}
		f := deviation{key: k, object: d.object}
		c.chance[k] = f.among(c.deviations(q, d.live, again.only(d.object)))
	}
}

// conclude sorts what was found: what concerns most comes first.
func (c *comparing) conclude() Comparison {
	r := c.result
	r.Differences, r.Chance, r.Redaction, r.Failures = []Difference{}, []Difference{}, []Difference{}, []Failure{}
	for k, d := range c.apart {
		switch {
		case c.chance[k]:
			r.Chance = append(r.Chance, d.Difference)
		case k.redacted:
			r.Redaction = append(r.Redaction, d.Difference)
		default:
			r.Differences = append(r.Differences, d.Difference)
		}
	}
	for _, verdict := range slices.Sorted(maps.Keys(c.failed)) {
		r.Failures = append(r.Failures, c.failed[verdict].Failure)
	}
	slices.SortStableFunc(r.Failures, func(a, b Failure) int { return cmp.Compare(b.Count, a.Count) })
	for _, keys := range c.unlike {
		if !slices.ContainsFunc(keys, func(k key) bool { return !c.chance[k] && !k.redacted }) {
			r.Alike++
		}
	}
	order := func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(string(b.What), string(a.What)),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Path, b.Path), strings.Compare(string(a.First.B), string(b.First.B)))
	}
	slices.SortFunc(r.Differences, order)
	slices.SortFunc(r.Chance, order)
	slices.SortFunc(r.Redaction, order)
	r.Interrupted = r.Left > 0 || c.cut
	return r
}
