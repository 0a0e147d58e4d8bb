// Package reading checks what can be checked of an API server without writing to it: the definitions that are there, and what
// discovery makes of them. It is little; the chapters check the rest on definitions of their own.
package reading

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Checks returns the value for suites.Options.Readings.
func Checks() map[requirement.ID]suites.Reading {
	return map[requirement.ID]suites.Reading{
		requirement.VersionsServingMinimumVersion:    {Text: "asks the API server for its version", Check: minimumVersion},
		requirement.LifecycleLegacyV1beta1Endpoint:   {Text: "asks for apiextensions.k8s.io/v1beta1", Check: legacyEndpoint},
		requirement.VersionsServingDiscovery:         {Text: "looks for every definition of the cluster in discovery", Check: discovery},
		requirement.VersionsNamesPublished:           {Text: "looks the names of every definition of the cluster up in discovery", Check: names},
		requirement.VersionsPriorityAnySet:           {Text: "compares the order of versions of every group of the cluster with the documented algorithm", Check: order},
		requirement.VersionsPriorityPreferredVersion: {Text: "compares the preferred version of every group of the cluster with the documented algorithm", Check: preferred},
		requirement.VersionsPrioritySameEverywhere:   {Text: "compares the document of every group of the cluster with aggregated discovery", Check: sameEverywhere},
	}
}

type definition = apiextensionsv1.CustomResourceDefinition

func minimumVersion(_ context.Context, env *suites.Env) {
	Expect(env.Minor().Less(requirement.Minor{Major: 1, Minor: 16})).To(BeFalse(), "the API server is %s", env.Version())
}

func legacyEndpoint(ctx context.Context, env *suites.Env) {
	Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1").Status).To(Equal(http.StatusOK))
	Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1").Status).To(Equal(http.StatusNotFound))
	Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions").Status).To(Equal(http.StatusNotFound))
}

// established returns the definitions that the API server serves, or skips when there are none.
func established(ctx context.Context, env *suites.Env) []definition {
	list, err := env.CRDs.List(ctx, metav1.ListOptions{})
	env.Require(err, "listing the definitions")
	served := slices.DeleteFunc(list.Items, func(d definition) bool { return !isServed(&d) })
	if len(served) == 0 {
		Skip("needs existing definitions, but the cluster has none")
	}
	return served
}

func isServed(d *definition) bool {
	return d.DeletionTimestamp == nil && apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
}

// each looks at the definitions of the cluster. What is found of one is empty when all is well. Others may change a definition
// meanwhile, so what is found has to last.
func each(ctx context.Context, env *suites.Env, look func(d *definition) string) {
	for _, d := range established(ctx, env) {
		if look(&d) == "" {
			continue
		}
		Eventually(ctx, func() string {
			now, err := env.CRDs.Get(ctx, d.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return ""
			}
			env.Require(err, "reading the definition %s", d.Name)
			if !isServed(now) {
				return ""
			}
			return look(now)
		}).Should(BeEmpty(), d.Name)
	}
}

// shown returns what discovery says of the resource of a definition at a version, nil if it says nothing.
func shown(ctx context.Context, env *suites.Env, d *definition, version string) *metav1.APIResource {
	answer := env.Get(ctx, "/apis/"+d.Spec.Group+"/"+version)
	if answer.Status == http.StatusNotFound {
		return nil
	}
	var list metav1.APIResourceList
	env.Require(json.Unmarshal(answer.Body, &list), "decoding the discovery of %s/%s", d.Spec.Group, version)
	for i := range list.APIResources {
		if list.APIResources[i].Name == d.Spec.Names.Plural {
			return &list.APIResources[i]
		}
	}
	return nil
}

// everyVersion looks at what discovery shows of each served version of each definition, which is nil for nothing.
func everyVersion(ctx context.Context, env *suites.Env, look func(d *definition, shown *metav1.APIResource) string) {
	each(ctx, env, func(d *definition) string {
		for _, version := range d.Spec.Versions {
			if !version.Served {
				continue
			}
			if found := look(d, shown(ctx, env, d, version.Name)); found != "" {
				return version.Name + ": " + found
			}
		}
		return ""
	})
}

func discovery(ctx context.Context, env *suites.Env) {
	everyVersion(ctx, env, func(d *definition, shown *metav1.APIResource) string {
		if shown == nil {
			return "discovery does not show it"
		}
		if shown.Kind != d.Spec.Names.Kind {
			return fmt.Sprintf("discovery shows the kind %s, and it is %s", shown.Kind, d.Spec.Names.Kind)
		}
		if shown.Namespaced != (d.Spec.Scope == apiextensionsv1.NamespaceScoped) {
			return fmt.Sprintf("discovery shows namespaced: %t, and the scope is %s", shown.Namespaced, d.Spec.Scope)
		}
		return ""
	})
}

func names(ctx context.Context, env *suites.Env) {
	everyVersion(ctx, env, func(d *definition, shown *metav1.APIResource) string {
		if shown == nil {
			return "" // it has no names then
		}
		accepted := d.Status.AcceptedNames
		if shown.SingularName != accepted.Singular {
			return fmt.Sprintf("discovery shows the singular name %q, and %q was accepted", shown.SingularName, accepted.Singular)
		}
		if !slices.Equal(slices.Sorted(slices.Values(shown.ShortNames)), slices.Sorted(slices.Values(accepted.ShortNames))) {
			return fmt.Sprintf("discovery shows the short names %q, and %q were accepted", shown.ShortNames, accepted.ShortNames)
		}
		return ""
	})
}

// group is an API group as it is to be and as it is shown.
type group struct {
	name     string
	versions []string // that definitions serve, by priority
	shown    metav1.APIGroup
}

// inOrder returns the versions in the order of discovery.
func (g group) inOrder() []string {
	versions := make([]string, 0, len(g.shown.Versions))
	for _, v := range g.shown.Versions {
		versions = append(versions, v.Version)
	}
	return versions
}

// groups returns the API groups of several versions that definitions alone make up. It skips when there are none.
func groups(ctx context.Context, env *suites.Env) []group {
	served := map[string]map[string]bool{}
	for _, d := range established(ctx, env) {
		if served[d.Spec.Group] == nil {
			served[d.Spec.Group] = map[string]bool{}
		}
		for _, version := range d.Spec.Versions {
			if version.Served {
				served[d.Spec.Group][version.Name] = true
			}
		}
	}
	var all []group
	for _, name := range slices.Sorted(maps.Keys(served)) {
		g := group{name: name, versions: suites.ByPriority(slices.Collect(maps.Keys(served[name])))}
		if len(g.versions) < 2 {
			continue
		}
		answer := env.Get(ctx, "/apis/"+name)
		if answer.Status == http.StatusNotFound {
			continue // its definitions are gone by now, or not shown
		}
		env.Require(json.Unmarshal(answer.Body, &g.shown), "decoding the group %s", name)
		// Another server behind the aggregator may serve versions too, with an order of its own. What definitions do not
		// show at all is for VersionsServingDiscovery to find.
		if slices.Equal(slices.Sorted(slices.Values(g.inOrder())), slices.Sorted(slices.Values(g.versions))) {
			all = append(all, g)
		}
	}
	if len(all) == 0 {
		Skip("needs an API group with several versions, and no definition of the cluster makes up one")
	}
	return all
}

func order(ctx context.Context, env *suites.Env) {
	for _, g := range groups(ctx, env) {
		Expect(g.inOrder()).To(Equal(g.versions), g.name)
	}
}

func preferred(ctx context.Context, env *suites.Env) {
	for _, g := range groups(ctx, env) {
		Expect(g.shown.PreferredVersion.Version).To(Equal(g.versions[0]), g.name)
	}
}

func sameEverywhere(ctx context.Context, env *suites.Env) {
	// One follows the other when a definition changes.
	Eventually(ctx, func() string {
		aggregated := aggregated(ctx, env)
		for _, g := range groups(ctx, env) {
			if !slices.Equal(aggregated[g.name], g.inOrder()) {
				return fmt.Sprintf("%s: the document of the group has %v, aggregated discovery %v", g.name, g.inOrder(), aggregated[g.name])
			}
		}
		return ""
	}).Should(BeEmpty())
}

// aggregated returns the versions of each group in the order of aggregated discovery.
func aggregated(ctx context.Context, env *suites.Env) map[string][]string {
	answer := env.Do(ctx, http.MethodGet, "/apis", nil, http.Header{"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}})
	var list apidiscoveryv2.APIGroupDiscoveryList
	env.Require(json.Unmarshal(answer.Body, &list), "decoding aggregated discovery")
	versions := map[string][]string{}
	for _, item := range list.Items {
		for _, version := range item.Versions {
			versions[item.Name] = append(versions[item.Name], version.Version)
		}
	}
	return versions
}
