package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Violation is what clients of an object observed that no register can explain.
type Violation struct {
	Object     string      `json:"object"`
	Operation  Operation   `json:"operation"` // the first that cannot be explained
	Before     []Operation `json:"before"`    // what was done last to the object before that, the last one at the end; at most five
	Expected   State       `json:"expected"`  // what the operations before it left
	Actual     *State      `json:"actual"`    // what the operation showed; nil if its answer has no object
	Undecided  bool        `json:"undecided"` // there was no time to find out, so it may be no violation
	Operations int         `json:"operations"`
}

// String says what is wrong.
func (v Violation) String() string {
	if v.Undecided {
		return fmt.Sprintf("%s: %d operations at the same time are too many to decide whether they fit together", v.Object, v.Operations)
	}
	actual := string(v.Operation.Outcome)
	if v.Actual != nil {
		actual = v.Actual.String()
	}
	return fmt.Sprintf("%s: %s; expected %s, got %s", v.Object, v.Operation, v.Expected, actual)
}

// undecidedAfter is how long the operations of an object that overlap are tried in other orders. What writers of ours do takes
// milliseconds.
const undecidedAfter = 10 * time.Second

// Judge returns what cannot be explained, by object, in the order of their names and of time. Each object begins with what the map has
// for it, or as one that does not exist. The error names an operation that cannot be judged.
func Judge(operations []Operation, before map[string]State) ([]Violation, error) {
	objects := map[string][]*Operation{}
	for i := range operations {
		o := &operations[i]
		if err := o.valid(); err != nil {
			return nil, fmt.Errorf("operation %d of the history: %w", i+1, err)
		}
		if o.Outcome != Refused {
			objects[o.Object] = append(objects[o.Object], o)
		}
	}
	var names []string
	for name := range objects {
		names = append(names, name)
	}
	slices.Sort(names)
	var violations []Violation
	for _, name := range names {
		for _, s := range segments(settled(objects[name]), before[name]) {
			if violation, found := s.judge(name); found {
				violations = append(violations, violation)
			}
		}
	}
	return violations, nil
}

// settled returns the operations of an object in the order of their calls, without those that are unknown and showed nowhere.
//
// An operation that may have happened could happen at any time later, so each doubles the orders to try. But values are written once:
// one that nobody saw was overwritten unseen at most, which is as if it had not happened; and one that somebody saw had happened by then.
func settled(operations []*Operation) []*Operation {
	writers, seen := map[value]int{}, map[value]time.Duration{}
	for _, o := range operations {
		if v, writes := o.value(); writes {
			writers[v]++
		}
		for _, s := range []*State{o.Seen, o.Over} {
			if s == nil {
				continue
			}
			when := o.Return
			if o.Outcome == Unknown {
				when = math.MaxInt64 // it may have written over it at any time
			}
			for _, v := range []value{{text: s.Content}, {text: s.Status, status: true}} {
				if first, there := seen[v]; !there || when < first {
					seen[v] = when
				}
			}
		}
	}
	var kept []*Operation
	for _, o := range operations {
		if o.Outcome == Unknown {
			unknown := *o
			unknown.Return = math.MaxInt64
			v, writes := o.value()
			when, shows := seen[v]
			switch {
			case o.Kind == Read:
				continue
			case writes && writers[v] == 1 && shows:
				unknown.Return = max(when, o.Call)
			case writes && !shows && o.Kind != Create: // one that is created and deleted unseen leaves a deletion that was acknowledged
				continue
			}
			o = &unknown
		}
		kept = append(kept, o)
	}
	slices.SortStableFunc(kept, func(a, b *Operation) int { return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return)) })
	return kept
}

// value is what an operation writes, to the content or to the status.
type value struct {
	text   string
	status bool
}

func (o Operation) value() (value, bool) {
	return value{o.Written, o.Kind == Status}, o.Kind != Read && o.Kind != Delete
}

// segment is a part of an object's history that begins with a state that is known.
type segment struct {
	before     State
	operations []*Operation
	earlier    []*Operation // what was done before it; for people
}

// segments cuts the history of an object where its state was read and nothing else was under way. Orders before and after have
// nothing to do with each other, and one thing that is wrong makes one violation.
func segments(operations []*Operation, before State) []segment {
	var all []segment
	begin, last := 0, time.Duration(math.MinInt64)
	for i, o := range operations {
		alone := o.Call > last && (i+1 == len(operations) || operations[i+1].Call > o.Return)
		last = max(last, o.Return)
		state, known := o.leaves()
		if alone && known && o.Outcome != Unknown || i+1 == len(operations) {
			all = append(all, segment{before, operations[begin : i+1], operations[max(0, begin-5):begin]})
			begin, before = i+1, state
		}
	}
	return all
}

// leaves returns what is there after an operation, as far as its client knows.
func (o Operation) leaves() (State, bool) {
	switch {
	case o.Outcome == NotFound, o.Outcome == Acknowledged && o.Kind == Delete:
		return State{}, true
	case o.Outcome == Acknowledged && o.Seen != nil:
		return *o.Seen, true
	}
	return State{}, false
}

// step returns whether an operation can have been answered as it was in a state, and the state after it.
func step(state State, o *Operation) (bool, State) {
	switch o.Outcome {
	case NotFound:
		return !state.Exists, state
	case Exists:
		return state.Exists, state
	case Acknowledged, Refused, Unknown:
	}
	may := state.Exists != (o.Kind == Create) && (o.Over == nil || state.fits(*o.Over))
	if !may {
		return o.Outcome == Unknown, state
	}
	after := state
	switch o.Kind {
	case Create:
		after = State{Exists: true, Content: o.Written}
	case Status:
		after.Status = o.Written
	case Delete:
		after = State{}
	case Update, Patch, Apply:
		after.Content = o.Written
	case Read:
	}
	if o.Seen == nil || o.Kind == Delete {
		return true, after
	}
	fits := after.fits(*o.Seen)
	after.UID = cmp.Or(after.UID, o.Seen.UID)
	return fits, after
}

// fits reports whether a state is what somebody saw.
func (s State) fits(seen State) bool {
	if s.UID == "" || seen.UID == "" {
		s.UID, seen.UID = "", ""
	}
	return s == seen
}

func (s segment) judge(object string) (Violation, bool) {
	model := porcupine.Model{
		Init: func() any { return s.before },
		Step: func(state, input, _ any) (bool, any) {
			return step(state.(State), input.(*Operation)) //nolint:errcheck // the model has no others
		},
	}
	history := make([]porcupine.Operation, 0, len(s.operations))
	for _, o := range s.operations {
		history = append(history, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)})
	}
	result := porcupine.CheckOperationsTimeout(model, history, undecidedAfter)
	switch result {
	case porcupine.Ok:
		return Violation{}, false
	case porcupine.Illegal:
	case porcupine.Unknown:
		return Violation{Object: object, Operation: *s.operations[0], Expected: s.before, Undecided: true, Operations: len(s.operations)}, true
	}
	_, information := porcupine.CheckOperationsVerbose(model, history, undecidedAfter)
	return s.explain(object, information), true
}

// explain finds the first operation that no order can have after the most that some order can.
func (s segment) explain(object string, information porcupine.LinearizationInfo) Violation {
	var longest []porcupine.Operation
	for _, sequences := range information.PartialLinearizationsOperations() {
		for _, sequence := range sequences {
			if len(sequence) > len(longest) {
				longest = sequence
			}
		}
	}
	state, done := s.before, map[*Operation]bool{}
	before := slices.Clone(s.earlier)
	for _, explained := range longest {
		o, _ := explained.Input.(*Operation)
		_, state = step(state, o)
		done[o] = true
		before = append(before, o)
	}
	var first *Operation
	for _, o := range s.operations {
		if !done[o] && o.Outcome != Unknown && (first == nil || o.Return < first.Return) {
			first = o
		}
	}
	violation := Violation{Object: object, Operation: *first, Expected: state, Operations: len(s.operations)}
	for _, o := range before[max(0, len(before)-5):] {
		violation.Before = append(violation.Before, *o)
	}
	if actual, known := first.leaves(); known {
		violation.Actual = &actual
	}
	return violation
}
