package suites_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/test/subjects/program"
	"github.com/crdconform/crdconform/internal/test/subjects/styles"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
	webhookarea "github.com/crdconform/crdconform/suites/webhook"
)

// plans is a definition whose oldest version sees a part of most fields of the newest, and whose second one a part of one. The placeholders
// say whether a version is stored.
const plans = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plans.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: plans, singular: plan, kind: Plan, listKind: PlanList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1alpha1
    served: true
    storage: %t
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              emails: {type: array, items: {type: string}}
              retentionDays: {type: integer, minimum: 0, maximum: 1000}
              enabled: {type: boolean}
              timeoutSeconds: {type: integer, minimum: 0, maximum: 100000}
              host: {type: string, pattern: '^[a-z]+$'}
              volumes: &volumes
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, minLength: 1}, size: {type: integer}}}
              tags: {type: object, additionalProperties: {type: string}}
          status:
            type: object
            properties: {phase: {type: string}, ready: {type: integer}}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              notifications: &notifications
                type: array
                items: {type: object, required: [channel, address], properties: {channel: {type: string, enum: [Email, Slack]}, address: {type: string}}}
              retentionDays: {type: integer, minimum: 0, maximum: 1000}
              mode: &mode {type: string, enum: [Auto, Manual, "Off"]}
              timeoutMillis: &timeout {type: integer, minimum: 0, maximum: 100000000}
              address: &address {type: string, pattern: '^[a-z]+:[0-9]{1,5}$'}
              volumes: &classes
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, minLength: 1}, size: {type: integer}, class: {type: string}}}
              tags: &tags
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [key]
                items: {type: object, required: [key, value], properties: {key: {type: string}, value: {type: string}}}
              note: {type: string}
          status: &status
            type: object
            properties: {phase: {type: string}, ready: {type: integer}, message: {type: string}}
  - name: v1
    served: true
    storage: %t
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              notifications: *notifications
              retention: {type: object, properties: {days: {type: integer, minimum: 0, maximum: 1000}, maxCount: {type: integer}}}
              mode: *mode
              timeoutMillis: *timeout
              address: *address
              volumes: *classes
              tags: *tags
              note: {type: string}
          status: *status
`

// planSamples are one of each version, as projects have them.
const planSamples = `
apiVersion: example.com/v1
kind: Plan
metadata: {name: sample}
spec:
  notifications: [{channel: Email, address: a@example.com}, {channel: Slack, address: "#a"}]
  retention: {days: 30, maxCount: 14}
  mode: Manual
  timeoutMillis: 90500
  address: "localhost:8080"
  volumes: [{name: data, size: 3, class: fast}]
  tags: [{key: team, value: a}]
  note: about it
---
apiVersion: example.com/v1beta1
kind: Plan
metadata: {name: sample}
spec: {notifications: [{channel: Slack, address: "#b"}], retentionDays: 7, mode: "Off", timeoutMillis: 5, address: "localhost:80"}
---
apiVersion: example.com/v1alpha1
kind: Plan
metadata: {name: sample}
spec: {emails: [b@example.com], retentionDays: 7, enabled: true, timeoutSeconds: 90, host: localhost, volumes: [{name: data, size: 3}], tags: {team: b}}
`

// part is a field of the newest version, of which an older one has a part, under a name of its own.
type part struct {
	newer, older string // older is empty where there is no such field
	down, up     func(value any) any
	merge        func(up, kept any) any // adds to what has changed at the older version what only the newer one can hold
}

func same(value any) any { return value }

// member is a member of a value, nil if there is none.
func member(value any, name string) any {
	fields, _ := value.(map[string]any)
	return fields[name]
}

// having is a value with another member, or without it.
func having(value any, name string, member any) any {
	fields, _ := value.(map[string]any)
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	if member == nil {
		delete(fields, name)
	} else {
		fields[name] = member
	}
	return fields
}

// itemwise converts the items of a list, without those that become nothing.
func itemwise(convert func(item any) any) func(list any) any {
	return func(list any) any {
		items, _ := list.([]any)
		converted := []any{}
		for _, item := range items {
			if one := convert(item); one != nil {
				converted = append(converted, one)
			}
		}
		return converted
	}
}

func number(value any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// partsOf are what a version sees of the fields of the newest.
func partsOf(version string) (spec, status []part) {
	retention := part{
		"retention", "retentionDays",
		func(v any) any { return member(v, "days") },
		func(v any) any { return map[string]any{"days": v} },
		func(up, kept any) any {
			if most := member(kept, "maxCount"); most != nil {
				return having(up, "maxCount", most)
			}
			return up
		},
	}
	switch version {
	case "v1":
		return nil, nil
	case "v1beta1":
		return []part{retention}, nil
	}
	return append([]part{retention}, []part{
		{
			"notifications", "emails",
			itemwise(func(item any) any {
				if member(item, "channel") != "Email" {
					return nil
				}
				return member(item, "address")
			}),
			itemwise(func(item any) any { return map[string]any{"channel": "Email", "address": item} }),
			func(up, kept any) any {
				others := itemwise(func(item any) any {
					if member(item, "channel") == "Email" {
						return nil
					}
					return item
				})(kept).([]any)
				emails, _ := up.([]any)
				if len(emails)+len(others) == 0 {
					return up
				}
				return slices.Concat(emails, others)
			},
		},
		{
			"mode", "enabled",
			func(v any) any { return v != "Off" },
			func(v any) any { return map[any]string{true: "Auto", false: "Off"}[v] }, nil,
		},
		{
			"timeoutMillis", "timeoutSeconds",
			func(v any) any { return number(v) / 1000 },
			func(v any) any { return number(v) * 1000 },
			func(up, kept any) any {
				if up == nil || kept == nil {
					return up
				}
				return number(up) + number(kept)%1000
			},
		},
		{
			"address", "host",
			func(v any) any { host, _, _ := strings.Cut(v.(string), ":"); return host },
			func(v any) any { return v.(string) + ":80" },
			func(up, kept any) any {
				if up == nil || kept == nil {
					return up
				}
				host, _, _ := strings.Cut(up.(string), ":")
				_, port, _ := strings.Cut(kept.(string), ":")
				return host + ":" + port
			},
		},
		{
			"volumes", "volumes", itemwise(func(item any) any { return having(item, "class", nil) }), same,
			func(up, kept any) any {
				if up == nil {
					return nil
				}
				classes := map[any]any{}
				old, _ := kept.([]any)
				for _, item := range old {
					classes[member(item, "name")] = member(item, "class")
				}
				return itemwise(func(item any) any {
					return having(item, "class", classes[member(item, "name")])
				})(up)
			},
		},
		{
			"tags", "tags",
			func(v any) any {
				tags := map[string]any{}
				for _, item := range v.([]any) {
					tags[member(item, "key").(string)] = member(item, "value")
				}
				return tags
			},
			func(v any) any {
				list, tags := []any{}, v.(map[string]any)
				for _, key := range slices.Sorted(maps.Keys(tags)) {
					list = append(list, map[string]any{"key": key, "value": tags[key]})
				}
				return list
			}, nil,
		},
		{newer: "note"},
	}...), []part{{newer: "message"}}
}

// plain is a value as it comes out of JSON.
func plain(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var again any
	if err := decoder.Decode(&again); err != nil {
		panic(err)
	}
	return again
}

func down(parts []part, newest any) any {
	fields, _ := newest.(map[string]any)
	if fields == nil {
		return nil
	}
	older := maps.Clone(fields)
	for _, p := range parts {
		delete(older, p.newer)
	}
	for _, p := range parts {
		if value := fields[p.newer]; value != nil && p.older != "" {
			if part := p.down(value); part != nil {
				older[p.older] = part
			}
		}
	}
	return plain(older)
}

func up(parts []part, older any) any {
	fields, _ := older.(map[string]any)
	if fields == nil {
		return nil
	}
	newest := maps.Clone(fields)
	for _, p := range parts {
		delete(newest, p.older)
	}
	for _, p := range parts {
		if value := fields[p.older]; value != nil {
			newest[p.newer] = p.up(value)
		}
	}
	return plain(newest)
}

// planner is a webhook for plans. It converts by way of the newest version, and keeps what that has in an annotation.
type planner struct {
	forgets  bool // keeps nothing
	replaces bool // merges nothing into a list or a scalar that has changed at the older version
	gives    bool // keeps nothing once anything has changed: a bug
	insists  bool // on the status that it kept, whatever was written since: a bug
}

const planKept = "example.com/kept"

func (p planner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rewriting(func(from, to string, o map[string]any) {
		p.rise(from, o)
		p.descend(to, o)
	}).ServeHTTP(w, r)
}

// rewriting is a webhook that changes the objects of any definition, besides their apiVersion.
func rewriting(change func(from, to string, o map[string]any)) http.Handler {
	return converting(func(from, to string, o map[string]any) error {
		change(from, to, o)
		return nil
	})
}

// converting is rewriting for what may fail. It refuses versions that no definition here has.
func converting(change func(from, to string, o map[string]any) error) http.Handler {
	known := []string{"v1alpha1", "v1beta1", "v1", "v2"}
	return program.Handler(func(request program.Review) ([]json.RawMessage, error) {
		var converted []json.RawMessage
		for _, raw := range request.Objects {
			object, is := plain(raw).(map[string]any)
			from, to := version(object["apiVersion"]), version(request.Desired)
			if !is || !slices.Contains(known, from) || !slices.Contains(known, to) {
				return nil, fmt.Errorf("cannot convert %v to %s", object["apiVersion"], request.Desired)
			}
			if from != to {
				if err := change(from, to, object); err != nil {
					return nil, err
				}
			}
			object["apiVersion"] = request.Desired
			text, err := json.Marshal(object)
			if err != nil {
				return nil, err
			}
			converted = append(converted, text)
		}
		return converted, nil
	})
}

// rise makes an object one of the newest version, with what was kept of it.
func (p planner) rise(from string, o map[string]any) {
	spec, status := partsOf(from)
	kept, found := annotated(o, planKept)
	if found {
		forget(o, planKept)
	}
	given := found && p.gives && !reflect.DeepEqual(down(spec, member(kept, "spec")), o["spec"])
	for key, parts := range map[string][]part{"spec": spec, "status": status} {
		if o[key] == nil {
			continue
		}
		was := member(kept, key)
		switch newest := up(parts, o[key]); {
		case !found || given || was == nil:
			o[key] = newest
		case p.insists && key == "status":
			o[key] = was
		default:
			o[key] = p.restored(parts, newest, o[key], was)
		}
	}
}

// restored is a value of the newest version with what was kept, but for what has changed since at the older version.
func (p planner) restored(parts []part, newest, older, kept any) any {
	was := down(parts, kept)
	for _, one := range parts {
		switch {
		case reflect.DeepEqual(member(older, one.older), member(was, one.older)):
			newest = having(newest, one.newer, member(kept, one.newer))
		case one.merge != nil && (!p.replaces || !isWhole(member(kept, one.newer))):
			newest = having(newest, one.newer, one.merge(member(newest, one.newer), member(kept, one.newer)))
		}
	}
	return plain(newest)
}

// isWhole reports whether a value has no fields of which others are left alone when one is changed.
func isWhole(value any) bool {
	_, hasFields := value.(map[string]any)
	return !hasFields
}

// descend makes an object of the newest version one of another.
func (p planner) descend(to string, o map[string]any) {
	spec, status := partsOf(to)
	kept, lossless := map[string]any{}, true
	for key, parts := range map[string][]part{"spec": spec, "status": status} {
		if o[key] == nil {
			continue
		}
		older := down(parts, o[key])
		kept[key] = o[key]
		lossless = lossless && reflect.DeepEqual(up(parts, older), o[key])
		o[key] = older
	}
	if !lossless && !p.forgets {
		annotate(o, planKept, kept)
	}
}

// planned are the plans to judge with: those that are generated, and samples if there are any.
func planned(t *testing.T, stored, samples string) corpus.Corpus {
	t.Helper()
	return corpusOf(t, planDefinition(stored), samples)
}

func planDefinition(stored string) string {
	return fmt.Sprintf(plans, stored == "v1alpha1", stored == "v1")
}

func corpusOf(t *testing.T, definition, samples string) corpus.Corpus {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	definitions, _, err := corpus.ReadDefinitions("definition.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	if samples != "" {
		if all, err = corpus.ReadSamples("samples.yaml", []byte(samples)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := corpus.New(definitions[0], all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// style is a correct webhook and what it converts.
type style struct {
	handler    func(t *testing.T) http.Handler
	definition string
	sample     string
	lossy      func(from, through, path string) (string, bool) // what is declared
}

// styled are webhooks of different styles.
func styled(t *testing.T) map[string]style {
	t.Helper()
	plan := func(p planner, stored string) style {
		return style{func(*testing.T) http.Handler { return p }, planDefinition(stored), planSamples, nil}
	}
	forgets := plan(planner{forgets: true}, "v1")
	forgets.lossy = declaredPlans
	all := map[string]style{
		"merges what was kept":                          plan(planner{}, "v1"),
		"merges what was kept, and is stored as oldest": plan(planner{}, "v1alpha1"),
		"replaces what has changed":                     plan(planner{replaces: true}, "v1"),
		"keeps nothing, as declared":                    forgets,
		"restores what a snapshot has":                  {func(*testing.T) http.Handler { return snapshots() }, fleets, fleetSample, nil},
		"has a map where another has a list":            {func(*testing.T) http.Handler { return entries() }, gateways, gatewaySample, nil},
	}
	for name, of := range styles.All(t) {
		all[name] = style{func(t *testing.T) http.Handler { t.Helper(); return converting(of.Start(t)) }, of.Definition, of.Sample, nil}
	}
	return all
}

// declaredPlans are the fields of plans that are lost without what is kept.
func declaredPlans(_, _, path string) (string, bool) {
	for _, lost := range []string{"spec.notifications", "spec.retention", "spec.mode", "spec.timeoutMillis", "spec.address", "spec.volumes", "spec.note", "status.message"} {
		if path == lost || strings.HasPrefix(path, lost+".") || strings.HasPrefix(path, lost+"[") {
			return "it was declared", true
		}
	}
	return "", false
}

// judgeStyle wants nothing to be held against a correct webhook, and every spec on an API server to judge it.
func judgeStyle(t *testing.T, genuine *embedded.Cluster, of style, samples string, seed int64) {
	t.Helper()
	s := subject(t, of.handler(t), corpusOf(t, of.definition, samples))
	s.Lossy, s.Objects = of.lossy, 12
	env := suitetest.Env(t, suites.Options{Cluster: genuine, Subject: s, Seed: seed, Select: func(id requirement.ID) bool {
		return strings.HasPrefix(string(id), "resource.") || strings.HasPrefix(string(id), "webhook.conversion.")
	}})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area, webhookarea.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		judged := r.Verdict == requirement.Passed || r.Verdict == requirement.Tolerated || r.Immaterial
		if !judged && (r.Verdict != requirement.NotApplicable || strings.HasPrefix(string(r.Requirement), "resource.")) {
			t.Errorf("seed %d: %s is %s: %s", seed, r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestCorrectStyle has a correct webhook that merges lists judged with a sample of each version. More styles and seeds are nightly.
func TestCorrectStyle(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the chapter runs once more")
	}
	judgeStyle(t, apiServer.Cluster(t), styled(t)["merges what was kept"], planSamples, 1)
}

// TestLawfulEdits has correct webhooks judged by what clients edit at the older version.
func TestLawfulEdits(t *testing.T) {
	for name, of := range map[string]struct {
		handler            http.Handler
		definition, sample string
	}{
		"the whole of a list is replaced when an item of it is edited": {planner{replaces: true}, planDefinition("v1"), `
apiVersion: example.com/v1
kind: Plan
metadata: {name: sample}
spec: {notifications: [{address: "", channel: Email}, {address: "0", channel: Slack}]}
`},
		"an item gets another name, and another one has the same value": {entries(), gateways, `
apiVersion: example.com/v1
kind: Gateway
metadata: {name: sample}
spec: {listeners: {anchor: {hosts: [olive]}, saffron: {hosts: [olive]}}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t, of.handler, corpusOf(t, of.definition, of.sample))
			s.Objects = 1 // beside the sample
			env := suitetest.Env(t, suites.Options{Subject: s, Seed: 1, Select: func(id requirement.ID) bool { return id == requirement.WebhookConversionEdits }})
			outcome, err := suites.Run(t.Context(), env, []suites.Area{webhookarea.Area}, suitetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			if len(outcome.Results) != 1 {
				t.Fatalf("%d results, want 1", len(outcome.Results))
			}
			for _, r := range outcome.Results {
				if r.Verdict != requirement.Passed {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// TestSamplesHideNothing has webhooks with a bug found with one sample of each version. Without samples, with more, and with other seeds is
// nightly.
func TestSamplesHideNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	hideNothing(t, map[string]string{"a sample": planSamples}, 1)
}

// hideNothing has webhooks with a bug found with different samples and seeds.
func hideNothing(t *testing.T, samplings map[string]string, seeds ...int64) {
	t.Helper()
	for name, test := range map[string]struct {
		planner planner
		fails   []requirement.ID
	}{
		"gives up what it kept":       {planner{gives: true}, []requirement.ID{requirement.ResourcePatchJSON, requirement.ResourcePatchMerge}},
		"insists on the first status": {planner{insists: true}, []requirement.ID{requirement.ResourceStatusEveryVersion}},
	} {
		for objects, samples := range samplings {
			for _, seed := range seeds {
				t.Run(fmt.Sprintf("%s, %s, seed %d", name, objects, seed), func(t *testing.T) {
					env := suitetest.Env(t, suites.Options{
						Cluster: apiServer.Cluster(t), Subject: subject(t, test.planner, planned(t, "v1", samples)), Seed: seed,
						Select: func(id requirement.ID) bool { return slices.Contains(test.fails, id) },
					})
					outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range outcome.Results {
						if r.Verdict != requirement.Failed {
							t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
						}
					}
				})
			}
		}
	}
}

// twin is a definition of two versions, which have these properties in their specs, and these subresources.
func twin(first, second, subresources string) string {
	const version = `
  - name: %s
    served: true
    storage: %t
    subresources: %s
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: %s}, status: {type: object, properties: {replicas: {type: integer}, selector: {type: object, properties: {app: {type: string}}}}}}}}`
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gates, singular: gate, kind: Gate, listKind: GateList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:` + fmt.Sprintf(version, "v1", true, subresources, first) + fmt.Sprintf(version, "v2", false, subresources, second)
}

// TestTwins has webhooks and definitions judged that are wrong in one thing, and twins in which it is right.
func TestTwins(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	const (
		union   = `{mode: {type: object, properties: {passthrough: {type: object}, reject: {type: object}}}}`
		ref     = `{ref: {type: object, properties: {key: {type: string}, strategy: {type: string, enum: [Default, Unicode], default: Default}}}}`
		bareRef = `{ref: {type: object, properties: {key: {type: string}}}}`
		level   = `{level: {type: integer, minimum: 1, maximum: 100}}`
		depth   = `{depth: {type: integer, minimum: 1, maximum: 100}}`
		open    = `{size: {type: integer}, any: {type: object, x-kubernetes-preserve-unknown-fields: true}}`
		status  = `{status: {}}`
		// labelSelectorPath has to lead to a text, and this leads to an object.
		selector = `{status: {}, scale: {specReplicasPath: .spec.level, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}`
	)
	passesOn := func(_, _ string, _ map[string]any) {}
	leavesOutDefault := func(_, to string, o map[string]any) {
		ref := within(within(o, "spec"), "ref")
		strategy, there := ref["strategy"]
		if kept, found := annotated(o, "example.com/strategy"); found && to == "v1" {
			ref["strategy"] = kept
			delete(within(within(o, "metadata"), "annotations"), "example.com/strategy")
		}
		if to == "v2" && there {
			if delete(ref, "strategy"); strategy != "Default" {
				annotate(o, "example.com/strategy", strategy)
			}
		}
	}
	// renamed passes level on as depth, and the reverse, if that is kept.
	renamed := func(kept func(level any) bool) func(from, to string, o map[string]any) {
		return func(from, _ string, o map[string]any) {
			old, now := "level", "depth"
			if from == "v2" {
				old, now = now, old
			}
			spec := within(o, "spec")
			if value, there := spec[old]; there {
				if delete(spec, old); kept(value) {
					spec[now] = value
				}
			}
		}
	}
	for name, test := range map[string]struct {
		definition string
		change     func(from, to string, o map[string]any)
		of         requirement.ID
		want       requirement.Verdict
		says       string
		lossy      []string // the fields that may be declared to be lost
	}{
		"a union loses its member": {twin(union, union, status), func(_, _ string, o map[string]any) {
			if within(o, "metadata")["uid"] != nil { // of whole objects, it is lost to every other requirement, too
				return
			}
			mode := within(within(o, "spec"), "mode")
			delete(mode, "passthrough")
			delete(mode, "reject")
		}, requirement.ResourceApplyTwoManagers, requirement.Failed, "expected it to be accepted as before", nil},
		"a union keeps its member":     {twin(union, union, status), passesOn, requirement.ResourceApplyTwoManagers, requirement.Passed, "", nil},
		"a default is left out":        {twin(ref, bareRef, status), leavesOutDefault, requirement.ResourceApplyTwoManagers, requirement.Tolerated, "", nil},
		"a selector that is an object": {twin(level, level, selector), passesOn, requirement.ResourceStatusEveryVersion, requirement.NotApplicable, "could not be judged for status.selector", nil},
		"no selector for autoscalers":  {twin(level, level, status), passesOn, requirement.ResourceStatusEveryVersion, requirement.Passed, "", nil},
		"invented content is lost": {twin(open, open, status), func(_, _ string, o map[string]any) {
			clear(within(within(o, "spec"), "any"))
		}, requirement.ResourceReadEveryVersion, requirement.Tolerated, "content was dropped that no user has", nil},
		"some values of a field are lost": {twin(level, depth, status), renamed(func(level any) bool { return number(level) >= 50 }), requirement.ResourceReadEveryVersion, requirement.Failed, "spec.depth", nil},
		"all values of a field are lost":  {twin(level, depth, status), renamed(func(any) bool { return false }), requirement.ResourceReadEveryVersion, requirement.Failed, "spec.depth", []string{"spec.level", "spec.depth"}},
		"a field has another name":        {twin(level, depth, status), renamed(func(any) bool { return true }), requirement.ResourceReadEveryVersion, requirement.Passed, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t, rewriting(test.change), corpusOf(t, test.definition, ""))
			for _, r := range judge(t, apiServer.Cluster(t), s, test.of) {
				if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				for _, f := range r.Findings {
					if f.Meant() != slices.Contains(test.lossy, f.Field) {
						t.Errorf("%s: %s may be meant: %t", r.Requirement, f.Field, f.Meant())
					}
				}
			}
		})
	}
}
