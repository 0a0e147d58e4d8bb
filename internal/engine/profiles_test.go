package engine

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestProfilesThatAreNotSent stops a run in the first of two profiles. What was measured stays, and the report names the other.
func TestProfilesThatAreNotSent(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	correct, requests := webhook.Handler(), 0
	d := Description{LoadProfiles: []string{"apiserver", "relist"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 20 { // from one client, so one after another
			stop()
		}
		correct.ServeHTTP(w, r)
	})}
	d.Load = config.Load{Duration: config.Duration{Duration: 10 * time.Second}, Pairs: []config.Pair{{From: "v1beta1", To: "v1"}}}
	plan, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Load(ctx, nil, nil)
	if !report.Interrupted || report.Load == nil || report.Load.Profile != "apiserver" || len(report.Load.Stages) != 1 || report.Load.Stages[0].Requests == 0 {
		t.Errorf("interrupted: %t, %+v", report.Interrupted, report.Load)
	}
	if want := "Of the load profiles, these were not sent: relist."; !slices.Contains(report.Notes, want) {
		t.Errorf("the notes are %q, want one that says %q", report.Notes, want)
	}
}

// TestSeveralProfiles sends two profiles to a faulty webhook. The findings of each keep files of their own.
func TestSeveralProfiles(t *testing.T) {
	t.Parallel()
	d := Description{Handler: faulty(t, "wrong-uid"), LoadProfiles: []string{"constant", "apiserver"}}
	d.Load = config.Load{Duration: config.Duration{Duration: 200 * time.Millisecond}, Pairs: []config.Pair{{From: "v1beta1", To: "v1"}}}
	plan, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Load(t.Context(), nil, nil)
	if report.Load == nil {
		t.Fatalf("no load was sent: %s", report.Error)
	}
	var names, files []string
	for _, s := range report.Load.Stages {
		names = append(names, s.Name)
		if s.Failed == 0 || s.Failed != s.Requests || len(s.Findings) == 0 {
			t.Errorf("%s: %d of %d requests failed, with %d findings", s.Name, s.Failed, s.Requests, len(s.Findings))
		}
		for _, finding := range s.Findings {
			for _, file := range finding.Files {
				if slices.Contains(files, file.Path) {
					t.Errorf("%s: the file %s is there twice", s.Name, file.Path)
				}
				files = append(files, file.Path)
			}
		}
	}
	if want := []string{"constant", "clients 1", "clients 10"}; !slices.Equal(names, want) {
		t.Errorf("the stages are %q, want %q", names, want)
	}
	if len(files) == 0 {
		t.Error("no finding has a file")
	}
}
