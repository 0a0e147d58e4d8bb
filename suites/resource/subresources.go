package resource

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/requirement"
)

func subresources(c *chapter) {
	Describe("subresources", func() {
		c.it(requirement.ResourceStatusEveryVersion,
			"writes a status at each version, puts the object and its status at all versions, and does so again with another status", func(ctx SpecContext, r *round) {
				written := false
				for _, version := range r.served() {
					if r.subresources(version).Status == nil {
						continue
					}
					if o := r.oneSound(ctx, version); o != nil && r.writeStatus(ctx, o) {
						written = true
						r.rewriteEverywhere(ctx, o)
						if r.writeStatus(ctx, o) { // what a webhook kept of the first must not come back
							r.rewriteEverywhere(ctx, o)
						}
					}
				}
				if !written && r.trial == nil && r.blocked == "" {
					c.env.Inapplicable("no version has the status subresource with a status that could be written")
				}
			})

		c.it(requirement.ResourceScaleEveryVersion,
			"scales at each version and reads the scale at all versions", func(ctx SpecContext, r *round) {
				scaled := false
				for _, version := range r.served() {
					if r.subresources(version).Scale == nil {
						continue
					}
					if o := r.oneSound(ctx, version); o != nil && r.scale(ctx, o) {
						scaled = true
					}
				}
				if !scaled && r.trial == nil && r.blocked == "" {
					c.env.Inapplicable("no version has the scale subresource with replicas that could be changed")
				}
			})
	})
}

// statuses returns what may be written as the status at a version: the samples' and generated ones.
func (r *round) statuses(ctx context.Context, version string) []map[string]any {
	var statuses []map[string]any
	for _, candidate := range append(r.env.Subject.Corpus.Objects(version), r.generate(ctx, version)...) {
		if status, ok := candidate.Object["status"].(map[string]any); ok && len(status) > 0 {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// writeStatus writes the first status that the API server accepts and that is not in the object's. It is false when there is none, or the
// webhook fails.
func (r *round) writeStatus(ctx context.Context, o *object) bool {
	GinkgoHelper()
	for _, status := range r.statuses(ctx, o.version) {
		if lost, _ := r.losses(o.version, map[string]any{"status": status}, o.expected); len(lost) == 0 {
			continue
		}
		read := r.read(ctx, o, o.version)
		if read == nil {
			return false
		}
		read.Object["status"] = status
		err := r.putStatus(ctx, o, o.version, read)
		if refused(err) {
			continue
		}
		r.must(ctx, o, err, "writing the status at %s", o.version)
		o.expected["status"] = status
		r.definition.Schema(o.version).Prepare(o.expected)
		if got := r.read(ctx, o, o.version); got != nil {
			r.kept(ctx, o, got, "status written and read at %s (stored at %s)", o.version, r.storage)
		}
		return true
	}
	return false
}

func (r *round) putStatus(ctx context.Context, o *object, version string, object *unstructured.Unstructured) error {
	_, err := r.crd.At(version).Update(ctx, object, "status")
	r.journal.addWith(version, object, o.name, "kubectl replace --subresource=status")
	return err
}

// rewriteEverywhere puts an object with an annotation changed, and its status as it is, at each version.
func (r *round) rewriteEverywhere(ctx context.Context, o *object) {
	GinkgoHelper()
	for _, version := range r.served() {
		if r.read(ctx, o, version) == nil {
			continue
		}
		err := put(ctx, r, o, version, nil, map[string]any{touched: version})
		if refused(err) {
			r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "putting at %s what was read there failed: %v", version, err)
			continue
		}
		r.must(ctx, o, err, "putting at %s what has a status that was written at %s", version, o.version)
		_ = unstructured.SetNestedField(o.expected, version, "metadata", "annotations", touched)
		if read := r.read(ctx, o, version); read != nil && r.subresources(version).Status != nil {
			err = r.putStatus(ctx, o, version, read)
			if refused(err) {
				r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "putting the status at %s as it was read there failed: %v", version, err)
				continue
			}
			r.must(ctx, o, err, "putting the status at %s as it was read there", version)
		}
		if got := r.read(ctx, o, o.version); got != nil {
			r.kept(ctx, o, got, "status written at %s, put at %s, read at %s (stored at %s)", o.version, version, o.version, r.storage)
		}
	}
}

// scale sets the replicas of an object at its version and looks for them at all versions. It is false when the API server
// accepts no other number, or the webhook fails.
func (r *round) scale(ctx context.Context, o *object) bool {
	GinkgoHelper()
	now, known := r.replicas(ctx, o, o.version)
	if !known {
		return false // the sample has none, and there is no default
	}
	for _, replicas := range []int64{now + 1, now + 2, now - 1, 1, 0} {
		if replicas == now || replicas < 0 {
			continue
		}
		_, err := r.crd.At(o.version).MergePatch(ctx, o.name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
		r.journal.add(o.name, "kubectl scale %s --replicas=%d", r.address(o.version, o.name), replicas)
		if refused(err) {
			continue
		}
		r.must(ctx, o, err, "scaling at %s to %d", o.version, replicas)
		r.scaled(ctx, o, replicas)
		return true
	}
	return false
}

// scaled fails the spec unless an object has a number of replicas at all versions that have one.
func (r *round) scaled(ctx context.Context, o *object, replicas int64) {
	GinkgoHelper()
	for _, version := range r.served() {
		if r.subresources(version).Scale == nil {
			continue
		}
		path := strings.Trim(r.subresources(version).Scale.SpecReplicasPath, ".")
		got, known := r.replicas(ctx, o, version)
		switch {
		case r.lossy(version, path):
		case !known:
			r.fail(ctx, o, "scaled at %s, the scale read at %s (stored at %s): %s: expected %d, got nothing", o.version, version, r.storage, path, replicas)
		case got != replicas:
			r.fail(ctx, o, "scaled at %s, the scale read at %s (stored at %s): %s: expected %d, got %d", o.version, version, r.storage, path, replicas, got)
		}
	}
	path := strings.Split(strings.Trim(r.subresources(o.version).Scale.SpecReplicasPath, "."), ".")
	_ = unstructured.SetNestedField(o.expected, replicas, path...)
	if got := r.read(ctx, o, o.version); got != nil {
		r.kept(ctx, o, got, "scaled and read at %s (stored at %s)", o.version, r.storage)
	}
}

// replicas returns the replicas that the scale subresource of a version shows. It is false when the object has none:
// API servers fail then.
func (r *round) replicas(ctx context.Context, o *object, version string) (int64, bool) {
	GinkgoHelper()
	scale, err := r.crd.At(version).Get(ctx, o.name, "scale")
	r.journal.add(o.name, "kubectl get %s --subresource=scale -o yaml", r.address(version, o.name))
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return 0, false
	}
	r.must(ctx, o, err, "reading the scale at %s of what was created at %s", version, o.version)
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	r.require(err, "reading the scale of %s at %s", o.name, version)
	return replicas, true
}
