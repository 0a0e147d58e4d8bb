package suites

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Result is the result of one spec.
type Result struct {
	Requirement requirement.ID
	Text        string // what the spec does
	Verdict     requirement.Verdict
	Reason      string // why the verdict is not Passed; empty when it is
	Findings    []reports.FieldFinding
	Immaterial  bool   // NotApplicable because the subject has nothing that the requirement is about
	Location    string // file:line below the root of the module, of the spec, and of the failure if there was one
	Duration    time.Duration
	Output      string // what the spec logged
	Attachments []Attachment
}

// requirementOf returns the requirement that a spec checks, and whether the report is of a spec.
func requirementOf(r types.SpecReport) (requirement.ID, bool) {
	if r.LeafNodeType != types.NodeTypeIt {
		return "", false
	}
	return LabelledBy(r.LeafNodeLabels)
}

// LabelledBy returns the requirement that is among the labels of a spec, if there is one.
func LabelledBy(labels []string) (requirement.ID, bool) {
	for _, label := range labels {
		if r, found := requirement.Lookup(requirement.ID(label)); found {
			return r.ID, true
		}
	}
	return "", false
}

// resultOf translates Ginkgo's report of a spec.
func resultOf(r types.SpecReport) (Result, bool) {
	id, ok := requirementOf(r)
	if !ok {
		return Result{}, false
	}
	result := Result{
		Requirement: id,
		Text:        r.LeafNodeText,
		Location:    where(r.LeafNodeLocation),
		Duration:    r.RunTime,
		Output:      r.CapturedGinkgoWriterOutput,
	}
	result.Verdict, result.Reason = verdictOf(r)
	if result.Verdict == requirement.Failed || result.Verdict == requirement.Errored {
		result.Location = where(r.Failure.Location)
	}
	for _, entry := range r.ReportEntries {
		result.Immaterial = result.Immaterial || entry.Name == entryImmaterial
		// What is found last is what the verdict is about.
		if findings, ok := entry.GetRawValue().([]reports.FieldFinding); ok {
			result.Findings = findings
		}
		if attachment, ok := entry.GetRawValue().(Attachment); ok {
			result.Attachments = slices.DeleteFunc(result.Attachments, func(a Attachment) bool { return a.Name == attachment.Name })
			result.Attachments = append(result.Attachments, attachment)
		}
	}
	return result, true
}

// verdictOf says what Ginkgo's report of a spec amounts to, and why. Only a failed assertion of the spec itself, or its
// running out of time, speaks against whom it checks; everything else that goes wrong is the harness's.
func verdictOf(r types.SpecReport) (requirement.Verdict, string) {
	entry := func(name string) (string, bool) {
		i := slices.IndexFunc(r.ReportEntries, func(e types.ReportEntry) bool { return e.Name == name })
		if i < 0 {
			return "", false
		}
		return r.ReportEntries[i].StringRepresentation(), true
	}
	errored, isErrored := entry(entryErrored)
	unreachable, isUnreachable := entry(entryUnreachable)
	if _, stopped := entry(entryStopped); stopped && r.State != types.SpecStatePassed {
		return requirement.Unknown, "it was interrupted"
	}
	switch r.State {
	case types.SpecStatePassed:
		if how, tolerated := entry(entryTolerated); tolerated {
			return requirement.Tolerated, how
		}
		return requirement.Passed, ""
	case types.SpecStateSkipped:
		if r.Failure.Message != "" {
			return requirement.NotApplicable, r.Failure.Message
		}
		return requirement.Unknown, "it did not run"
	case types.SpecStateFailed, types.SpecStateTimedout:
		switch {
		case isUnreachable:
			return requirement.Errored, unreachable
		case isErrored && (r.State == types.SpecStateTimedout || r.Failure.Message == setUp+errored):
			return requirement.Errored, errored // rather than because of what was found before
		case r.Failure.FailureNodeContext == types.FailureNodeIsLeafNode:
			return requirement.Failed, r.Failure.Message
		}
		return requirement.Errored, r.Failure.Message
	case types.SpecStatePanicked:
		return requirement.Errored, "the spec panicked: " + r.Failure.ForwardedPanic
	case types.SpecStateInterrupted, types.SpecStateAborted, types.SpecStateInvalid, types.SpecStatePending:
		return requirement.Unknown, "it was interrupted"
	}
	return requirement.Unknown, "it did not run"
}

// where is a place in the source, below the root of the module: its path on the machine that built crdconform is meaningless.
func where(at types.CodeLocation) string {
	_, here, _, _ := runtime.Caller(0)
	return strings.TrimPrefix(at.String(), strings.TrimSuffix(here, "internal/suites/verdict.go"))
}
