package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	empty := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(optionFlags).bind(empty, "run")
	check(t, empty.Parse([]string{"--filter="}))
	const uid, kind, failure, other = "webhook.response.uid", "webhook.response.kind", "webhook.failure.uid", "storage.update.rewrites"
	list := func(ids ...string) []string { return ids }
	for _, test := range []struct {
		selection selection
		in, out   []string
		err       string
	}{
		{selection{}, list(uid, failure), nil, ""},
		{selection{filter: list("webhook.response")}, list(uid), list(failure, other), ""},
		{selection{skip: list("*.uid")}, list(kind), list(uid, failure), ""},
		{selection{filter: list("*.uid"), skip: list("webhook.failure")}, list(uid), list(failure, kind), ""},
		{selection{filter: list("*.uid", "webhook.response")}, list(uid, kind, failure), list("webhook.failure.status"), ""},
		{selection{filter: list(uid, "*.uid", "webhook")}, list(uid, kind, failure, "webhook.failure.status"), list(other), ""},
		{selection{skip: list("webhook")}, nil, nil, "leave no requirement"},
		{selection{filter: list("*.uid", "storage")}, nil, nil, `--filter storage: "crdconform run" and "crdconform storage safe-to-drop" check it`},
		{selection{filter: list("webhook", uid+"d")}, nil, nil, "--filter " + uid + "d: unknown"},
		{selection{filter: list("webhook"), skip: list(uid + "d")}, nil, nil, "--skip " + uid + "d: unknown"},
		{selection{skip: list("[")}, nil, nil, "--skip [: malformed pattern"},
		{selection{filter: list("")}, nil, nil, "--filter"},
		{selection{filter: list("webhook.failure"), skip: list("webhook.failure")}, nil, nil, "leave no requirement"},
		{selection{flags: empty}, nil, nil, "--filter matches no requirement"},
	} {
		selects, err := test.selection.resolve([]suites.Area{chapter.Area})
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%+v: %v, want %q", test.selection, err, test.err)
		}
		for _, id := range append(test.in, test.out...) {
			if selects(requirement.ID(id)) != slices.Contains(test.in, id) {
				t.Errorf("%+v: is %s selected: %t", test.selection, id, !slices.Contains(test.in, id))
			}
		}
	}
}

// TestUnmatched compares what is said of patterns that select nothing with testdata/golden/unmatched.txt: which command checks what they
// mean, or what may have been meant.
func TestUnmatched(t *testing.T) {
	patterns := []string{
		"nothing.like.this", "versions.names.arbitrary-json", "schema.pruning.l*", "storage.update", "storage", "webhook.response", "resource",
		"disruption", "doctor.*", "upgrade", "*.definition.accepted", "conversion.client.url-in-cluster", "*",
	}
	ids := []string{"webhook.uid", "webhook.response.uidly", "roundtrip", "stor", "webhook.*.kind", "webhok", "nothing.at.all", "x.y", "", "*"}
	var said strings.Builder
	for _, pattern := range patterns {
		fmt.Fprintf(&said, "%s: %s\n", pattern, noMatch(pattern))
	}
	for _, id := range ids {
		fmt.Fprintf(&said, "%s: %s\n", id, unknownID(id))
	}
	golden(t, "unmatched.txt", said.String())
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
	for text, want := range map[string]string{ // files of users are in usage.txtar
		"webhook.response.*: all": ":1: webhook.response.*: unknown requirement",
		": a reason":              ":1: : unknown requirement",
	} {
		path := file(t, "known.txt", text)
		if got, err := (&selection{knownFailing: path}).readKnownFailing(); err == nil || !strings.HasPrefix(err.Error(), "--known-failing "+path+want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}
