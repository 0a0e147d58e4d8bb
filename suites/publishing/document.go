package publishing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/suites"
)

// documentPoll is how often OpenAPI documents are asked for. They have everything in them that the API server serves.
const documentPoll = 100 * time.Millisecond

// models are schemas by the version and the kind that they are of, such as "v1 CronTab".
type models map[string]map[string]any

// document is what an OpenAPI document has of a group.
type document struct {
	paths  []string // sorted; of v2 only
	models models   // without those of lists
}

// read reads what a document has of a group, nothing when there is none at the path.
func (c chapter) read(ctx context.Context, path, group string) (document, error) {
	// What is compressed takes longer, since all is local or nearly so.
	answer := c.env.Do(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"identity"}})
	switch answer.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return document{}, nil
	default:
		return document{}, fmt.Errorf("GET %s: HTTP status %d", path, answer.Status)
	}
	var all struct {
		Paths       map[string]json.RawMessage `json:"paths"`
		Definitions map[string]json.RawMessage `json:"definitions"` // of v2
		Components  struct {
			Schemas map[string]json.RawMessage `json:"schemas"` // of v3
		} `json:"components"`
	}
	if err := json.Unmarshal(answer.Body, &all); err != nil {
		return document{}, err
	}
	d := document{models: models{}}
	for path := range all.Paths {
		if strings.HasPrefix(path, "/apis/"+group+"/") {
			d.paths = append(d.paths, path)
		}
	}
	slices.Sort(d.paths)
	for _, schemas := range []map[string]json.RawMessage{all.Definitions, all.Components.Schemas} {
		for _, raw := range schemas {
			if err := d.models.add(raw, group); err != nil {
				return document{}, err
			}
		}
	}
	return d, nil
}

// add decodes a schema if it is of a group, and of no list.
func (m models) add(raw []byte, group string) error {
	if !bytes.Contains(raw, []byte(`"`+group+`"`)) {
		return nil
	}
	var of struct {
		Kinds []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	}
	var model map[string]any
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &model); err != nil {
		return err
	}
	for _, kind := range of.Kinds {
		if kind.Group == group && !strings.HasSuffix(kind.Kind, "List") {
			m[kind.Version+" "+kind.Kind] = model
		}
	}
	return nil
}

// v2 returns what reads the schemas of a group in the OpenAPI v2 document.
func (c chapter) v2(crd *suites.Resource) func(context.Context) (models, error) {
	return func(ctx context.Context) (models, error) {
		d, err := c.read(ctx, "/openapi/v2", crd.Group())
		return d.models, err
	}
}

// paths returns what reads the paths of a group in the OpenAPI v2 document.
func (c chapter) paths(crd *suites.Resource) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		d, err := c.read(ctx, "/openapi/v2", crd.Group())
		return d.paths, err
	}
}

// v3 returns what reads the schemas of a group in the OpenAPI v3 document of a version.
func (c chapter) v3(crd *suites.Resource, version string) func(context.Context) (models, error) {
	return func(ctx context.Context) (models, error) {
		d, err := c.read(ctx, "/openapi/v3/apis/"+crd.APIVersion(version), crd.Group())
		return d.models, err
	}
}

// soon waits until something that is read from a document is as it should be.
func soon[T any](ctx context.Context, read func(context.Context) (T, error)) AsyncAssertion {
	return Eventually(ctx, read).WithPolling(documentPoll)
}

// published waits until the schema of v1 is in a document, and returns it.
func published(ctx context.Context, read func(context.Context) (models, error)) map[string]any {
	GinkgoHelper()
	var all models
	Eventually(ctx, func(ctx context.Context) (models, error) {
		var err error
		all, err = read(ctx)
		return all, err
	}).WithPolling(documentPoll).Should(HaveKey("v1 CronTab"), "it must be there")
	return all["v1 CronTab"]
}

// fields returns the names of the fields of a schema, without those that every object has, sorted.
func fields(model map[string]any) []string {
	properties, _ := model["properties"].(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(name string) bool {
		return name == "apiVersion" || name == "kind" || name == "metadata"
	})
}

// field returns the schema of a field, nil where there is none. Names are parted by dots.
func field(model map[string]any, path string) map[string]any {
	for name := range strings.SplitSeq(path, ".") {
		properties, _ := model["properties"].(map[string]any)
		model, _ = properties[name].(map[string]any)
	}
	return model
}
