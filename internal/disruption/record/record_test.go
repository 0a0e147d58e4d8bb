package record

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/memory"
)

func header() Header {
	return Header{
		Scenario: "disruption.restart.graceful", Rate: 500, Limit: time.Minute,
		Definition: Definition{Name: "widgets.example.com", Versions: []string{"v1", "v1beta1"}, Storage: "v1"},
		Objective:  objective.Limit{Recovery: new(5 * time.Second), Failed: new(0)},
		Before:     map[string]history.State{"default/b": {Exists: true, Content: "0"}},
	}
}

func get(at time.Duration) Operation {
	return Operation{
		Operation: history.Operation{
			Object: "default/a", Version: "v1", Call: at, Return: at + time.Millisecond, Outcome: history.Acknowledged, Seen: &history.State{Exists: true, Content: "1"},
		},
		Verb: Get, Storage: true, Code: 200, Digest: "d",
	}
}

// sample has everything that a history can have.
func sample() *History {
	return &History{
		Header: header(),
		Marks:  []Mark{{Name: Quiet}, {Name: FaultBegan, At: time.Second, Text: "killed"}, {Name: "certificate written", At: 2}},
		Operations: []Operation{
			get(1),
			{Operation: history.Operation{Version: "v1beta1", Return: 5, Outcome: history.Acknowledged}, Verb: List, Items: 1, Listed: []Sight{{Object: "default/a", Content: "1", Digest: "<d>"}}},
			{Operation: history.Operation{Object: "default/a", Version: "v1", Call: 2, Return: 9, Outcome: history.Unknown}, Verb: Patch, Error: Timeout, Text: "context deadline exceeded"},
		},
		Watches: []WatchEvent{{Version: "v1", State: Opened}, {Version: "v1", At: 3, State: Ended, Error: Reset}},
		Lags:    []Lag{{At: 3, Lag: 1}},
		Samples: []memory.Sample{{At: 3, Resident: 1 << 20, Processor: time.Second, Processes: 2}},
		Dropped: 7,
	}
}

func encoded(t *testing.T, h *History) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	want := sample()
	got, err := Decode(strings.NewReader(encoded(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	want.Header.APIVersion, want.Header.Kind = APIVersion, Kind
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestBadFiles(t *testing.T) {
	text := encoded(t, sample())
	lines := strings.SplitAfter(text, "\n")
	with := func(line string) string { return lines[0] + line + "\n" + `{"end":{"lines":1}}` + "\n" }
	for name, test := range map[string]struct{ text, want string }{
		"empty":            {"", "line 1: the file is empty"},
		"foreign":          {"{\"kind\":\"Recording\"}\n", "line 1: its kind must be Disruption"},
		"foreign, no JSON": {"PK\x03\x04\n", "line 1: its kind must be Disruption"},
		"foreign, no line": {"binary", "line 1: its kind must be Disruption"},
		"newer":            {strings.Replace(text, "v1alpha1", "v2", 1), `its apiVersion is "crdconform.dev/v2"`},
		"no scenario":      {strings.Replace(text, "disruption.restart.graceful", "", 1), "the scenario must be named"},
		"no rate":          {strings.Replace(text, `"rate":500`, `"rate":0`, 1), "the rate must be more than 0"},
		"cut in a line":    {text[:len(text)-4], "line 12: the file is truncated there"},
		"cut after a line": {strings.Join(lines[:5], ""), "line 6: the file is truncated there"},
		"cut after header": {lines[0], "line 2: the file is truncated there"},
		"a line missing":   {strings.Replace(text, lines[4], "", 1), "1 lines are missing or too many"},
		"twice":            {text + text, "there is more after the end"},
		"long line":        {lines[0] + strings.Repeat("x", maxLine+1), "line 2: it is longer than 4 MiB"},
		"no JSON":          {with("{"), "line 2: "},
		"nothing":          {with(`{"later":{}}`), "line 2: it is neither a mark nor an operation"},
		"no name":          {with(`{"mark":{"at":1}}`), "a mark must have a name"},
		"early mark":       {with(`{"mark":{"name":"a","at":-1}}`), "a mark must not be before the start"},
		"verb":             {with(`{"operation":{"verb":"read"}}`), `unknown verb "read"`},
		"error":            {with(`{"operation":{"verb":"get","error":"x"}}`), `unknown kind of error "x"`},
		"outcome":          {with(`{"operation":{"verb":"get"}}`), `unknown outcome ""`},
		"no object":        {with(`{"operation":{"verb":"get","outcome":"refused"}}`), "the object must be named"},
		"no version":       {with(`{"operation":{"verb":"list","outcome":"refused"}}`), "the version must be named"},
		"times":            {with(`{"operation":{"verb":"list","version":"v1","outcome":"refused","call":2,"return":1}}`), "nor after the return"},
		"negative":         {with(`{"operation":{"verb":"list","version":"v1","outcome":"refused","call":-2,"return":1}}`), "before the start"},
		"blind get":        {with(`{"operation":{"verb":"get","object":"a","version":"v1","outcome":"acknowledged"}}`), "must say what it saw"},
		"both":             {with(`{"operation":{"verb":"list","version":"v1","outcome":"acknowledged","error":"timeout"}}`), "must have no error"},
		"watch":            {with(`{"watch":{"state":"x"}}`), `unknown state of a watch "x"`},
		"watch's error":    {with(`{"watch":{"state":"ended","error":"x"}}`), `unknown kind of error "x"`},
		"early watch":      {with(`{"watch":{"state":"ended","at":-1}}`), "an event of a watch must not be before the start"},
		"two marks":        {lines[0] + lines[1] + lines[1], `line 3: there are two marks "quiet"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestBadHistories are not written, since nobody could read them.
func TestBadHistories(t *testing.T) {
	bad := sample()
	bad.Operations[0].Verb = ""
	if err := Encode(new(bytes.Buffer), bad); err == nil || !strings.Contains(err.Error(), "unknown verb") {
		t.Errorf("got %v", err)
	}
	if err := Encode(new(bytes.Buffer), new(History)); err == nil || !strings.Contains(err.Error(), "the scenario must be named") {
		t.Errorf("got %v", err)
	}
}

func TestRecorder(t *testing.T) {
	r := New(header())
	const clients, each = 8, 50
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for range each {
				o := get(r.Now())
				o.Client, o.Text = c, strings.Repeat("ä", maxText)
				r.Operation(o)
				r.Watch(WatchEvent{Client: c, Version: "v1", State: Seen, At: r.Now()})
				r.Lag(Lag{At: r.Now()})
				r.Sample(memory.Sample{At: r.Now()})
				r.Mark(FaultEnded, "")
				r.History()
			}
		})
	}
	all.Wait()
	h := r.History()
	if len(h.Operations) != clients*each || len(h.Watches) != clients*each || len(h.Lags) != clients*each || len(h.Samples) != clients*each || len(h.Marks) != 1 {
		t.Errorf("got %d operations, %d watches, %d lags, %d samples, %d marks", len(h.Operations), len(h.Watches), len(h.Lags), len(h.Samples), len(h.Marks))
	}
	if text := h.Operations[0].Text; text != strings.Repeat("ä", maxText/2)+"…" {
		t.Errorf("got %d bytes of text", len(text))
	}
	if _, err := Decode(strings.NewReader(encoded(t, h))); err != nil {
		t.Error(err)
	}
}

// TestTooMany wants what does not fit to be counted, so that the judge knows.
func TestTooMany(t *testing.T) {
	r := New(header())
	r.most = 2
	for range 3 {
		r.Operation(get(1))
	}
	r.Watch(WatchEvent{State: Opened})
	if h := r.History(); len(h.Operations) != 2 || h.Dropped != 2 {
		t.Errorf("%d operations, %d dropped", len(h.Operations), h.Dropped)
	}
}

func TestSince(t *testing.T) {
	r := New(header())
	for n := range 1000 {
		o := get(time.Duration(n) * time.Second)
		if n%10 == 0 {
			o.Outcome, o.Error = history.Refused, Unavailable
		}
		r.Operation(o)
	}
	late := get(0)
	late.Return = 600 * time.Second // of a client that was overtaken
	r.Operation(late)
	for after, want := range map[time.Duration][2]int{0: {1001, 100}, 500 * time.Second: {501, 50}, 2000 * time.Second: {0, 0}} {
		if operations, failed := r.Since(after); [2]int{operations, failed} != want {
			t.Errorf("after %s: got %d and %d, want %v", after, operations, failed, want)
		}
	}
	if operations, failed := r.Count(); operations != 1001 || failed != 100 {
		t.Errorf("got %d and %d", operations, failed)
	}
}

// TestKindsOfErrors has each kind in the list, which the check of files uses.
func TestKindsOfErrors(t *testing.T) {
	failing := 0
	for _, e := range Errors() {
		if e.Fails() {
			failing++
		}
	}
	if failing != 11 || Error("").Fails() {
		t.Errorf("%d kinds of errors are failures", failing)
	}
}
