package resource

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// touched is the annotation that is changed where a write is to change nothing else.
const touched = "crdconform.dev/touched"

// means is a way to change objects: to give one other fields, and an annotation, at a version, as it was read there if that is known. It
// returns what has become of the object.
type means func(ctx context.Context, r *round, o *object, version string, read *unstructured.Unstructured, fields, annotations map[string]any) (*unstructured.Unstructured, error)

func updating(c *chapter) {
	Describe("updating", func() {
		c.it(requirement.ResourceUpdateEveryVersion,
			"puts objects with an annotation changed at each version, and then with other fields",
			func(ctx SpecContext, r *round) { r.change(ctx, put, r.putOthers) })

		c.it(requirement.ResourcePatchJSON,
			"changes an annotation by a JSON patch at each version, and then other fields, at each version as well",
			func(ctx SpecContext, r *round) { r.patch(ctx, jsonPatch()) }, suites.Slow)

		c.it(requirement.ResourcePatchMerge,
			"changes an annotation by a merge patch at each version, and then other fields, at each version as well",
			func(ctx SpecContext, r *round) { r.patch(ctx, mergePatch()) }, suites.Slow)
	})
}

// change changes an object of each version by a means: first an annotation at each version, then the fields to those of
// another sample, then the annotation again. What a webhook kept from before the change of fields must not come back. At last, it
// does with the object what the spec does beyond that.
func (r *round) change(ctx context.Context, by means, beyond func(ctx context.Context, o *object)) {
	GinkgoHelper()
	for _, version := range r.served() {
		all := r.create(ctx, version, 2)
		if slices.ContainsFunc(all, func(o *object) bool { return !r.sound(ctx, o) }) || len(all) == 0 {
			continue
		}
		o := all[0]
		r.touchEverywhere(ctx, by, o)
		if len(all) == 1 {
			continue
		}
		if r.replace(ctx, by, o, r.own(version, all[1].expected)) {
			r.touchEverywhere(ctx, by, o)
		}
		beyond(ctx, o)
	}
}

// putOthers puts the fields of all objects that it takes to have all fields, and then those of others at the other versions.
func (r *round) putOthers(ctx context.Context, o *object) {
	GinkgoHelper()
	if version := o.version; r.trial == nil && r.isGenerated(version) {
		for _, other := range r.generate(ctx, version)[:r.enough[version]] {
			r.replace(ctx, put, o, r.own(version, r.of(version, other).expected))
		}
	}
	for _, other := range r.served() {
		if other != o.version {
			r.replaceAt(ctx, o, other)
		}
	}
}

// replaceAt puts the fields of an object of another version at that.
func (r *round) replaceAt(ctx context.Context, o *object, version string) {
	GinkgoHelper()
	seen := r.view(ctx, o, version)
	if seen == nil {
		return
	}
	now := r.own(version, seen.expected)
	schema := r.definition.Schema(version)
	for _, donor := range r.donors(ctx, version) {
		fields := r.own(version, donor.Object)
		schema.Prepare(fields)
		if len(schema.Differences(now, fields)) > 0 && r.replace(ctx, put, seen, fields) {
			r.touchEverywhere(ctx, put, seen)
			return
		}
	}
}

// view is an object as it is seen at a version now, for which that is its own; nil where it cannot be read. Of its annotations, those count
// that clients have written.
func (r *round) view(ctx context.Context, o *object, version string) *object {
	GinkgoHelper()
	read := r.read(ctx, o, version)
	if read == nil {
		return nil
	}
	seen := *o
	seen.version, seen.expected = version, read.Object
	seen.expected["metadata"] = (&unstructured.Unstructured{Object: o.expected}).DeepCopy().Object["metadata"]
	return &seen
}

// touchEverywhere changes the annotation at each version, and looks at the object's own each time.
func (r *round) touchEverywhere(ctx context.Context, by means, o *object) {
	GinkgoHelper()
	for _, version := range r.served() {
		value := "at " + version
		read := r.read(ctx, o, version)
		if read == nil {
			continue
		}
		answer, err := by(ctx, r, o, version, read, nil, map[string]any{touched: value})
		switch {
		case refused(err):
			r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "changing an annotation at %s of what was created at %s: expected it to be changed, got: %v", version, o.version, err)
			continue
		case r.unconverted(ctx, err):
			r.fail(ctx, o, "changing an annotation at %s of what was created at %s (stored at %s): expected it to be changed, got: %v", version, o.version, r.storage, err)
		}
		r.require(err, "changing an annotation of %s at %s", o.name, version)
		_ = unstructured.SetNestedField(o.expected, value, "metadata", "annotations", touched)
		if got := r.afterWrite(ctx, o, version, answer); got != nil {
			r.kept(ctx, o, got, "created at %s, an annotation changed at %s, read at %s (stored at %s)", o.version, version, o.version, r.storage)
			if r.id == requirement.ResourceUpdateEveryVersion {
				r.env.Tried(1)
			}
		}
	}
}

// replace gives an object other fields at its version. It is false when the API server does not accept them in its place.
func (r *round) replace(ctx context.Context, by means, o *object, fields map[string]any) bool {
	GinkgoHelper()
	got, err := by(ctx, r, o, o.version, nil, fields, nil)
	if refused(err) {
		return false // fields may be immutable
	}
	if r.unconverted(ctx, err) {
		r.fail(ctx, o, "changing fields at %s (stored at %s): expected them to be changed, got: %v", o.version, r.storage, err)
	}
	r.require(err, "changing fields of %s at %s", o.name, o.version)
	if r.id == requirement.ResourceUpdateEveryVersion {
		r.wrote(updates, o.version, fields)
	}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		fields[key] = o.expected[key]
	}
	o.expected = fields
	r.kept(ctx, o, got, "created at %s, fields changed and read there (stored at %s)", o.version, r.storage)
	if r.id == requirement.ResourceUpdateEveryVersion {
		r.env.Tried(1)
	}
	return true
}

// own returns a copy of the fields of an object that a write at a version may change.
func (r *round) own(version string, object map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: r.fields(version, object)}).DeepCopy().Object
}

// fields returns the fields of an object that a write at a version may change, to be read only.
func (r *round) fields(version string, object map[string]any) map[string]any {
	fields := maps.Clone(object)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, key)
	}
	if r.subresources(version).Status != nil {
		delete(fields, "status")
	}
	return fields
}

// put writes an object back as it was read, or else is now, with the changes. Fields that are given take the place of all.
func put(ctx context.Context, r *round, o *object, version string, read *unstructured.Unstructured, fields, annotations map[string]any) (*unstructured.Unstructured, error) {
	var err error
	if read == nil {
		if read, err = r.crd.At(version).Get(ctx, o.name); err != nil {
			return nil, err
		}
	}
	if fields != nil {
		for key := range r.own(version, read.Object) {
			delete(read.Object, key)
		}
		maps.Copy(read.Object, fields)
	}
	for key, value := range annotations {
		if err = unstructured.SetNestedField(read.Object, value, "metadata", "annotations", key); err != nil {
			return nil, err
		}
	}
	got, err := r.crd.At(version).Update(ctx, read)
	r.journal.addWith(version, read, o.name, "kubectl replace -o yaml")
	return got, err
}
