package main

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern string
		id      requirement.ID
		want    bool
	}{
		{"storage.update.rewrites", "storage.update.rewrites", true},
		{"storage.update", "storage.update.rewrites", true},
		{"storage", "storage.update.rewrites", true},
		{"stor", "storage.update.rewrites", false},
		{"storage.", "storage.update.rewrites", false},
		{"storage.up", "storage.update.rewrites", false},
		{"storage.update.rewrites.more", "storage.update.rewrites", false},
		{"update", "storage.update.rewrites", false},
		{"", "storage.update.rewrites", false},
		{"*", "storage.update.rewrites", true},
		{"*.rewrites", "storage.update.rewrites", true},
		{"storage.*", "storage.update.rewrites", true},
		{"storage.*.read", "storage.update.rewrites", false},
		{"storage.update.rewrite?", "storage.update.rewrites", true},
		{"[rs]torage.*", "storage.update.rewrites", true},
		{"STORAGE", "storage.update.rewrites", false},
	} {
		if got, err := test.id.Matches(test.pattern); err != nil || got != test.want {
			t.Errorf("%q and %s: %t, %v, want %t", test.pattern, test.id, got, err, test.want)
		}
	}
	for _, pattern := range []string{"[", "storage.[a", `\`, "zzz["} {
		if _, err := requirement.ID("storage.update.rewrites").Matches(pattern); err == nil {
			t.Errorf("%q: no error", pattern)
		}
	}
}

func TestExpand(t *testing.T) {
	tested := []requirement.ID{"webhook.response.uid", "webhook.response.kind", "webhook.failure.uid"}
	for patterns, want := range map[string][]requirement.ID{
		"":                                   nil,
		"webhook.failure":                    {"webhook.failure.uid"},
		"*.uid":                              {"webhook.failure.uid", "webhook.response.uid"},
		"*.uid webhook.response":             {"webhook.failure.uid", "webhook.response.kind", "webhook.response.uid"},
		"webhook.response.uid *.uid webhook": {"webhook.failure.uid", "webhook.response.kind", "webhook.response.uid"},
	} {
		found, err := expand("--filter", strings.Fields(patterns), tested)
		if got := slices.Sorted(maps.Keys(found)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", patterns, got, err, want)
		}
	}
	for patterns, want := range map[string]string{
		"webhook webhook.response.uidd": "--skip webhook.response.uidd: unknown requirement",
		"*.uid storage":                 `--skip storage: "crdconform run" and "crdconform storage safe-to-drop" check it, this command does not`,
		"[":                             "--skip [: malformed pattern",
	} {
		if found, err := expand("--skip", strings.Fields(patterns), tested); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error that begins with %q", patterns, found, err, want)
		}
	}
	if _, err := expand("--filter", []string{""}, tested); err == nil {
		t.Error("an empty pattern is no error")
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	webhookOnly := []suites.Area{chapter.Area}
	for name, test := range map[string]struct {
		selection selection
		in, out   []requirement.ID
	}{
		"everything": {selection{}, []requirement.ID{"webhook.response.uid", "webhook.failure.uid"}, nil},
		"a filter":   {selection{filter: []string{"webhook.response"}}, []requirement.ID{"webhook.response.uid"}, []requirement.ID{"webhook.failure.uid", "storage.update.rewrites"}},
		"a skip":     {selection{skip: []string{"*.uid"}}, []requirement.ID{"webhook.response.kind"}, []requirement.ID{"webhook.response.uid", "webhook.failure.uid"}},
		"both":       {selection{filter: []string{"*.uid"}, skip: []string{"webhook.failure"}}, []requirement.ID{"webhook.response.uid"}, []requirement.ID{"webhook.failure.uid", "webhook.response.kind"}},
	} {
		selects, err := test.selection.resolve(webhookOnly)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, id := range test.in {
			if !selects(id) {
				t.Errorf("%s: %s is not selected", name, id)
			}
		}
		for _, id := range test.out {
			if selects(id) {
				t.Errorf("%s: %s is selected", name, id)
			}
		}
	}
	for name, s := range map[string]selection{
		"nothing left":      {skip: []string{"webhook"}},
		"of another area":   {filter: []string{"storage"}},
		"unknown":           {filter: []string{"webhook.response.uidd"}},
		"unknown to skip":   {filter: []string{"webhook"}, skip: []string{"webhook.response.uidd"}},
		"contradict itself": {filter: []string{"webhook.failure"}, skip: []string{"webhook.failure"}},
	} {
		if _, err := s.resolve(webhookOnly); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(optionFlags).bind(flags, "run")
	s := selection{flags: flags}
	if err := flags.Parse([]string{"--filter="}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.resolve(webhookOnly); err == nil || !strings.Contains(err.Error(), "--filter matches no requirement") {
		t.Errorf("an empty filter: %v", err)
	}
}

func TestNoMatch(t *testing.T) {
	old, linted := obsolete(t), ""
	for _, rule := range lint.Rules() {
		for _, id := range rule.Requirements {
			linted = string(id)
		}
	}
	for pattern, want := range map[string]string{
		"nothing.like.this":     `unknown requirement; "crdconform list" shows all`,
		string(old.ID):          "no command checks it. " + old.Untested,
		"storage.update":        `"crdconform run" checks it, this command does not`,
		"storage":               `"crdconform run" and "crdconform storage safe-to-drop" check it, this command does not`,
		"webhook.response":      `"crdconform check" checks it, this command does not`,
		"resource":              `"crdconform check --crd FILE" checks it, this command does not`,
		"disruption":            `"crdconform disrupt" checks it, this command does not`,
		"doctor.*":              `"crdconform doctor" checks it, this command does not`,
		"upgrade":               `"crdconform rehearse" checks it, this command does not`,
		"*.definition.accepted": `"crdconform doctor" checks it, this command does not`,
		linted:                  `"crdconform lint" checks it, this command does not`,
		"*":                     `"crdconform run", "crdconform lint", "crdconform check", "crdconform storage safe-to-drop", "crdconform doctor", "crdconform rehearse", "crdconform check --crd FILE" and "crdconform disrupt" check it, this command does not`,
	} {
		if got := noMatch(pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	pattern := untestedPattern(t)
	if got, want := noMatch(pattern), `no command checks any of these; "crdconform explain ID" says why`; got != want {
		t.Errorf("%s: %q, want %q", pattern, got, want)
	}
}

// untestedPattern returns a pattern that selects several requirements, none of which a command checks.
func untestedPattern(t *testing.T) string {
	t.Helper()
	for _, r := range requirement.All() {
		for n := range r.ID {
			pattern := string(r.ID[:n]) + "*"
			selected := slices.DeleteFunc(requirement.All(), func(r requirement.Requirement) bool {
				ok, err := r.ID.Matches(pattern)
				return err != nil || !ok
			})
			if len(selected) > 1 && !slices.ContainsFunc(selected, func(r requirement.Requirement) bool { return r.Untested == "" }) {
				return pattern
			}
		}
	}
	t.Fatal("there is no such pattern")
	return ""
}

func TestUnknownID(t *testing.T) {
	for id, want := range map[string][]string{
		"webhook.uid":            {"; did you mean ", "webhook.response.uid", "?"},
		"webhook.response.uidly": {"; did you mean webhook.response.uid"},
		"roundtrip":              {"; did you mean webhook.conversion.round-trip"},
		"stor":                   {"; did you mean storage.", "?"},
		"webhook.*.kind":         {"; did you mean ", "webhook.response.kind"},
		"webhok":                 {"; did you mean webhook?"},
		"nothing.at.all":         {"; did you mean conversion.response.all-objects, webhook.response.all-objects?"},
		"x.y":                    {`; "crdconform list" shows all`},
		"":                       {`; "crdconform list" shows all`},
		"*":                      {`; "crdconform list" shows all`},
	} {
		got := unknownID(id)
		for _, w := range want {
			if !strings.HasPrefix(got, "unknown requirement;") || !strings.Contains(got, w) {
				t.Errorf("%q: %q, want something with %q", id, got, w)
			}
		}
		if n := strings.Count(got, ", "); n > 4 {
			t.Errorf("%q: %d are offered", id, n+1)
		}
	}
}

func TestReadKnownFailing(t *testing.T) {
	none, err := new(selection).readKnownFailing()
	if err != nil || len(none) > 0 {
		t.Errorf("without a file: %v, %v", none, err)
	}
	long := strings.Repeat("x", 1<<17)
	path := file(t, "known.txt", "# a comment: with a colon\r\n\n  webhook.response.uid :  it makes one up: see issue 12  \r\nstorage.update.rewrites:"+long)
	got, err := (&selection{knownFailing: path}).readKnownFailing()
	want := map[requirement.ID]string{"webhook.response.uid": "it makes one up: see issue 12", "storage.update.rewrites": long}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %.200q, %v", got, err)
	}
	for text, want := range map[string]string{
		"webhook.response.uid: x\nwebhook.response.uidd: x": ":2: webhook.response.uidd: unknown requirement",
		"\n\nwebhook.response.uid":                          `:3: webhook.response.uid has no reason; write "webhook.response.uid: why it fails"`,
		"webhook.response.uid:  ":                           ":1: webhook.response.uid has no reason",
		"webhook.response.*: all":                           ":1: webhook.response.*: unknown requirement",
		": a reason":                                        ":1: : unknown requirement",
	} {
		path := file(t, "known.txt", text)
		if got, err := (&selection{knownFailing: path}).readKnownFailing(); err == nil || !strings.HasPrefix(err.Error(), "--known-failing "+path+want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
	if _, err := (&selection{knownFailing: filepath.Join(t.TempDir(), "missing.txt")}).readKnownFailing(); err == nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file where one should be: %v", err)
	}
}
