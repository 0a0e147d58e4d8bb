package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/crdconform/crdconform/internal/history"
)

// compare finds what was lost, and what was converted differently.
func (s *span) compare(h *History, f *Facts) ([]Anomaly, error) {
	lost, err := s.lost(h, f)
	if err != nil {
		return nil, err
	}
	return append(lost, s.wrong(h, f)...), nil
}

// lost judges the registers. All operations count, those before quiet too.
func (*span) lost(h *History, f *Facts) ([]Anomaly, error) {
	var operations []history.Operation
	for _, o := range h.Operations {
		if single, is := o.History(); is {
			operations = append(operations, single)
		}
	}
	violations, err := history.Judge(operations, h.Header.Before)
	if err != nil {
		return nil, err
	}
	lost, undecided := Anomaly{Kind: FoundLost}, Anomaly{Kind: FoundUndecided}
	for _, v := range violations {
		anomaly := &lost
		if v.Undecided {
			anomaly = &undecided
		}
		anomaly.add(v.String())
	}
	f.Lost = lost.Count
	lost.Text = english.Plural(lost.Count, "answer", "") + " can't be explained by the writes that were acknowledged before"
	undecided.Text = english.Plural(undecided.Count, "object", "") + " had too many operations at the same time to find out whether something was lost"
	return found(lost, undecided), nil
}

// add counts an example.
func (f *Anomaly) add(example string) {
	f.Count++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, example)
	}
}

// found returns the anomalies that there are.
func found(all ...Anomaly) []Anomaly {
	var made []Anomaly
	for _, f := range all {
		if f.Count > 0 {
			made = append(made, f)
		}
	}
	return made
}

// content is what has one digest.
type content struct{ object, version, content string }

// wrong compares digests with those of before the fault.
func (s *span) wrong(h *History, f *Facts) []Anomaly {
	wrong, unstable := Anomaly{Kind: FoundWrong}, Anomaly{Kind: FoundUnstable}
	quiet, differs := map[content]string{}, map[content]bool{}
	for seen := range sights(h) {
		switch digest, known := quiet[seen.content]; {
		case seen.at >= s.began:
		case !known:
			quiet[seen.content] = seen.digest
		case digest != seen.digest && !differs[seen.content]:
			differs[seen.content] = true
			unstable.add(fmt.Sprintf("%s at %s", seen.object, seen.version))
		}
	}
	for seen := range sights(h) {
		if seen.at < s.began {
			continue
		}
		switch digest, known := quiet[seen.content]; {
		case !known, differs[seen.content]:
			f.Uncompared++
		case digest == seen.digest:
			f.Compared++
		default:
			f.Compared++
			text := fmt.Sprintf("%s at %s, %s after the beginning of the fault, by a %s", seen.object, seen.version, round(seen.at-s.began), seen.verb)
			if len(seen.differs) > 0 {
				text += ": " + strings.Join(seen.differs, ", ")
			}
			wrong.add(text)
		}
	}
	f.Wrong = wrong.Count
	wrong.Text = english.Plural(wrong.Count, "answer", "") + " differed from that of the undisturbed webhook for the same object at the same version"
	unstable.Text = english.Plural(unstable.Count, "object", "") + " differed already before the fault, so later answers can't be compared"
	return found(wrong, unstable)
}

// sight is an object that a client was shown.
type sight struct {
	content

	digest  string
	differs []string
	at      time.Duration
	verb    Verb
}

// sights yields what clients were shown: in answers and by watches.
func sights(h *History) func(yield func(sight) bool) {
	return func(yield func(sight) bool) {
		for _, o := range h.Operations {
			for _, seen := range o.Sights() {
				if !yield(sight{content{seen.Object, o.Version, seen.Content}, seen.Digest, seen.Differs, o.Return, o.Verb}) {
					return
				}
			}
		}
		for _, w := range h.Watches {
			if w.Sight != nil && !yield(sight{content{w.Sight.Object, w.Version, w.Sight.Content}, w.Sight.Digest, w.Sight.Differs, w.At, Watch}) {
				return
			}
		}
	}
}
