package corpus

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomSchema makes a schema as definitions have them, from all that structural schemas may say.
func randomSchema(rng *rand.Rand, depth int) map[string]any {
	kinds := []string{"string", "integer", "number", "boolean", "intOrString", "enum"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "list", "list", "map", "preserve", "embedded", "choice")
	}
	made := map[string]any{}
	switch kind := kinds[rng.IntN(len(kinds))]; kind {
	case "string":
		randomString(rng, made)
	case "integer", "number":
		randomNumber(rng, made, kind)
	case "boolean":
		made["type"] = "boolean"
	case "intOrString":
		made["x-kubernetes-int-or-string"] = true
		if rng.IntN(2) == 0 {
			made["pattern"] = `^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$`
		}
	case "enum":
		made["type"], made["enum"] = "string", []any{"A", "B", "", "c d"}[:1+rng.IntN(4)]
	case "object":
		return randomObject(rng, depth)
	case "list":
		randomList(rng, made, depth)
	case "map":
		made["type"], made["additionalProperties"] = "object", randomSchema(rng, depth-1)
		if rng.IntN(3) == 0 {
			made["minProperties"] = rng.IntN(4)
		}
	case "preserve":
		made["x-kubernetes-preserve-unknown-fields"] = true
		if rng.IntN(2) == 0 {
			made["type"] = "object"
		}
	case "embedded":
		made["type"], made["x-kubernetes-embedded-resource"], made["x-kubernetes-preserve-unknown-fields"] = "object", true, true
	case "choice":
		made = map[string]any{
			"type": "object", "properties": map[string]any{"a": randomSchema(rng, depth-1), "b": randomSchema(rng, depth-1), "c": randomSchema(rng, 0)},
			[]string{"oneOf", "anyOf"}[rng.IntN(2)]: []any{
				map[string]any{"required": []any{"a"}}, map[string]any{"required": []any{"b"}},
			},
		}
	}
	if rng.IntN(5) == 0 && made["enum"] == nil {
		made["nullable"] = true
	}
	return made
}

func randomString(rng *rand.Rand, made map[string]any) {
	made["type"] = "string"
	switch rng.IntN(4) {
	case 0:
		all := []string{"date-time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "cidr", "uri", "uuid", "uuid3", "uuid4", "uuid5", "byte", "password", "isbn", "isbn10", "isbn13", "hexcolor", "rgbcolor", "mac", "creditcard", "ssn", "bsonobjectid", "k8s-short-name", "k8s-long-name", "unheard-of"}
		made["format"] = all[rng.IntN(len(all))]
	case 1:
		all := []string{`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, `^[A-Z]{3}[0-9]{2,}$`, `foo`, `^(a|b)+$`, `^\S+@\S+$`, `^$|^x`, `[^/]+/[^/]+`, `^.{3,5}$`, `^[\p{L}]+$`}
		made["pattern"] = all[rng.IntN(len(all))]
		if rng.IntN(3) == 0 {
			made["maxLength"] = 8 + rng.IntN(50)
		}
	case 2:
		lowest := rng.IntN(5)
		made["minLength"], made["maxLength"] = lowest, lowest+rng.IntN(40)
	}
}

func randomNumber(rng *rand.Rand, made map[string]any, kind string) {
	made["type"] = kind
	if rng.IntN(2) == 0 {
		made["format"] = map[string][]string{"integer": {"int32", "int64"}, "number": {"float", "double"}}[kind][rng.IntN(2)]
	}
	if rng.IntN(2) == 0 {
		lowest := rng.IntN(200) - 100
		made["minimum"], made["maximum"] = lowest, lowest+2+rng.IntN(100)
		if rng.IntN(3) == 0 {
			made["exclusiveMinimum"], made["exclusiveMaximum"] = true, true
		}
	} else if rng.IntN(3) == 0 {
		made["multipleOf"] = []float64{2, 5, 0.5, 10, 0.25}[rng.IntN(5)]
	}
}

func randomList(rng *rand.Rand, made map[string]any, depth int) {
	made["type"] = "array"
	switch rng.IntN(3) {
	case 0:
		made["items"] = randomSchema(rng, depth-1)
	case 1:
		made["items"], made["x-kubernetes-list-type"] = map[string]any{"type": []string{"string", "integer"}[rng.IntN(2)]}, "set"
	case 2:
		item := randomObject(rng, depth-1)
		item["properties"].(map[string]any)["key"] = map[string]any{"type": "string"}
		item["required"] = append(item["required"].([]any), "key")
		delete(item, "nullable")
		delete(item, "maxProperties")
		made["items"], made["x-kubernetes-list-type"], made["x-kubernetes-list-map-keys"] = item, "map", []any{"key"}
	}
	if rng.IntN(2) == 0 {
		lowest := rng.IntN(3)
		made["minItems"], made["maxItems"] = lowest, lowest+rng.IntN(5)
	}
}

func randomObject(rng *rand.Rand, depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range 1 + rng.IntN(6) {
		name := fmt.Sprintf("field%d", i)
		properties[name] = randomSchema(rng, depth-1)
		if rng.IntN(3) == 0 {
			required = append(required, name)
		}
	}
	made := map[string]any{"type": "object", "properties": properties, "required": required}
	if rng.IntN(4) == 0 {
		made["minProperties"] = rng.IntN(len(properties))
	}
	if rng.IntN(6) == 0 {
		made["maxProperties"] = max(len(required), 1+rng.IntN(len(properties)))
	}
	return made
}

// randomDefinition makes a definition of a number.
func randomDefinition(tb testing.TB, number uint64) *Definition {
	tb.Helper()
	rng := rand.New(rand.NewPCG(number, 7))
	schema := map[string]any{"type": "object", "properties": map[string]any{"spec": randomObject(rng, 3), "status": randomObject(rng, 2)}}
	text, err := json.Marshal(schema)
	if err != nil {
		tb.Fatal(err)
	}
	return defined(tb, widget(string(text)))
}

// Thousands of objects of hundreds of schemas are all valid, and where there are fewer than asked for, Gaps says why.
func TestWhatIsGeneratedIsValid(t *testing.T) {
	t.Parallel()
	total, asked, definitions := 0, 0, uint64(150/portion)
	if testing.Short() && portion > 1 {
		t.Log("only a few of the definitions: -short")
		definitions /= 3
	}
	for number := range definitions {
		d := randomDefinition(t, number)
		g := d.Generator("v1", int64(number), nil)
		for _, style := range append(styles(), Huge) {
			n := 6
			if style == Huge {
				if n = 1; number%10 > 0 {
					continue
				}
			}
			objects := g.Objects(style, n)
			sound(t, d.Schema("v1"), objects)
			total, asked = total+len(objects), asked+n
			if len(objects) < n && len(g.Gaps()) == 0 {
				t.Errorf("schema %d: %d objects of the style %s, and no gap says why", number, len(objects), style)
			}
		}
		for _, gap := range g.Gaps() {
			if !strings.Contains(gap.Reason, "there are no objects of the style") {
				t.Logf("schema %d: %v", number, gap)
			}
		}
	}
	t.Logf("%d of %d", total, asked)
	if total < asked*8/10 {
		t.Errorf("%d of %d objects could be made", total, asked)
	}
}
