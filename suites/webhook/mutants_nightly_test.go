//go:build nightly

package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// mutant is a fault that is made mechanically: something happens to one field on the way from one version to another.
type mutant struct {
	from, to string
	path     []string // of the field at the version to, with [*] for items and <key> for the entries of maps
	what     string
	sibling  string // for that of a sibling
	enum     []any  // for another at one member: the first becomes the second
}

func (m mutant) String() string {
	return fmt.Sprintf("%s to %s: %s: %s", m.from, m.to, strings.Join(m.path, "."), m.what)
}

// What a mutant does with one value needs the schema, or other values than the one at its place.
const (
	ofObjectBefore  = "that of the object before"
	ofRequestBefore = "that of the request before"
	ofSibling       = "that of a sibling"     // of the same type; the sibling has this one's
	otherMember     = "another at one member" // of an enum
)

// place is where a value is: in a map by its key, or in a list.
type place struct {
	fields map[string]any
	key    string
	list   []any
	at     int
}

func (p place) get() any {
	if p.fields != nil {
		return p.fields[p.key]
	}
	return p.list[p.at]
}

func (p place) set(value any) {
	if p.fields != nil {
		p.fields[p.key] = value
	} else {
		p.list[p.at] = value
	}
}

// mutations are what can happen to a value, by name. They return the value as it is then and whether it is still there; most leave
// values alone that they do not fit.
func mutations() map[string]func(value any) (any, bool) {
	number := func(change func(float64) float64) func(any) (any, bool) {
		return func(value any) (any, bool) {
			if n, ok := value.(json.Number); ok {
				if i, err := n.Int64(); err == nil && math.Abs(float64(i)) < 1<<50 {
					return json.Number(strconv.FormatInt(int64(change(float64(i))), 10)), true
				}
			}
			return value, true
		}
	}
	text := func(change func(string) string) func(any) (any, bool) {
		return func(value any) (any, bool) {
			if s, ok := value.(string); ok {
				return change(s), true
			}
			return value, true
		}
	}
	list := func(change func([]any) []any) func(any) (any, bool) {
		return func(value any) (any, bool) {
			if l, ok := value.([]any); ok && len(l) > 0 {
				return change(slices.Clone(l)), true
			}
			return value, true
		}
	}
	zeros := []any{false, "", json.Number("0")}
	return map[string]func(any) (any, bool){
		"dropped":      func(any) (any, bool) { return nil, false },
		"zero dropped": func(v any) (any, bool) { return v, !slices.Contains(zeros, v) },
		"true dropped": func(v any) (any, bool) { return v, v != true },
		"false for true": func(v any) (any, bool) {
			if v == true {
				return false, true
			}
			return v, true
		},
		"default for zero": func(v any) (any, bool) {
			if i := slices.Index(zeros, v); i >= 0 {
				return []any{true, "none", json.Number("1")}[i], true
			}
			return v, true
		},
		"one more":        number(func(n float64) float64 { return n + 1 }),
		"negative":        number(func(n float64) float64 { return -n }),
		"rounded to tens": number(func(n float64) float64 { return math.Round(n/10) * 10 }),
		"through a float": func(v any) (any, bool) {
			if n, ok := v.(json.Number); ok {
				if i, err := n.Int64(); err == nil {
					return json.Number(fmt.Sprintf("%.0f", float64(i))), true
				}
			}
			return v, true
		},
		"lower case": text(strings.ToLower),
		"upper case": text(strings.ToUpper),
		"cut": text(func(s string) string {
			if len(s) > 20 {
				return strings.ToValidUTF8(s[:20], "")
			}
			return s
		}),
		"ASCII only": text(func(s string) string {
			return strings.Map(func(r rune) rune {
				if r > 127 {
					return '?'
				}
				return r
			}, s)
		}),
		"emptied":      text(func(string) string { return "" }),
		"reversed":     list(func(l []any) []any { slices.Reverse(l); return l }),
		"last cut":     list(func(l []any) []any { return l[:len(l)-1] }),
		"first twice":  list(func(l []any) []any { return append(l[:1:1], l...) }),
		"only one":     list(func(l []any) []any { return l[:1] }),
		"list dropped": func(v any) (any, bool) { l, is := v.([]any); return v, !is || len(l) != 1 },
		"part dropped": func(v any) (any, bool) { f, is := v.(map[string]any); return v, !is || len(f) > 1 },
		"keys in lower case": func(v any) (any, bool) {
			fields, is := v.(map[string]any)
			if !is {
				return v, true
			}
			lower := map[string]any{}
			for _, key := range slices.Sorted(maps.Keys(fields)) {
				lower[strings.ToLower(key)] = fields[key]
			}
			return lower, true
		},
		"one key lost": func(v any) (any, bool) {
			fields, is := v.(map[string]any)
			if !is || len(fields) < 2 {
				return v, true
			}
			less := maps.Clone(fields)
			delete(less, slices.Min(slices.Collect(maps.Keys(fields))))
			return less, true
		},
	}
}

// fits reports whether a mutation can do anything to values of a schema.
func fits(what string, s apiextensionsv1.JSONSchemaProps) bool {
	of := map[string][]string{
		"string":  {"dropped", "zero dropped", "default for zero", "lower case", "upper case", "cut", "ASCII only", "emptied", ofObjectBefore, ofRequestBefore, ofSibling, otherMember},
		"integer": {"dropped", "zero dropped", "default for zero", "one more", "negative", "rounded to tens", "through a float", ofObjectBefore, ofRequestBefore, ofSibling},
		"boolean": {"dropped", "zero dropped", "true dropped", "false for true", "default for zero", ofObjectBefore, ofSibling},
		"array":   {"dropped", "reversed", "last cut", "first twice", "only one", "list dropped", ofObjectBefore, ofSibling},
		"object":  {"dropped", "part dropped", ofObjectBefore},
	}[s.Type]
	if s.AdditionalProperties != nil {
		of = append(of, "keys in lower case", "one key lost")
	}
	return slices.Contains(of, what)
}

// futile reports why a mutant changes nothing that the contract knows, empty if it does.
func futile(what string, s apiextensionsv1.JSONSchemaProps, path []string) string {
	listType, defaults := "", 0
	for _, field := range s.Properties {
		if field.Default != nil {
			defaults++
		}
	}
	if s.XListType != nil {
		listType = *s.XListType
	}
	switch {
	case path[len(path)-1] == "[*]" && strings.HasSuffix(what, "dropped"):
		return "an item of a list is left, see last cut"
	case what == "part dropped" && defaults > 1:
		return "API servers fill in more than one field"
	case what == "upper case" && s.Format == "date-time":
		return "times are in upper case"
	case what == "lower case" && s.Pattern != "" && s.Pattern == strings.ToLower(s.Pattern):
		return "the pattern has no capitals"
	case what == "upper case" && s.Enum != nil && !slices.ContainsFunc(s.Enum, func(raw apiextensionsv1.JSON) bool { return strings.ToUpper(string(raw.Raw)) != string(raw.Raw) }):
		return "all members are in upper case"
	case what == "reversed" && (listType == "map" || listType == "set"):
		return "the order of its items means nothing"
	case what == "through a float" && s.Format == "int32":
		return "32 bits fit into a float"
	case what == "zero dropped" && s.Minimum != nil && *s.Minimum > 0, what == "default for zero" && s.Minimum != nil && *s.Minimum > 0,
		(what == "zero dropped" || what == "default for zero") && (s.Enum != nil || s.Pattern != "" || s.Format != "" || s.MinLength != nil):
		return "the schema allows no zero"
	case what == "negative" && s.Maximum != nil && *s.Maximum == 0:
		return "the schema allows nothing but 0"
	case what == "true dropped" && s.Default != nil && string(s.Default.Raw) == "true":
		return "the default takes its place"
	case what == "ASCII only" && (s.Pattern != "" || s.Enum != nil || s.Format != ""), what == "cut" && (s.Pattern != "" || s.Enum != nil || s.Format != ""):
		return "the schema allows no such text"
	}
	return ""
}

// mutantsOf returns every mutant of a definition that is not futile.
func mutantsOf(crd *apiextensionsv1.CustomResourceDefinition) []mutant {
	whats := append(slices.Sorted(maps.Keys(mutations())), ofObjectBefore, ofRequestBefore, ofSibling, otherMember)
	var all []mutant
	for _, to := range crd.Spec.Versions {
		var visit func(s apiextensionsv1.JSONSchemaProps, path []string, sibling string)
		visit = func(s apiextensionsv1.JSONSchemaProps, path []string, sibling string) {
			for _, from := range crd.Spec.Versions {
				for _, what := range whats {
					impossible := what == ofSibling && sibling == "" || what == otherMember && len(s.Enum) < 2
					if from.Name != to.Name && len(path) > 0 && fits(what, s) && !impossible && futile(what, s, path) == "" {
						all = append(all, mutant{from.Name, to.Name, slices.Clone(path), what, sibling, members(s)})
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
				if len(path) > 0 || name != "apiVersion" && name != "kind" && name != "metadata" {
					visit(s.Properties[name], append(slices.Clone(path), name), siblingOf(name, s))
				}
			}
			if s.Items != nil && s.Items.Schema != nil {
				visit(*s.Items.Schema, append(slices.Clone(path), "[*]"), "")
			}
			if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				visit(*s.AdditionalProperties.Schema, append(slices.Clone(path), "<key>"), "")
			}
		}
		visit(*to.Schema.OpenAPIV3Schema, nil, "")
	}
	return all
}

// siblingOf returns the next field of the same type, empty if there is none.
func siblingOf(name string, s apiextensionsv1.JSONSchemaProps) string {
	for _, other := range slices.Sorted(maps.Keys(s.Properties)) {
		if a, b := s.Properties[name], s.Properties[other]; other > name && a.Type == b.Type && a.Format == b.Format && a.Pattern == b.Pattern && len(a.Enum) == len(b.Enum) {
			return other
		}
	}
	return ""
}

// members returns the first and the last member of an enum.
func members(s apiextensionsv1.JSONSchemaProps) []any {
	var all []any
	for _, raw := range s.Enum {
		var value any
		if json.Unmarshal(raw.Raw, &value) == nil {
			all = append(all, value)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return []any{all[len(all)-1], all[0]}
}

// mutilator is a proxy in front of a webhook that has one mutant at a time.
type mutilator struct {
	client *wire.Client

	mu     sync.Mutex
	mutant mutant
	before map[string]any // of the request before: the last value by path
}

func (m *mutilator) become(mutant mutant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mutant, m.before = mutant, nil
}

func (m *mutilator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	response := m.client.Send(r.Context(), body)
	if response.Err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", response.ContentType)
	w.WriteHeader(response.Status)
	w.Write(m.changed(body, response.Body))
}

// changed returns a response with the mutant in it.
func (m *mutilator) changed(request, response []byte) []byte {
	var asked struct {
		Request struct {
			DesiredAPIVersion string `json:"desiredAPIVersion"`
			Objects           []struct {
				APIVersion string `json:"apiVersion"`
			} `json:"objects"`
		} `json:"request"`
	}
	var review map[string]any
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber()
	if json.Unmarshal(request, &asked) != nil || decoder.Decode(&review) != nil {
		return response
	}
	stanza, _ := review["response"].(map[string]any)
	objects, _ := stanza["convertedObjects"].([]any)
	m.mu.Lock()
	defer m.mu.Unlock()
	var last any
	for i, object := range objects {
		if i >= len(asked.Request.Objects) || !strings.HasSuffix(asked.Request.Objects[i].APIVersion, "/"+m.mutant.from) || !strings.HasSuffix(asked.Request.DesiredAPIVersion, "/"+m.mutant.to) {
			continue
		}
		if had := m.change(object, last); had != nil {
			last = had
		}
	}
	if last != nil {
		m.before = map[string]any{"last": last}
	}
	changed, err := json.Marshal(review)
	if err != nil {
		return response
	}
	return changed
}

// change changes an object, and returns the value that it had at the place.
func (m *mutilator) change(object, last any) any {
	change := mutations()[m.mutant.what]
	var had any
	visit(object, m.mutant.path, nil, func(p place) {
		value := p.get()
		had = value
		kept, there := value, true
		switch {
		case change != nil:
			kept, there = change(value)
		case m.mutant.what == ofObjectBefore && last != nil:
			kept = last
		case m.mutant.what == ofRequestBefore && m.before != nil:
			kept = m.before["last"]
		case m.mutant.what == otherMember && value == m.mutant.enum[0]:
			kept = m.mutant.enum[1]
		case m.mutant.what == ofSibling:
			kept, there = p.fields[m.mutant.sibling]
			p.fields[m.mutant.sibling] = value
		}
		if !there && p.fields != nil {
			delete(p.fields, p.key)
		} else if there {
			p.set(kept)
		}
	})
	return had
}

// visit calls a function for each place of a path.
func visit(value any, path []string, at *place, do func(place)) {
	if len(path) == 0 {
		do(*at)
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key == path[0] || path[0] == "<key>" {
				visit(value[key], path[1:], &place{fields: value, key: key}, do)
			}
		}
	case []any:
		for i, item := range value {
			if path[0] == "[*]" {
				visit(item, path[1:], &place{list: value, at: i}, do)
			}
		}
	}
}

var mutantsFlag = flag.Int("mutants", 18, "TestMutantsAreCaught tries one mutant in so many, 1 for all, which takes an hour")

// TestMutantsAreCaught puts mechanical faults into the conversions of typed objects, one at a time: each must be found.
func TestMutantsAreCaught(t *testing.T) {
	program := subjects.Build(t, subjects.Kubebuilder)
	client, err := wire.Connect(program.Start(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	proxy := &mutilator{client: client}
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	near, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(near.Close)
	file, err := os.ReadFile(program.CRD)
	if err != nil {
		t.Fatal(err)
	}
	definitions, _, err := corpus.ReadDefinitions("file.yaml", file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := corpus.New(definitions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	all := mutantsOf(definitions[0].CRD)
	if len(all) < 150 {
		t.Errorf("there are %d mutants, want 150 or more", len(all))
	}
	subject := func() *suites.Subject { return &suites.Subject{Client: near, Corpus: objects, Objects: 12} }
	innocent := violated(t, subject())
	tried, missed := 0, 0
	for _, mutant := range all {
		hash := fnv.New32a()
		hash.Write([]byte(mutant.String()))
		if hash.Sum32()%uint32(*mutantsFlag) != 0 {
			continue
		}
		tried++
		proxy.become(mutant)
		by := slices.DeleteFunc(violated(t, subject()), func(id requirement.ID) bool { return slices.Contains(innocent, id) })
		if len(by) == 0 {
			missed++
			t.Errorf("%s: nothing finds it", mutant)
		} else {
			t.Logf("%s: found by %v", mutant, by)
		}
	}
	t.Logf("%d of %d mutants tried, %d missed", tried, len(all), missed)
	if tried < len(all) / *mutantsFlag / 2 {
		t.Errorf("%d mutants of %d were tried", tried, len(all))
	}
}

// violated returns the requirements that are not kept, of those that are about what becomes of objects.
func violated(t *testing.T, subject *suites.Subject) []requirement.ID {
	t.Helper()
	about := func(id requirement.ID) bool {
		conversion := strings.HasPrefix(string(id), "webhook.conversion.")
		return conversion && id != requirement.WebhookConversionHuge || id == requirement.WebhookBatchIndependent || id == requirement.WebhookFailureAvoided
	}
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: 1, Select: about})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []requirement.ID
	for _, result := range outcome.Results {
		if result.Verdict != requirement.Passed && result.Verdict != requirement.NotApplicable {
			ids = append(ids, result.Requirement)
		}
	}
	return ids
}
