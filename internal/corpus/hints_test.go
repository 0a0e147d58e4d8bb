package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Free strings are what their default or their description says.
func TestHints(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"{type: string, default: 30s}":                                                      "10s",
		"{type: string, description: How long to wait. A duration such as 5m.}":             "10s",
		"{type: string, description: 'A schedule in Cron format, see the documentation.'}":  "*/5 * * * *",
		"{type: string, description: The CIDR of pods}":                                     "192.0.2.0/24",
		"{type: string, description: URL of the service}":                                   "https://example.com/path",
		"{type: string, description: Last time in RFC3339}":                                 "2019-09-04T14:03:02Z",
		"{type: string, default: 1Gi}":                                                      "100m",
		"{type: string, default: alpha, description: whatever}":                             "",
		"{type: string, description: a duration, enum: [A, B]}":                             "",
		"{type: string, description: a duration, maxLength: 1}":                             "",
		"{type: string, description: Durations and curls and cidrs are other words}":        "",
		"{type: string, description: 'Any name', default: 10.0.0.0/8}":                      "192.0.2.0/24",
		"{type: integer, description: a duration in seconds}":                               "",
		"{type: string, pattern: '^[a-z]+$', description: a duration, which it is not}":     "",
		"{type: string, description: 'The address of the server, an IP address'}":           "192.0.2.7",
		"{type: string, default: 'http://example.com/a', description: 'a duration, or so'}": "https://example.com/path",
	} {
		d := defined(t, widget(spec("a: "+field)))
		n := d.Schema("v1").root.byName["spec"].byName["a"]
		if (want == "") != (len(n.hints) == 0) || want != "" && n.hints[0] != want {
			t.Errorf("%s: got %q, want %q first", field, n.hints, want)
		}
		if want == "" {
			continue
		}
		objects := d.Generator("v1", 1, nil).Objects(Plain, 20)
		sound(t, d.Schema("v1"), objects)
		for _, object := range objects {
			if value, found := Value(object.Object, "spec.a"); found && !slices.Contains(n.hints, fmt.Sprint(value)) && value != n.def {
				t.Errorf("%s: got %v", field, value)
			}
		}
	}
	// What a default may be in two ways is both.
	for _, hint := range defined(t, widget(spec("a: {type: string, default: 5m}"))).Schema("v1").root.byName["spec"].byName["a"].hints {
		_, noDuration := time.ParseDuration(hint)
		if _, noQuantity := resource.ParseQuantity(hint); noDuration != nil || noQuantity != nil {
			t.Errorf("%q is not both", hint)
		}
	}
}

// A webhook that wants none of what a description hints at gets words in the end.
func TestHintsThatAreWrong(t *testing.T) {
	t.Parallel()
	g := defined(t, widget(spec("a: {type: string, description: a duration}"))).Generator("v1", 1, nil)
	words := func() bool {
		for _, object := range g.Objects(Plain, 10) {
			value, found := Value(object.Object, "spec.a")
			if text, _ := value.(string); found && (text == "" || strings.ContainsAny(text, "0123456789:/=")) {
				return false
			}
		}
		return true
	}
	refused := 0
	for ; refused < 20 && g.refuse("spec.a", nil); refused++ {
		if refused > 0 && words() {
			return
		}
	}
	t.Errorf("after %d refusals there are no words", refused)
}

func TestNamedInDescriptions(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`kind: {type: string, description: 'The types are "string", "array" and "much too long", and "string" is the default.'}, onError: {type: string, maxLength: 8, description: 'One of [ continue | stopAndFail ].'},
		mode: {type: string, enum: [A], description: '"B" is gone'}, size: {type: integer, description: 'at most "ten"'}, plain: {type: string, description: "It''s what the user''s file says."}`)))
	var got []string
	for _, single := range d.Generator("v1", 1, nil).Singles() {
		if value, named := strings.CutPrefix(single.About, "the value "); named {
			got = append(got, single.Path+" "+value)
		}
	}
	want := []string{`spec.kind "string"`, `spec.kind "array"`, `spec.mode "A"`, `spec.onError "continue"`}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
