package load

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// Merge sums up what several generators measured of one workload, each of its own part. The result is the same as if one had
// measured it all: histograms are added, never percentiles, and the seconds are aligned by how long after the beginning they
// are. Of the generators themselves, processor times are added, and of the rest the largest is taken, the number of cores among
// it: they may share a machine, or have one each.
//
// Parts that are missing make the result partial and are in Lost, without a reason. Merge fails for summaries that are not of
// different parts of the same workload. Of none, it returns a summary in which nothing was measured.
func Merge(summaries ...Summary) (Summary, error) {
	return MergeAll(func(yield func(Summary, error) bool) {
		for _, s := range summaries {
			if !yield(s, nil) {
				return
			}
		}
	})
}

// MergeAll is Merge for summaries that come one after another, since the histograms of hundreds take much memory. It fails with the first
// error that comes.
func MergeAll(summaries iter.Seq2[Summary, error]) (Summary, error) {
	all := newTimes()
	merged := Summary{
		Response: all.response, Service: all.service, Lag: all.lag,
		Unsent: map[string]uint64{}, Errors: map[Kind]uint64{}, Violations: map[requirement.ID]uint64{},
	}
	var workloads []Workload
	var errs []error
	var seconds [][]Second
	for s, err := range summaries {
		if err != nil {
			return Summary{}, err
		}
		if len(workloads) == 0 {
			merged.Began = s.Began
		}
		workloads = append(workloads, s.Workload)
		count(&merged, s)
		errs = append(errs, join(merged.Response, s.Response), join(merged.Service, s.Service), join(merged.Lag, s.Lag))
		seconds = append(seconds, s.Seconds)
	}
	if len(workloads) == 0 {
		return merged, nil
	}
	if err := mergeable(workloads); err != nil {
		return Summary{}, err
	}
	merged.Workload = workloads[0]
	merged.Workers, merged.Workload.Part = merged.Workload.Part.Of, Part{}
	merged.Lost = lost(workloads)
	merged.Partial = merged.Partial || len(merged.Lost) > 0
	merged.Findings = firstFindings(merged.Findings)
	var err error
	merged.Seconds, err = mergeSeconds(seconds)
	if err = errors.Join(append(errs, err)...); err != nil {
		return Summary{}, err
	}
	return merged, nil
}

// mergeable fails unless workloads are different parts of the same one.
func mergeable(workloads []Workload) error {
	seen := map[int]bool{}
	first := workloads[0]
	for _, w := range workloads {
		part := w.Part
		w.Part = first.Part
		switch {
		case part.Of < 1:
			return errors.New("load: a run that was not shared cannot be merged with others")
		case part.Of != first.Part.Of || !part.Start.Equal(first.Part.Start) || !reflect.DeepEqual(w, first):
			return fmt.Errorf("load: what %s measured is not from the same workload as what %s measured", part, first.Part)
		case seen[part.Index]:
			return fmt.Errorf("load: what %s measured is included twice", part)
		}
		seen[part.Index] = true
	}
	return nil
}

// lost returns the parts that are missing.
func lost(workloads []Workload) []Lost {
	w := workloads[0]
	var missing []Lost
	for index := range w.Part.Of {
		if slices.ContainsFunc(workloads, func(other Workload) bool { return other.Part.Index == index }) {
			continue
		}
		w.Part.Index = index
		missing = append(missing, Lost{Part: w.Part, Share: w.Share()})
	}
	return missing
}

// count adds everything of another summary except its times.
func count(s *Summary, o Summary) {
	if o.Began.Before(s.Began) {
		s.Began = o.Began
	}
	s.Elapsed = max(s.Elapsed, o.Elapsed)
	s.LastSent, s.LastAnswer = max(s.LastSent, o.LastSent), max(s.LastAnswer, o.LastAnswer)
	s.Partial = s.Partial || o.Partial
	s.Protocol = cmp.Or(s.Protocol, o.Protocol)
	for _, sum := range []struct {
		to   *uint64
		from uint64
	}{
		{&s.Requests, o.Requests},
		{&s.Objects, o.Objects},
		{&s.Good, o.Good},
		{&s.Accepted, o.Accepted},
		{&s.BytesIn, o.BytesIn},
		{&s.BytesOut, o.BytesOut},
		{&s.Unanswered, o.Unanswered},
		{&s.Late, o.Late},
	} {
		*sum.to += sum.from
	}
	addAll(s.Unsent, o.Unsent)
	addAll(s.Errors, o.Errors)
	addAll(s.Violations, o.Violations)
	s.Findings = append(s.Findings, o.Findings...)
	s.Generator = loadgen.Generator{
		ProcessorSeconds: s.Generator.ProcessorSeconds + o.Generator.ProcessorSeconds,
		Cores:            max(s.Generator.Cores, o.Generator.Cores),
		Collections:      max(s.Generator.Collections, o.Generator.Collections),
		Paused:           max(s.Generator.Paused, o.Generator.Paused),
		Waited:           max(s.Generator.Waited, o.Generator.Waited),
	}
}

func addAll[K comparable](to, from map[K]uint64) {
	for key, n := range from {
		to[key] += n
	}
}

// firstFindings keeps the findings of the first requests, and as much evidence as a single run does.
func firstFindings(all []loadgen.Finding) []loadgen.Finding {
	slices.SortStableFunc(all, func(a, b loadgen.Finding) int { return cmp.Compare(a.Request, b.Request) })
	var first []loadgen.Finding
	var files []loadgen.File // of a request with a finding that is left out, which are the evidence of its next one
	for i, f := range all {
		if i > 0 && all[i-1].Request != f.Request {
			files = nil
		}
		if f.Tolerated && exemplified(first, f.Requirement) {
			files = append(files, f.Files...)
			continue
		}
		if len(first) < findings {
			f.Files = append(f.Files, files...)
			files = nil
			first = append(first, f)
		}
	}
	all = first
	kept := 0
	for i := range all {
		f := &all[i]
		size := 0
		for _, file := range f.Files {
			size += len(file.Data)
		}
		if kept+size <= evidence {
			kept += size
		} else {
			f.Files = nil
		}
	}
	return all
}

// join adds a histogram to another one, and fails when there is no place for all of it.
func join(to, from *hdrhistogram.Histogram) error {
	if from == nil {
		return errors.New("load: a histogram is missing")
	}
	if dropped := to.Merge(from); dropped != 0 {
		return fmt.Errorf("load: a histogram has %d times that are out of the range of others", dropped)
	}
	return nil
}

// mergeSeconds merges the seconds of several generators. Their ticks differ slightly, and a late tick makes its second longer and
// the next one shorter, so a second is identified by its middle.
func mergeSeconds(all [][]Second) ([]Second, error) {
	at := map[int][]Second{}
	for _, seconds := range all {
		var began float64
		for _, s := range seconds {
			n := int((began + s.End) / 2)
			at[n] = append(at[n], s)
			began = s.End
		}
	}
	var merged []Second
	for _, n := range slices.Sorted(maps.Keys(at)) {
		second, _, err := MergeSecond(at[n]...)
		if err != nil {
			return nil, err
		}
		merged = append(merged, Second{Second: second})
	}
	return merged, nil
}

// MergeSecond sums up what several generators measured in the same second of a run, each of its own part of the workload, and
// returns it with the histogram of the response times in microseconds. It ends when the last of them does.
func MergeSecond(seconds ...Second) (loadgen.Second, *hdrhistogram.Histogram, error) {
	var merged loadgen.Second
	h := histogram.New()
	for _, s := range seconds {
		response, err := histogram.Decode(s.Response)
		if err != nil {
			return merged, nil, fmt.Errorf("load: the histogram of the second that ends after %gs: %w", s.End, err)
		}
		if err := join(h, response); err != nil {
			return merged, nil, err
		}
		merged.End = max(merged.End, s.End)
		merged.Requests += s.Requests
		merged.Objects += s.Objects
		merged.Failed += s.Failed
	}
	setTimes(&merged, h)
	return merged, h, nil
}

// setTimes sets the times of a second from the histogram of its response times.
func setTimes(s *loadgen.Second, response *hdrhistogram.Histogram) {
	if response.TotalCount() == 0 {
		return
	}
	at := func(percentile float64) float64 {
		return histogram.Milliseconds(response.ValueAtPercentile(percentile))
	}
	s.P50, s.P90, s.P99, s.Max = at(50), at(90), at(99), histogram.Milliseconds(response.Max())
}
