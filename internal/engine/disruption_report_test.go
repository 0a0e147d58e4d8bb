package engine

import (
	"reflect"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/reports"
)

func TestDisruptionOf(t *testing.T) {
	h := &record.History{
		Header: record.Header{Scenario: "disruption.restart.killed", Title: "killed", Objective: objective.Limit{Failed: new(0)}},
		Marks: []record.Mark{
			{Name: "warm", At: time.Second},
			{Name: record.Quiet, At: 2 * time.Second},
			{Name: record.FaultBegan, At: 4 * time.Second, Text: "SIGKILL"},
			{Name: record.FaultEnded, At: 5 * time.Second},
			{Name: record.Ready, At: 6 * time.Second},
			{Name: record.End, At: 10 * time.Second},
		},
		Samples:    []memory.Sample{{At: 3 * time.Second, Resident: 7}, {At: 4 * time.Second, Resident: 5}},
		Operations: []record.Operation{{Operation: history.Operation{Version: "v1", Call: 2 * time.Second, Return: 2*time.Second + 5*time.Millisecond, Outcome: history.Acknowledged}, Verb: record.List}},
	}
	got := disruptionOf(h, record.Report{Void: []string{"busy"}, Facts: record.Facts{
		Operations: 9, Failed: 3, Lost: 2, Wrong: 1, Lag: time.Millisecond, FirstFailure: new(time.Second), Recovery: new(3 * time.Second),
		Outages:  []record.Outage{{Longest: time.Second}, {Longest: 2 * time.Second}},
		Watches:  []record.WatchFact{{Ended: 2, Gone: 1, Resumed: 3 * time.Second}, {Ended: 1, Resumed: time.Second}},
		Failures: []record.Failure{{Verb: record.Get, Version: "v1", Storage: true, Error: record.Timeout, During: 2, After: 1, Example: "timeout"}},
	}}, "widgets")
	points := got.Points
	got.Points = nil
	want := reports.Disruption{
		Requirement: "disruption.restart.killed", Subject: "widgets", Title: "killed", Objective: "failed=0", Void: []string{"busy"},
		Began: 2, Ended: 3, Ready: new(4.0), Seconds: 8, Operations: 9, Failed: 3, Lost: 2, Wrong: 1, Outage: 2, WatchEnds: 3, WatchGone: 1, Silence: 3, MaxMemory: 7, Lag: 0.001,
		FirstFailure: new(1.0), Recovery: new(3.0),
		Failures: []reports.DisruptionFailure{{Verb: "get", Version: "v1", Error: "timeout", Count: 3, Stored: true, Example: "timeout"}},
		Marks: []reports.DisruptionMark{
			{Name: record.Quiet},
			{Name: record.FaultBegan, Seconds: 2, Text: "SIGKILL"},
			{Name: record.FaultEnded, Seconds: 3},
			{Name: record.Ready, Seconds: 4},
			{Name: record.End, Seconds: 8},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(points) != 80 || points[0].Succeeded != 10 || points[0].P50 != 5 || points[0].P99 != 5 || points[10].Memory != 7 || points[79].Seconds != 8 {
		t.Errorf("%d points, the first %+v", len(points), points[0])
	}
}
