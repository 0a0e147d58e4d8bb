package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
)

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
