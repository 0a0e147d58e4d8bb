package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// teams have a region, and members with quotas, at v1 alone.
const teams = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: teams.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: teams, kind: Team}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      purpose: {type: string}, region: {type: string}, members: {type: array, LIST items: {type: object, required: [name], properties: {name: {type: string}, role: {type: string}, quota: {type: integer}}}}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {purpose: {type: string}, members: {type: array, items: {type: string}}}}}}}
`

// team converts teams, and notes the regions, and of members what has a key.
type team struct {
	keyed   func(at int, name string, all int) string
	stays   bool // the notes are still there at v1
	renewed func(old string, news map[string]any) bool
}

func (c team) convert(from, to string, object map[string]any) string {
	const key = "example.com/v1"
	spec, notes := specOf(object), metadataOf(object, "annotations")
	old, _ := notes[key].(string)
	switch {
	case from == "v1" && to == "v2":
		news, names := map[string]any{}, []any{}
		if region, has := spec["region"]; has {
			news["region"] = region
			delete(spec, "region")
		}
		members, hasMembers := spec["members"].([]any)
		for i, each := range members {
			member := each.(map[string]any)
			name := member["name"].(string)
			names = append(names, name)
			if rest := maps.Clone(member); len(rest) > 1 {
				delete(rest, "name")
				news[c.keyed(i, name, len(members))] = rest
			}
		}
		if hasMembers {
			spec["members"] = names
		}
		if c.renewed(old, news) {
			delete(notes, key)
			if text, err := json.Marshal(news); err == nil && len(news) > 0 {
				notes[key] = string(text)
			}
		}
	case from == "v2" && to == "v1":
		kept := map[string]any{}
		decoder := json.NewDecoder(strings.NewReader(old))
		decoder.UseNumber()
		_ = decoder.Decode(&kept)
		if region, has := kept["region"]; has && spec != nil {
			spec["region"] = region
		}
		names, _ := spec["members"].([]any)
		for i, each := range names {
			name, _ := each.(string)
			member, _ := kept[c.keyed(i, name, len(names))].(map[string]any)
			member = maps.Clone(member)
			if member == nil {
				member = map[string]any{}
			}
			member["name"] = name
			names[i] = member
		}
		if !c.stays {
			delete(notes, key)
		}
	}
	return ""
}

// TestEditsBesideNotes has webhooks note what v2 does not hold. What is noted of an item must not come to another, and what is noted must not
// come back once it was edited at v1.
func TestEditsBesideNotes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: edits are tried of many objects")
	}
	byName := func(_ int, name string, _ int) string { return "member " + name }
	always := func(string, map[string]any) bool { return true }
	for name, test := range map[string]struct {
		team
		says string // empty if it is lawful
	}{
		"by name":                              {team{byName, false, always}, ""},
		"by name, and the notes stay":          {team{byName, true, always}, ""},
		"by position":                          {team{func(at int, _ string, _ int) string { return strconv.Itoa(at) }, false, always}, "which another item had, after spec.members[0] was removed at v2"},
		"by position among so many":            {team{func(at int, _ string, all int) string { return fmt.Sprint(at, " of ", all) }, false, always}, ""},
		"renewed only where there is any":      {team{byName, true, func(_ string, news map[string]any) bool { return len(news) > 0 }}, "removed there"},
		"never renewed":                        {team{byName, true, func(old string, _ map[string]any) bool { return old == "" }}, "changed there"},
		"renewed only where there is a region": {team{byName, true, func(old string, news map[string]any) bool { return old == "" || news["region"] != nil }}, "there ->"},
	} {
		for _, list := range []string{"", "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],"} {
			t.Run(name+" "+list, func(t *testing.T) {
				t.Parallel()
				subject := served{handler: stranger{converts: test.convert}}.of(t, strings.Replace(teams, "LIST", list, 1))
				subject.Objects = 12
				want := requirement.Failed
				if test.says == "" {
					want = requirement.Passed
				}
				for seed := range int64(2) {
					for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionEdits) {
						if r.Verdict != want || !strings.Contains(r.Reason, test.says) {
							t.Errorf("seed %d: %s is %s, want %s with %q: %s", seed+1, r.Requirement, r.Verdict, want, test.says, r.Reason)
						}
					}
				}
			})
		}
	}
}

// TestHomeOfWhatIsFilledIn has a webhook fill in a field, whatever is there, so that no version shows another value of it: it is the one of the same
// name in what shows the object around it.
func TestHomeOfWhatIsFilledIn(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(renamed, "  - name: v1\n")
	version := func(name, storage, field string) string {
		return "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + field + ": {type: object, properties: {began: {type: string}, ended: {type: string}}}}}}}}}\n"
	}
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		spec := specOf(object)
		if to == "v1" {
			rename(spec, "last", "lastRun")
		} else {
			rename(spec, "lastRun", "last")
		}
		for _, field := range []string{"last", "lastRun"} {
			if run, is := spec[field].(map[string]any); is {
				run["ended"] = "later"
			}
		}
		return ""
	}}}.of(t, head+version("v1", "true", "lastRun")+version("v2", "false", "last"))
	subject.Objects = 12
	homes := map[string]string{}
	for _, f := range foundBy(t, subject, requirement.WebhookConversionRoundTrip) {
		homes[f.Field] = f.Home
	}
	if want := map[string]string{"spec.last.ended": "spec.lastRun.ended", "spec.lastRun.ended": "spec.lastRun.ended"}; !maps.Equal(homes, want) {
		t.Errorf("found %v, want %v", homes, want)
	}
}
