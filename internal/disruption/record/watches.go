package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"
)

// WatchFact is what became of the watches at a version since the fault began.
type WatchFact struct {
	Version string         `json:"version"`
	Storage bool           `json:"storage,omitempty"`
	Clients int            `json:"clients"` // that watched before the fault
	Ended   int            `json:"ended"`
	Back    int            `json:"back"`   // of those that ended
	Gone    int            `json:"gone"`   // clients without a watch at the end
	Silent  int            `json:"silent"` // clients whose watch shows nothing since recovery, though something was written
	Longest time.Duration  `json:"longest"`
	Resumed time.Duration  `json:"resumed"`          // longest from the end of the fault until a client that watched before was shown something
	Errors  map[string]int `json:"errors,omitempty"` // why they ended
}

// watcher is a client that watches.
type watcher struct {
	version   string
	before    bool // it watched before the fault, and saw something
	open      bool
	changed   time.Duration // when that became so
	last      time.Duration // when it saw something last
	lastError string
}

// watches follows each watch.
func (s *span) watches(h *History) ([]WatchFact, []Anomaly) {
	events := slices.Clone(h.Watches)
	slices.SortStableFunc(events, func(a, b WatchEvent) int { return cmp.Compare(a.At, b.At) })
	facts, clients := map[string]*WatchFact{}, map[int]*watcher{}
	for _, e := range events {
		if e.Error == Canceled || e.At > s.end {
			continue
		}
		if clients[e.Client] == nil {
			clients[e.Client] = &watcher{}
		}
		if facts[e.Version] == nil {
			facts[e.Version] = &WatchFact{Version: e.Version, Storage: e.Storage, Errors: map[string]int{}}
		}
		s.follow(e, clients[e.Client], facts[e.Version])
	}
	anomalies := s.unfinished(h, clients, facts)
	var all []WatchFact
	for _, fact := range facts {
		all = append(all, *fact)
	}
	slices.SortFunc(all, func(a, b WatchFact) int { return cmp.Compare(a.Version, b.Version) })
	return all, anomalies
}

// follow notes an event.
func (s *span) follow(e WatchEvent, w *watcher, fact *WatchFact) {
	w.version = e.Version
	since := e.At >= s.began
	switch e.State {
	case Opened:
		if since && !w.open && w.changed >= s.began {
			fact.Back++
			fact.Longest = max(fact.Longest, e.At-w.changed)
		}
		w.open, w.changed = true, e.At
	case Ended:
		if since {
			fact.Ended++
			fact.Errors[cmp.Or(string(e.Error), "none")]++
		}
		w.open, w.changed, w.lastError = false, e.At, cmp.Or(e.Text, string(e.Error))
	case Seen:
		if w.before && e.At >= s.ended && w.last < s.ended {
			fact.Resumed = max(fact.Resumed, e.At-s.ended)
		}
		w.last = e.At
		if !since && !w.before {
			w.before = true
			fact.Clients++
		}
	}
}

// unfinished finds the watches that are not open at the end, and those that show nothing.
func (s *span) unfinished(h *History, clients map[int]*watcher, facts map[string]*WatchFact) []Anomaly {
	gone, silent := Anomaly{Kind: WatchGone}, Anomaly{Kind: WatchSilent}
	written := s.lastWrite(h)
	var numbers []int
	for n := range clients {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		w := clients[n]
		switch {
		case !w.open && w.changed >= s.began && s.end-w.changed >= s.bounds.Grace:
			facts[w.version].Gone++
			gone.add(fmt.Sprintf("client %d at %s, since %s before the end: %s", n, w.version, round(s.end-w.changed), cmp.Or(w.lastError, "it was ended regularly")))
		case w.open && w.before && w.last < s.ended && written > s.ended && s.end-written >= s.bounds.Grace:
			facts[w.version].Silent++
			silent.add(fmt.Sprintf("client %d at %s", n, w.version))
		}
	}
	gone.Text = english.Plural(gone.Count, "watch", "") + " ended and did not come back"
	silent.Text = english.Plural(silent.Count, "watch", "") + " showed nothing after the fault, though objects were written"
	return found(gone, silent)
}

// lastWrite returns when a write was acknowledged last that watches had time to show; 0 if none was.
func (s *span) lastWrite(h *History) time.Duration {
	var last time.Duration
	for _, o := range h.Operations {
		writes := !slices.Contains([]Verb{Get, List, Watch}, o.Verb)
		if writes && o.Error == "" && s.end-o.Return >= s.bounds.Grace {
			last = max(last, o.Return)
		}
	}
	return last
}
