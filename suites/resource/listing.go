package resource

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func listing(c *chapter) {
	Describe("listing", func() {
		c.it(requirement.ResourceListMixedStorage,
			"creates samples at each version while it is the storage version, one by way of another, and lists them at all versions", func(ctx SpecContext, r *round) {
				stored := r.storage
				DeferCleanup(func(ctx SpecContext) { r.store(context.WithoutCancel(ctx), stored) })
				versions := r.definition.Versions()
				var mixed []*object
				for i, version := range versions {
					r.store(ctx, version)
					written := version
					if served := r.served(); version == stored || !slices.Contains(served, version) {
						written = served[(i+1)%len(served)] // another, so that it is converted
					}
					mixed = append(mixed, r.create(ctx, written, mostWritten)...)
				}
				if r.blocked != "" {
					r.store(ctx, stored)
					return
				}
				for _, version := range r.served() {
					r.list(ctx, version, mixed)
				}
				r.store(ctx, stored)
			}, suites.Slow)
	})
}

// store makes a version the storage version.
func (r *round) store(ctx context.Context, version string) {
	if version == r.storage {
		return
	}
	r.crd.Change(ctx, fixtures.StoredAt(version))
	r.storage = version
	r.journal.add("", "# the definition is changed to have %s as its storage version", version)
}

// list fails the spec unless a list at a version has all objects, with what was written.
func (r *round) list(ctx context.Context, version string, all []*object) {
	GinkgoHelper()
	items, err := r.crd.At(version).List(ctx)
	if len(all) == 0 {
		r.require(err, "listing at %s", version)
		return
	}
	r.journal.add("", "kubectl get %s.%s.%s -A -o yaml", r.definition.CRD.Spec.Names.Plural, version, r.crd.Group())
	r.must(ctx, all[0], err, "listing at %s objects that are stored at different versions", version)
	r.env.Tried(len(all))
	for _, o := range all {
		i := slices.IndexFunc(items, func(item unstructured.Unstructured) bool { return item.GetName() == o.name })
		if i < 0 {
			r.fail(ctx, o, "created at %s, listed at %s: expected it in the list, got %d others", o.version, version, len(items))
		}
		if items[i].GetAPIVersion() != r.crd.APIVersion(version) {
			r.fail(ctx, o, "created at %s, listed at %s: apiVersion: expected %s, got %s", o.version, version, r.crd.APIVersion(version), items[i].GetAPIVersion())
		}
		if version == o.version {
			r.kept(ctx, o, &items[i], "created and listed at %s, stored at another version than others", version)
		}
	}
}
