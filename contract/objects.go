package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/requirement"
)

// object is the part of a custom resource that the contract covers.
type object struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`

	metadata map[string]json.RawMessage // nil when Metadata is not an object
}

func parseObject(raw []byte) (object, error) {
	if o, ok := scanObject(raw); ok {
		return o, nil
	}
	return decodeObject(raw)
}

func decodeObject(raw []byte) (object, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return object{}, fmt.Errorf("not a custom resource: %s", orNothing(trimmed))
	}
	var o object
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &o); err != nil {
		return object{}, fmt.Errorf("not a custom resource: %s", clip(err.Error()))
	}
	return o, nil
}

// parseMetadata parses the metadata of an object.
func (o *object) parseMetadata() {
	if members, ok := scanMembers(o.Metadata); ok {
		o.metadata = members
		return
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(o.Metadata, &o.metadata) != nil {
		o.metadata = nil
	}
}

// fewDigits is a number of digits below which no number without an exponent is too large.
const fewDigits = 300

// decodable fails for numbers that are too large for an API server. API servers can decode the rest of an object that was parsed.
func decodable(raw []byte) error {
	for at := 0; at < len(raw); at++ {
		switch c := raw[at]; {
		case c == '"':
			at = quoteAt(raw, at)
		case c >= '0' && c <= '9':
			number := raw[at : at+numberLength(raw[at:])]
			at += len(number) - 1
			if len(number) < fewDigits && !bytes.ContainsAny(number, "eE") {
				continue
			}
			if _, err := strconv.ParseFloat(string(number), 64); err != nil {
				return fmt.Errorf("not a custom resource: the number %s is too large", clip(number))
			}
		}
	}
	return nil
}

func numberLength(raw []byte) int {
	if end := bytes.IndexFunc(raw, func(c rune) bool { return !strings.ContainsRune("0123456789.eE+-", c) }); end >= 0 {
		return end
	}
	return len(raw)
}

// parsedRequest holds the parsed objects of a request.
type parsedRequest struct {
	of      []json.RawMessage
	objects []object
	values  func() int // returns the number of values; counted once
}

// readRequest parses the objects of a request, but not their metadata.
func readRequest(raw []json.RawMessage) *parsedRequest {
	p := &parsedRequest{raw, make([]object, len(raw)), sync.OnceValue(func() int { return valuesOf(raw) })}
	for i := range raw {
		// Callers must provide valid objects; an API server never sends anything else.
		p.objects[i], _ = parseObject(raw[i])
	}
	return p
}

func parseRequest(raw []json.RawMessage) *parsedRequest {
	p := readRequest(raw)
	for i := range p.objects {
		p.objects[i].parseMetadata()
	}
	return p
}

// Prepare returns a copy of the request that judges responses faster, for requests that are sent repeatedly. Its Objects must not be
// changed in place.
func (r Request) Prepare() Request {
	r.parsed = parseRequest(r.Objects)
	return r
}

// prepared reports whether the objects were parsed before.
func (r Request) prepared() bool {
	p := r.parsed
	return p != nil && len(p.of) == len(r.Objects) && (len(p.of) == 0 || &p.of[0] == &r.Objects[0])
}

// before returns the objects of the request, parsed.
func (r Request) before() []object {
	if r.prepared() {
		return r.parsed.objects
	}
	return parseRequest(r.Objects).objects
}

// text returns a string field of the metadata as API servers read it: a value that is not a string counts as absent.
func (o *object) text(key string) string {
	var s string
	if value := o.metadata[key]; len(value) == 0 || !spelled(&s, value) && json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// identity returns the identity of an object: its UID or, without one, its namespace and name.
func (o *object) identity() string {
	if uid := o.text("uid"); uid != "" {
		return uid
	}
	return o.text("namespace") + "/" + o.text("name")
}

// objects judges the converted objects one by one against those of the request.
func (r Request) objects(j *Judgement, converted []runtime.RawExtension) {
	if len(converted) != len(r.Objects) {
		j.stop(requirement.WebhookResponseAllObjects, whole, "response.convertedObjects", strconv.Itoa(len(r.Objects))+" objects", strconv.Itoa(len(converted)))
		return
	}
	before, after := r.before(), make([]object, len(converted))
	same := true
	for i := range converted {
		var err error
		if after[i], err = parseObject(converted[i].Raw); err == nil {
			err = decodable(converted[i].Raw)
		}
		if err != nil {
			j.add(requirement.WebhookResponseAllObjects, whole, i, "response.convertedObjects", "a custom resource", err.Error())
			j.Stopped = requirement.WebhookResponseAllObjects
		}
		same = same && bytes.Equal(before[i].Metadata, after[i].Metadata)
	}
	if j.Stopped != "" {
		return
	}
	order := make([]int, len(before))
	for i := range order {
		order[i] = i
	}
	if !same {
		for i := range after {
			after[i].parseMetadata()
		}
		order = alignment(before, after)
	}
	j.Objects = make([]json.RawMessage, len(converted))
	for i, at := range order {
		if at != i {
			j.add(requirement.WebhookResponseOrder, whole, i, "response.convertedObjects", "the object at this position in the request",
				fmt.Sprintf("the object of position %d", slices.Index(order, i)))
		}
		j.Objects[i] = converted[at].Raw
		r.object(j, i, &before[i], &after[at])
	}
}

// alignment returns, for each object of the request, the index of its conversion. If the same objects came back in another order, the
// indexes reflect that order. In any other case, each object is taken to be at its own index.
func alignment(before, after []object) []int {
	places := make(map[string][]int, len(after))
	for i := range after {
		identity := after[i].identity()
		places[identity] = append(places[identity], i)
	}
	order := make([]int, len(before))
	for i := range before {
		identity := before[i].identity()
		at := places[identity]
		if len(at) == 0 {
			for i := range order {
				order[i] = i
			}
			return order
		}
		order[i], places[identity] = at[0], at[1:]
	}
	return order
}

func (r Request) object(j *Judgement, i int, before, after *object) {
	if after.APIVersion != r.DesiredAPIVersion {
		j.add(requirement.WebhookResponseAPIVersion, whole, i, "apiVersion", quote(r.DesiredAPIVersion), quote(after.APIVersion))
	}
	if after.Kind != before.Kind {
		j.add(requirement.WebhookResponseKind, whole, i, "kind", quote(before.Kind), quote(after.Kind))
	}
	if bytes.Equal(before.Metadata, after.Metadata) && before.metadata != nil {
		return
	}
	if after.metadata == nil {
		j.add(requirement.WebhookMetadataPresent, whole, i, "metadata", "an object", orNothing(after.Metadata))
		return
	}
	for _, key := range []string{"name", "namespace", "uid"} {
		if was, is := before.text(key), after.text(key); was != is {
			id := map[string]requirement.ID{
				"name":      requirement.WebhookMetadataName,
				"namespace": requirement.WebhookMetadataNamespace,
				"uid":       requirement.WebhookMetadataUID,
			}[key]
			j.add(id, whole, i, "metadata."+key, quote(was), quote(is))
		}
	}
	unchanged(j, i, before.metadata, after.metadata)
	for _, key := range []string{"labels", "annotations"} {
		if problem := invalidStrings(key, before.metadata[key], after.metadata[key]); problem != "" {
			j.add(requirement.WebhookMetadataLabelsValid, whole, i, "metadata."+key, "valid "+key, problem)
		}
	}
}

// unchanged judges the metadata that is none of a webhook's business. API servers ignore changes there.
func unchanged(j *Judgement, i int, before, after map[string]json.RawMessage) {
	keys := make(map[string]json.RawMessage, len(after)) // not a clone of before, which may be nil
	maps.Copy(keys, before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch key {
		case "name", "namespace", "uid", "labels", "annotations":
			continue
		}
		if !sameJSON(before[key], after[key]) {
			j.add(requirement.WebhookMetadataUnchanged, whole, i, "metadata."+clip(key), orNothing(before[key]), orNothing(after[key]))
		}
	}
}

// invalidStrings says what is wrong with labels or annotations by the rules of API servers, which check them only if something
// changed.
func invalidStrings(key string, before, after json.RawMessage) string {
	if sameJSON(before, after) || isNull(after) {
		return ""
	}
	values, problem := stringsOf(after)
	if problem != "" {
		return problem
	}
	path := field.NewPath("metadata", key)
	errs := validation.ValidateAnnotations(values, path)
	if key == "labels" {
		errs = metav1validation.ValidateLabels(values, path)
	}
	if len(errs) == 0 {
		return ""
	}
	return clip(errs.ToAggregate().Error())
}

// stringsOf decodes a map of strings, or says why it is not one. Annotations may be long, and values other than strings are rare, so
// each value is decoded by itself only to find such a value.
func stringsOf(encoded json.RawMessage) (values map[string]string, problem string) {
	var all map[string]*string
	err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &all)
	values = make(map[string]string, len(all))
	for name, value := range all {
		if value != nil {
			values[name] = *value
		}
	}
	if err == nil && len(values) == len(all) {
		return values, ""
	}
	var raw map[string]json.RawMessage
	if kjson.UnmarshalCaseSensitivePreserveInts(encoded, &raw) != nil {
		return nil, clip(encoded) + ", which is not a map"
	}
	for name, value := range raw {
		var s *string
		if json.Unmarshal(value, &s) != nil || s == nil {
			return nil, fmt.Sprintf("%s for %s, which is not a string", clip(value), clip(name))
		}
		values[name] = *s
	}
	return values, ""
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// sameJSON reports whether two JSON values are equal. Absent equals null, and 1 equals 1.0.
func sameJSON(a, b json.RawMessage) bool {
	return isNull(a) && isNull(b) || sameValue(a, b)
}

// sameValue is the same for values in which absent does not equal null. What is written in the usual way is compared part by part: most parts are
// the same bytes, and encoders differ in the order of members. The rest is decoded.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if x, y, are := both(a, b, scanMembers); are {
		return maps.EqualFunc(x, y, sameValue)
	}
	if x, y, are := both(a, b, scanItems); are {
		return slices.EqualFunc(x, y, sameValue)
	}
	return sameDecoded(a, b)
}

func sameDecoded(a, b json.RawMessage) bool {
	var x, y any
	if kjson.UnmarshalCaseSensitivePreserveInts(a, &x) != nil || kjson.UnmarshalCaseSensitivePreserveInts(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(normal(x), normal(y))
}

// both takes two values apart, and reports whether it could.
func both[T any](a, b json.RawMessage, scan func([]byte) (T, bool)) (x, y T, are bool) {
	if x, are = scan(a); are {
		y, are = scan(b)
	}
	return x, y, are
}

// normal converts floating-point numbers that are whole into integers, in place.
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

func orNothing(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return clip(raw)
}
