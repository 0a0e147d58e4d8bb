package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func writingBack(c *chapter) {
	Describe("writing back", func() {
		c.it(requirement.ResourceWriteNoOp,
			"puts objects of each version at each version as they were read, and again", func(ctx SpecContext, r *round) {
				r.eachWritten(ctx, r.unchanged)
			}, suites.Slow)

		c.it(requirement.ResourceWriteValidatedRead,
			"puts objects of each version at each version as they were read, and creates others like them", func(ctx SpecContext, r *round) {
				r.eachWritten(ctx, func(ctx context.Context, o *object, version string) {
					if written := r.putBack(ctx, o, version, nil); written != nil {
						r.env.Tried(1)
						r.restore(ctx, o, version, written)
					}
				})
			}, suites.Slow)
	})
}

// eachWritten creates the samples of each version and calls a function for each, with each version.
func (r *round) eachWritten(ctx context.Context, visit func(ctx context.Context, o *object, version string)) {
	GinkgoHelper()
	for _, version := range r.served() {
		for _, o := range r.create(ctx, version, mostWritten) {
			for _, other := range r.served() {
				visit(ctx, o, other)
			}
		}
	}
}

// putBack puts an object at a version as it is read there, if that is not known, and returns what has become of it; nil when that does not work.
func (r *round) putBack(ctx context.Context, o *object, version string, known *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	if known == nil {
		known = r.read(ctx, o, version)
	}
	if known == nil {
		return nil
	}
	written, err := r.crd.At(version).Update(ctx, known)
	r.journal.add(o.name, "kubectl get %s -o yaml | kubectl replace -o yaml -f -", r.address(version, o.name))
	if refused(err) && r.isGenerated(o.version) {
		r.invalid(ctx, o, "created at %s, put at %s as it was read there (stored at %s): expected it to be accepted, got: %v", o.version, version, r.storage, err)
		return nil
	}
	if refused(err) {
		r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "created at %s, put at %s as it was read there (stored at %s): expected it to be accepted, got: %v", o.version, version, r.storage, err)
		return nil
	}
	if r.unconverted(ctx, err) {
		r.blame(ctx, requirement.ResourceWriteNoOp, o, "created at %s, put at %s as it was read there (stored at %s) failed: %v", o.version, version, r.storage, err)
		return nil
	}
	r.require(err, "putting %s at %s as it was read there", o.name, version)
	return written
}

// invalid reports what API servers reject although the webhook produced it. Generated objects, which may be unlike real ones,
// are a part of their own.
func (r *round) invalid(ctx context.Context, o *object, format string, arguments ...any) {
	GinkgoHelper()
	part := none
	if r.isGenerated(o.version) {
		part = requirement.PartGenerated
	}
	r.violated(ctx, part, o, format, arguments...)
}

// restore creates what is read of an object at a version under another name, as a restore of a backup does. API servers
// validate that more strictly than an update, in which they let pass what was invalid before.
func (r *round) restore(ctx context.Context, o *object, version string, read *unstructured.Unstructured) {
	GinkgoHelper()
	again := clean(read, o.name+"-"+version)
	r.removeAfter(again.GetName())
	_, err := r.crd.At(version).Create(ctx, again)
	r.journal.addWith(version, again, o.name, "kubectl create")
	if refused(err) {
		r.invalid(ctx, o, "created at %s, created under another name at %s as it was read there: expected it to be accepted, got: %v", o.version, version, err)
		return
	}
	if r.unconverted(ctx, err) {
		r.blame(ctx, requirement.ResourceCreateEveryVersion, o, "created under another name at %s as it was read there: expected it to be created, got: %v", version, err)
		return
	}
	r.require(err, "creating at %s what was read there", version)
}

// sound reports whether an object keeps what was written when it is read, and when it is put back at each version.
// Otherwise other specs say what is wrong, and whatever is done to it shows that again. What was proved of an object is not asked again of
// another that was made in the same way.
func (r *round) sound(ctx context.Context, o *object) bool {
	GinkgoHelper()
	like := o.sent.DeepCopy()
	like.SetName("")
	proof := fmt.Sprintf("%s %s %t %s", o.version, r.storage, o.applied, corpus.JSON(like)[0])
	if !r.proved[proof] && !r.proves(ctx, o) {
		return false
	}
	r.proved[proof] = true
	return true
}

func (r *round) proves(ctx context.Context, o *object) bool {
	GinkgoHelper()
	got := r.read(ctx, o, o.version)
	for i, version := range append([]string{o.version}, r.served()...) {
		if i > 0 {
			var known *unstructured.Unstructured
			if version == o.version {
				known = got
			}
			written := r.putBack(ctx, o, version, known)
			if written == nil {
				return false
			}
			got = r.afterWrite(ctx, o, version, written)
		}
		if got == nil {
			return false
		}
		lost, _ := r.losses(o.version, o.expected, got.Object)
		switch {
		case len(lost) > 0 && i == 0:
			r.blame(ctx, requirement.ResourceReadEveryVersion, o, "created and read at %s:\n%s", o.version, lines(lost))
			return false
		case len(lost) > 0:
			r.blame(ctx, requirement.ResourceWriteNoOp, o, "created at %s, put at %s as it was read there:\n%s", o.version, version, lines(lost))
			return false
		}
	}
	return true
}

// unchanged fails the spec if writing an object back at a version changes what is stored: the first time its values, the
// second time anything.
func (r *round) unchanged(ctx context.Context, o *object, version string) {
	GinkgoHelper()
	home := r.home()
	before, was := r.read(ctx, o, home), r.inStorage(ctx, o)
	if before == nil {
		return
	}
	written := map[string]*unstructured.Unstructured{home: before}[version]
	atHome := func() *unstructured.Unstructured { // after one more write
		if written = r.putBack(ctx, o, version, written); written == nil || version == home {
			return written
		}
		return r.read(ctx, o, home)
	}
	settled := atHome()
	if settled == nil {
		return
	}
	r.env.Tried(1)
	r.settled(ctx, o, version, before, settled, was)
	stored := r.inStorage(ctx, o)
	after := atHome()
	if after == nil {
		return
	}
	if after.GetResourceVersion() != settled.GetResourceVersion() || after.GetGeneration() != settled.GetGeneration() {
		r.fail(ctx, o, "created at %s, put at %s as it was read there for the second time: expected nothing to change, got another resourceVersion, and generation %d after %d%s",
			o.version, version, after.GetGeneration(), settled.GetGeneration(), r.why(ctx, o, version, settled, after, stored))
	}
}

// why names what a write at a version has changed that was to change nothing, as the end of a message: what is seen at home or, where that is
// the same, what is stored, or what another such write changes at any version.
func (r *round) why(ctx context.Context, o *object, version string, before, after, stored *unstructured.Unstructured) string {
	GinkgoHelper()
	home := r.home()
	if seen := r.differing(home, before, after); len(seen) > 0 {
		return ":\n" + lines(seen)
	}
	if changed := rewritten(stored, r.inStorage(ctx, o)); len(changed) > 0 {
		return fmt.Sprintf(", though nothing that is seen at %s differs; in storage, it changed:\n%s", home, lines(changed))
	}
	views, _ := r.readEverywhere(ctx, o, nil)
	if r.putBack(ctx, o, version, views[version]) != nil {
		again, _ := r.readEverywhere(ctx, o, nil)
		for _, at := range r.served() {
			if changed := rewritten(views[at], again[at]); len(changed) > 0 {
				return fmt.Sprintf("; writing it once more changed at %s:\n%s", at, lines(changed))
			}
		}
	}
	return ", though nothing that is seen at any version differs"
}

// settled looks at what the first write at a version changed. Fields may be added: webhooks fill in defaults. Annotations
// are where they keep what the other version has no field for.
func (r *round) settled(ctx context.Context, o *object, version string, before, after, stored *unstructured.Unstructured) {
	GinkgoHelper()
	home := before.GroupVersionKind().Version
	lost, empty := r.losses(home, before.Object, after.Object)
	added := slices.DeleteFunc(r.definition.Schema(home).Losses(after.Object, before.Object), func(l corpus.Loss) bool {
		return strings.HasPrefix(l.Path, "metadata.")
	})
	for i, l := range added {
		added[i] = corpus.Loss{Path: l.Path, After: l.Before, Added: true, Default: r.definition.Schema(home).OtherDefault(after.Object, l.Path)}
		if added[i].Default != nil && !r.lossy(home, l.Path) {
			lost = append(lost, added[i])
		}
	}
	switch {
	case len(lost) > 0:
		r.failLosing(ctx, o, home, lost, "created at %s, put at %s as it was read there, and read at %s before and after", o.version, version, home)
	case len(empty) > 0:
		r.violated(ctx, requirement.PartEmpty, o, "created at %s, put at %s as it was read there: %s:\n%s", o.version, version, dropped(empty), lines(empty))
	case len(added) > 0 || after.GetGeneration() != before.GetGeneration():
		generation := ""
		if after.GetGeneration() != before.GetGeneration() {
			generation = fmt.Sprintf(" has changed its generation from %d to %d, and", before.GetGeneration(), after.GetGeneration())
		}
		r.violated(ctx, requirement.PartAdditions, o, "created at %s: writing it back at %s as it was read there%s has changed what is read at %s%s",
			o.version, version, generation, home, r.why(ctx, o, version, before, after, stored))
	}
}
