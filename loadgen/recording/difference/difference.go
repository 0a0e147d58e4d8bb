// Package difference tells where two webhooks answer the same requests differently, or one webhook differently from what a
// recording has of it.
//
// Converted objects are compared by what they mean, as package corpus does. What a webhook answers otherwise each time it is
// asked differs by chance, and is told apart from the rest.
package difference

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen/recording"
)

// Options says who is asked.
type Options struct {
	A *wire.Client // nil for what was recorded
	B *wire.Client

	// Schema returns the schema of a group, kind and version, or nil if none is known. It may be nil.
	Schema func(group, kind, version string) *corpus.Schema

	// Redaction is that of the recording. It is done to the answers that are compared with recorded ones.
	Redaction recording.Redaction
}

// What says what differs.
type What string

// What can differ: a field of converted objects, whether responses keep the contract, and what is said of a conversion that
// failed.
const (
	Field   What = "field"
	Verdict What = "verdict"
	Message What = "message"
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

// Result is what came of a comparison.
type Result struct {
	Requests  int `json:"requests"`  // that were to be compared
	Compared  int `json:"compared"`  // those that at least one side answered
	Converted int `json:"converted"` // those of them that both sides converted
	Objects   int `json:"objects"`   // converted by both, and compared
	Alike     int `json:"alike"`     // requests without a difference, but by chance

	Differences []Difference `json:"differences"`
	Chance      []Difference `json:"chance"` // in what the same side answers otherwise each time

	Uncompared  string `json:"uncompared,omitempty"`  // why the first request was not compared that was not
	Interrupted bool   `json:"interrupted,omitempty"` // the context ended before all was compared
}

const (
	// workers is how many requests are under way at once, at most.
	workers = 8

	// tick is how long after a recorded answer's counterpart the webhook is asked again: times that it writes have seconds.
	tick = 1100 * time.Millisecond
)

// comparison is the work on a result.
type comparison struct {
	Options
	questions []Question

	mu     sync.Mutex
	result Result
	apart  map[key]*difference
	chance map[key]bool
	unlike map[int][]key // by question
	broken int           // the first question that was not compared, with the reason in the result
}

// key is what differences are grouped by.
type key struct {
	what       What
	kind, path string
	a, b       string // of verdicts
}

// difference is a Difference with what it takes to look at it again.
type difference struct {
	Difference
	question, object int
	asked            time.Time
	live             outcome // of the side that is asked again
}

// Compare asks both sides and compares what they answer. Where they differ, A is asked again, or B if A is a recording.
func Compare(ctx context.Context, questions []Question, o Options) Result {
	c := &comparison{
		Options: o, questions: questions, result: Result{Requests: len(questions)},
		apart: map[key]*difference{}, chance: map[key]bool{}, unlike: map[int][]key{}, broken: len(questions),
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
	return c.conclude(ctx)
}

// compare compares the answers to one question.
func (c *comparison) compare(ctx context.Context, i int) {
	q := &c.questions[i]
	asked := time.Now()
	a, b := c.answers(ctx, q)
	if a.interrupted || b.interrupted {
		return
	}
	if missing := cmp.Or(a.withheld, both(a.missing, b.missing)); missing != "" {
		c.skip(i, missing)
		return
	}
	found := c.findings(q, a, b)
	var unsteady []finding
	live := c.live(a, b)
	if len(found) > 0 {
		if again := c.again(ctx, q); !again.interrupted {
			unsteady = c.findings(q, live, again)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Compared++
	if a.objects != nil && b.objects != nil {
		c.result.Converted++
		c.result.Objects += len(a.objects)
	}
	for _, f := range found {
		c.add(i, f, asked, live)
		if f.among(unsteady) {
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

// skip counts a question out.
func (c *comparison) skip(i int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i < c.broken {
		c.broken, c.result.Uncompared = i, reason
	}
}

// add counts a finding. The example is the one of the first question, in whatever order they are answered.
func (c *comparison) add(i int, f finding, asked time.Time, live outcome) {
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
		d.First, d.question, d.object, d.asked = c.example(i, f), i, f.object, asked
		d.live = live.only(f.object)
	}
}

// confirm asks once more for the example of each difference that is left. A field that one side changes now and then only may
// have been the same twice.
func (c *comparison) confirm(ctx context.Context) {
	for k, d := range c.apart {
		if c.chance[k] || ctx.Err() != nil {
			continue
		}
		if c.A == nil {
			wait(ctx, time.Until(d.asked.Add(tick)))
		}
		q := &c.questions[d.question]
		again := c.again(ctx, q)
		if again.interrupted {
			continue
		}
		f := finding{key: k, object: d.object}
		c.chance[k] = f.among(c.findings(q, d.live, again.only(d.object)))
	}
}

// wait waits for a while, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// conclude sorts what was found: what concerns most comes first.
func (c *comparison) conclude(ctx context.Context) Result {
	r := c.result
	r.Differences, r.Chance = []Difference{}, []Difference{}
	for k, d := range c.apart {
		if c.chance[k] {
			r.Chance = append(r.Chance, d.Difference)
		} else {
			r.Differences = append(r.Differences, d.Difference)
		}
	}
	for _, keys := range c.unlike {
		if !slices.ContainsFunc(keys, func(k key) bool { return !c.chance[k] }) {
			r.Alike++
		}
	}
	order := func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(string(b.What), string(a.What)),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Path, b.Path), strings.Compare(string(a.First.B), string(b.First.B)))
	}
	slices.SortFunc(r.Differences, order)
	slices.SortFunc(r.Chance, order)
	r.Interrupted = ctx.Err() != nil
	return r
}
