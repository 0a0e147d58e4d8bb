package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// TestFloor wants what programs take apart, take for granted or cut to be in some object, whatever the seed.
func TestFloor(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`host: {type: string}, port: {type: integer}, tls: {type: boolean}, keep: {type: integer, minimum: -1}, hostnames: {type: array, items: {type: string}}, region: {type: string}, schedule: {type: string},
		parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name, sort], properties: {name: {type: string}, sort: {type: string, enum: [One, Two]}, size: {type: integer}}}},
		quotas: {type: object, properties: {least: {type: integer}, most: {type: integer}, unit: {type: string}, per: {type: string}}}, mode: {type: string, enum: [A, B, C]}, level: {type: string, enum: [U, V]},
		args: {type: array, items: {type: string}}, files: {type: object, additionalProperties: {type: string}}, data: {type: string, format: byte}, page: {type: string, description: A URL.},
		quantities: {type: object, additionalProperties: {x-kubernetes-int-or-string: true, pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'}}, at: {type: string, format: date-time},
		contact: {type: string, pattern: '^[^<>]{1,40}$'}, author: {type: string, pattern: '^[^<>]{1,20} <[^@ ]+@[^>]+>$'},
		users: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, quota: {type: integer}, roles: {type: array, items: {type: string}}}}},
		template: {type: object, x-kubernetes-preserve-unknown-fields: true, description: The template of the pods.},
		limit: {type: integer, nullable: true}, maxUnavailable: {x-kubernetes-int-or-string: true}, maxSurge: {x-kubernetes-int-or-string: true}, chosen: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}, matchExpressions: {type: array, items: {type: object, properties: {key: {type: string}}}}}}, part: {type: object, nullable: true, properties: {note: {type: string, nullable: true}}},
		tolerations: {type: array, items: {type: object, properties: {key: {type: string}, operator: {type: string}, value: {type: string}, effect: {type: string}, tolerationSeconds: {type: integer}}}},
		expressions: {type: array, items: {type: object, required: [key, operator], properties: {key: {type: string}, operator: {type: string}, values: {type: array, items: {type: string}}}}}`)))
	wanted := map[string]func(value any) bool{}
	is := func(path string, want any) {
		wanted[fmt.Sprintf("%s is %v", path, want)] = func(value any) bool { return equal(value, want) }
	}
	for _, path := range []string{"spec.host", "spec.args[*]", "spec.files.<key>"} {
		for _, one := range separators() {
			wanted[path+" has at its ends and doubled "+one] = func(value any) bool {
				text, _ := value.(string)
				return strings.HasPrefix(text, one) && strings.HasSuffix(text, one) && strings.Contains(text[1:len(text)-1], one+one)
			}
		}
		is(path, "example.com/v1, example.com/v2")
		is(path, "2001:db8::17")
		wanted[path+" is longer than 64 KiB"] = func(value any) bool { text, _ := value.(string); return len(text) > 1<<16 }
	}
	wanted["spec.users has many items with all of their fields"] = func(value any) bool {
		list, _ := value.([]any)
		whole := 0
		for _, item := range list {
			if fields, _ := item.(map[string]any); fields["quota"] != nil && fields["roles"] != nil {
				whole++
			}
		}
		return len(list) > 2*whole && whole > 20
	}
	wanted["spec.args has 257 items"] = func(value any) bool { list, _ := value.([]any); return len(list) == 257 }
	for _, path := range []string{"spec.host", "spec.args[*]", "spec.files.<key>"} {
		for _, word := range []string{"yes", "no", "on", "off", "true", "false", "null", "~", "0x10", "1e3"} {
			is(path, word)
		}
		is(path, "two  spaces")
		is(path, "one\n---\ntwo")
		is(path, "\ufeffmarked")
		wanted[path+" has each control character, and ends with NUL"] = func(value any) bool {
			text, _ := value.(string)
			for r := range rune(0xa0) {
				if unicode.IsControl(r) && !strings.ContainsRune(text[:max(len(text)-1, 0)], r) {
					return false
				}
			}
			return strings.HasSuffix(text, "\x00")
		}
	}
	wanted["spec.template has a number that floating point cannot hold"] = func(value any) bool {
		return (*node)(nil).anyBelow(fieldpath.Split("spec.tolerations[*].tolerationSeconds"), value, func(seconds any) bool { return seconds == int64(1<<53+1) })
	}
	wanted["spec.template has containers of each kind"] = func(value any) bool {
		pod, _ := value.(map[string]any)
		spec, _ := pod["spec"].(map[string]any)
		return spec["containers"] != nil && spec["initContainers"] != nil
	}
	has := func(path, what string, keys ...string) {
		wanted[path+" has "+what] = func(value any) bool {
			fields, _ := value.(map[string]any)
			return !slices.ContainsFunc(keys, func(key string) bool { return fields[key] == nil })
		}
	}
	has("spec.files", "keys that differ only in case", "Path", "PATH")
	has("spec.files", "keys that begin with a dot", ".hidden")
	has("spec.files", "keys with a domain", "nvidia.com/gpu", "acme.dev/Team-A")
	has("spec.quantities", "keys with a domain", "nvidia.com/gpu", "acme.dev/Team-A")
	has("spec.files", "keys with an underscore", "snake_case")
	has("spec.files", "the key \"\"", "")
	has("spec.quantities", "keys that differ only in case", "Path", "PATH")
	is("spec.chosen", map[string]any{})
	is("spec.maxSurge", "150%")
	is("spec.at", "2026-03-01T01:00:00+02:00")
	for _, path := range []string{"spec.contact", "spec.author"} {
		wanted[path+" has several spaces"] = func(value any) bool { text, _ := value.(string); return strings.Contains(text, "  ") }
	}
	is("spec.data", "Pj4+Pz8/")
	is("spec.maxUnavailable", "100%")
	is("spec.maxUnavailable", "1%")
	is("spec.maxUnavailable", "0%")
	wanted["spec.page has percent-encoding"] = func(value any) bool { text, _ := value.(string); return strings.Contains(text, "%2F") }
	is("spec.limit", nil)
	is("spec.part", nil)
	is("spec.part.note", nil)
	for path, fields := range map[string]string{"spec.expressions[*]": "key operator values", "spec.tolerations[*]": "effect key operator value"} {
		for _, part := range knownParts()[fields] {
			is(path, part)
		}
	}
	for _, mode := range []any{"A", "B", "C"} {
		for _, level := range []any{"U", "V"} {
			wanted[fmt.Sprintf("spec: %v with %v", mode, level)] = func(value any) bool {
				fields, _ := value.(map[string]any)
				return fields["mode"] == mode && fields["level"] == level
			}
		}
	}
	for _, mode := range []any{"A", "B", "C"} {
		wanted[fmt.Sprintf("spec: %v with -1", mode)] = func(value any) bool {
			fields, _ := value.(map[string]any)
			return fields["mode"] == mode && fields["keep"] == int64(-1)
		}
	}
	is("spec.hostnames[*]", "*.example.com")
	is("spec.region", "us-east-1")
	is("spec.schedule", "@daily")
	is("spec.quotas.most", int64(1))
	for one, other := range map[string]string{"least": "most", "unit": "per"} {
		wanted["spec.quotas has the same in "+one+" and "+other] = func(value any) bool {
			fields, _ := value.(map[string]any)
			return fields[one] != nil && equal(fields[one], fields[other])
		}
	}
	wanted["spec.parts has names that differ only in case"] = func(value any) bool {
		list, _ := value.([]any)
		names := map[string]bool{}
		for _, item := range list {
			name, _ := item.(map[string]any)["name"].(string)
			names[strings.ToLower(name)] = true
		}
		return len(names) < len(list)
	}
	wanted["spec.args has no items"] = func(value any) bool { list, is := value.([]any); return is && len(list) == 0 }
	for _, port := range []any{int64(443), int64(80), int64(22), int64(8443)} {
		for _, tls := range []any{true, false, nil} {
			wanted[fmt.Sprintf("spec: %v with %v", port, tls)] = func(value any) bool {
				fields, _ := value.(map[string]any)
				return fields["port"] == port && fields["tls"] == tls
			}
		}
	}
	for seed := range int64(5) {
		schema := d.Schema("v1")
		singles := d.Generator("v1", seed+1, nil).Singles()
		sound(t, schema, objectsOf(singles))
		for what, is := range wanted {
			path, _, _ := strings.Cut(what, " ")
			path = strings.TrimSuffix(path, ":")
			if !slices.ContainsFunc(singles, func(s Single) bool { return schema.anyAt(path, s.Object.Object, is) }) {
				t.Errorf("seed %d: in no object %s", seed+1, what)
			}
		}
	}
}

func TestChoicesOfTwo(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{{2, 2}, {3, 2}, {5, 5, 3, 2, 2, 2}, {2, 1, 4}} {
		rows := choicesOfTwo(sizes)
		for i := range sizes {
			for j := i + 1; j < len(sizes); j++ {
				for a := range sizes[i] {
					for b := range sizes[j] {
						if !slices.ContainsFunc(rows, func(row []int) bool { return row[i] == a && row[j] == b }) {
							t.Errorf("%v: %d of %d does not meet %d of %d", sizes, a, i, b, j)
						}
					}
				}
			}
		}
		if most := 2 * slices.Max(sizes) * slices.Max(sizes); len(rows) > most {
			t.Errorf("%v: there are %d rows, more than %d", sizes, len(rows), most)
		}
	}
}
