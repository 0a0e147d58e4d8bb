package versions

import (
	"encoding/json"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// documented is the documents' example, in the order that they print.
var documented = []string{"v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"}

func priority(env *suites.Env, none suites.Setup) {
	Describe("priority", func() {
		env.It(requirement.VersionsPriorityOrderIrrelevant,
			"installs the documents' ten versions in shuffled orders", func(ctx SpecContext) {
				random := env.Rand(requirement.VersionsPriorityOrderIrrelevant)
				for n := range 4 {
					shuffled := slices.Clone(documented)
					random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
					crd := env.Install(ctx, requirement.VersionsPriorityOrderIrrelevant, n, fixtures.Priority, fixtures.WithVersions(shuffled...))
					Expect(discovered(ctx, env, crd)).To(Equal(documented), "the definition has them as %v", shuffled)
				}
			})

		none.It(requirement.VersionsPriorityPreferredVersion,
			"asks for the preferred one of v1beta1 and v1", func(ctx SpecContext, crd *suites.Resource) {
				Expect(discovered(ctx, env, crd)).To(ConsistOf("v1beta1", "v1"))
				Expect(groupOf(ctx, env, crd).PreferredVersion.Version).To(Equal("v1"))
			})

		inOrder := func(id requirement.ID, text string, versions ...string) {
			reversed := slices.Clone(versions)
			slices.Reverse(reversed)
			env.With(fixtures.Priority, named(reversed...)).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
				Expect(discovered(ctx, env, crd)).To(Equal(versions))
			})
		}
		inOrder(requirement.VersionsPriorityKubernetesFirst,
			"compares an alpha version with names of other forms", "v1alpha1", "a1", "version1", "zz")
		inOrder(requirement.VersionsPriorityNumbersDescending,
			"compares versions by their number", "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1")
		inOrder(requirement.VersionsPriorityStability,
			"compares a stable version with later betas and alphas", "v1", "v2beta1", "v1beta1", "v3alpha1", "v1alpha1")
		inOrder(requirement.VersionsPrioritySecondNumber,
			"compares versions by the number after beta and alpha", "v1beta10", "v1beta9", "v1beta1", "v1alpha10", "v1alpha9")
		inOrder(requirement.VersionsPriorityOthersAlphabetical,
			"compares names of other forms", "bar", "foo1", "foo10", "foo2")
		inOrder(requirement.VersionsPriorityDocumentedList,
			"installs the documents' ten versions", documented...)
		inOrder(requirement.VersionsPriorityIncompletePatterns,
			"compares v1beta and the like with names of other forms", "v1alpha1", "foo10", "v1beta", "v2alpha", "v9rc1")

		env.It(requirement.VersionsPriorityAnySet,
			"installs generated sets of versions and compares their order with the documented algorithm", func(ctx SpecContext) {
				random := env.Rand(requirement.VersionsPriorityAnySet)
				for n := range 8 {
					versions := generate(random)
					crd := env.Install(ctx, requirement.VersionsPriorityAnySet, n, fixtures.Priority, named(versions...))
					Expect(discovered(ctx, env, crd)).To(Equal(suites.ByPriority(versions)), "the definition has them as %v", versions)
				}
			})

		env.With(fixtures.Priority).It(requirement.VersionsPrioritySameEverywhere,
			"compares the document of the group with aggregated discovery", func(ctx SpecContext, crd *suites.Resource) {
				Eventually(ctx, func() []string { return aggregated(ctx, env, crd.Group()) }).Should(Equal(discovered(ctx, env, crd)))
			})
	})
}

// named gives a definition versions of the given names, the first of which is the storage version.
func named(names ...string) fixtures.Option {
	return func(crd *definitionType) {
		template := crd.Spec.Versions[0]
		crd.Spec.Versions = nil
		for i, name := range names {
			version := *template.DeepCopy()
			version.Name, version.Storage = name, i == 0
			crd.Spec.Versions = append(crd.Spec.Versions, version)
		}
	}
}

// groupOf returns what discovery says of the group of a definition.
func groupOf(ctx SpecContext, env *suites.Env, crd *suites.Resource) metav1.APIGroup {
	var group metav1.APIGroup
	answer := env.Get(ctx, "/apis/"+crd.Group())
	env.Require(json.Unmarshal(answer.Body, &group), "decoding the group")
	return group
}

// discovered returns the versions of a definition's group in the order of discovery, once it has all that are served: an
// aggregator takes them up one by one. The first must be the preferred one.
func discovered(ctx SpecContext, env *suites.Env, crd *suites.Resource) []string {
	served := 0
	for _, v := range crd.Definition(ctx).Spec.Versions {
		if v.Served {
			served++
		}
	}
	Expect(served).NotTo(BeZero())
	var group metav1.APIGroup
	Eventually(ctx, func() []metav1.GroupVersionForDiscovery {
		group = groupOf(ctx, env, crd)
		return group.Versions
	}).Should(HaveLen(served))
	versions := make([]string, 0, len(group.Versions))
	for _, v := range group.Versions {
		versions = append(versions, v.Version)
	}
	Expect(group.PreferredVersion.Version).To(Equal(versions[0]), "the preferred version must be the first")
	return versions
}

// aggregated returns the versions of a group in the order of aggregated discovery.
func aggregated(ctx SpecContext, env *suites.Env, name string) []string {
	answer := env.Do(ctx, http.MethodGet, "/apis", nil, http.Header{
		"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
	})
	var list apidiscoveryv2.APIGroupDiscoveryList
	env.Require(json.Unmarshal(answer.Body, &list), "decoding aggregated discovery")
	var versions []string
	for _, group := range list.Items {
		if group.Name == name {
			for _, v := range group.Versions {
				versions = append(versions, v.Version)
			}
		}
	}
	return versions
}
