package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// Loss is a value that an object does not have any more, or has otherwise, after something was done to it.
type Loss struct {
	// Path is where: spec.list[3].name, and spec.map['example.com/a'] for keys that are more than letters, digits, _ and
	// -. An apostrophe or backslash in a key has a backslash before it.
	Path string

	Before any // nil for null
	After  any // nil for null and for nothing

	// Added says that it was not there before. Before is nil then.
	Added bool

	// Empty says that the value was 0, "0s", false, "", or {} where the schema does not say what is there, and is absent now, and that no
	// other default takes its place. Encoders drop those that leave out what is empty. What Kubernetes' own types distinguish from nothing
	// is not Empty: some zeros, and a label selector without requirements.
	Empty bool

	// Default is the default that takes the place of a value that is absent now and means something else, or that one that was added
	// differs from. It is nil where there is none.
	Default any

	reordered bool // items of a list are in other places

	// MadeUp says that there was something in the place only because this program has made it up, see Corpus.IsMadeUp. It is for callers to
	// set.
	MadeUp bool

	// Declared says that the user declared that the field is lost, and that another value has come instead, see Schema.Replaces. It is for
	// callers to set.
	Declared bool

	selector bool // it is a label selector without requirements
}

// Reordered reports whether both values are lists of the same items, in another order.
func (l Loss) Reordered() bool { return sameItems(l.Before, l.After) }

// Dull reports whether the value says little: it is null, 0, false, or there is nothing in it. That {} is there may say all that there is
// to say.
func (l Loss) Dull() bool {
	return IsEmpty(l.Before) && (l.Empty || !isEmptyMap(l.Before))
}

// String says what was expected where, and what is there: spec.port: expected 80, got nothing. Long values are cut.
func (l Loss) String() string {
	before, after := "null", "nothing"
	if l.Added {
		before = "nothing"
	}
	if l.Before != nil {
		before = shown(l.Before)
	}
	if l.After != nil {
		after = shown(l.After)
	}
	text := fmt.Sprintf("%s: expected %s, got %s", Printable(l.Path), before, after)
	one, isText := l.Before.(string)
	other, isOtherText := l.After.(string)
	if isText && isOtherText && one != other && norm.NFC.String(one) == norm.NFC.String(other) {
		text = fmt.Sprintf("%s: expected %+q, got %+q (Unicode normalised)", Printable(l.Path), one, other)
	}
	if isText && isOtherText && one != other && shown(one) == shown(other) {
		text += cutAway(one, other)
	}
	items, isList := l.Before.([]any)
	others, isOtherList := l.After.([]any)
	if was, is := len(items), len(others); isList && isOtherList && was != is && shown(items) == shown(others) {
		text += fmt.Sprintf(" (%d items, and not %d)", is, was)
	}
	switch {
	case l.Reordered():
		text += ": the same items in another order"
	case l.reordered:
		text += ": items in another order"
	}
	switch {
	case l.selector:
		text += " (an empty selector selects everything, a missing one nothing)"
	case l.Default != nil && l.Added:
		text += ", where the default is " + shown(l.Default)
	case l.Default != nil:
		text += ", which becomes the default " + shown(l.Default)
	}
	if l.Declared {
		text += " (declared lossy, but it comes back as another value)"
	}
	if l.MadeUp {
		text += MadeUpNote
	}
	return text
}

// cutAway says how texts differ that look the same once they are cut.
func cutAway(one, other string) string {
	if len(one) != len(other) {
		return fmt.Sprintf(" (%d bytes, and not %d)", len(other), len(one))
	}
	at := 0
	for one[at] == other[at] {
		at++
	}
	return fmt.Sprintf(" (they differ from byte %d on)", at+1)
}

// MadeUpNote ends what is said of content that was made up.
const MadeUpNote = " (made up: the schema does not say what is there; give a sample that has it)"

// Effect says what happened: added, changed, or lost, also if the field's default has taken the place of the value.
func (s *Schema) Effect(l Loss) string {
	switch n := s.at(fieldpath.Split(l.Path)); {
	case l.Added:
		return "added"
	case l.After == nil, n != nil && n.def != nil && reflect.DeepEqual(n.def, l.After):
		return "lost"
	}
	return "changed"
}

// Replaces reports whether another value has taken the place of what was there. None has where there is nothing now, or what stands for
// nothing, the default or a part of what was there.
func (s *Schema) Replaces(l Loss) bool {
	return s.Effect(l) == "changed" && !IsEmpty(l.After) && l.After != noTime && !isPart(l.After, l.Before)
}

// isPart reports whether one value is what is left of another that lost items or fields.
func isPart(value, whole any) bool {
	switch value := value.(type) {
	case map[string]any:
		fields, is := whole.(map[string]any)
		for key, inner := range value {
			is = is && (IsEmpty(inner) || isPart(inner, fields[key]))
		}
		return is
	case []any:
		items, is := whole.([]any)
		for _, item := range value {
			at := slices.IndexFunc(items, func(other any) bool { return isPart(item, other) })
			if at < 0 {
				return false
			}
			items = items[at+1:]
		}
		return is
	}
	return equal(value, whole)
}

// Printable is text with what is not visible escaped, such as line ends and marks that turn the direction of reading.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// Encode returns a value as JSON in one line, as people read it: <, > and & are not escaped. It fails for what JSON cannot hold.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// shown is a value as JSON, of at most 120 bytes.
func shown(value any) string {
	const most = 120
	text, err := Encode(value)
	if err != nil {
		text = []byte(fmt.Sprint(value))
	}
	return Printable(visible.Short(string(text), most))
}

// Losses compares an object with what came of it: all fields but metadata, and of that the labels and annotations. What was
// added is no loss, unless to a list. Neither is an empty map or list, or null, in place of nothing, nor the reverse, unless a
// default replaces the missing value. But {} is one where its presence says something: in an object that has no fields, in one of
// the fields that anyOf or oneOf choose from, and as an entry of a map.
//
// Values that mean the same are equal: numbers with and without a fraction of zero, times in RFC 3339 at the same
// instant, Go's durations. With a schema, so are quantities, base64 of the same bytes, and lists of the types set and map
// whatever their order.
func (s *Schema) Losses(before, after map[string]any) []Loss {
	var n *node
	if s != nil {
		n = s.root
	}
	lost := compareFields(n, "", compared(before), compared(after))
	for i := range lost {
		// Selectors and controllers ask whether there is a label or an annotation, whatever its value.
		lost[i].Empty = lost[i].Empty && !strings.HasPrefix(lost[i].Path, "metadata.")
	}
	return lost
}

// compared is what conversions must keep of an object.
func compared(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	delete(fields, "metadata")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		fields["metadata"] = map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
	}
	return fields
}

// compare compares two values of which the first is there, if only as null.
func compare(n *node, path string, before, after any) []Loss {
	changed := []Loss{{Path: path, Before: before, After: after}}
	switch before := before.(type) {
	case nil:
		return nil
	case map[string]any:
		others, isMap := after.(map[string]any)
		if !isMap && after != nil {
			return changed
		}
		return compareFields(n, path, before, others)
	case []any:
		others, isList := after.([]any)
		if !isList && after != nil {
			return changed
		}
		return compareLists(n, path, before, others)
	}
	if n.same(before, after) {
		return nil
	}
	changed[0].Empty = after == nil && (reflect.ValueOf(before).IsZero() || before == noTime)
	return changed
}

func compareFields(n *node, path string, before, after map[string]any) []Loss {
	if equal(before, after) {
		return nil
	}
	var lost []Loss
	for _, key := range slices.Sorted(maps.Keys(before)) {
		field, value := n.kept(key), before[key]
		other, found := after[key]
		if found && equal(value, other) || n.takesForDefault(key, value, other) {
			continue
		}
		if other == nil && (!found || value != nil) && field.replaces(value, found) {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value, Default: field.def})
			continue
		}
		if other == nil && field.isSelector() && isEmptyMap(value) {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value, selector: true})
			continue
		}
		if !found && isEmptyMap(value) && field.isUndescribed() {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value, Empty: key != emptyDir})
			continue
		}
		if !found && field.isOpen(value) {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value}) // whatever is in it
			continue
		}
		if other == nil && n.distinguishes(key, value) {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value})
			continue
		}
		inner := compare(field, fieldpath.Child(path, key), value, other)
		if (!found && value != nil && n.isMap() || other == nil && field.isMarked(value)) && !slices.ContainsFunc(inner, func(l Loss) bool { return !l.Empty }) {
			inner = []Loss{{Path: fieldpath.Child(path, key), Before: value}} // whatever the value, the key says something
		}
		lost = append(lost, inner...)
	}
	return lost
}

// isMap reports whether a value is a map, whose keys are data, and not an object with fields.
func (n *node) isMap() bool { return n != nil && n.entries != nil && len(n.properties) == 0 }

// isMarked reports whether a value is an object that is there for a reason even if there is nothing in it.
func (n *node) isMarked(value any) bool {
	_, isObject := value.(map[string]any)
	return isObject && n != nil && n.marks
}

// isOpen reports whether a value has content, and is one of which the schema says no more than that there may be any.
func (n *node) isOpen(value any) bool {
	fields, isObject := value.(map[string]any)
	return isObject && len(fields) > 0 && n != nil && n.preserve && n.isLeaf() && n.beyond != n
}

// isUndescribed reports whether the schema keeps a value and does not describe it.
func (n *node) isUndescribed() bool { return n != nil && n.beyond == n }

// isSelector reports whether a value is a label selector, of which one without requirements selects everything and none at all selects
// nothing. Its expressions need no values (metav1.LabelSelectorRequirement). What needs them is a type of somebody else's, and may mean anything.
func (n *node) isSelector() bool {
	return n != nil && len(n.properties) == 2 && n.byName["matchLabels"] != nil && n.byName["matchExpressions"] != nil &&
		(n.byName["matchExpressions"].items == nil || !n.byName["matchExpressions"].items.required["values"])
}

// distinguishes reports whether a field is one of a type of Kubernetes in which 0 or false is not the same as nothing.
func (n *node) distinguishes(key string, value any) bool {
	return n != nil && IsZero(value) && n.isKnownIn(meaningfulZeros(), key)
}

// takesForDefault reports whether a field is one of a type of Kubernetes in which "" is the same as the default, of two values of which one is
// "" and the other that, or nothing.
func (n *node) takesForDefault(key string, value, other any) bool {
	field := n.child(key)
	if field == nil || field.def == nil || value != "" && other != "" {
		return false
	}
	rest := value
	if value == "" {
		rest = other
	}
	return (rest == nil || rest == "" || equal(rest, field.def)) && n.isKnownIn(emptyDefaults(), key)
}

// isKnownIn reports whether a table names a field of an object, by the fields that identify its type.
func (n *node) isKnownIn(table map[string][]string, key string) bool {
	for fields, names := range table {
		if slices.Contains(names, key) && !slices.ContainsFunc(strings.Fields(fields), func(name string) bool { return n.byName[name] == nil }) {
			return true
		}
	}
	return false
}

func isEmptyMap(value any) bool {
	fields, isMap := value.(map[string]any)
	return isMap && len(fields) == 0
}

// replaces reports whether a default that means something else takes the place of a value that is absent, or null.
func (n *node) replaces(value any, null bool) bool {
	if n == nil || n.def == nil || null && n.nullable {
		return false
	}
	return !reflect.DeepEqual(n.def, value)
}

// OtherDefault returns the default that an object would have at a path without what is there, nil if that means the same.
func (s *Schema) OtherDefault(object map[string]any, path string) any {
	without := Without(&unstructured.Unstructured{Object: object}, path)
	s.Prepare(without.Object)
	for _, l := range s.Losses(object, without.Object) {
		if strings.HasPrefix(l.Path, path) && l.After != nil {
			return l.After
		}
	}
	return nil
}

// zero is what an encoder leaves out of the values that a node has.
func (n *node) zero() any {
	switch n.kind {
	case text:
		return ""
	case integer:
		return int64(0)
	case boolean:
		return false
	default:
		return nil
	}
}

// identity is what identifies an item of a set or a list map.
func (n *node) identity(item any) (string, bool) {
	if n.listType == "set" {
		switch item.(type) {
		case map[string]any, []any:
			return "", false
		}
		return n.items.canonical(item), true
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var keys []string
	for _, key := range n.listKeys {
		value, found := fields[key]
		if c := n.items.child(key); c != nil && (!found || n.items.takesForDefault(key, value, nil)) {
			if value = c.def; value == nil {
				value = c.zero() // which encoders leave out
			}
		}
		keys = append(keys, n.items.child(key).canonical(value))
	}
	return strings.Join(keys, "\x00"), true
}
