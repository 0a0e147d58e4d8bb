package record

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
)

// The limits of what is recorded.
const (
	maxEvents = 2_000_000 // operations and events of watches
	maxText   = 300       // bytes of the first words of an error
	maxListed = 1000      // items of a list
)

// Recorder collects what clients that work at the same time do. All times are counted from its start.
type Recorder struct {
	began time.Time

	mu      sync.Mutex
	history History
	most    int
}

// New returns a recorder whose clock begins now. The header's APIVersion, Kind and Started are filled in.
func New(h Header) *Recorder {
	began := time.Now()
	h.APIVersion, h.Kind, h.Started = APIVersion, Kind, began.UTC()
	return &Recorder{began: began, history: History{Header: h}, most: maxEvents}
}

// Now returns the time since the start.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Mark adds a mark now, and returns its time. One that is there already stays as it is, so that what repeats something, such as the
// end of a fault after an interrupt, moves nothing.
func (r *Recorder) Mark(name, text string) time.Duration { return r.MarkAt(name, r.Now(), text) }

// MarkAt adds a mark of a time before now, likewise.
func (r *Recorder) MarkAt(name string, at time.Duration, text string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier, there := r.history.Mark(name); there {
		return earlier
	}
	r.history.Marks = append(r.history.Marks, Mark{Name: name, At: at, Text: words(text)})
	return at
}

// Operation adds an operation.
func (r *Recorder) Operation(o Operation) {
	o.Text = words(o.Text)
	o.Listed = o.Listed[:min(len(o.Listed), maxListed)]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.room() {
		r.history.Operations = append(r.history.Operations, o)
	}
}

// Watch adds what happened to a watch.
func (r *Recorder) Watch(w WatchEvent) {
	w.Text = words(w.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.room() {
		r.history.Watches = append(r.history.Watches, w)
	}
}

// room reports whether one more fits, and counts it otherwise.
func (r *Recorder) room() bool {
	if len(r.history.Operations)+len(r.history.Watches) < r.most {
		return true
	}
	r.history.Dropped++
	return false
}

// Lag adds how late a timer was that was due at a time.
func (r *Recorder) Lag(l Lag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Lags = append(r.history.Lags, l)
}

// Sample adds what the webhook's process uses.
func (r *Recorder) Sample(s memory.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Samples = append(r.history.Samples, s)
}

// Header changes the header: the replicas, say, may be known later than the rest.
func (r *Recorder) Header(change func(*Header)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.history.Header)
}

// Count returns how many operations there are so far, and how many of them failed.
func (r *Recorder) Count() (operations, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return count(r.history.Operations)
}

// Since returns how many operations returned after a time, and how many of them failed.
func (r *Recorder) Since(at time.Duration) (operations, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Operations are added when they return, but those of other clients may overtake by a little.
	const slack = 100
	i, _ := slices.BinarySearchFunc(r.history.Operations, at, func(o Operation, at time.Duration) int { return cmp.Compare(o.Return, at) })
	for _, o := range r.history.Operations[max(0, i-slack):] {
		if o.Return > at {
			operations++
			if o.Failed() {
				failed++
			}
		}
	}
	return operations, failed
}

func count(all []Operation) (operations, failed int) {
	for _, o := range all {
		if o.Failed() {
			failed++
		}
	}
	return len(all), failed
}

// History returns what was recorded so far.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history
	h.Marks, h.Operations, h.Watches = slices.Clone(h.Marks), slices.Clone(h.Operations), slices.Clone(h.Watches)
	h.Lags, h.Samples = slices.Clone(h.Lags), slices.Clone(h.Samples)
	return &h
}

// words cuts a text to its first words.
func words(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && text[end]&0xc0 == 0x80 { // not within a letter
		end--
	}
	return text[:end] + "…"
}
