package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/requirement"
)

// object is the part of a custom resource that the contract speaks of.
type object struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`

	metadata map[string]json.RawMessage // nil when Metadata is not an object
}

func parseObject(raw json.RawMessage) (object, error) {
	var o object
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &o); err != nil {
		return object{}, fmt.Errorf("not a custom resource: %w", err)
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return object{}, fmt.Errorf("not a custom resource: %s", clip(string(trimmed)))
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(o.Metadata, &o.metadata) != nil {
		o.metadata = nil
	}
	return o, nil
}

// text returns a string field of the metadata as API servers read it: what is not a string counts as absent.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o.metadata[key], &s) != nil {
		return ""
	}
	return s
}

// identity tells objects apart: by UID and, without one, by name.
func (o object) identity() string {
	if uid := o.text("uid"); uid != "" {
		return uid
	}
	return o.text("namespace") + "/" + o.text("name")
}

// objects judges the converted objects one by one against those of the request.
func (r Request) objects(j *Judgement, converted []json.RawMessage) {
	if len(converted) != len(r.Objects) {
		j.stop(requirement.WebhookResponseAllObjects, Rejected, "response.convertedObjects", strconv.Itoa(len(r.Objects))+" objects", strconv.Itoa(len(converted)))
		return
	}
	before, after := make([]object, len(converted)), make([]object, len(converted))
	for i := range converted {
		var err error
		if after[i], err = parseObject(converted[i]); err != nil {
			j.add(requirement.WebhookResponseAllObjects, Rejected, i, "response.convertedObjects", "a custom resource", err.Error())
			j.Stopped = requirement.WebhookResponseAllObjects
		}
		// What the request holds is ours to get right; an API server never sends anything else.
		before[i], _ = parseObject(r.Objects[i])
	}
	if j.Stopped != "" {
		return
	}
	order := alignment(before, after)
	j.Objects = make([]json.RawMessage, len(converted))
	for i, at := range order {
		if at != i {
			j.add(requirement.WebhookResponseOrder, Rejected, i, "response.convertedObjects", "the object at this place in the request",
				fmt.Sprintf("the one of place %d", slices.Index(order, i)))
		}
		j.Objects[i] = converted[at]
		r.object(j, i, before[i], after[at])
	}
}

// alignment returns, for each object of the request, the place of its conversion. When the same objects came back in
// another order that is where they are; in any other case each is taken to be at its own place.
func alignment(before, after []object) []int {
	places := make(map[string][]int, len(after))
	for i, o := range after {
		places[o.identity()] = append(places[o.identity()], i)
	}
	order := make([]int, len(before))
	for i, o := range before {
		at := places[o.identity()]
		if len(at) == 0 {
			for i := range order {
				order[i] = i
			}
			return order
		}
		order[i], places[o.identity()] = at[0], at[1:]
	}
	return order
}

func (r Request) object(j *Judgement, i int, before, after object) {
	if after.APIVersion != r.DesiredAPIVersion {
		j.add(requirement.WebhookResponseAPIVersion, Rejected, i, "apiVersion", quote(r.DesiredAPIVersion), quote(after.APIVersion))
	}
	if after.Kind != before.Kind {
		j.add(requirement.WebhookResponseKind, Rejected, i, "kind", quote(before.Kind), quote(after.Kind))
	}
	if bytes.Equal(before.Metadata, after.Metadata) {
		return
	}
	if after.metadata == nil {
		j.add(requirement.WebhookMetadataPresent, Rejected, i, "metadata", "an object", orNothing(after.Metadata))
		return
	}
	for _, key := range []string{"name", "namespace", "uid"} {
		if was, is := before.text(key), after.text(key); was != is {
			id := map[string]requirement.ID{
				"name":      requirement.WebhookMetadataName,
				"namespace": requirement.WebhookMetadataNamespace,
				"uid":       requirement.WebhookMetadataUID,
			}[key]
			j.add(id, Rejected, i, "metadata."+key, quote(was), quote(is))
		}
	}
	unchanged(j, i, before.metadata, after.metadata)
	for _, key := range []string{"labels", "annotations"} {
		if problem := invalidStrings(key, before.metadata[key], after.metadata[key]); problem != "" {
			j.add(requirement.WebhookMetadataLabelsValid, Rejected, i, "metadata."+key, "valid "+key, problem)
		}
	}
}

// unchanged judges the metadata that a webhook has no business with. API servers ignore changes there.
func unchanged(j *Judgement, i int, before, after map[string]json.RawMessage) {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch key {
		case "name", "namespace", "uid", "labels", "annotations":
			continue
		}
		if !sameJSON(before[key], after[key]) {
			j.add(requirement.WebhookMetadataUnchanged, Tolerated, i, "metadata."+key, orNothing(before[key]), orNothing(after[key]))
		}
	}
}

// invalidStrings says what is wrong with labels or annotations, as API servers see it: they look only when something
// changed.
func invalidStrings(key string, before, after json.RawMessage) string {
	if sameJSON(before, after) || isNull(after) {
		return ""
	}
	var raw map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(after, &raw); err != nil {
		return clip(string(after)) + ", which is not a map"
	}
	values := make(map[string]string, len(raw))
	for name, value := range raw {
		var s *string
		if json.Unmarshal(value, &s) != nil || s == nil {
			return fmt.Sprintf("%s for %s, which is not a string", clip(string(value)), name)
		}
		values[name] = *s
	}
	path := field.NewPath("metadata", key)
	errs := validation.ValidateAnnotations(values, path)
	if key == "labels" {
		errs = metav1validation.ValidateLabels(values, path)
	}
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// sameJSON compares two JSON values, absence being the same as null and 1 the same as 1.0.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) || isNull(a) && isNull(b) {
		return true
	}
	var x, y any
	if kjson.UnmarshalCaseSensitivePreserveInts(a, &x) != nil || kjson.UnmarshalCaseSensitivePreserveInts(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(normal(x), normal(y))
}

// normal turns floating point numbers that are whole into integers, in place.
func normal(v any) any {
	switch v := v.(type) {
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case map[string]any:
		for key := range v {
			v[key] = normal(v[key])
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	}
	return v
}

func orNothing(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return string(raw)
}
