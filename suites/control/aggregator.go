package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) aggregator() {
	Describe("the aggregator", func() {
		// Every spec looks at the same definition: two versions with schemas of their own, and subresources.
		two := c.env.With(fixtures.Webhook, fixtures.WithSubresources())

		two.It(requirement.ControlAggregatorAPIServices,
			"looks for the API service of each version", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, aggregation, may("get", "apiregistration.k8s.io", "apiservices"))
				for _, version := range []string{older, newer} {
					c.soon(ctx, func(ctx context.Context) (apiService, error) { return c.apiService(ctx, crd, version) }).
						Should(Equal(apiService{Group: crd.Group(), Version: version, Local: true, Available: true}), "there must be an API service for %s", version)
				}
			})

		two.It(requirement.ControlAggregatorDiscovery,
			"looks for the group in aggregated discovery", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, aggregation)
				shown := func(version string) shownVersion {
					return shownVersion{Version: version, Fresh: true, Plural: "crontabs", Kind: "CronTab", Namespaced: true, Subresources: []string{"scale", "status"}}
				}
				c.soon(ctx, func(ctx context.Context) ([]shownVersion, error) { return c.aggregated(ctx, crd.Group()) }).
					Should(Equal([]shownVersion{shown(newer), shown(older)}), "the versions must be listed by priority, with everything they have")
				Expect(c.aggregated(ctx, "apps")).NotTo(BeEmpty(), "groups of other API servers must be there too")
			})

		two.It(requirement.ControlAggregatorOpenapiV2,
			"looks for the schemas in the OpenAPI document of the whole API", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, aggregation)
				c.soon(ctx, func(ctx context.Context) ([]string, error) { return c.openAPIV2(ctx, crd) }).Should(SatisfyAll(
					ContainElements(
						crd.Path(older), crd.Path(newer), crd.Path(newer)+"/{name}/status", crd.Path(newer)+"/{name}/scale",
						older+" hostPort", newer+" host", newer+" port",
					), Not(ContainElement(newer+" hostPort")),
				), "the paths and the schemas of both versions must be there")
			})

		two.It(requirement.ControlAggregatorOpenapiV3,
			"looks for the schemas in the OpenAPI document of each version", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, aggregation)
				fields := func(version string) func(context.Context) ([]string, error) {
					return func(ctx context.Context) ([]string, error) { return c.openAPIV3(ctx, crd, version) }
				}
				c.soon(ctx, fields(older)).Should(SatisfyAll(ContainElement("hostPort"), Not(ContainElement("host"))), "the schema of %s must be there", older)
				c.soon(ctx, fields(newer)).Should(SatisfyAll(ContainElements("host", "port"), Not(ContainElement("hostPort"))), "the schema of %s must be there", newer)
			})

		two.It(requirement.ControlAggregatorUnserved,
			"stops serving a version", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, aggregation, may("get", "apiregistration.k8s.io", "apiservices"))
				published := func(ctx context.Context) ([]string, error) { return c.published(ctx, crd) }
				c.soon(ctx, published).Should(Equal([]string{older + " APIService", older + " discovery", older + " OpenAPI v2"}), "the version must be there first")
				crd.Change(ctx, fixtures.StoredAt(newer), fixtures.NotServed(older))
				c.soon(ctx, published).Should(BeEmpty(), "the version must disappear everywhere")
			})
	})
}

// apiService is what matters of an APIService.
type apiService struct {
	Group, Version   string
	Local, Available bool
}

// apiService reads the API service of a version.
func (c chapter) apiService(ctx context.Context, crd *suites.Resource, version string) (apiService, error) {
	object, err := c.resource("apiregistration.k8s.io/v1", "apiservices").Get(ctx, version+"."+crd.Group(), metav1.GetOptions{})
	if err != nil {
		return apiService{}, err
	}
	body, err := object.MarshalJSON()
	if err != nil {
		return apiService{}, err
	}
	var read struct {
		Spec struct {
			Group   string    `json:"group"`
			Version string    `json:"version"`
			Service *struct{} `json:"service"`
		} `json:"spec"`
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &read); err != nil {
		return apiService{}, err
	}
	available := slices.ContainsFunc(read.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == "Available" && c.Status == metav1.ConditionTrue
	})
	return apiService{read.Spec.Group, read.Spec.Version, read.Spec.Service == nil, available}, nil
}

// shownVersion is what aggregated discovery says of a version with one resource.
type shownVersion struct {
	Version      string
	Fresh        bool
	Plural, Kind string
	Namespaced   bool
	Subresources []string
}

// aggregated returns what aggregated discovery says of the first resource of each version of a group.
func (c chapter) aggregated(ctx context.Context, group string) ([]shownVersion, error) {
	answer := c.env.Do(ctx, http.MethodGet, "/apis", nil, http.Header{"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}})
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := decode(answer, &list); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(g apidiscoveryv2.APIGroupDiscovery) bool { return g.Name == group })
	if i < 0 {
		return nil, nil
	}
	shown := make([]shownVersion, 0, len(list.Items[i].Versions))
	for _, version := range list.Items[i].Versions {
		one := shownVersion{Version: version.Version, Fresh: version.Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, resource := range version.Resources[:min(len(version.Resources), 1)] {
			one.Plural, one.Namespaced = resource.Resource, resource.Scope == apidiscoveryv2.ScopeNamespace
			if resource.ResponseKind != nil {
				one.Kind = resource.ResponseKind.Kind
			}
			for _, sub := range resource.Subresources {
				one.Subresources = append(one.Subresources, sub.Subresource)
			}
		}
		slices.Sort(one.Subresources)
		shown = append(shown, one)
	}
	return shown, nil
}

// model is a schema in an OpenAPI document.
type model struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Kinds      []struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"x-kubernetes-group-version-kind"`
}

// openAPIV2 returns the paths for a definition, with the namespace of the run filled in, and the fields of its objects, each as
// version and name.
func (c chapter) openAPIV2(ctx context.Context, crd *suites.Resource) ([]string, error) {
	var document struct {
		Paths       map[string]json.RawMessage `json:"paths"`
		Definitions map[string]model           `json:"definitions"`
	}
	if err := decode(c.env.Get(ctx, "/openapi/v2"), &document); err != nil {
		return nil, err
	}
	if _, found := document.Paths["/api/v1/namespaces/{namespace}/pods"]; !found {
		return nil, fmt.Errorf("the document has %d paths, but none for pods", len(document.Paths))
	}
	var all []string
	for path := range document.Paths {
		if strings.HasPrefix(path, "/apis/"+crd.Group()+"/") {
			all = append(all, strings.ReplaceAll(path, "{namespace}", suites.Namespace))
		}
	}
	for _, definition := range document.Definitions {
		for _, kind := range definition.Kinds {
			if kind.Group == crd.Group() && kind.Kind == "CronTab" {
				for field := range definition.Properties {
					all = append(all, kind.Version+" "+field)
				}
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// openAPIV3 returns the fields of the objects of a version, nothing when there is no document for it.
func (c chapter) openAPIV3(ctx context.Context, crd *suites.Resource, version string) ([]string, error) {
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := decode(c.env.Get(ctx, "/openapi/v3"), &index); err != nil {
		return nil, err
	}
	if _, found := index.Paths["apis/apps/v1"]; !found {
		return nil, fmt.Errorf("the index has %d documents, but none for apps/v1", len(index.Paths))
	}
	entry, found := index.Paths["apis/"+crd.APIVersion(version)]
	if !found {
		return nil, nil
	}
	var document struct {
		Components struct {
			Schemas map[string]model `json:"schemas"`
		} `json:"components"`
	}
	if err := decode(c.env.Get(ctx, entry.URL), &document); err != nil {
		return nil, err
	}
	var fields []string
	for _, schema := range document.Components.Schemas {
		for _, kind := range schema.Kinds {
			if kind.Version == version && kind.Kind == "CronTab" {
				for field := range schema.Properties {
					fields = append(fields, field)
				}
			}
		}
	}
	slices.Sort(fields)
	return fields, nil
}

// published returns where the aggregator shows the older version.
func (c chapter) published(ctx context.Context, crd *suites.Resource) ([]string, error) {
	var where []string
	_, err := c.apiService(ctx, crd, older)
	if unlessGone(err) != nil {
		return nil, err
	}
	if err == nil {
		where = append(where, older+" APIService")
	}
	shown, err := c.aggregated(ctx, crd.Group())
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(shown, func(v shownVersion) bool { return v.Version == older }) {
		where = append(where, older+" discovery")
	}
	document, err := c.openAPIV2(ctx, crd)
	if err != nil {
		return nil, err
	}
	if slices.Contains(document, crd.Path(older)) {
		where = append(where, older+" OpenAPI v2")
	}
	return where, nil
}
