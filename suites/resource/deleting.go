package resource

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/requirement"
)

// hold is the finalizer of objects that are to be kept.
const hold = "crdconform.dev/hold"

func deleting(c *chapter) {
	Describe("deleting", func() {
		c.it(requirement.ResourceDeleteEveryVersion,
			"deletes at each version what was created at each, with a finalizer and without", func(ctx SpecContext, r *round) {
				r.aboutWhole = true
				for _, version := range r.served() {
					for _, other := range r.served() {
						if o := r.one(ctx, version); o != nil {
							r.deleteHeld(ctx, o, other)
						}
						if o := r.one(ctx, version); o != nil {
							r.delete(ctx, o, other)
							r.gone(ctx, o, "deleted at "+other)
						}
					}
				}
			})

		c.it(requirement.ResourceDeleteCollection,
			"creates objects at all versions and deletes them by their label, at each version", func(ctx SpecContext, r *round) {
				r.aboutWhole = true
				for _, version := range r.served() {
					r.deleteLabelled(ctx, version)
				}
			})
	})
}

func (r *round) delete(ctx context.Context, o *object, version string) {
	GinkgoHelper()
	err := r.crd.At(version).Delete(ctx, o.name)
	r.journal.add(o.name, "kubectl delete --wait=false %s", r.address(version, o.name))
	r.must(ctx, o, err, "deleting at %s what was created at %s", version, o.version)
}

// deleteHeld deletes an object with a finalizer, which is put there and taken away at the version where it is deleted.
func (r *round) deleteHeld(ctx context.Context, o *object, version string) {
	GinkgoHelper()
	if !r.finalizers(ctx, o, version, `["`+hold+`"]`) {
		return
	}
	r.delete(ctx, o, version)
	for _, other := range r.served() {
		got := r.read(ctx, o, other)
		if got == nil {
			continue
		}
		if got.GetDeletionTimestamp() == nil {
			r.fail(ctx, o, "deleted at %s with a finalizer, read at %s: metadata.deletionTimestamp: expected a time, got nothing", version, other)
		}
	}
	if r.finalizers(ctx, o, version, "null") {
		r.gone(ctx, o, "deleted at "+version+" and its finalizer removed there")
	}
}

// finalizers sets the finalizers of an object at a version. It is false when the API server refuses to write what the
// webhook made of the object.
func (r *round) finalizers(ctx context.Context, o *object, version, list string) bool {
	GinkgoHelper()
	patch := `{"metadata":{"finalizers":` + list + `}}`
	_, err := r.crd.At(version).MergePatch(ctx, o.name, patch)
	r.journal.add(o.name, "kubectl patch %s --type=merge -p %s", r.address(version, o.name), shell.Quote(patch))
	if refused(err) {
		r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "changing finalizers at %s of what was created at %s failed: %v", version, o.version, err)
		return false
	}
	r.must(ctx, o, err, "changing finalizers at %s of what was created at %s", version, o.version)
	return true
}

// gone fails the spec if an object is still there.
func (r *round) gone(ctx context.Context, o *object, after string) {
	GinkgoHelper()
	r.env.Tried(1)
	for _, version := range r.served() {
		_, err := r.crd.At(version).Get(ctx, o.name)
		if !apierrors.IsNotFound(err) {
			r.must(ctx, o, err, "reading at %s what was created at %s and %s", version, o.version, after)
			r.fail(ctx, o, "created at %s, %s, read at %s: expected it to be deleted, got the object", o.version, after, version)
		}
	}
}

// deleteLabelled creates an object at each version and deletes all of them at one.
func (r *round) deleteLabelled(ctx context.Context, version string) {
	GinkgoHelper()
	const label = "crdconform.dev/collection"
	var all []*object
	for _, written := range r.served() {
		o := r.one(ctx, written)
		if o == nil {
			continue
		}
		patch := `{"metadata":{"labels":{"` + label + `":"` + version + `"}}}`
		_, err := r.crd.At(written).MergePatch(ctx, o.name, patch)
		r.journal.add(o.name, "kubectl patch %s --type=merge -p %s", r.address(written, o.name), shell.Quote(patch))
		if refused(err) {
			r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "setting a label at %s failed: %v", written, err)
			continue
		}
		r.must(ctx, o, err, "setting a label at %s", written)
		all = append(all, o)
	}
	if len(all) == 0 {
		return
	}
	err := r.crd.At(version).DeleteLabelled(ctx, label+"="+version)
	r.journal.add("", "kubectl delete %s.%s.%s -l %s=%s", r.definition.CRD.Spec.Names.Plural, version, r.crd.Group(), label, version)
	r.must(ctx, all[0], err, "deleting all objects with a label at %s", version)
	for _, o := range all {
		r.gone(ctx, o, "deleted by its label at "+version)
	}
}
