package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// ranges are the integers to try, as the first of them and the distance of the others: floating point numbers of 64 bits
// have none of these.
func ranges() [][2]int64 { return [][2]int64{{1<<53 + 1, 2}, {math.MaxInt64, -4096}} }

// integers asks by the schemas where they are known, and else by changing the samples.
func (st *styles) integers(ctx SpecContext) {
	if st.env.Subject.Corpus.Definition == nil || st.env.Subject.Objects < 0 {
		st.integersOfSamples(ctx)
		return
	}
	st.holdStyle(ctx, corpus.Integers, "integers", func(l corpus.Loss) bool {
		n, isInteger := l.Before.(int64)
		_, isNumber := l.Before.(float64)
		// 0 is another requirement's, whatever takes its place.
		return (isInteger || isNumber) && !corpus.IsZero(l.Before) && (l.After != nil || n < 0 || n > usualNumber)
	})
}

// usualNumber is how large an integer is at most whose loss has other reasons than its size.
const usualNumber = 10_000

func (st *styles) integersOfSamples(ctx SpecContext) {
	st.standard.sound(ctx)
	c := st.env.Subject.Corpus
	kept := false
	for _, values := range ranges() {
		for _, pair := range st.crossings.pairs(ctx) {
			objects := c.Objects(pair.From)
			sent := make([][]int64, len(objects))
			for i, object := range objects {
				sent[i] = enlarge(object, values[0], values[1])
			}
			x := st.talk.ask(ctx, st.standard.reviewVersion(ctx), pair, objects...)
			if x.response.TimedOut {
				st.exhibits.fail(x, fmt.Sprintf("%s: expected objects with integers such as %d to be converted or reported as failed, got %s", x.what, values[0], x.judgement.Rejected()))
			}
			// Fields may well be too small for these, so a refusal is none of this spec's business.
			for i, raw := range x.judgement.Objects {
				for _, number := range st.numbers(raw) {
					before, same := origin(number, sent[i])
					if before != 0 && !same {
						st.exhibits.fail(x, fmt.Sprintf("%s: object %d: expected %d, got it as %s", x.what, i, before, number))
					}
					if same {
						kept = true
						st.env.Tried(1)
					}
				}
			}
		}
	}
	if !kept {
		Skip("the webhook keeps no large integer in these objects, so this cannot be judged; give samples with 64-bit fields")
	}
}

// enlarge gives every integer outside of metadata a large value of its own, and the object one if it has none. It returns
// the values.
func enlarge(object *unstructured.Unstructured, first, distance int64) []int64 {
	var sent []int64
	next := func() int64 {
		sent = append(sent, first+int64(len(sent))*distance)
		return sent[len(sent)-1]
	}
	var visit func(v any) any
	visit = func(v any) any {
		switch v := v.(type) {
		case int64:
			return next()
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				v[key] = visit(v[key])
			}
		case []any:
			for i := range v {
				v[i] = visit(v[i])
			}
		}
		return v
	}
	for _, field := range slices.Sorted(maps.Keys(object.Object)) {
		if field != "metadata" {
			object.Object[field] = visit(object.Object[field])
		}
	}
	if len(sent) == 0 {
		object.Object["replicas"] = next()
	}
	return sent
}

// numbers returns the numbers outside of an object's metadata, as they are spelled.
func (st *styles) numbers(object json.RawMessage) []json.Number {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	st.env.Require(decoder.Decode(&fields), "decoding an object")
	delete(fields, "metadata")
	var found []json.Number
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case json.Number:
			found = append(found, v)
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(v[key])
			}
		case []any:
			for _, each := range v {
				visit(each)
			}
		}
	}
	visit(fields)
	return found
}

// origin returns the value that a number was once, 0 if none, and whether it still is. One that is off by less than a
// billionth, as those are that went through a floating point number, was the nearest of the values.
func origin(number json.Number, sent []int64) (before int64, same bool) {
	if exact, err := strconv.ParseInt(number.String(), 10, 64); err == nil && slices.Contains(sent, exact) {
		return exact, true
	}
	about, err := number.Float64()
	if err != nil {
		return 0, false
	}
	nearest := slices.MinFunc(sent, func(a, b int64) int {
		return int(math.Copysign(1, math.Abs(float64(a)-about)-math.Abs(float64(b)-about)))
	})
	if math.Abs(float64(nearest)-about) > 1e-9*float64(nearest) {
		return 0, false
	}
	return nearest, false
}
