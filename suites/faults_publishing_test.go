package suites_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// publishingFaults returns for each requirement what an API server does that violates it, and no other.
func publishingFaults() map[requirement.ID]suitetest.Fault {
	return map[requirement.ID]suitetest.Fault{
		requirement.PublishingOpenapiSchema: inV2("", func(model map[string]any) { delete(field(model, "spec"), "description") }),
		requirement.PublishingOpenapiPaths: inDocument("/openapi/v2", func(document map[string]any) {
			paths, _ := document["paths"].(map[string]any)
			maps.DeleteFunc(paths, func(path string, _ any) bool { return strings.HasSuffix(path, "/scale") })
		}),
		requirement.PublishingOpenapiCombinations:    inV2("", with("spec", "not", map[string]any{})),
		requirement.PublishingOpenapiNullable:        inV2("", with("spec.owner", "x-nullable", true)),
		requirement.PublishingOpenapiPreservedFields: inV2("", closed),
		requirement.PublishingOpenapiDefinitionKept:  suitetest.Accepting(`must not validate the schema \(not\)`),
		requirement.PublishingOpenapiV3: inModels("/openapi/v3/", "", func(model map[string]any) {
			if tags := field(model, "spec.tags"); tags != nil {
				delete(tags, "nullable")
			}
		}),
		requirement.PublishingOpenapiChanged:   inV2("", publishingWithout("spec", "suspended")),
		requirement.PublishingOpenapiKinds:     inV2("publishing-openapi-kinds.", publishingWithout("", "other")),
		requirement.PublishingOpenapiKindsV3:   inModels("/openapi/v3/", "publishing-openapi-kinds-v3.", publishingWithout("", "other")),
		requirement.PublishingOpenapiGroups:    inV2("n0-publishing-openapi-groups.", publishingWithout("", "other")),
		requirement.PublishingOpenapiWithdrawn: remembering("publishing-openapi-withdrawn."),

		requirement.PublishingColumnsTable: inTables(func(t *publishingTampered) { t.set("Replicas", nil) }),
		requirement.PublishingColumnsDefault: inTables(func(t *publishingTampered) {
			if len(t.Columns) == 2 {
				t.set("Age", nil)
			}
		}),
		requirement.PublishingColumnsDescription:  inTables(func(t *publishingTampered) { t.column("Spec")["description"] = "made up" }),
		requirement.PublishingColumnsNameRequired: suitetest.Accepting(`additionalPrinterColumns\[0\]\.name: Required`),
		requirement.PublishingColumnsPathRequired: suitetest.Accepting(`additionalPrinterColumns\[0\]\.JSONPath: Required`),
		requirement.PublishingColumnsPathForm:     suitetest.Accepting(`additionalPrinterColumns\[0\]\.JSONPath: Invalid`),
		requirement.PublishingColumnsTypeRequired: suitetest.Accepting(`additionalPrinterColumns\[0\]\.type: Required`),
		requirement.PublishingColumnsTypeUnknown:  suitetest.Accepting(`additionalPrinterColumns\[0\]\.type: Invalid`),
		requirement.PublishingColumnsFormatUnknown: suitetest.Accepting(
			`additionalPrinterColumns\[0\]\.format: Invalid`),
		requirement.PublishingColumnsChanged:  inTables(func(t *publishingTampered) { t.column("Image")["name"] = "Picture" }),
		requirement.PublishingColumnsPriority: inTables(func(t *publishingTampered) { t.column("Age")["priority"] = 0 }),
		requirement.PublishingColumnsInteger:  inTables(publishingShowing("integer", json.Number("7"), json.Number("8"))),
		requirement.PublishingColumnsNumber:   inTables(publishingShowing("number", json.Number("2.5"), json.Number("2"))),
		requirement.PublishingColumnsString:   inTables(publishingShowing("string", "* * * * */5", nil)),
		requirement.PublishingColumnsBoolean:  inTables(publishingShowing("boolean", false, nil)),
		requirement.PublishingColumnsDate: inTables(func(t *publishingTampered) {
			t.edit("date", func(cell any) any {
				if text, ok := cell.(string); ok && strings.Contains(text, "y") {
					return "2000-01-01T00:00:00Z"
				}
				return cell
			})
		}),
		requirement.PublishingColumnsMismatch: inTables(func(t *publishingTampered) {
			if slices.Equal(t.get("string"), []any{"true"}) && slices.Equal(t.get("boolean"), []any{nil}) {
				t.set("boolean", true)
			}
		}),
		requirement.PublishingColumnsMissing: inTables(publishingShowing("string", nil, "<none>")),
		requirement.PublishingColumnsStructured: inTables(func(t *publishingTampered) {
			t.edit("string", func(cell any) any {
				if text, ok := cell.(string); ok && strings.HasPrefix(text, "{") {
					return "map[a:b]"
				}
				return cell
			})
		}),
		requirement.PublishingColumnsFormats: inTables(func(t *publishingTampered) { delete(t.column("byte"), "format") }),

		requirement.PublishingCategoriesDiscovery: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err != nil || !strings.Contains(r.URL.Path, "publishing-categories-discovery.") || response.StatusCode != http.StatusOK {
				return response, err
			}
			return suitetest.Edit(response, func(body map[string]any) {
				resources, _ := body["resources"].([]any)
				for _, item := range resources {
					delete(item.(map[string]any), "categories")
				}
			})
		},
		requirement.PublishingCategoriesForm: suitetest.Accepting(`names\.categories\[1\]: Invalid`),

		requirement.PublishingVersionsSchemas:   inV2("publishing-versions-schemas.", publishingWithout("", "hostPort")),
		requirement.PublishingVersionsSchemasV3: inModels("/openapi/v3/", "publishing-versions-schemas.", publishingWithout("", "hostPort")),
		requirement.PublishingVersionsRenamed: inDocument("/openapi/v2", func(document map[string]any) {
			schemas(document, "publishing-versions-renamed.", func(model map[string]any) {
				if publishingOf(model)["version"] == "v2" {
					publishingWithout("", "port")(model)
				}
			})
		}),
		requirement.PublishingVersionsUnserved: rememberingPaths("publishing-versions-unserved."),
		requirement.PublishingVersionsColumns: inTables(func(t *publishingTampered) {
			if len(t.Rows) == 1 && t.list {
				t.edit("Port", func(any) any { return "1" })
			}
		}),
		requirement.PublishingVersionsColumnsNone: inTables(func(t *publishingTampered) {
			if len(t.Columns) == 2 {
				t.set("Host", nil)
			}
		}),
		requirement.PublishingVersionsMixedStorage: inTables(func(t *publishingTampered) {
			if len(t.Rows) == 2 {
				t.edit("Host:Port", func(any) any { return nil })
			}
		}),
		requirement.PublishingVersionsFailure: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil && r.Table() && response.StatusCode == http.StatusInternalServerError {
				response.Body.Close()
				return suitetest.Answer(r.Request, http.StatusOK, map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1"}), nil
			}
			return response, err
		},
	}
}

// inDocument changes an OpenAPI document.
func inDocument(path string, change func(document map[string]any)) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !strings.HasPrefix(r.URL.Path, path) || response.StatusCode != http.StatusOK {
			return response, err
		}
		return suitetest.Edit(response, change)
	}
}

// inModels changes the schemas in an OpenAPI document that are of a group with a part in its name.
func inModels(path, group string, change func(model map[string]any)) suitetest.Fault {
	return inDocument(path, func(document map[string]any) { schemas(document, group, change) })
}

func inV2(group string, change func(model map[string]any)) suitetest.Fault {
	return inModels("/openapi/v2", group, change)
}

// schemas calls a function for each schema of a group with a part in its name.
func schemas(document map[string]any, group string, visit func(model map[string]any)) {
	all, _ := document["definitions"].(map[string]any)
	if components, ok := document["components"].(map[string]any); ok {
		all, _ = components["schemas"].(map[string]any)
	}
	for _, item := range all {
		if model, ok := item.(map[string]any); ok {
			if name, _ := publishingOf(model)["group"].(string); strings.HasSuffix(name, ".example.com") && strings.Contains(name, group) {
				visit(model)
			}
		}
	}
}

// publishingOf returns the group, the version and the kind of a schema.
func publishingOf(model map[string]any) map[string]any {
	kinds, _ := model["x-kubernetes-group-version-kind"].([]any)
	if len(kinds) == 0 {
		return nil
	}
	kind, _ := kinds[0].(map[string]any)
	return kind
}

// with gives the schema of a field something.
func with(path, key string, value any) func(model map[string]any) {
	return func(model map[string]any) {
		if field := field(model, path); field != nil {
			field[key] = value
		}
	}
}

// publishingWithout takes a field out of the schema of another one, or out of the root.
func publishingWithout(path, name string) func(model map[string]any) {
	return func(model map[string]any) {
		if path != "" {
			model = field(model, path)
		}
		properties, _ := model["properties"].(map[string]any)
		delete(properties, name)
	}
}

// closed gives an open spec a type.
func closed(model map[string]any) {
	if spec := field(model, "spec"); spec != nil && spec["type"] == nil {
		spec["type"] = "object"
	}
}

// remembering goes on showing in OpenAPI v2 what was there once of a group.
func remembering(group string) suitetest.Fault {
	var mu sync.Mutex
	once := map[string]any{}
	return inDocument("/openapi/v2", func(document map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		definitions, _ := document["definitions"].(map[string]any)
		for name, item := range definitions {
			if model, ok := item.(map[string]any); ok {
				if in, _ := publishingOf(model)["group"].(string); strings.Contains(in, group) {
					once[name] = model
				}
			}
		}
		maps.Copy(definitions, once)
	})
}

// rememberingPaths leaves the paths of a group in the OpenAPI v2 document for ever.
func rememberingPaths(group string) suitetest.Fault {
	var mu sync.Mutex
	once := map[string]any{}
	return inDocument("/openapi/v2", func(document map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		paths, _ := document["paths"].(map[string]any)
		for path, item := range paths {
			if strings.Contains(path, "/"+group) {
				once[path] = item
			}
		}
		maps.Copy(paths, once)
	})
}

// publishingTampered is a table to change.
type publishingTampered struct {
	list    bool
	Columns []map[string]any `json:"columnDefinitions"`
	Rows    []map[string]any `json:"rows"`
}

// inTables changes tables.
func inTables(change func(*publishingTampered)) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Table() || response.StatusCode != http.StatusOK {
			return response, err
		}
		raw, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body.Close()
		t := &publishingTampered{list: r.Name == ""}
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		if err := decoder.Decode(t); err != nil {
			return nil, err
		}
		change(t)
		return suitetest.Answer(r.Request, http.StatusOK, map[string]any{
			"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{}, "columnDefinitions": t.Columns, "rows": t.Rows,
		}), nil
	}
}

// column returns a column, one that nobody sees where there is none of the name.
func (t *publishingTampered) column(name string) map[string]any {
	i := t.index(name)
	if i < 0 {
		return map[string]any{}
	}
	return t.Columns[i]
}

func (t *publishingTampered) index(name string) int {
	return slices.IndexFunc(t.Columns, func(c map[string]any) bool { return c["name"] == name })
}

// edit changes the cells of a column.
func (t *publishingTampered) edit(name string, change func(cell any) any) {
	i := t.index(name)
	if i < 0 {
		return
	}
	for _, row := range t.Rows {
		if cells, ok := row["cells"].([]any); ok && i < len(cells) {
			cells[i] = change(cells[i])
		}
	}
}

func (t *publishingTampered) set(name string, value any) {
	t.edit(name, func(any) any { return value })
}

// get returns the cells of a column.
func (t *publishingTampered) get(name string) []any {
	var all []any
	t.edit(name, func(cell any) any {
		all = append(all, cell)
		return cell
	})
	return all
}

// publishingShowing shows one value in place of another.
func publishingShowing(name string, from, to any) func(*publishingTampered) {
	return func(t *publishingTampered) {
		t.edit(name, func(cell any) any {
			if cell == from {
				return to
			}
			return cell
		})
	}
}

// field returns the schema of a field, nil where there is none. Names are parted by dots.
func field(model map[string]any, path string) map[string]any {
	for name := range strings.SplitSeq(path, ".") {
		properties, _ := model["properties"].(map[string]any)
		model, _ = properties[name].(map[string]any)
	}
	return model
}
