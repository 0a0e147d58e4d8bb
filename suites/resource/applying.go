package resource

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// The managers that apply, and what belongs to the second alone.
const (
	first  = "crdconform-first"
	second = "crdconform-second"

	shared = "crdconform.dev/second"      // a label and an annotation of the second manager
	kept   = "crdconform.dev/second-kept" // an annotation that it does not give up
)

func applying(c *chapter) {
	Describe("server-side apply", func() {
		c.it(requirement.ResourceApplyTwoManagers,
			"has one manager apply a sample at a version, and another a label and annotations at another",
			func(ctx SpecContext, r *round) { r.eachPair(ctx, r.share) })

		c.it(requirement.ResourceApplyManagedFields,
			"puts what two managers applied at another version, and moves one of them to that version",
			func(ctx SpecContext, r *round) { r.eachPair(ctx, r.move) })
	})
}

// eachPair has the first and the last sample applied at each version, and those between them if they have fields that the first lacks, and calls a function for each with each other version; with the same
// when there is but one.
func (r *round) eachPair(ctx context.Context, visit func(ctx context.Context, o *object, other string)) {
	served := r.served()
	for _, version := range served {
		for _, other := range served {
			if version == other && len(served) > 1 {
				continue
			}
			samples := r.samples(ctx, version)
			r.turn += len(samples) // or generated ones would have the names of the user's
			o, err := r.applied(ctx, version, samples, "-with-"+other)
			r.require(err, "applying the samples at %s, all of which the API server rejects", version)
			if o == nil {
				continue
			}
			visit(ctx, o, other)
			for i := 1; i < len(samples); i++ {
				if i < len(samples)-1 && len(samples) <= most {
					continue
				}
				if o, _ = r.applied(ctx, version, samples[i:i+1], "-again-with-"+other); o != nil {
					visit(ctx, o, other)
				}
			}
		}
	}
}

// applied has the first manager apply the first of some samples that the API server accepts. It is nil when the webhook fails, and with the last
// error when the API server rejects all.
func (r *round) applied(ctx context.Context, version string, samples []*unstructured.Unstructured, suffix string) (o *object, err error) {
	GinkgoHelper()
	for _, sample := range samples {
		delete(sample.Object, "status")
		sample.SetName(sample.GetName() + suffix)
		o := r.of(version, sample)
		o.applied = true
		r.removeAfter(o.name)
		if err = r.apply(ctx, o, version, sample, first); err == nil {
			r.wrote(applies, version, sample.Object)
			return o, nil
		}
		if r.unconverted(ctx, err) {
			r.blame(ctx, requirement.ResourceCreateEveryVersion, o, "applying an object at %s (stored at %s): expected it to be created, got: %v", version, r.storage, err)
			return nil, nil
		}
		if !refused(err) {
			break
		}
	}
	return nil, err
}

// apply has a manager apply an object at a version.
func (r *round) apply(ctx context.Context, o *object, version string, sent *unstructured.Unstructured, manager string) error {
	_, err := r.crd.At(version).Apply(ctx, sent, manager)
	r.journal.addWith(version, sent, o.name, "kubectl apply --server-side --force-conflicts --field-manager=%s", manager)
	return err
}

// must fails the spec when the webhook did not convert, and makes it Errored when something else went wrong.
func (r *round) must(ctx context.Context, o *object, err error, format string, arguments ...any) {
	GinkgoHelper()
	if r.unconverted(ctx, err) {
		r.fail(ctx, o, format+" (stored at %s) failed: %v", append(arguments, r.storage, err)...)
	}
	r.require(err, format, arguments...)
}

// merged is must for an apply, which is false when the webhook failed over fields of a manager that are none: another requirement reports that.
func (r *round) merged(ctx context.Context, o *object, err error, format string, arguments ...any) bool {
	GinkgoHelper()
	if other := r.blockerOfParts(ctx, err); other != "" {
		r.leave(other)
		return false
	}
	r.must(ctx, o, err, format, arguments...)
	return true
}

// part is what the second manager applies when it gives up its label: no fields of its own, but metadata.
func (r *round) part(o *object) *unstructured.Unstructured {
	part := &unstructured.Unstructured{Object: map[string]any{"kind": r.definition.CRD.Spec.Names.Kind}}
	part.SetName(o.name)
	part.SetAnnotations(map[string]string{kept: "kept"})
	return part
}

// partWithLabel is what the second manager applies at first.
func (r *round) partWithLabel(o *object) *unstructured.Unstructured {
	part := r.part(o)
	part.SetAnnotations(map[string]string{kept: "kept", shared: "second"})
	part.SetLabels(map[string]string{shared: "second"})
	return part
}

// returns reports whether what an object is to be comes back from another version as it was, but for the defaults that API servers fill in when
// they read from storage.
func (r *round) returns(ctx context.Context, o *object, sent *unstructured.Unstructured, other string) bool {
	back := r.convert(ctx, o.version, r.convert(ctx, other, sent))
	if back == nil {
		return false
	}
	if o.version == r.storage {
		r.definition.Schema(o.version).Prepare(back.Object)
	}
	lost, _ := r.losses(o.version, sent.Object, back.Object)
	return len(lost) == 0
}

// accepted reports whether an apply that makes an object what is given, and is like one that was accepted before, is not refused. It fails the
// spec if it is what the webhook made of the object that is refused.
func (r *round) accepted(ctx context.Context, o *object, sent *unstructured.Unstructured, other string, err error, format string, arguments ...any) bool {
	GinkgoHelper()
	if !refused(err) {
		return true
	}
	if r.returns(ctx, o, sent, other) { // it is the API server that makes it so when it merges
		r.env.Fruitless(format+" is refused, though the webhook returns what is applied as it was: %v", append(arguments, err)...)
		return false
	}
	r.fail(ctx, o, format+": expected it to be accepted as before, got: %v", append(arguments, err)...)
	return false
}

// share has a second manager apply at another version, and both apply again; then each gives up what it can.
func (r *round) share(ctx context.Context, o *object, other string) {
	GinkgoHelper()
	if !r.sound(ctx, o) {
		return
	}
	both := func() (between *unstructured.Unstructured, merged bool) {
		err := r.apply(ctx, o, other, r.partWithLabel(o), second)
		if refused(err) {
			r.invalid(ctx, o, "a second manager applying a label at %s to what was applied at %s: expected it to be accepted, got: %v", other, o.version, err)
			return nil, false
		}
		if !r.merged(ctx, o, err, "a second manager applying a label at %s to what was applied at %s", other, o.version) {
			return nil, false
		}
		between = r.inStorage(ctx, o)
		err = r.apply(ctx, o, o.version, o.sent, first)
		if !r.accepted(ctx, o, o.sent, other, err, "applying again at %s, after a second manager at %s", o.version, other) {
			return nil, false
		}
		return between, r.merged(ctx, o, err, "applying again at %s, after a second manager at %s", o.version, other)
	}
	if _, merged := both(); !merged {
		return
	}
	var before, stored, between *unstructured.Unstructured
	after := r.read(ctx, o, o.version)
	for range 2 { // what the webhook adds may come the first time
		var merged bool
		before, stored = after, r.inStorage(ctx, o)
		if between, merged = both(); !merged {
			return
		}
		if after = r.read(ctx, o, o.version); before == nil || after == nil {
			return
		}
		if after.GetResourceVersion() == before.GetResourceVersion() {
			break
		}
	}
	r.env.Tried(1)
	r.kept(ctx, o, after, "applied at %s, a label and annotations applied at %s, read at %s", o.version, other, o.version)
	r.has(ctx, o, after, shared, "both managers applied")
	if before.GetResourceVersion() != after.GetResourceVersion() && !r.losesByRight(o) {
		part := none
		if len(r.definition.Schema(o.version).Differences(before.Object, after.Object)) == 0 {
			part = requirement.PartSameValues // writes needlessly, but no client sees a different object
		}
		for _, l := range r.differing(o.version, before, after) {
			if part == none && !l.Added {
				r.lost = append(r.lost, loss{o.version, l})
			}
		}
		spelled := ""
		if other := otherwise(o.sent, after); len(other) > 0 && part != none {
			spelled = ", but what was applied comes back in another order or spelling:\n" + lines(other)
		}
		r.violated(ctx, part, o, "applying the same again, at %s and at %s: expected nothing to change, got a new resourceVersion%s%s%s%s", o.version, other, r.difference(o.version, before, after), spelled,
			reapplied(other, stored, between), reapplied(o.version, between, r.inStorage(ctx, o)))
	}
	r.giveUp(ctx, o, other)
}

// losesByRight reports whether an object has anything that may be lost: then two managers cannot but take it in turns to lose
// and to restore it.
func (r *round) losesByRight(o *object) bool {
	return slices.ContainsFunc(corpus.Leaves(o.sent), func(path string) bool { return r.lossy(o.version, path) })
}

// giveUp has the second manager give up its label, and then the first everything.
func (r *round) giveUp(ctx context.Context, o *object, other string) {
	GinkgoHelper()
	const what = "the second manager giving a label up at %s"
	left := o.sent.DeepCopy()
	annotations := left.GetAnnotations()
	annotations[kept] = "kept"
	left.SetAnnotations(annotations)
	err := r.apply(ctx, o, other, r.part(o), second)
	if !r.accepted(ctx, o, left, other, err, what, other) || !r.merged(ctx, o, err, what, other) {
		return
	}
	if got := r.read(ctx, o, o.version); got != nil {
		r.kept(ctx, o, got, "applied at %s, a label of another manager given up at %s, read at %s", o.version, other, o.version)
		r.lacks(ctx, o, got, shared, "the second manager gave it up")
		r.has(ctx, o, got, kept, "the second manager gave up another")
	}
	nothing := &unstructured.Unstructured{Object: map[string]any{"kind": o.sent.GetKind()}}
	nothing.SetName(o.name)
	err = r.apply(ctx, o, o.version, nothing, first)
	if refused(err) {
		return // the fields are required
	}
	if !r.merged(ctx, o, err, "the first manager giving up all fields at %s, after a second applied at %s", o.version, other) {
		return
	}
	if got := r.read(ctx, o, other); got != nil {
		r.lacks(ctx, o, got, mark, "the first manager gave it up")
		r.has(ctx, o, got, kept, "the first manager gave up all of its own")
	}
}

// has fails the spec unless an annotation is there.
func (r *round) has(ctx context.Context, o *object, got *unstructured.Unstructured, annotation, after string) {
	GinkgoHelper()
	if _, found := got.GetAnnotations()[annotation]; !found {
		r.fail(ctx, o, "metadata.annotations['%s'], read at %s after %s: expected it to be there, got nothing", annotation, got.GroupVersionKind().Version, after)
	}
}

// lacks fails the spec if an annotation is there.
func (r *round) lacks(ctx context.Context, o *object, got *unstructured.Unstructured, annotation, after string) {
	GinkgoHelper()
	if value, found := got.GetAnnotations()[annotation]; found {
		r.fail(ctx, o, "metadata.annotations['%s'], read at %s after %s: expected nothing, got %q", annotation, got.GroupVersionKind().Version, after, value)
	}
}

// move writes at another version what two managers applied, and then has the first apply there.
func (r *round) move(ctx context.Context, o *object, other string) {
	GinkgoHelper()
	err := r.apply(ctx, o, o.version, r.partWithLabel(o), second)
	if refused(err) {
		r.blame(ctx, requirement.ResourceApplyTwoManagers, o, "a second manager applying at %s: expected it to be accepted, got: %v", o.version, err)
		return
	}
	if !r.merged(ctx, o, err, "a second manager applying at %s", o.version) {
		return
	}
	read := r.read(ctx, o, other)
	if read == nil {
		return
	}
	got, err := put(ctx, r, o, other, read, nil, map[string]any{touched: other})
	if r.unconverted(ctx, err) {
		r.blame(ctx, requirement.ResourceWriteNoOp, o, "applied at %s, put at %s (stored at %s) failed: %v", o.version, other, r.storage, err)
		return
	}
	if refused(err) {
		r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "applied at %s, put at %s as it was read there: expected it to be accepted, got: %v", o.version, other, err)
		return
	}
	r.require(err, "putting %s at %s", o.name, other)
	r.env.Tried(1)
	r.managed(ctx, o, got, "a write at "+other, map[string]string{first: o.version, second: o.version})

	moved := r.reduced(o, got)
	err = r.apply(ctx, o, other, moved, first)
	if refused(err) {
		r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "applying at %s what was read there failed: %v", other, err)
		return
	}
	if !r.merged(ctx, o, err, "applying at %s what was applied at %s before", other, o.version) {
		return
	}
	if got = r.read(ctx, o, other); got != nil {
		r.managed(ctx, o, got, "the first manager moved to "+other, map[string]string{first: other, second: o.version})
	}
}

// reduced is what was read, as the first manager would apply it.
func (r *round) reduced(o *object, got *unstructured.Unstructured) *unstructured.Unstructured {
	reduced := &unstructured.Unstructured{Object: r.own(got.GroupVersionKind().Version, got.Object)}
	delete(reduced.Object, "status")
	reduced.SetAPIVersion(got.GetAPIVersion())
	reduced.SetKind(got.GetKind())
	reduced.SetName(o.name)
	reduced.SetLabels(without(got.GetLabels(), shared))
	reduced.SetAnnotations(without(got.GetAnnotations(), shared, kept, touched))
	return reduced
}

func without(all map[string]string, keys ...string) map[string]string {
	rest := maps.Clone(all)
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}

// managed fails the spec unless each manager that applied has one entry, at its version.
func (r *round) managed(ctx context.Context, o *object, got *unstructured.Unstructured, after string, versions map[string]string) {
	GinkgoHelper()
	for _, manager := range slices.Sorted(maps.Keys(versions)) {
		var found []string
		for _, entry := range got.GetManagedFields() {
			if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
				found = append(found, entry.APIVersion)
			}
		}
		if want := r.crd.APIVersion(versions[manager]); !slices.Equal(found, []string{want}) {
			r.fail(ctx, o, "metadata.managedFields, applied at %s, after %s: expected one entry of the manager %s, at %s, got %q", o.version, after, manager, want, found)
		}
	}
}
