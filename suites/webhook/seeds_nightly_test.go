//go:build nightly

package webhook

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

var seedsFlag = flag.Int("seeds", 1, "TestSeedsAreCaught judges each webhook with so many seeds")

// TestSeedsAreCaught judges webhooks with the bugs that random objects are most likely to miss with several seeds, which differ from webhook to
// webhook: each time exactly the right requirements must fail.
func TestSeedsAreCaught(t *testing.T) {
	avoided, roundTrip := requirement.WebhookFailureAvoided, requirement.WebhookConversionRoundTrip
	type subject struct {
		fault string                    // of the reference webhook, or
		spoil func(spec map[string]any) // what happens to the spec of boxes
		want  requirement.ID            // of spoil
	}
	in := func(part string, spoil func(map[string]any)) func(map[string]any) {
		return func(spec map[string]any) {
			if inner, ok := spec[part].(map[string]any); ok {
				spoil(inner)
			}
		}
	}
	lacks := func(value any) { // as a type assertion does
		if fields, _ := value.(map[string]any); len(fields) == 0 {
			panic(http.ErrAbortHandler)
		}
	}
	table := map[string]subject{
		"a union whose member is missing": {spoil: in("store", func(store map[string]any) {
			if store["type"] == "S3" && store["s3"] == nil {
				lacks(nil)
			}
		}), want: avoided},
		"a union whose member is empty": {spoil: in("store", func(store map[string]any) {
			if member, found := store["disk"]; found && store["type"] == "Disk" {
				lacks(member)
			}
		}), want: avoided},
		"correlated lists of different lengths": {spoil: func(spec map[string]any) {
			hosts, _ := spec["hosts"].([]any)
			ports, _ := spec["ports"].([]any)
			if len(hosts) > len(ports) {
				lacks(nil)
			}
		}, want: avoided},
		"correlated lists cut to one length": {spoil: func(spec map[string]any) {
			hosts, _ := spec["hosts"].([]any)
			ports, _ := spec["ports"].([]any)
			if len(ports) > len(hosts) {
				spec["ports"] = ports[:len(hosts)]
			}
		}, want: roundTrip},
		"a list without its last item": {spoil: func(spec map[string]any) {
			if hosts, _ := spec["hosts"].([]any); len(hosts) > 2 {
				spec["hosts"] = hosts[:len(hosts)-1]
			}
		}, want: roundTrip},
		"labels of embedded metadata":      {spoil: in("template", in("metadata", func(meta map[string]any) { delete(meta, "labels") })), want: roundTrip},
		"annotations of embedded metadata": {spoil: in("template", in("metadata", func(meta map[string]any) { delete(meta, "annotations") })), want: roundTrip},
		"labels of an embedded resource":   {spoil: in("manifest", in("metadata", func(meta map[string]any) { delete(meta, "labels") })), want: roundTrip},
		"a list below a rule about something else, cut": {spoil: in("ruled", func(ruled map[string]any) {
			if names, _ := ruled["names"].([]any); len(names) > 5 {
				ruled["names"] = names[:5]
			}
		}), want: roundTrip},
		"a negative number": {spoil: in("ruled", func(ruled map[string]any) {
			if n, is := ruled["least"].(json.Number); is && strings.HasPrefix(string(n), "-") {
				delete(ruled, "least")
			}
		}), want: requirement.WebhookConversionIntegers},
		"line ends deep inside": {spoil: inRest(func(item map[string]any) {
			if text, is := item["text"].(string); is {
				item["text"] = strings.ReplaceAll(text, "\r\n", "\n")
			}
		}), want: requirement.WebhookConversionStrings},
		"a large number deep inside": {spoil: inRest(func(item map[string]any) {
			if n, is := item["count"].(json.Number); is && len(n) > 12 {
				item["count"] = n[:len(n)-1] + "0"
			}
		}), want: requirement.WebhookConversionIntegers},
		"an interval of no time": {spoil: func(spec map[string]any) {
			if spec["interval"] == "0s" {
				delete(spec, "interval")
			}
		}, want: requirement.WebhookConversionZeroValues},
		"a default in place of the empty text": {spoil: func(spec map[string]any) {
			if spec["prefix"] == "" {
				delete(spec, "prefix")
			}
		}, want: requirement.WebhookConversionZeroValues},
	}
	for _, name := range []string{
		"needs-annotations", "shares-annotations", "cuts-long-names", "loses-empty-annotation", "restores-removed", "stale-annotation", "hides-edits",
		"true-for-false", "one-for-zero", "none-for-empty", "drops-false", "zero-for-unset", "other-default", "cuts-list",
		"trusts-annotation",
	} {
		table[name] = subject{fault: name}
	}
	for i, name := range slices.Sorted(maps.Keys(table)) {
		test, first := table[name], int64(i+2) // others are judged with seed 1
		t.Run(name, func(t *testing.T) {
			var subject *suites.Subject
			want := []requirement.ID{test.want}
			if test.fault != "" {
				fault, found := webhook.FaultNamed(test.fault)
				if !found {
					t.Fatal("there is no such fault")
				}
				subject = spectest.Subject(t, fault)
				want = slices.DeleteFunc(slices.Sorted(slices.Values(fault.Breaks)), func(id requirement.ID) bool { return !isSeeded(id) })
			} else {
				subject = boxed(t, test.spoil)
			}
			subject.Objects = 12
			for seed := first; seed < first+int64(*seedsFlag); seed++ {
				var found []requirement.ID
				for _, r := range seeded(t, subject, seed) {
					if r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable {
						found = append(found, r.Requirement)
						t.Logf("seed %d: %s is %s: %s", seed, r.Requirement, r.Verdict, r.Reason)
					}
				}
				slices.Sort(found)
				if !slices.Equal(found, want) {
					t.Errorf("seed %d: found by %v, want %v", seed, found, want)
				}
			}
		})
	}
}

// inRest does something to each item of a list that is deep inside of a spec.
func inRest(change func(item map[string]any)) func(spec map[string]any) {
	return func(spec map[string]any) {
		ruled, _ := spec["ruled"].(map[string]any)
		inner, _ := ruled["inner"].(map[string]any)
		more, _ := inner["more"].(map[string]any)
		rest, _ := more["rest"].([]any)
		for _, each := range rest {
			if item, is := each.(map[string]any); is {
				change(item)
			}
		}
	}
}
