package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// loss is a value that an object does not have any more, or has otherwise, after something was done to it.
type loss struct {
	path          string
	before, after any

	// empty tells that the value was 0, false or "" and is absent now. Encoders drop those that leave out what is empty.
	empty bool
}

// lossesOf compares an object with what came of it: all fields but metadata, and of that the labels and annotations,
// which are all that a webhook may change there. What was added is no loss: webhooks fill in defaults, and keep in
// annotations what the other version has no field for. Neither is an empty map or list in the place of nothing.
func lossesOf(before, after map[string]any) []loss {
	return compare("", visible(before), visible(after))
}

// differencesOf returns what tells two objects apart.
func differencesOf(a, b map[string]any) []loss {
	if lost := lossesOf(a, b); len(lost) > 0 {
		return lost
	}
	return lossesOf(b, a)
}

func visible(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	delete(fields, "metadata")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		fields["metadata"] = map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
	}
	return fields
}

func compare(path string, before, after any) []loss {
	changed := []loss{{path: path, before: before, after: after}}
	switch before := before.(type) {
	case nil:
		return nil
	case map[string]any:
		others, isMap := after.(map[string]any)
		if !isMap && after != nil {
			return changed
		}
		var lost []loss
		for _, key := range slices.Sorted(maps.Keys(before)) {
			lost = append(lost, compare(path+"."+key, before[key], others[key])...)
		}
		return lost
	case []any:
		others, isList := after.([]any)
		if len(before) != len(others) || !isList && after != nil {
			return changed
		}
		var lost []loss
		for i := range before {
			lost = append(lost, compare(fmt.Sprintf("%s[%d]", path, i), before[i], others[i])...)
		}
		return lost
	}
	if sameValue(before, after) {
		return nil
	}
	changed[0].empty = after == nil && reflect.ValueOf(before).IsZero()
	return changed
}

// sameValue compares strings, booleans and numbers. A number is the same with and without a fraction of zero.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case int64:
		if b, isFloat := b.(float64); isFloat {
			return float64(a) == b && int64(b) == a
		}
	case float64:
		if _, isInteger := b.(int64); isInteger {
			return sameValue(b, a)
		}
	}
	return reflect.DeepEqual(a, b)
}

// String says what was expected where, and what is there.
func (l loss) String() string {
	return fmt.Sprintf("%s: expected %s, got %s", strings.TrimPrefix(l.path, "."), shown(l.before), shown(l.after))
}

// lines returns losses as the lines of a message.
func lines(losses []loss) string {
	texts := make([]string, 0, len(losses))
	for _, l := range losses {
		texts = append(texts, l.String())
	}
	return strings.Join(texts, "\n")
}

// shown is a value for a message.
func shown(value any) string {
	const most = 120
	if value == nil {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}
