package history

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// log makes histories: each operation begins when the one before has returned, unless it is moved.
type log struct {
	now        time.Duration
	operations []Operation
}

func (l *log) add(o Operation) *log {
	o.Object = "default/a"
	o.Call, o.Return = l.now, l.now+1
	l.now += 2
	l.operations = append(l.operations, o)
	return l
}

// during moves the last operation so that it overlaps with the n before it.
func (l *log) during(n int) *log {
	last := len(l.operations) - 1
	l.operations[last].Call = l.operations[last-n].Call
	return l
}

func (l *log) create(value string) *log {
	return l.add(Operation{Kind: Create, Written: value, Outcome: Acknowledged, Seen: there(value)})
}

func (l *log) update(over, value string) *log {
	return l.add(Operation{Kind: Update, Written: value, Over: there(over), Outcome: Acknowledged, Seen: there(value)})
}

func (l *log) patch(value string) *log {
	return l.add(Operation{Kind: Patch, Written: value, Outcome: Acknowledged, Seen: there(value)})
}

func (l *log) delete() *log { return l.add(Operation{Kind: Delete, Outcome: Acknowledged}) }

func (l *log) read(value string) *log {
	return l.add(Operation{Kind: Read, Outcome: Acknowledged, Seen: there(value)})
}

func (l *log) absent() *log { return l.add(Operation{Kind: Read, Outcome: NotFound}) }

func (l *log) lostAnswer(kind Kind, value string) *log {
	return l.add(Operation{Kind: kind, Written: value, Outcome: Unknown})
}

func there(value string) *State { return &State{Exists: true, Content: value} }

func TestJudge(t *testing.T) {
	begin := func() *log { return new(log).create("1") }
	withUID := func(o Operation, uid string) Operation {
		seen := *o.Seen
		seen.UID = uid
		o.Seen = &seen
		return o
	}
	read := func(s State) Operation { return Operation{Kind: Read, Outcome: Acknowledged, Seen: &s} }
	status := func(value string, after State) Operation {
		return Operation{Kind: Status, Written: value, Outcome: Acknowledged, Seen: &after}
	}
	for name, test := range map[string]struct {
		history *log
		want    string // what the violation says; empty if there is none
	}{
		"one after the other":           {history: begin().update("1", "2").read("2").patch("3").read("3").delete().absent().create("4").read("4")},
		"lost write":                    {begin().patch("2").read("1"), `client 0: read, acknowledged: "1"; expected "2", got "1"`},
		"lost write under an update":    {begin().patch("2").update("1", "3").read("3"), `expected "2", got "3"`},
		"stale read":                    {begin().patch("2").read("2").read("1"), `expected "2", got "1"`},
		"either order":                  {history: begin().patch("2").patch("3").during(1).read("2")},
		"either order, but one":         {begin().patch("2").patch("3").during(1).read("2").read("3"), `expected "2", got "3"`},
		"write after delete":            {begin().delete().patch("2"), `client 0: patch of "2", acknowledged; expected no object, got "2"`},
		"resurrected":                   {begin().delete().absent().read("1"), `expected no object, got "1"`},
		"created twice":                 {begin().create("2"), `expected "1", got "2"`},
		"gone":                          {begin().absent(), `client 0: read, not found; expected "1", got no object`},
		"update of what is gone":        {begin().add(Operation{Kind: Update, Written: "2", Outcome: NotFound}), `expected "1", got no object`},
		"exists that was deleted":       {begin().delete().add(Operation{Kind: Create, Written: "2", Outcome: Exists}), `create of "2", already exists; expected no object, got already exists`},
		"timed out, and happened":       {history: begin().lostAnswer(Patch, "2").read("2")},
		"timed out, and did not":        {history: begin().lostAnswer(Patch, "2").read("1").patch("3").read("3")},
		"timed out, happens later":      {history: begin().lostAnswer(Patch, "2").read("1").patch("3").read("2")},
		"timed out, happens twice":      {begin().lostAnswer(Patch, "2").read("2").patch("3").read("2"), `expected "3", got "2"`},
		"timed out deletion":            {history: begin().lostAnswer(Delete, "").read("1").absent()},
		"timed out creation":            {history: new(log).lostAnswer(Create, "1").absent().read("1").delete().absent()},
		"timed out creation, then gone": {history: new(log).lostAnswer(Create, "1").delete().absent()},
		"refused":                       {history: begin().add(Operation{Kind: Patch, Written: "2", Outcome: Refused}).read("1")},
		"refused, and happened":         {begin().add(Operation{Kind: Patch, Written: "2", Outcome: Refused}).read("2"), `expected "1", got "2"`},
		"there and back":                {history: begin().update("1", "2").update("2", "1").update("1", "3").read("3")},
		"there and back, without":       {begin().update("1", "2").update("2", "1").read("2"), `expected "1", got "2"`},
		"status": {history: begin().add(status("s", State{Exists: true, Content: "1", Status: "s"})).add(read(State{Exists: true, Content: "1", Status: "s"})).
			add(Operation{Kind: Patch, Written: "2", Outcome: Acknowledged, Seen: &State{Exists: true, Content: "2", Status: "s"}})},
		"lost status": {begin().add(status("s", State{Exists: true, Content: "1", Status: "s"})).read("1"), `expected "1" with status "s", got "1"`},
		"another object of the name": {
			new(log).add(withUID(Operation{Kind: Create, Written: "1", Outcome: Acknowledged, Seen: there("1")}, "a")).add(withUID(read(*there("1")), "b")),
			`expected "1" and UID a, got "1" and UID b`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			violations, err := Judge(test.history.operations, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if err = lost(violations); err != nil {
					t.Fatalf("a correct history was refused: %v", err)
				}
				return
			}
			if len(violations) != 1 || !strings.Contains(violations[0].String(), test.want) {
				t.Errorf("got %v, want one violation with %q", lost(violations), test.want)
			}
		})
	}
}

// TestObjectsThatWereThere begins with what was there before the clients.
func TestObjectsThatWereThere(t *testing.T) {
	history := new(log).update("0", "1").operations
	if violations, err := Judge(history, map[string]State{"default/a": *there("0")}); err != nil || len(violations) != 0 {
		t.Errorf("got %v, %v", violations, err)
	}
	violations, err := Judge(history, map[string]State{"default/a": *there("other")})
	if err != nil || len(violations) != 1 || violations[0].Expected.Content != "other" {
		t.Errorf("got %+v, %v", violations, err)
	}
	if violations, err = Judge(history, nil); err != nil || len(violations) != 1 {
		t.Errorf("an update of no object: got %v, %v", violations, err)
	}
}

// TestViolationNamesWhatWasBefore has the lost write among the operations that a reader is shown.
func TestViolationNamesWhatWasBefore(t *testing.T) {
	violations, err := Judge(new(log).create("1").patch("2").patch("3").read("2").operations, nil)
	if err != nil || len(violations) != 1 {
		t.Fatalf("got %v, %v", violations, err)
	}
	v := violations[0]
	if v.Object != "default/a" || v.Operation.Kind != Read || len(v.Before) == 0 || v.Before[len(v.Before)-1].Written != "3" {
		t.Errorf("got %+v", v)
	}
}

func TestFiles(t *testing.T) {
	history := new(log).create("1").lostAnswer(Patch, "2").read("1").delete().absent().operations
	var file bytes.Buffer
	if err := Encode(&file, history); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(file.String(), "\n"); lines != len(history) {
		t.Errorf("%d lines of %d operations", lines, len(history))
	}
	again, err := Decode(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(again, history, func(a, b Operation) bool { return a.String() == b.String() && a.Call == b.Call && a.Return == b.Return }) {
		t.Errorf("got %v, want %v", again, history)
	}
	for text, want := range map[string]string{
		"{":                        "line 1 of the history: ",
		"{}":                       `line 1 of the history: unknown kind ""`,
		file.String() + "{}":       `line 6 of the history: unknown kind ""`,
		`{"kind":"read"}`:          `unknown outcome ""`,
		strings.Repeat("x", 2<<20): "reading the history: ",
		`{"kind":"read","outcome":"acknowledged"}`:                                  "the object must be named",
		`{"kind":"read","outcome":"acknowledged","object":"a"}`:                     "must say what it saw",
		`{"kind":"patch","outcome":"refused","object":"a","call": 2, "return":  1}`: "must not be before the call",
	} {
		if _, err := Decode(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", text, err, want)
		}
	}
	if _, err := Judge([]Operation{{}}, nil); err == nil {
		t.Error("an operation of no kind was judged")
	}
}

// simulated lets clients work on objects behind a register that behaves, and returns their operations, which take random times and
// overlap. Some answers are lost, whether or not what was asked for happened.
func simulated(operations, objects, clients int, lost float64) []Operation {
	random := rand.New(rand.NewPCG(1, 2))
	states := make([]State, objects)
	history := make([]Operation, 0, operations)
	for n := range operations {
		object := random.IntN(objects)
		state := &states[object]
		at := time.Duration(n) * 1000 // when it takes effect
		o := Operation{
			Client: random.IntN(clients), Object: fmt.Sprintf("default/%d", object), Outcome: Acknowledged,
			Call: at - time.Duration(random.Int64N(int64(clients)*700)), Return: at + time.Duration(random.Int64N(int64(clients)*700)),
		}
		o.Kind = Create
		if state.Exists {
			o.Kind = []Kind{Update, Patch, Apply, Status, Read, Read, Delete}[random.IntN(7)]
		}
		o.Written = strconv.Itoa(n)
		if o.Kind == Update {
			over := *state
			o.Over = &over
		}
		unknown := random.Float64() < lost
		if unknown {
			o.Outcome = Unknown
		}
		if !unknown || random.IntN(2) == 0 {
			_, after := step(*state, &Operation{Kind: o.Kind, Written: o.Written, Outcome: Acknowledged})
			*state = after
		}
		if seen := *state; !unknown && o.Kind != Delete {
			o.Seen = &seen
		}
		history = append(history, o)
	}
	return history
}

func TestSimulated(t *testing.T) {
	slow(t)
	for _, test := range []struct {
		objects, clients int
		lost             float64
	}{{1, 1, 0}, {20, 8, 0}, {100, 8, 0}, {1000, 16, 0.01}, {100, 4, 0.05}, {5000, 64, 0}} {
		history := simulated(100_000/portion, test.objects, test.clients, test.lost)
		begin := time.Now()
		violations, err := Judge(history, nil)
		t.Logf("%d objects, %d clients, %.0f %% of the answers lost: %s", test.objects, test.clients, 100*test.lost, time.Since(begin))
		if err != nil || len(violations) > 0 {
			t.Fatalf("%+v: a correct history has %d violations: %v, %v", test, len(violations), lost(violations), err)
		}
	}
}

// TestSimulatedLosses undoes a write now and then, and wants each to be found in the object that it happened to.
func TestSimulatedLosses(t *testing.T) {
	history := simulated(20_000, 50, 8, 0.001)
	lost := map[string]bool{}
	for i := range history {
		o := &history[i]
		if i%997 == 0 && o.Kind != Delete && o.Seen != nil {
			stale := *o.Seen
			stale.Content = "stale"
			o.Seen = &stale
			lost[o.Object] = true
		}
	}
	violations, err := Judge(history, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, v := range violations {
		found[v.Object] = true
		if v.Undecided {
			t.Errorf("undecided: %v", v)
		}
	}
	for object := range lost {
		if !found[object] {
			t.Errorf("what %s lost was not found", object)
		}
	}
	for object := range found {
		if !lost[object] {
			t.Errorf("%s lost nothing", object)
		}
	}
}

// lost joins violations into one error, nil if there is none.
func lost(violations []Violation) error {
	var errs []error
	for _, v := range violations {
		errs = append(errs, errors.New(v.String()))
	}
	return errors.Join(errs...)
}
