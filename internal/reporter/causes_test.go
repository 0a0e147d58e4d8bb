package reporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// lossy is a report on definitions that all lose the same two fields, one of them by design.
func lossy(definitions int) *reports.Report {
	r := &reports.Report{Webhook: &reports.Webhook{}}
	for n := range definitions {
		k := reports.Kind{Definition: fmt.Sprintf("kind%d.example.com", n), Group: "example.com", Kind: fmt.Sprintf("Kind%d", n)}
		k.Coverage = []reports.Coverage{{From: "v2", To: "v1", Fields: []reports.FieldCoverage{{Path: "spec.ports[*].name"}}}}
		r.Webhook.Kinds = append(r.Webhook.Kinds, k)
		add := func(id requirement.ID, v requirement.Verdict, reason string, findings ...reports.FieldFinding) {
			r.Results = append(r.Results, reports.Result{
				Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: k.Definition, Verdict: v, Reason: reason, Findings: findings,
			})
		}
		of := func(field, from, to string, lacking bool) reports.FieldFinding {
			return reports.FieldFinding{Field: field, Effect: "lost", From: from, To: to, Lacking: lacking, Message: from + " -> " + to + ": " + field + ": expected 1, got nothing"}
		}
		add("area.trip.back", requirement.Failed, "lost", of("spec.legacy", "v1", "v2", true), of("spec.legacy", "v1", "v3", true), of("spec.ports[*].name", "v1", "v2", false))
		add("area.trip.zeros", requirement.Failed, "lost", of("spec.ports[*].name", "v3", "v2", false))
		add("area.trip.sizes", requirement.Errored, "no answer")
		add("area.trip.order", requirement.Errored, "no answer")
		add("area.trip.tolerated", requirement.Tolerated, "added", reports.FieldFinding{Field: "spec.x", Effect: "added"})
		if n == 1 {
			add("area.trip.uid", requirement.Failed, "expected a, got b")
		}
	}
	Conclude(r)
	return r
}

// TestCauses groups what has one cause, and puts first what looks like a bug and breaks most.
func TestCauses(t *testing.T) {
	t.Parallel()
	type cause struct{ What, Extent, Pairs, Example string }
	var got []cause
	for _, c := range Causes(lossy(3)) {
		got = append(got, cause{c.What, c.Extent(), strings.Join(c.Pairs, ", "), c.Example})
	}
	want := []cause{
		{"spec.ports[*].name is lost, though both versions have it", "3 definitions; area.trip.back and 1 more", "v1 -> v2, v3 -> v2", "v1 -> v2: spec.ports[*].name: expected 1, got nothing"},
		{"area.trip.uid", "kind1.example.com", "", "expected a, got b"},
		{"spec.legacy is lost: v2 and v3 have no field of that name", "3 definitions; area.trip.back", "v1 -> v2, v1 -> v3", "v1 -> v2: spec.legacy: expected 1, got nothing"},
		{"area.trip.sizes and 1 more", "3 definitions", "", "no answer"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOneCauseIsOne has findings of one defect, and one cause for each, what looks like a bug first and made-up content last.
func TestOneCauseIsOne(t *testing.T) {
	t.Parallel()
	const trip = "v1 -> v2"
	of := func(field, effect string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: "v1", To: "v2", Message: "it is so"}
	}
	lacking := func(field string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "lost", From: "v1", To: "v2", Lacking: true, Message: "it is so"}
	}
	undone := func(field, how string) reports.FieldFinding {
		f := of(field, "changed")
		f.Message, f.Annotation = "it was edited, "+how+" an annotation", true
		return f
	}
	when := func(field, effect, when string) reports.FieldFinding {
		f := lacking(field)
		f.Effect, f.When = effect, when
		return f
	}
	to := func(field, into string) reports.FieldFinding {
		f := of(field, "moved")
		f.Instead = into
		return f
	}
	kept := of("spec.b", "lost")
	kept.Kept = true
	made := of("spec.made", "lost")
	made.MadeUp = true
	text := lacking("spec.text.mode")
	text.Instead = "spec.text as a string"
	back := of("spec.list[*].name", "changed")
	back.From, back.To = "v2", "v1"
	covered := func(never ...string) *reports.Webhook {
		c := reports.Coverage{From: "v1", To: "v2"}
		for _, path := range []string{"metadata.labels.<key>", "spec.a", "spec.b", "spec.b.c", "spec.b.d[*]", "spec.b.d[*].e", "spec.never"} {
			c.Fields = append(c.Fields, reports.FieldCoverage{Path: path})
		}
		for _, path := range append(never, "spec.never") {
			c.Never = append(c.Never, reports.FieldNote{Path: path})
		}
		return &reports.Webhook{Kinds: []reports.Kind{{Coverage: []reports.Coverage{c}}}}
	}
	hasIt := covered()
	hasIt.Kinds[0].Coverage = append(hasIt.Kinds[0].Coverage, reports.Coverage{From: "v2", To: "v1", Fields: []reports.FieldCoverage{{Path: "spec.b.other"}}})
	both := &reports.Webhook{Kinds: []reports.Kind{{Coverage: []reports.Coverage{{From: "v2", To: "v1"}}}}} // what v2 has
	for _, path := range []string{"spec.a", "spec.list[*].name", "spec.lists", "spec.ab", "spec.map.<key>"} {
		c := &both.Kinds[0].Coverage[0]
		c.Fields = append(c.Fields, reports.FieldCoverage{Path: path})
	}
	for name, test := range map[string]struct {
		webhook  *reports.Webhook
		findings []reports.FieldFinding
		want     []string
	}{
		"lost and changed":         {both, []reports.FieldFinding{of("spec.a", "lost"), of("spec.a", "changed")}, []string{"spec.a is lost or changed, though both versions have it"}},
		"lost as meant, and more":  {nil, []reports.FieldFinding{lacking("spec.a"), of("spec.a", "changed")}, []string{"spec.a is changed or lost: v2 has no field of that name"}},
		"a list and its items":     {both, []reports.FieldFinding{of("spec.list[*].name", "lost"), of("spec.list", "changed"), of("spec.list[*]", "changed")}, []string{"spec.list is changed or lost, though both versions have it"}},
		"items on another way":     {both, []reports.FieldFinding{back, of("spec.list", "lost")}, []string{"spec.list[*].name is changed", "spec.list is lost, though both versions have it"}},
		"a name that begins alike": {both, []reports.FieldFinding{of("spec.list", "lost"), of("spec.lists", "lost")}, []string{"spec.list is lost, though both versions have it", "spec.lists is lost, though both versions have it"}},
		"another effect":           {both, []reports.FieldFinding{of("spec.list", "lost"), of("spec.list[*].a", "added")}, []string{"spec.list is lost, though both versions have it", "spec.list[*].a is added"}},
		"one annotation":           {both, []reports.FieldFinding{of("spec.a.b", "added"), undone("spec.a", "because of"), undone("spec.c[*]", "because of"), undone("spec.c", "restored from"), of("spec.ab", "lost")}, []string{"edits of spec.a and 1 more are undone by what the webhook keeps in an annotation", "spec.ab is lost, though both versions have it"}},
		"one circumstance": {both, []reports.FieldFinding{when("spec.a", "lost", "where it is so"), when("spec.list", "lost", "where it is so"), when("spec.a", "differs", "at another time"), of("spec.list", "lost")}, []string{
			"spec.a and 1 more are lost where it is so", "spec.a differs at another time", "spec.list is lost, though both versions have it",
		}},
		"what is kept otherwise": {nil, []reports.FieldFinding{when("spec.a", "lost", "where it is so"), when("spec.b", "changed", "where it is so"), when("spec.a", "lost", "after an edit"), kept}, []string{
			"spec.a and 1 more are lost or changed where it is so",
		}},
		"which way it takes": {nil, []reports.FieldFinding{when("spec.a", "changed", "where it is so"), when("spec.c", "changed", "where it is so"), of("spec.a", "differs"), of("spec.c", "differs"), of("spec.b", "differs")}, []string{"spec.a and 1 more differ or are changed where it is so", "spec.b differs"}},
		"changed to what is invalid": {nil, []reports.FieldFinding{when("spec.a", "changed", "in the same way"), when("spec.c", "changed", "in the same way"), of("spec.a", "invalid"), of("spec.b", "invalid")}, []string{
			"spec.a and 1 more are changed or invalid in the same way", "spec.b is invalid",
		}},
		"lost, and invalid":      {nil, []reports.FieldFinding{when("spec.a", "lost", "where it is so"), when("spec.c", "lost", "where it is so"), of("spec.a", "invalid")}, []string{"spec.a and 1 more are lost where it is so", "spec.a is invalid"}},
		"no reason in an object": {nil, []reports.FieldFinding{when("spec.a", "differs", "depending on time"), of("spec.a", "changed"), of("spec.b", "changed")}, []string{"spec.a differs or is changed depending on time", "spec.b is changed"}},
		"all that is so":         {nil, []reports.FieldFinding{when("spec.a", "lost", "where it is so"), when("spec.a", "lost", "after an edit")}, []string{"spec.a is lost where it is so", "spec.a is lost after an edit"}},
		"a random order": {nil, []reports.FieldFinding{of("spec.list", "differs"), of("spec.list[*].a", "differs"), of("spec.list[*].a", "changed"), when("spec.list[*].b", "changed", "where it is so"), of("spec.list[*].c", "lost"), of("spec.lists[*].a", "changed")}, []string{
			"spec.list differs or is changed", "spec.list[*].c is lost", "spec.lists[*].a is changed",
		}},
		"a swap":                {nil, []reports.FieldFinding{to("spec.a", "spec.b"), to("spec.b", "spec.a"), of("spec.a", "changed"), lacking("spec.b"), of("spec.b", "differs")}, []string{"spec.a and spec.b change places"}},
		"a move":                {nil, []reports.FieldFinding{to("spec.a", "spec.b"), to("spec.c", "spec.d")}, []string{"spec.a is moved to spec.b", "spec.c is moved to spec.d"}},
		"what is missing":       {both, []reports.FieldFinding{when("", "refused", "without spec.a")}, []string{"the object is not converted without spec.a"}},
		"many effects":          {both, []reports.FieldFinding{when("spec.a", "lost", "then"), when("spec.b", "changed", "then"), when("", "added", "then")}, []string{"spec.a and 2 more are wrong then"}},
		"words of a note":       {nil, []reports.FieldFinding{{Field: "spec.a", Effect: "changed", From: "v1", To: "v2", Message: "it is made up: (made up: no), restored from an annotation"}}, []string{"spec.a is changed"}},
		"not known to be there": {both, []reports.FieldFinding{of("spec.new", "lost"), of("spec.map", "lost"), of("spec.map[*].a", "lost")}, []string{"spec.new is lost", "spec.map is lost, though both versions have it"}},
		"nothing known":         {nil, []reports.FieldFinding{of("spec.a", "lost")}, []string{"spec.a is lost"}},
		"another type":          {nil, []reports.FieldFinding{text}, []string{"spec.text.mode is lost: v2 has spec.text as a string"}},
		"one name": {nil, []reports.FieldFinding{lacking("spec.a.uid"), lacking("spec.b[*].uid"), lacking("spec.c.uid"), lacking("spec.d.uid"), of("spec.e.uid", "changed"), lacking("uid")}, []string{
			"spec.e.uid is changed", "uid is lost in 5 fields, spec.a.uid, spec.b[*].uid and 3 more: v2 has no field of that name",
		}},
		"one name twice": {nil, []reports.FieldFinding{lacking("spec.a.uid"), lacking("spec.c.uid")}, []string{"spec.a.uid is lost: v2 has no field of that name", "spec.c.uid is lost: v2 has no field of that name"}},
		"annotations": {nil, []reports.FieldFinding{of("metadata.annotations['a.b/c']", "lost"), of("metadata.labels['a.b/c']", "lost"), of("metadata.annotations['a.b/d']", "lost"), of("metadata.annotations['e']", "lost")}, []string{
			"metadata.annotations['*'] is lost in 3 fields, metadata.annotations['a.b/c'], metadata.annotations['a.b/d'] and 1 more", "metadata.labels['a.b/c'] is lost",
		}},
		"two labels": {nil, []reports.FieldFinding{of("metadata.labels['a.b/c']", "lost"), of("metadata.labels.owner", "lost")}, []string{
			"metadata.labels['*'] is lost in 2 fields, metadata.labels['a.b/c'] and metadata.labels.owner",
		}},
		"two labels, two effects": {nil, []reports.FieldFinding{of("metadata.labels.a", "lost"), of("metadata.labels.b", "changed")}, []string{"metadata.labels.a is lost", "metadata.labels.b is changed"}},
		"made-up content":         {nil, []reports.FieldFinding{made, lacking("spec.a")}, []string{"spec.a is lost: v2 has no field of that name", "spec.made is lost: its content is made up, since no schema says what is there"}},
		"all below spec":          {covered(), []reports.FieldFinding{lacking("spec.a"), lacking("spec.b.c"), lacking("spec.b.d[*].e")}, []string{"spec is lost with all of the 3 fields below it that were exercised: v2 has no field of that name"}},
		"all below spec.b":        {covered(), []reports.FieldFinding{lacking("spec.b.c"), lacking("spec.b.d")}, []string{"spec.b is lost with all of the 2 fields below it that were exercised: v2 has no field of that name"}},
		"all below, not itself":   {hasIt, []reports.FieldFinding{lacking("spec.b.c"), lacking("spec.b.d")}, []string{"spec.b is lost with all of the 2 fields below it that were exercised: v2 has no fields of these names"}},
		"some objects lose it":    {covered(), []reports.FieldFinding{lacking("spec.b.c"), lacking("spec.a"), of("spec.b", "lost")}, []string{"spec.b is lost", "spec.b.c is lost: v2 has no field of that name", "spec.a is lost: v2 has no field of that name"}},
		"one that is exercised":   {covered("spec.b.d[*].e", "spec.b.d[*]"), []reports.FieldFinding{lacking("spec.b.c")}, []string{"spec.b.c is lost: v2 has no field of that name"}},
		"some below spec":         {covered(), []reports.FieldFinding{lacking("spec.a"), lacking("spec.b.c")}, []string{"spec.a is lost: v2 has no field of that name", "spec.b.c is lost: v2 has no field of that name"}},
		"not known":               {&reports.Webhook{}, []reports.FieldFinding{lacking("spec.a"), lacking("spec.b.c"), lacking("spec.b.d[*].e")}, []string{"spec.a is lost: v2 has no field of that name", "spec.b.c is lost: v2 has no field of that name", "spec.b.d[*].e is lost: v2 has no field of that name"}},
	} {
		r := &reports.Report{Webhook: test.webhook, Results: []reports.Result{{Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: test.findings}}}
		Conclude(r)
		var got []string
		for _, c := range Causes(r) {
			got = append(got, c.What)
			if len(c.Pairs) != 1 || c.Pairs[0] != trip && name != "items on another way" {
				t.Errorf("%s: %s is about %v", name, c.What, c.Pairs)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCausesOnAServer has an API server show what conversions lose under some circumstances, and an edit that an annotation undoes. Neither is
// another cause, but what happens to another field is.
func TestCausesOnAServer(t *testing.T) {
	t.Parallel()
	of := func(field, effect string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: "v1", To: "v2", Message: "it is so"}
	}
	paused, other, undone := of("status.a", "lost"), of("status.list[*].b", "lost"), of("spec.a", "changed")
	paused.When, other.When, undone.Annotation = "where spec.paused is true", "where spec.paused is true", true
	result := func(id requirement.ID, findings ...reports.FieldFinding) reports.Result {
		return reports.Result{Requirement: requirement.Requirement{ID: id}, Verdict: requirement.Failed, Findings: findings}
	}
	r := &reports.Report{Results: []reports.Result{
		result("webhook.conversion.round-trip", paused, other),
		result("webhook.conversion.edits", undone),
		result("resource.status.every-version", of("status.a", "lost"), of("status.list", "lost"), of("status.c", "lost")),
		result("resource.update.every-version", of("spec.a", "changed"), of("spec.ab", "changed")),
	}}
	var got []string
	for _, c := range Causes(r) {
		got = append(got, c.What)
	}
	want := []string{
		"status.a and 1 more are lost where spec.paused is true", "edits of spec.a are undone by what the webhook keeps in an annotation",
		"status.c is lost", "spec.ab is changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestViolations has specs fail for responses that violate another requirement: with that it is one cause if its own spec fails as well, for the same
// subject.
func TestViolations(t *testing.T) {
	t.Parallel()
	const uid, stub, create = "webhook.metadata.uid", "webhook.request.response-stub", "resource.create.every-version"
	result := func(id requirement.ID, subject string, v requirement.Verdict, violates requirement.ID) reports.Result {
		r := reports.Result{Requirement: requirement.Requirement{ID: id}, Subject: subject, Verdict: v, Reason: "because of " + string(id)}
		if violates != "" {
			r.Findings = []reports.FieldFinding{{Effect: "refused", From: "v1", To: "v2", Message: "it is so", Violates: violates}}
		}
		return r
	}
	field := result(uid, "a", requirement.Failed, "")
	field.Findings = []reports.FieldFinding{{Field: "spec.a", Effect: "refused", From: "v1", To: "v2", Message: "it is so"}}
	several := field
	several.Findings = append(slices.Clone(field.Findings), reports.FieldFinding{Field: "spec.b", Effect: "refused", From: "v1", To: "v2", Message: "it is so"})
	for name, test := range map[string]struct {
		own  reports.Result
		want []string
	}{
		"fails":             {result(uid, "a", requirement.Failed, ""), []string{uid + " and 2 more: because of " + uid}},
		"passes":            {result(uid, "a", requirement.Passed, ""), []string{"some answers violate " + uid + ": it is so"}},
		"is Tolerated":      {result(uid, "a", requirement.Tolerated, ""), []string{"some answers violate " + uid + ": it is so"}},
		"fails for a field": {field, []string{"spec.a is refused: because of " + uid}},
		"fails for several": {several, []string{uid + " and 2 more: because of " + uid, "spec.a is refused: it is so", "spec.b is refused: it is so"}},
		"fails for another": {result(uid, "b", requirement.Failed, ""), []string{"some answers violate " + uid + ": it is so", uid + ": because of " + uid}},
	} {
		r := &reports.Report{Results: []reports.Result{result(stub, "a", requirement.Failed, uid), result(create, "a", requirement.Failed, uid), test.own}}
		var got []string
		for _, c := range Causes(r) {
			if c.Verdict == requirement.Failed {
				got = append(got, c.What+": "+c.Example)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNamesakesOnFewerWays makes one cause of fields of a name if each is lost on ways on which one of them is, and leaves that alone which is lost on
// another.
func TestNamesakesOnFewerWays(t *testing.T) {
	t.Parallel()
	lost := func(field, from, to string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "lost", From: from, To: to, Message: "it is lost"}
	}
	r := &reports.Report{Results: []reports.Result{{Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: []reports.FieldFinding{
		lost("spec.a.kind", "v1", "v3"), lost("spec.b.kind", "v2", "v1"), lost("spec.b.kind", "v1", "v3"), lost("spec.c.kind", "v2", "v1"), lost("spec.d.kind", "v3", "v1"),
	}}}}
	Conclude(r)
	var got []string
	for _, c := range Causes(r) {
		got = append(got, c.What)
	}
	if diff := cmp.Diff([]string{"kind is lost in 3 fields, spec.a.kind, spec.b.kind and 1 more", "spec.d.kind is lost"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLossyIsConfiguration has a configuration file take what is written: what may be meant, and nothing that looks like a bug.
func TestLossyIsConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report *reports.Report
		want   int
	}{"losses": {lossy(2), 4}, "none": {&reports.Report{}, 0}, "hostile": {sample(t), 1}} {
		text := string(written(t, test.report, Lossy))
		c, err := config.Parse("crdconform.yaml", []byte("apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"+text))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", name, err, text)
		}
		matches := func(path string) bool {
			return slices.ContainsFunc(c.Lossy, func(l config.Lossy) bool { return l.Matches("example.com", "Kind0", "v1", "v3", path) })
		}
		if len(c.Lossy) != test.want || name == "losses" && (!matches("spec.legacy.mode") || matches("spec.ports[0].name") || !strings.Contains(text, "\n# - path: \"spec.ports[*].name\"\n#   group: ")) {
			t.Errorf("%s: it has %d entries, want %d:\n%s", name, len(c.Lossy), test.want, text)
		}
	}
}

// TestLossyHidesNothing has no entry for a field of which something comes back, whichever requirement shows that.
func TestLossyHidesNothing(t *testing.T) {
	t.Parallel()
	lost := func(field, to string, lacking bool) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "lost", From: "v1", To: to, Lacking: lacking, Message: "it is lost"}
	}
	other := func(field, effect string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: "v1", To: "v2", Message: "it is otherwise"}
	}
	for name, test := range map[string]struct {
		also []reports.FieldFinding
		want []string
	}{
		"nothing else":          {nil, []string{"spec.rules", "spec.rules.name"}},
		"it is changed":         {[]reports.FieldFinding{other("spec.rules.name", "changed")}, nil},
		"what is in it changes": {[]reports.FieldFinding{other("spec.rules[*].port", "changed")}, []string{"spec.rules.name"}},
		"another order":         {[]reports.FieldFinding{other("spec.rules", "differs")}, []string{"spec.rules.name"}},
		"lost like a bug":       {[]reports.FieldFinding{lost("spec.rules", "v3", false)}, []string{"spec.rules.name"}},
		"a name that is longer": {[]reports.FieldFinding{other("spec.rulesets", "changed")}, []string{"spec.rules", "spec.rules.name"}},
		"in place of another":   {[]reports.FieldFinding{{Field: "spec.ruling", Effect: "lost", From: "v2", To: "v1", Lacking: true, Kept: true, Instead: "spec.rules in its place", Place: "spec.rules"}}, []string{"spec.rules.name"}},
		"what refuses objects":  {[]reports.FieldFinding{other("spec.rules", "refused")}, []string{"spec.rules", "spec.rules.name"}},
	} {
		result := func(id requirement.ID, v requirement.Verdict, findings ...reports.FieldFinding) reports.Result {
			return reports.Result{Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: "a.example.com", Verdict: v, Findings: findings}
		}
		r := &reports.Report{Webhook: &reports.Webhook{Kinds: []reports.Kind{{Definition: "a.example.com", Group: "example.com", Kind: "A"}}}, Results: []reports.Result{
			result("area.trip.back", requirement.Failed, lost("spec.rules", "v2", true), lost("spec.rules.name", "v2", true)),
			result("area.trip.order", requirement.Tolerated, test.also...),
			result("area.trip.order", requirement.Failed, func() (of []reports.FieldFinding) {
				for _, f := range test.also {
					of = append(of, reports.FieldFinding{Field: f.Field, Effect: "changed", From: "v1", To: "v2"})
				}
				return of
			}()...),
		}}
		r.Results[2].Subject = "b.example.com" // another definition
		Conclude(r)
		var got []string
		for _, l := range Losses(r) {
			if l.Meant {
				got = append(got, l.Path)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOneDefectOnSeveralWays has labels that were tried on different ways, and a status that is lost with a field that has two names.
func TestOneDefectOnSeveralWays(t *testing.T) {
	t.Parallel()
	lost := func(field, from, to string, lacking bool) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "lost", From: from, To: to, Lacking: lacking, Message: "it is so"}
	}
	covered := func(from, to string, paths ...string) reports.Coverage {
		c := reports.Coverage{From: from, To: to}
		for _, path := range paths {
			c.Fields = append(c.Fields, reports.FieldCoverage{Path: path})
		}
		return c
	}
	one, two := covered("v1", "v2", "status.a", "status.b", "status.phase", "spec.c", "items[*].a", "items[*].b"), covered("v2", "v1", "status.a", "status.b", "status.state", "spec.c")
	whole := []reports.FieldFinding{
		lost("status.a", "v1", "v2", false), lost("status.a", "v2", "v1", false), lost("status.b", "v2", "v1", false), lost("status.b", "v1", "v2", false),
		lost("status.phase", "v1", "v2", true), lost("status.state", "v2", "v1", true),
	}
	shown := slices.Clone(whole)
	shown[5].Kept, shown[5].Place, shown[5].Instead = true, "status.phase", "status.phase in its place"
	for name, test := range map[string]struct {
		findings []reports.FieldFinding
		want     []string
	}{
		"some items":             {[]reports.FieldFinding{lost("items[*]", "v1", "v2", false)}, []string{"items[*] is lost"}},
		"shown in another place": {shown, []string{"status is lost with all of the 3 fields below it that were exercised, though both versions have it"}},
		"labels": {[]reports.FieldFinding{lost("metadata.labels.a", "v1", "v2", false), lost("metadata.labels['b/c']", "v2", "v1", false)}, []string{
			"metadata.labels['*'] is lost in 2 fields, metadata.labels.a and metadata.labels['b/c']",
		}},
		"a whole status": {whole, []string{"status is lost with all of the 3 fields below it that were exercised, though both versions have it"}},
		"but for one": {whole[:5], []string{
			"status.a is lost, though both versions have it", "status.b is lost, though both versions have it", "status.phase is lost: v2 has no field of that name",
		}},
	} {
		r := &reports.Report{
			Webhook: &reports.Webhook{Kinds: []reports.Kind{{Coverage: []reports.Coverage{one, two}}}},
			Results: []reports.Result{{Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: test.findings}},
		}
		var got []string
		for _, c := range Causes(r) {
			got = append(got, c.What)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBetween has fields that are lost between two of three versions alone: that is one cause, and none of them is meant. It is not if another way
// loses something as well, if they are few, or if nothing is known of the third version.
func TestBetween(t *testing.T) {
	t.Parallel()
	of := func(field, effect, from, to string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: from, To: to, Lacking: effect == "lost", Message: "it is so"}
	}
	both := []reports.FieldFinding{of("spec.a", "lost", "v1", "v2"), of("spec.b", "lost", "v1", "v2"), of("spec.c", "changed", "v2", "v1")}
	const one = "spec.a and 2 more are lost or changed between v1 and v2, and on no other way"
	for name, test := range map[string]struct {
		versions []string
		findings []reports.FieldFinding
		causes   int
	}{
		"one way":         {[]string{"v1", "v2", "v3"}, both, 1},
		"another way":     {[]string{"v1", "v2", "v3"}, append(slices.Clone(both), of("spec.a", "lost", "v3", "v2")), 3},
		"few":             {[]string{"v1", "v2", "v3"}, both[:2], 2},
		"declared":        {[]string{"v1", "v2", "v3"}, both, 3},
		"two versions":    {[]string{"v1", "v2"}, both, 3},
		"nothing is lost": {[]string{"v1", "v2", "v3"}, []reports.FieldFinding{of("spec.a", "added", "v1", "v2"), of("spec.b", "added", "v1", "v2"), of("spec.c", "added", "v1", "v2")}, 3},
	} {
		r := &reports.Report{Webhook: &reports.Webhook{Kinds: []reports.Kind{{}}}, Results: []reports.Result{{Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: test.findings}}}
		for _, from := range test.versions {
			for _, to := range test.versions {
				r.Webhook.Kinds[0].Coverage = append(r.Webhook.Kinds[0].Coverage, reports.Coverage{From: from, To: to, Objects: 1})
			}
		}
		if name == "declared" {
			r.Webhook.Kinds[0].Lossy = []string{"spec.x: it is meant"}
		}
		Conclude(r)
		causes := Causes(r)
		if len(causes) != test.causes || (causes[0].What == one) != (test.causes == 1) {
			t.Errorf("%s: %d causes, the first of which is %s", name, len(causes), causes[0].What)
		}
		if meant := slices.ContainsFunc(Losses(r), func(l Loss) bool { return l.Meant }); meant != (test.causes > 1 && name != "nothing is lost") {
			t.Errorf("%s: losses may be meant: %t", name, meant)
		}
	}
}

// TestBetweenAndWhatFollows has results that are invalid, and ones that differ by the way, where fields are wrong between two versions alone: these are
// no causes of their own. What is invalid or differs elsewhere is.
func TestBetweenAndWhatFollows(t *testing.T) {
	t.Parallel()
	of := func(field, effect, from, to string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: from, To: to, Message: "it is so"}
	}
	r := &reports.Report{Webhook: &reports.Webhook{Kinds: []reports.Kind{{}}}, Results: []reports.Result{{
		Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: []reports.FieldFinding{
			of("spec.a", "lost", "v1", "v2"), of("spec.b", "lost", "v1", "v2"), of("spec.c", "changed", "v2", "v1"),
			of("spec.d", "invalid", "v1", "v2"), of("spec.f", "invalid", "v1", "v3"), of("spec.h", "differs", "v3", "v2"),
		},
	}, {
		Requirement: requirement.Requirement{ID: requirement.WebhookConversionPath}, Verdict: requirement.Failed, Findings: []reports.FieldFinding{of("spec.e", "differs", "v3", "v2"), of("spec.g", "differs", "v1", "v3")},
	}}}
	for _, from := range []string{"v1", "v2", "v3"} {
		for _, to := range []string{"v1", "v2", "v3"} {
			r.Webhook.Kinds[0].Coverage = append(r.Webhook.Kinds[0].Coverage, reports.Coverage{From: from, To: to, Objects: 1})
		}
	}
	var got []string
	for _, c := range Causes(r) {
		got = append(got, c.What)
	}
	want := []string{"spec.a and 4 more are wrong between v1 and v2, and on no other way", "spec.f is invalid", "spec.h differs", "spec.g differs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
