package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// TestIdleLosses has declared losses that are about nothing: they would have been taken for declared in silence.
func TestIdleLosses(t *testing.T) {
	t.Parallel()
	crontabs := corpus.CronTabs("v1beta1", "v1")
	for path, idle := range map[string]bool{
		"hostPort": false, "host": false, "metadata.annotations['a/b']": false, "*": false, ".*.deep": false,
		"hostport": true, "host.name": true, "spec.nosuch[*].a": true,
	} {
		pattern, err := fieldpath.ParsePattern(strings.TrimPrefix(path, "."))
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			l    config.Lossy
			idle bool
		}{
			{config.Lossy{Path: pattern}, idle},
			{config.Lossy{Path: pattern, Group: crontabs.Group, Kind: "CronTab", Through: "v1"}, idle},
			{config.Lossy{Path: pattern, Kind: "Crontab"}, true},
			{config.Lossy{Path: pattern, Group: "example.org"}, true},
			{config.Lossy{Path: pattern, From: "v2"}, true},
			{config.Lossy{Path: pattern, Through: "v2"}, true},
			{config.Lossy{Path: pattern, From: "v1"}, idle || path == "hostPort"},
		} {
			p := &Plan{want: Description{Config: config.Config{Lossy: []config.Lossy{test.l}}}, kinds: []corpus.Corpus{crontabs}}
			if p.noteIdleLosses(); len(p.notes) > 0 != test.idle {
				t.Errorf("%s of %+v: %q", path, test.l, p.notes)
			}
			if test.idle && !slices.ContainsFunc(p.notes, func(note string) bool {
				return strings.HasPrefix(note, "lossy[0] declares the loss of "+pattern.String()+", which is not a field of the objects to check")
			}) {
				t.Errorf("%s: %q", path, p.notes)
			}
		}
	}
}

// TestIdleMeanings has fields declared to have other values that no object has.
func TestIdleMeanings(t *testing.T) {
	t.Parallel()
	pattern := func(path string) config.Pattern {
		parsed, err := fieldpath.ParsePattern(path)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	p := &Plan{kinds: []corpus.Corpus{corpus.CronTabs("v1beta1", "v1")}, want: Description{Config: config.Config{
		Moved:         []config.Changed{{Path: pattern("hostPort"), Into: pattern("host")}, {Path: pattern("nosuch"), Into: pattern("host")}},
		RenamedValues: []config.Changed{{Path: pattern("host")}, {Path: pattern("host"), Kind: "Crontab"}},
	}}}
	p.noteIdleMeanings()
	want := []string{
		"moved[1] names nosuch, which is not a field of the objects to check",
		"renamedValues[1] names host, which is not a field of the objects to check (kind Crontab)",
	}
	if !slices.Equal(p.notes, want) {
		t.Errorf("got %q, want %q", p.notes, want)
	}
}
