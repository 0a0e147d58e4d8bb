package suites_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

const keptKey = "example.com/kept"

// takeKept returns what is kept of an object, which has it no more.
func takeKept(o map[string]any) map[string]any {
	value, _ := annotated(o, keptKey)
	delete(within(within(o, "metadata"), "annotations"), keptKey)
	kept, _ := plain(value).(map[string]any)
	return kept
}

// limits have at v1 a field and its successor, of which clients may set either. With a bug, the successor stays as it was.
func limits(isStuck bool) func(from, to string, o map[string]any) {
	return func(from, to string, o map[string]any) {
		kept, spec := takeKept(o), within(o, "spec")
		limit, has := spec["limit"]
		old, hasOld := spec["oldLimit"]
		switch {
		case from == "v1" && to == "v2" && (has || hasOld):
			if delete(spec, "oldLimit"); !has {
				spec["limit"] = old
			}
			if !has || !hasOld || !reflect.DeepEqual(limit, old) {
				annotate(o, keptKey, map[string]any{"has": has, "hasOld": hasOld, "limit": limit, "old": old})
			}
		case from == "v2" && to == "v1" && has:
			if isStuck && kept["has"] == true {
				spec["limit"] = kept["limit"]
			}
			switch {
			case kept["hasOld"] == false:
			case kept["has"] == false:
				delete(spec, "limit")
				spec["oldLimit"] = limit
			case kept["old"] != nil && fmt.Sprint(kept["limit"]) == fmt.Sprint(limit):
				spec["oldLimit"] = kept["old"]
			default:
				spec["oldLimit"] = limit
			}
		}
	}
}

// environments are a list at v1 and a map at v2, which keeps the order of the list. With a bug, an entry that is new is left out.
func environments(leavesOut bool) func(from, to string, o map[string]any) {
	return func(from, to string, o map[string]any) {
		kept, spec := takeKept(o), within(o, "spec")
		list, isList := spec["env"].([]any)
		entries, isMap := spec["env"].(map[string]any)
		switch {
		case from == "v1" && to == "v2" && isList:
			entries = map[string]any{}
			for _, item := range list {
				one, _ := item.(map[string]any)
				entries[fmt.Sprint(one["name"])] = one["value"]
			}
			spec["env"] = entries
			annotate(o, keptKey, map[string]any{"list": list, "map": entries})
		case from == "v2" && to == "v1" && isMap:
			was, _ := kept["list"].([]any)
			if reflect.DeepEqual(kept["map"], entries) {
				spec["env"] = was
				return
			}
			left, all := maps.Clone(entries), []any{}
			add := func(name string) {
				if value, is := left[name]; is {
					all = append(all, map[string]any{"name": name, "value": value})
					delete(left, name)
				}
			}
			for _, item := range was {
				one, _ := item.(map[string]any)
				add(fmt.Sprint(one["name"]))
			}
			if !leavesOut || len(was) == 0 {
				for _, name := range slices.Sorted(maps.Keys(left)) {
					add(name)
				}
			}
			spec["env"] = all
		}
	}
}

// times are a text at v1, and at v2 the hour, the text, or both.
func times(from, to string, o map[string]any) {
	kept, spec := takeKept(o), within(o, "spec")
	parsed := func(text string) map[string]any {
		if hour, err := strconv.ParseInt(text, 10, 8); err == nil && hour >= 0 && hour < 100 && strconv.FormatInt(hour, 10) == text {
			return map[string]any{"hour": hour}
		}
		return map[string]any{"raw": text}
	}
	at, isMap := spec["at"].(map[string]any)
	text, isText := spec["at"].(string)
	switch {
	case from == "v2" && to == "v1" && isMap:
		raw, isRaw := at["raw"].(string)
		if hour, has := at["hour"]; has && !isRaw {
			raw = fmt.Sprint(hour)
		}
		if spec["at"] = raw; fmt.Sprint(parsed(raw)) != fmt.Sprint(at) {
			annotate(o, keptKey, map[string]any{"text": raw, "at": at})
		}
	case from == "v1" && to == "v2" && isText:
		if spec["at"] = parsed(text); kept["text"] == text {
			spec["at"] = kept["at"]
		}
	}
}

// TestPatchesOfWhatIsKept patches objects of which a webhook keeps something that the version of the patch does not show. What it does with that is up to
// it, as long as the patch shows, and nothing is gone that has nothing to do with the patch.
func TestPatchesOfWhatIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	const newer = `
apiVersion: example.com/v1
kind: Gate
metadata: {name: newer}
spec: {limit: 5}
`
	limit := twin(`{limit: {type: integer}, oldLimit: {type: integer}, note: {type: string}}`, `{limit: {type: integer}, note: {type: string}}`, "{}")
	order := twin(`{env: {type: array, items: {type: object, required: [name, value], properties: {name: {type: string}, value: {type: string}}}}}`, `{env: {type: object, additionalProperties: {type: string}}}`, "{}")
	text := twin(`{at: {type: string}, note: {type: string}}`, `{at: {type: object, properties: {raw: {type: string}, hour: {type: integer, minimum: 0, maximum: 99}}}, note: {type: string}}`, "{}")
	for name, test := range map[string]struct {
		definition, sample string
		change             func(from, to string, o map[string]any)
		want               requirement.Verdict
	}{
		"a successor":               {limit, newer, limits(false), requirement.Passed},
		"a successor that is stuck": {limit, newer, limits(true), requirement.Failed},
		"an order":                  {order, "", environments(false), requirement.Passed},
		"an order of what was":      {order, "", environments(true), requirement.Failed},
		"a text":                    {text, "", times, requirement.Passed},
	} {
		for seed := int64(1); seed <= 3; seed++ {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				env := suitetest.Env(t, suites.Options{
					Cluster: apiServer.Cluster(t), Subject: subject(t, rewriting(test.change), corpusOf(t, test.definition, test.sample)), Seed: seed,
					Select: func(id requirement.ID) bool { return id == requirement.ResourcePatchMerge },
				})
				outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range outcome.Results {
					if r.Verdict != test.want {
						t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, test.want, r.Reason)
					}
				}
			})
		}
	}
}
