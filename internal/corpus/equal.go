package corpus

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// equal reports whether two values of JSON are the same in every respect. It is much faster than to look for losses.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, inner := range a {
			if other, found := b[key]; !found || !equal(inner, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string, bool, int64, float64, nil:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

// same reports whether two scalars mean the same. A nil node knows no more than their values.
func (n *node) same(a, b any) bool {
	if equal(a, b) {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	return n.canonical(a) == n.canonical(b)
}

// canonical spells a value in the one way in which all that mean the same are spelled.
func (n *node) canonical(value any) string {
	switch value := value.(type) {
	case int64:
		if n.isQuantity() {
			return canonicalQuantity(strconv.FormatInt(value, 10))
		}
		return "number " + strconv.FormatInt(value, 10)
	case float64:
		if n.isQuantity() {
			return canonicalQuantity(strconv.FormatFloat(value, 'f', -1, 64))
		}
		// Conversion of what is out of range has no defined result, and 2^63 is the first that is.
		if value == math.Trunc(value) && value >= math.MinInt64 && value < math.MaxInt64 {
			return "number " + strconv.FormatInt(int64(value), 10)
		}
		return "number " + strconv.FormatFloat(value, 'g', -1, 64)
	case string:
		return n.canonicalString(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return "json " + string(text)
}

func (n *node) canonicalString(value string) string {
	if n.isQuantity() {
		return canonicalQuantity(value)
	}
	if n != nil && n.kind == text && n.format == "byte" {
		if data, err := base64.StdEncoding.DecodeString(value); err == nil {
			return "bytes " + string(data)
		}
		return "text " + value
	}
	if instant, err := time.Parse(time.RFC3339, value); err == nil {
		return "time " + instant.UTC().Format(time.RFC3339Nano)
	}
	if duration, err := time.ParseDuration(value); err == nil {
		return "duration " + duration.String()
	}
	return "text " + value
}

func canonicalQuantity(text string) string {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return "text " + text
	}
	digits := quantity.AsDec().String()
	if strings.Contains(digits, ".") {
		digits = strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
	}
	return "quantity " + digits
}

func (n *node) isQuantity() bool { return n != nil && n.amount }
