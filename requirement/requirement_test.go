package requirement

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEntries(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(\.[a-z][a-z0-9]*(-[a-z0-9]+)*){2}$`)
	documents := map[string]bool{}
	for _, d := range Documents() {
		documents[d.ID] = true
	}
	seen := map[ID]bool{}
	for _, r := range All() {
		t.Run(string(r.ID), func(t *testing.T) {
			if !form.MatchString(string(r.ID)) {
				t.Error("the ID is not area.topic.rule")
			}
			if seen[r.ID] {
				t.Error("the ID is taken")
			}
			seen[r.ID] = true
			if !slices.Contains([]Level{Must, Should, May}, r.Level) {
				t.Errorf("unknown level %q", r.Level)
			}
			if !slices.Contains([]Party{Server, Webhook, Author}, r.Binds) {
				t.Errorf("unknown party %q", r.Binds)
			}
			for what, text := range map[string]string{"statement": r.Statement, "untested": r.Untested, "note": r.Note} {
				if text != "" && !strings.HasSuffix(text, ".") {
					t.Errorf("%s does not end with a full stop", what)
				}
			}
			if r.Statement == "" || len(r.Rows) == 0 || len(r.Source) == 0 {
				t.Error("the statement, the rows or the source is missing")
			}
			for _, s := range r.Source {
				if !documents[s.Document] {
					t.Errorf("unknown document %q", s.Document)
				}
			}
			if r.Obsolete && r.Untested == "" {
				t.Error("it is obsolete and does not say what holds today")
			}
			if r.Command != "" && (r.Untested != "" || r.Obsolete) {
				t.Errorf("crdconform %s checks it, and it says why nothing does", r.Command)
			}
			if (r.Until != Minor{}) && r.Until.Less(r.Since) {
				t.Errorf("until %s is before since %s", r.Until, r.Since)
			}
		})
	}
}

// TestEveryRowHasAnEntry holds the catalogue to the survey of the documents: each of its rows must have come to something,
// be it an entry that says why it is not tested.
func TestEveryRowHasAnEntry(t *testing.T) {
	entries := map[string]int{}
	for _, r := range All() {
		for _, row := range r.Rows {
			entries[row]++
		}
	}
	rows := []string{"STO-05b"}
	for _, group := range []struct {
		prefix string
		count  int
	}{
		{"SRV", 19},
		{"PRI", 10},
		{"DEP", 7},
		{"NON", 6},
		{"WHC", 24},
		{"CRQ", 17},
		{"CRS", 22},
		{"MUT", 7},
		{"STO", 9},
		{"SVR", 11},
		{"MIG", 9},
		{"STR", 9},
		{"PRU", 10},
		{"IOS", 4},
		{"RAW", 3},
		{"VAL", 9},
		{"CEL", 14},
		{"TRN", 5},
		{"CST", 7},
		{"DEF", 10},
		{"FIN", 7},
		{"DEL", 4},
		{"LEG", 12},
		{"OAP", 6},
		{"COL", 7},
		{"CAT", 1},
		{"DOC", 16},
		{"SUB", 7},
		{"SCL", 7},
	} {
		for n := range group.count {
			rows = append(rows, fmt.Sprintf("%s-%02d", group.prefix, n+1))
		}
	}
	for _, row := range rows {
		if entries[row] == 0 {
			t.Errorf("row %s has no entry", row)
		}
		delete(entries, row)
	}
	for row := range entries {
		// Of some groups only what bears on versions, conversion and the rest of a control plane is in the catalogue.
		if group, _, _ := strings.Cut(row, "-"); !slices.Contains([]string{"DOC"}, group) {
			t.Errorf("there is no row %s", row)
		}
	}
}

func TestLookup(t *testing.T) {
	r, found := Lookup(WebhookResponseUID)
	if !found || r.ID != WebhookResponseUID || r.Binds != Webhook {
		t.Errorf("got %+v, %t", r, found)
	}
	if _, found := Lookup("webhook.response.none"); found {
		t.Error("found a requirement that does not exist")
	}
}

func TestHoldsFor(t *testing.T) {
	bounded := Requirement{Since: Minor{1, 19}, Until: Minor{1, 21}}
	open := Requirement{Since: Minor{1, 16}}
	for minor, want := range map[Minor][2]bool{
		{1, 15}: {false, false}, {1, 16}: {false, true}, {1, 19}: {true, true},
		{1, 21}: {true, true}, {1, 22}: {false, true}, {2, 0}: {false, true},
	} {
		if got := [2]bool{bounded.HoldsFor(minor), open.HoldsFor(minor)}; got != want {
			t.Errorf("%s: got %v, want %v", minor, got, want)
		}
	}
}

func TestParseMinor(t *testing.T) {
	for s, want := range map[string]Minor{"1.37": {1, 37}, "v1.37.2": {1, 37}, "1.28+": {1, 28}, "v1.36.0-rc.1": {1, 36}} {
		if got, err := ParseMinor(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "one.two", "v0.0.0-master", "1.-3"} {
		if got, err := ParseMinor(s); err == nil {
			t.Errorf("%q was taken for %s", s, got)
		}
	}
}

func TestTextForms(t *testing.T) {
	for _, s := range []string{`"versions-1.22:221 Specify multiple versions"`, `"server"`} {
		var source Source
		if err := json.Unmarshal([]byte(s), &source); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(source); err != nil || string(again) != s {
			t.Errorf("%s became %s, %v", s, again, err)
		}
	}
	for _, s := range []string{`"versions-1.22:221"`, `"versions-1.22:x Heading"`, `"versions-1.22 Heading"`, `"versions-1.22:0 Heading"`} {
		var source Source
		if err := json.Unmarshal([]byte(s), &source); err == nil {
			t.Errorf("%s was taken for a source", s)
		}
	}
	for v := Unknown; v <= Errored; v++ {
		text, err := v.MarshalText()
		var again Verdict
		if err != nil || again.UnmarshalText(text) != nil || again != v {
			t.Errorf("%s became %s", v, again)
		}
	}
	var v Verdict
	if v != Unknown || v.UnmarshalText([]byte("passed")) == nil {
		t.Error("the zero value is not Unknown, or a name in another case was taken")
	}
	for _, v := range []Verdict{Unknown - 1, Errored + 1} {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("%d was written as %s", v, text)
		}
	}
}

// TestSourcesAreOnline has each place that an entry names lead to its heading, on the page that has it.
func TestSourcesAreOnline(t *testing.T) {
	const kubernetes = "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/"
	for text, want := range map[string]string{
		"versions-1.22:993 Writing, reading, and updating versioned CustomResourceDefinition objects": kubernetes + "custom-resource-definition-versioning/#writing-reading-and-updating-versioned-customresourcedefinition-objects",
		"crds-1.25:1383 Categories":     kubernetes + "custom-resource-definitions/#categories",
		"crds-1.25:1396 Overview":       kubernetes + "custom-resource-definition-versioning/#overview",
		"versions-1.22:1 \"><script>":   kubernetes + "custom-resource-definition-versioning/#script",
		"server":                        "",
		"javascript:1 <script>":         "",
		"versioning-design:22 Proposed": "https://github.com/kubernetes/design-proposals-archive/blob/main/api-machinery/customresources-versioning.md#proposed",
	} {
		var s Source
		if err := s.UnmarshalText([]byte(text)); err != nil || s.URL() != want {
			t.Errorf("%s: got %q, %v, want %q", text, s.URL(), err, want)
		}
	}
	for _, one := range All() {
		for _, s := range one.Source {
			if online := s.URL() != ""; online != (s.Document != "server") {
				t.Errorf("%s: %s is at %q", one.ID, s, s.URL())
			}
		}
	}
}
