package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

// shops have fields of the kinds that converters take apart and put together, side by side.
const shops = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: shops, kind: Shop}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: &schema
        type: object
        properties:
          spec:
            type: object
            properties:
              host: {type: string}
              port: {type: integer, format: int32, minimum: 1, maximum: 65535}
              tls: {type: boolean}
              args: {type: array, items: {type: string}}
              files: {type: object, additionalProperties: {type: string}}
              url: {type: string, description: The URL of the catalogue.}
              token: {type: string, format: byte}
              image: {type: string}
              tag: {type: string}
              path: {type: string}
              mode: {type: string, enum: [Blue, Green, Canary]}
              level: {type: string, enum: [Low, Middle, High]}
              keep: {type: integer, format: int64, minimum: -1}
              hostnames: {type: array, items: {type: string}}
              least: {type: integer, minimum: 0}
              most: {type: integer, minimum: 0}
              parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}}
              limit: {type: integer, nullable: true}
              note: {type: string, nullable: true}
              quota: {type: object, nullable: true, properties: {limit: {type: integer}}}
              selector:
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
                  matchExpressions: {type: array, items: {type: object, required: [key, operator], properties: {key: {type: string}, operator: {type: string}, values: {type: array, items: {type: string}}}}}
              tolerations: {type: array, items: {type: object, properties: {key: {type: string}, operator: {type: string}, value: {type: string}, effect: {type: string}, tolerationSeconds: {type: integer, format: int64}}}}
              template: {type: object, x-kubernetes-preserve-unknown-fields: true, description: The template of the pods.}
              requests: {type: object, additionalProperties: {x-kubernetes-int-or-string: true, pattern: '^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$'}}
              since: {type: string, format: date-time}
              seen: {type: string, format: date-time, description: When it was last seen (a MicroTime).}
              weights: {type: object, additionalProperties: {type: integer}}
              share: {x-kubernetes-int-or-string: true}
              contact: {type: string, pattern: '^[^\x00-\x1f]{1,60}$'}
              opens: {type: string, pattern: '^[0-9]{2}:[0-9]{2}$'}
              protocol: {type: string, default: TCP}
              phase: {type: string}
              policy: {type: string}
              revision: {type: string}
              doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [kind, name], items: {type: object, required: [kind, name], properties: {kind: {type: string, enum: [In, Out]}, name: {type: string}, width: {type: integer}}}}
              kept: {type: string}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

// fleets have much the same at other places: in items of lists, below maps, and with other words.
const fleets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.net}
spec:
  group: example.net
  scope: Cluster
  names: {plural: fleets, kind: Fleet}
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema: &schema
        type: object
        properties:
          spec:
            type: object
            required: [servers]
            properties:
              servers:
                type: array
                minItems: 1
                items:
                  type: object
                  required: [host]
                  properties:
                    host: {type: string, minLength: 1}
                    port: {type: integer}
                    tls: {type: boolean, default: false}
                    args: {type: array, items: {type: string}}
                    path: {type: string}
                    image: {type: string}
                    tag: {type: string}
                    secrets: {type: array, items: {type: string, format: byte}}
              settings:
                type: object
                properties:
                  mode: {type: string, enum: [Blue, Green, Canary]}
                  level: {type: string, enum: [Low, Middle, High]}
                  keep: {type: integer, minimum: -1}
                  hostnames: {type: array, items: {type: string}}
                  least: {type: integer, minimum: 0}
                  most: {type: integer, minimum: 0}
                  parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}}
                  revision: {type: string}
                  doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [kind, name], items: {type: object, required: [kind, name], properties: {kind: {type: string, enum: [In, Out]}, name: {type: string}, width: {type: integer}}}}
                  limit: {type: integer, nullable: true}
                  note: {type: string, nullable: true}
                  quota: {type: object, nullable: true, properties: {limit: {type: integer}}}
              podTemplate: {type: object, x-kubernetes-preserve-unknown-fields: true, description: The template of the pods.}
              files: {type: object, additionalProperties: {type: string}}
              nodes: {type: array, items: {type: object, properties: {requests: {type: object, additionalProperties: {x-kubernetes-int-or-string: true, pattern: '^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$'}}, since: {type: string, format: date-time}, contact: {type: string, pattern: '^[^<>]{1,40}$'}, seen: {type: string, description: The time in RFC3339Nano.}, opens: {type: string, pattern: '^[0-9]{2}:[0-9]{2}$'}, protocol: {type: string, default: TCP}, phase: {type: string}, policy: {type: string}, weights: {type: object, additionalProperties: {type: integer}}, share: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}}}}
              kept: {type: object, properties: {text: {type: string}}}
              podSelector:
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
                  matchExpressions: {type: array, items: {type: object, required: [key, operator], properties: {key: {type: string}, operator: {type: string}, values: {type: array, items: {type: string}}}}}
              pod:
                type: object
                properties:
                  spec:
                    type: object
                    properties:
                      tolerations: {type: array, items: {type: object, properties: {key: {type: string}, operator: {type: string}, value: {type: string}, effect: {type: string}, tolerationSeconds: {type: integer, format: int64}}}}
                      volumes: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, emptyDir: {type: object, properties: {medium: {type: string}}}, hostPath: {type: object, properties: {path: {type: string}}}}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: *schema}}
`

// deep returns a value in which a function has had its way with each value, from the inside out. What it returns false for is gone.
func deep(value any, change func(key string, value any) (any, bool)) any {
	var visit func(key string, value any) (any, bool)
	visit = func(key string, value any) (any, bool) {
		switch inner := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				if changed, stays := visit(name, inner[name]); stays {
					inner[name] = changed
				} else {
					delete(inner, name)
				}
			}
		case []any:
			for i := range inner {
				if changed, stays := visit(key, inner[i]); stays {
					inner[i] = changed
				}
			}
		}
		return change(key, value)
	}
	changed, _ := visit("", value)
	return changed
}

// inSpec is a mutation of the values in the spec, if there is one.
func inSpec(change func(key string, value any) (any, bool)) func(map[string]any) {
	return func(object map[string]any) {
		if spec := specOf(object); spec != nil {
			object["spec"] = deep(spec, change)
		}
	}
}

// texts are mutations of text wherever it is in the spec, only that at a field of one of some names if there are any.
func texts(change func(string) string, names ...string) func(map[string]any) {
	return inSpec(func(key string, value any) (any, bool) {
		if text, is := value.(string); is && (len(names) == 0 || slices.Contains(names, key)) {
			return change(text), true
		}
		return value, true
	})
}

// parts are mutations of the objects in the spec.
func parts(change func(map[string]any)) func(map[string]any) {
	return inSpec(func(_ string, value any) (any, bool) {
		if fields, is := value.(map[string]any); is {
			change(fields)
		}
		return value, true
	})
}

// without drops what is in the spec at a key and of which something is true.
func without(key string, is func(any) bool) func(map[string]any) {
	return inSpec(func(name string, value any) (any, bool) { return value, name != key || !is(value) })
}

// asShellsDo splits text as a shell does, but that what it cannot make sense of stays in one piece.
func asShellsDo(text string) []any {
	var words []any
	word, quote, begun := strings.Builder{}, rune(0), false
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\n' || r == '\t'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if escaped || quote != 0 {
		return []any{text}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// kindsOfBugs are what converters get wrong, on the way to the second version unless it says on which.
func kindsOfBugs() map[string]func(from, to string, object map[string]any) {
	forth := func(change func(map[string]any)) func(_, to string, object map[string]any) {
		return func(_, to string, object map[string]any) {
			if to == "v2" || to == "v1beta1" {
				change(object)
			}
		}
	}
	all := map[string]func(from, to string, object map[string]any){
		"text is cut after 64 KiB": forth(texts(func(s string) string { return s[:min(len(s), 1<<16)] })),
		"values of maps are cut after 64 KiB": forth(parts(func(fields map[string]any) {
			files, _ := fields["files"].(map[string]any)
			for key, value := range files {
				if text, is := value.(string); is {
					files[key] = text[:min(len(text), 1<<16)]
				}
			}
		})),
		"lists are cut after 256 items": forth(inSpec(func(_ string, value any) (any, bool) {
			if list, is := value.([]any); is {
				return list[:min(len(list), 256)], true
			}
			return value, true
		})),
		"arguments are split as a shell would": forth(parts(func(fields map[string]any) {
			args, is := fields["args"].([]any)
			if !is {
				return
			}
			var words []string
			for _, arg := range args {
				word, _ := arg.(string)
				words = append(words, word)
			}
			fields["args"] = asShellsDo(strings.Join(words, " "))
		})),
		"arguments are split at spaces": forth(parts(func(fields map[string]any) {
			args, is := fields["args"].([]any)
			if !is {
				return
			}
			var words []any
			for _, arg := range args {
				word, _ := arg.(string)
				for piece := range strings.SplitSeq(word, " ") {
					words = append(words, piece)
				}
			}
			fields["args"] = words
		})),
		"the host ends at the first colon":     forth(texts(func(s string) string { host, _, _ := strings.Cut(s, ":"); return host }, "host")),
		"port 443 is left out with TLS":        forth(wellKnownPort("443", true)),
		"port 80 is left out without TLS":      forth(wellKnownPort("80", false)),
		"port 443 is left out if TLS is false": forth(contraryPort("443", false)),
		"port 80 is left out with TLS":         forth(contraryPort("80", true)),
		"port 22 is left out":                  forth(without("port", func(v any) bool { return v == json.Number("22") })),
		"midnight is left out":                 forth(without("opens", func(v any) bool { return v == "00:00" })),
		"UDP is left out":                      forth(without("protocol", func(v any) bool { return v == "UDP" })),
		"the phase Running is left out":        forth(without("phase", func(v any) bool { return v == "Running" })),
		"the policy Always is left out":        forth(without("policy", func(v any) bool { return v == "Always" })),
		"the tag latest is left out":           forth(without("tag", func(v any) bool { return v == "latest" })),
		"the path / is left out":               forth(without("path", func(v any) bool { return v == "/" })),
		"the prefix of a branch is cut":        forth(texts(func(s string) string { return strings.TrimPrefix(s, "refs/heads/") }, "revision")),
		"of items of one name the first stays": forth(parts(func(fields map[string]any) {
			doors, is := fields["doors"].([]any)
			if !is {
				return
			}
			named := map[any]bool{}
			fields["doors"] = slices.DeleteFunc(doors, func(door any) bool {
				fields, _ := door.(map[string]any)
				name := fields["name"]
				defer func() { named[name] = true }()
				return named[name]
			})
		})),
		"an image ends at the first colon": forth(texts(func(s string) string {
			name, _, _ := strings.Cut(s, ":")
			return name
		}, "image")),
		"percent-encoding is decoded, if it is right": forth(texts(func(s string) string {
			if decoded, err := url.PathUnescape(s); err == nil {
				return decoded
			}
			return s
		})),
		"a plus is a space, in what is encoded": forth(texts(func(s string) string {
			if decoded, err := url.QueryUnescape(s); err == nil && strings.Contains(s, "%") {
				return decoded
			}
			return s
		})),
		"an URL's path is decoded": forth(texts(func(s string) string {
			parsed, err := url.Parse(s)
			if err != nil || parsed.Host == "" {
				return s
			}
			parsed.RawPath = ""
			return parsed.String()
		}, "url", "host")),
		"base64 of URLs": forth(texts(strings.NewReplacer("+", "-", "/", "_").Replace, "token", "secrets")),
		"emptyDir is dropped when it is empty": forth(without("emptyDir", func(v any) bool {
			fields, is := v.(map[string]any)
			return is && len(fields) == 0
		})),
		"In with one value becomes matchLabels": forth(parts(func(fields map[string]any) {
			var rest []any
			expressions, _ := fields["matchExpressions"].([]any)
			for _, each := range expressions {
				one, _ := each.(map[string]any)
				key, _ := one["key"].(string)
				values, _ := one["values"].([]any)
				if one["operator"] == "In" && len(values) == 1 {
					labels, _ := fields["matchLabels"].(map[string]any)
					if labels == nil {
						labels = map[string]any{}
					}
					labels[key] = values[0]
					fields["matchLabels"] = labels
				} else {
					rest = append(rest, each)
				}
			}
			if len(rest) < len(expressions) {
				fields["matchExpressions"] = rest
			}
		})),
		"NotIn loses all values but the first": forth(parts(func(fields map[string]any) {
			if values, _ := fields["values"].([]any); fields["operator"] == "NotIn" && len(values) > 1 {
				fields["values"] = values[:1]
			}
		})),
		"DoesNotExist becomes Exists": forth(parts(func(fields map[string]any) {
			if fields["operator"] == "DoesNotExist" {
				fields["operator"] = "Exists"
			}
		})),
		"a toleration of Exists becomes Equal": forth(parts(func(fields map[string]any) {
			if _, has := fields["effect"]; has && fields["operator"] == "Exists" {
				fields["operator"] = "Equal"
			}
		})),
		"the seconds of NoExecute are dropped": forth(parts(func(fields map[string]any) {
			if fields["effect"] == "NoExecute" {
				delete(fields, "tolerationSeconds")
			}
		})),
		"the init containers of a template are dropped": forth(without("initContainers", func(any) bool { return true })),
		"numbers of a template become floating point": forth(inSpec(func(key string, value any) (any, bool) {
			number, is := value.(json.Number)
			if !is || key != "tolerationSeconds" && key != "terminationGracePeriodSeconds" {
				return value, true
			}
			float, _ := number.Float64()
			return json.Number(strconv.FormatFloat(float, 'f', -1, 64)), true
		})),
		"NUL is dropped":                forth(texts(func(s string) string { return strings.ReplaceAll(s, "\x00", "") })),
		"text ends at NUL":              forth(texts(func(s string) string { begin, _, _ := strings.Cut(s, "\x00"); return begin })),
		"escape characters are dropped": forth(texts(func(s string) string { return strings.ReplaceAll(s, "\x1b", "") })),
		"Canary with High becomes Low": forth(parts(func(fields map[string]any) {
			if fields["mode"] == "Canary" && fields["level"] == "High" {
				fields["level"] = "Low"
			}
		})),
		"Green with Low becomes High": forth(parts(func(fields map[string]any) {
			if fields["mode"] == "Green" && fields["level"] == "Low" {
				fields["level"] = "High"
			}
		})),
		"what to keep without a limit has no mode": forth(parts(func(fields map[string]any) {
			if keep, is := fields["keep"].(json.Number); is && keep == "-1" {
				delete(fields, "mode")
			}
		})),
		"a wildcard of a hostname is dropped": forth(texts(func(s string) string { return strings.TrimPrefix(s, "*.") }, "hostnames")),
		"most is dropped where it is least": forth(parts(func(fields map[string]any) {
			if fields["most"] != nil && fields["most"] != json.Number("0") && fields["most"] == fields["least"] {
				delete(fields, "most")
			}
		})),
		"most is dropped where it is 1": forth(without("most", func(value any) bool { return value == json.Number("1") })),
		"parts whose names differ in case are one": forth(inSpec(func(key string, value any) (any, bool) {
			list, is := value.([]any)
			if !is || key != "parts" {
				return value, true
			}
			known := map[string]bool{}
			return slices.DeleteFunc(list, func(item any) bool {
				name := strings.ToLower(fmt.Sprint(item.(map[string]any)["name"]))
				defer func() { known[name] = true }()
				return known[name]
			}), true
		})),
		"annotations beyond 64 are dropped": func(_, _ string, object map[string]any) {
			annotations := metadataOf(object, "annotations")
			for _, key := range slices.Sorted(maps.Keys(annotations))[min(len(annotations), 64):] {
				delete(annotations, key)
			}
		},
		"objects of Helm lose their text": func(_, to string, object map[string]any) {
			if metadataOf(object, "labels")["app.kubernetes.io/managed-by"] == "Helm" {
				forth(texts(func(string) string { return "" }))("", to, object)
			}
		},
		"no arguments become an empty one": forth(inSpec(func(key string, value any) (any, bool) {
			if list, is := value.([]any); is && key == "args" && len(list) == 0 {
				return []any{""}, true
			}
			return value, true
		})),
		"managed fields of the status are dropped": func(_, _ string, object map[string]any) {
			metadata := object["metadata"].(map[string]any)
			managed, is := metadata["managedFields"].([]any)
			if is {
				metadata["managedFields"] = slices.DeleteFunc(managed, func(entry any) bool {
					fields, _ := entry.(map[string]any)
					return fields["subresource"] == "status"
				})
			}
		},
		"the group and version are replaced in all text": func(from, to string, object map[string]any) {
			group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
			deep(object, func(key string, value any) (any, bool) {
				if text, is := value.(string); is && key != "apiVersion" {
					return strings.ReplaceAll(text, group+"/"+from, group+"/"+to), true
				}
				return value, true
			})
		},
		"the group and version are replaced in annotations": func(from, to string, object map[string]any) {
			group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
			metadata := object["metadata"].(map[string]any)
			if metadata["annotations"] != nil {
				metadata["annotations"] = deep(metadata["annotations"], func(_ string, value any) (any, bool) {
					if text, is := value.(string); is {
						return strings.ReplaceAll(text, group+"/"+from, group+"/"+to), true
					}
					return value, true
				})
			}
		},
	}
	maps.Copy(all, confusions(forth))
	field := map[string]string{"null becomes 0": "limit", "null becomes an empty text": "note", "null becomes an object of zeros": "quota"}
	for name, to := range map[string]any{"null becomes 0": json.Number("0"), "null becomes an empty text": "", "null becomes an object of zeros": map[string]any{"limit": json.Number("0")}} {
		all[name] = forth(inSpec(func(key string, value any) (any, bool) {
			if key == field[name] && value == nil {
				return to, true
			}
			return value, true
		}))
	}
	for _, separator := range []string{"/", ":", "=", "'"} { // all of them are for the tests of what generates text
		all["text loses a "+separator+" at its beginning"] = forth(texts(func(s string) string { return strings.TrimPrefix(s, separator) }))
		all["text loses a "+separator+" at its end"] = forth(texts(func(s string) string { return strings.TrimSuffix(s, separator) }))
		all["a double "+separator+" becomes one"] = forth(texts(func(s string) string { return strings.ReplaceAll(s, separator+separator, separator) }))
	}
	return all
}

// confusions are mutations of what converters take for something else.
func confusions(forth func(func(map[string]any)) func(_, to string, object map[string]any)) map[string]func(from, to string, object map[string]any) {
	keysOf := func(name string, change func(map[string]any)) func(_, to string, object map[string]any) {
		return forth(inSpec(func(key string, value any) (any, bool) {
			if fields, is := value.(map[string]any); is && key == name {
				change(fields)
			}
			return value, true
		}))
	}
	all := map[string]func(from, to string, object map[string]any){
		"keys of files that differ in case are one": keysOf("files", func(files map[string]any) {
			seen := map[string]bool{}
			for _, key := range slices.Sorted(maps.Keys(files)) {
				if folded := strings.ToLower(key); seen[folded] {
					delete(files, key)
				} else {
					seen[folded] = true
				}
			}
		}),
		"an underscore in the keys of files is a hyphen": keysOf("files", func(files map[string]any) {
			for _, key := range slices.Sorted(maps.Keys(files)) {
				if hyphened := strings.ReplaceAll(key, "_", "-"); hyphened != key {
					files[hyphened] = files[key]
					delete(files, key)
				}
			}
		}),
		"files lose the empty key": keysOf("files", func(files map[string]any) { delete(files, "") }),
		"a selector of everything is dropped": forth(inSpec(func(key string, value any) (any, bool) {
			fields, is := value.(map[string]any)
			return value, !is || len(fields) > 0 || key != "selector" && key != "podSelector"
		})),
		"requests lose keys with a domain": keysOf("requests", func(requests map[string]any) {
			maps.DeleteFunc(requests, func(key string, _ any) bool { return strings.Contains(key, "/") })
		}),
		"a time becomes its day in UTC, at the hour it had": forth(texts(func(s string) string {
			at, err := time.Parse(time.RFC3339, s)
			if err != nil {
				return s
			}
			return at.UTC().Format(time.DateOnly) + at.Format("T15:04:05Z07:00")
		}, "since")),
		"a time loses its fraction": forth(texts(func(s string) string {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
				return at.Format(time.RFC3339)
			}
			return s
		}, "seen")),
		"shares are at most 100 %": forth(texts(func(s string) string {
			if n, err := strconv.Atoi(strings.TrimSuffix(s, "%")); err == nil && strings.HasSuffix(s, "%") && n > 100 {
				return "100%"
			}
			return s
		}, "share")),
		"the last of four weights is dropped": keysOf("weights", func(weights map[string]any) {
			if keys := slices.Sorted(maps.Keys(weights)); len(keys) == 4 {
				delete(weights, keys[3])
			}
		}),
		"the last of eight arguments is dropped": forth(inSpec(func(key string, value any) (any, bool) {
			if args, is := value.([]any); is && key == "args" && len(args) == 8 {
				return args[:7], true
			}
			return value, true
		})),
		"more than eight arguments are reversed, both ways": func(_, _ string, object map[string]any) {
			inSpec(func(key string, value any) (any, bool) {
				if args, is := value.([]any); is && key == "args" && len(args) > 8 {
					slices.Reverse(args)
				}
				return value, true
			})(object)
		},
		"a contact ends at the first space":   forth(texts(func(s string) string { first, _, _ := strings.Cut(s, " "); return first }, "contact")),
		"several spaces in a contact are one": forth(texts(func(s string) string { return strings.Join(strings.Fields(s), " ") }, "contact")),
		"keys of labels are in lower case": func(_, _ string, object map[string]any) {
			labels := metadataOf(object, "labels")
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				if lower := strings.ToLower(key); lower != key {
					labels[lower] = labels[key]
					delete(labels, key)
				}
			}
		},
		"annotations below the group are dropped": func(_, _ string, object map[string]any) {
			group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
			maps.DeleteFunc(metadataOf(object, "annotations"), func(key string, _ any) bool { return strings.Contains(key, "."+group+"/") })
		},
	}
	for word, read := range map[string]string{"yes": "true", "null": "", "~": "", "0x10": "16"} {
		reads := func(s string) string {
			if s == word {
				return read
			}
			return s
		}
		all["the host "+word+" is read as YAML"] = forth(texts(reads, "host"))
	}
	all["values of files are read as YAML"] = keysOf("files", func(files map[string]any) {
		for key, value := range files {
			if value == "yes" || value == "on" {
				files[key] = "true"
			}
		}
	})
	return all
}

// contraryPort drops a port where TLS says outright that it is for something else.
func contraryPort(port string, tls bool) func(map[string]any) {
	return parts(func(fields map[string]any) {
		if number, is := fields["port"].(json.Number); is && number.String() == port && fields["tls"] == tls {
			delete(fields, "port")
		}
	})
}

// wellKnownPort drops a port that goes without saying, with or without TLS.
func wellKnownPort(port string, tls bool) func(map[string]any) {
	return parts(func(fields map[string]any) {
		if number, is := fields["port"].(json.Number); is && number.String() == port && (fields["tls"] == true) == tls {
			delete(fields, "port")
		}
	})
}

// stale keeps a field that only the first version has in an annotation, and does not drop the annotation when the field is gone.
func stale(to string, object map[string]any, isRight bool) {
	const note = "example.org/kept"
	spec, notes := specOf(object), metadataOf(object, "annotations")
	if spec == nil {
		return
	}
	if to == "v2" || to == "v1beta1" { // which lack the field
		if kept, has := spec["kept"]; has {
			text, err := json.Marshal(kept)
			if err != nil {
				panic(err)
			}
			notes[note] = string(text)
			delete(spec, "kept")
		} else if isRight {
			delete(notes, note)
		}
		return
	}
	if text, is := notes[note].(string); is {
		var kept any
		if json.Unmarshal([]byte(text), &kept) == nil {
			spec["kept"] = kept
		}
	}
}

// TestKindsOfBugs has converters get wrong what many do, in two definitions: each must be found whatever the seed, and the converter
// without them be clean.
func TestKindsOfBugs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: what becomes of objects is judged for each of many converters")
	}
	kinds(t, 1)
}

// kinds has the bugs tried with some seeds.
func kinds(t *testing.T, seeds ...int64) {
	t.Helper()
	bugs := kindsOfBugs()
	bugs["nothing"] = func(string, string, map[string]any) {}
	bugs["what is gone comes back from an annotation"] = func(_, to string, object map[string]any) { stale(to, object, false) }
	bugs["nothing, with an annotation"] = func(_, to string, object map[string]any) { stale(to, object, true) }
	for definition, crd := range map[string]string{"shops": shops, "fleets": fleets} {
		for _, name := range slices.Sorted(maps.Keys(bugs)) {
			t.Run(definition+"/"+name, func(t *testing.T) {
				t.Parallel()
				crd := crd
				if strings.HasSuffix(name, "an annotation") {
					crd = lacking(t, crd)
				}
				bug, isRight := bugs[name], strings.HasPrefix(name, "nothing")
				needsAll := isRight || strings.HasSuffix(name, "both ways") || strings.HasSuffix(name, "an annotation") || strings.HasSuffix(name, "is false")
				subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string { bug(from, to, object); return "" }}}.of(t, crd)
				subject.Objects = 12
				for _, seed := range seeds {
					var found []requirement.ID
					for _, r := range aboutValues(t, subject, seed, needsAll, func(r suites.Result) bool { return !isRight && finds(r) }) {
						if finds(r) {
							found = append(found, r.Requirement)
							t.Logf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
							if isRight {
								t.Errorf("seed %d: %s is %s: %s", seed, r.Requirement, r.Verdict, r.Reason)
							}
						}
					}
					if len(found) == 0 && !isRight {
						t.Errorf("seed %d: nothing finds it", seed)
					}
				}
			})
		}
	}
}

// finds reports whether a result says that something is wrong.
func finds(r suites.Result) bool {
	return r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable && r.Verdict != requirement.Unknown
}

// lacking is a definition whose other version has no field kept.
func lacking(t *testing.T, file string) string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(file), &crd); err != nil {
		t.Fatal(err)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Storage {
			delete(version.Schema.OpenAPIV3Schema.Properties["spec"].Properties, "kept")
		}
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// aboutValues judges what becomes of the values of objects, as all specs that are about that see it, or as the most telling ones do, until one result is
// enough.
func aboutValues(t *testing.T, subject *suites.Subject, seed int64, all bool, enough func(suites.Result) bool) []suites.Result {
	t.Helper()
	telling := []requirement.ID{
		requirement.WebhookConversionRoundTrip, requirement.WebhookConversionStrings, requirement.WebhookConversionNulls, requirement.WebhookConversionIntegers, requirement.WebhookMetadataUnchanged,
	}
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: seed, Enough: enough, Select: func(id requirement.ID) bool {
		isSlow := id == requirement.WebhookConversionGrowth || id == requirement.WebhookConversionHuge || id == requirement.WebhookConversionPure
		return slices.Contains(telling, id) || all && (strings.HasPrefix(string(id), "webhook.conversion.") && !isSlow || id == requirement.WebhookFailureAvoided)
	}})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}

// TestValidationOfLargeIntegers has a webhook write integers as text by way of floating point, so that only large ones are against the pattern.
func TestValidationOfLargeIntegers(t *testing.T) {
	t.Parallel()
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {id: {type: integer, format: int64}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {id: {type: string, pattern: '^-?[0-9]+$'}}}}}}}`, 1)
	for want, write := range map[requirement.Verdict]func(json.Number) string{
		requirement.Passed: json.Number.String,
		requirement.Tolerated: func(n json.Number) string {
			float, _ := n.Float64()
			return fmt.Sprint(float)
		},
	} {
		converts := func(_, _ string, object map[string]any) string {
			switch id := specOf(object)["id"].(type) {
			case json.Number:
				object["spec"] = map[string]any{"id": write(id)}
			case string:
				float, err := strconv.ParseFloat(id, 64)
				if err != nil {
					return err.Error()
				}
				object["spec"] = map[string]any{"id": int64(float)}
				if exact, err := strconv.ParseInt(id, 10, 64); err == nil {
					object["spec"] = map[string]any{"id": exact}
				}
			}
			return ""
		}
		for seed := range int64(3) {
			subject := served{handler: stranger{converts: converts}}.of(t, definition)
			for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionValidation) {
				if r.Verdict != want || want == requirement.Tolerated && !strings.Contains(r.Reason, "e+18") {
					t.Errorf("seed %d: %s is %s, want %s: %s", seed+1, r.Requirement, r.Verdict, want, r.Reason)
				}
			}
		}
	}
}
