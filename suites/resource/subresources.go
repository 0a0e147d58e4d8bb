package resource

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/requirement"
)

func subresources(c *chapter) {
	Describe("subresources", func() {
		c.it(requirement.ResourceStatusEveryVersion,
			"writes a status at each version, puts the object and its status at all versions, and does so again with another status, at that version and at each other", func(ctx SpecContext, r *round) {
				r.aboutWhole = true // but for the status
				versions := slices.DeleteFunc(r.served(), func(version string) bool { return r.subresources(version).Status == nil })
				for _, version := range versions {
					r.samples(ctx, version) // without any, it is for another reason that there is no status
				}
				versions = slices.DeleteFunc(versions, func(version string) bool { return len(r.statuses(ctx, version)) == 0 })
				if len(versions) == 0 && r.trial == nil {
					c.env.Inapplicable("no version has the status subresource with a status that could be written")
				}
				for _, version := range versions {
					if o := r.oneSound(ctx, version); o != nil {
						r.writeStatuses(ctx, o, versions)
					}
				}
			})

		c.it(requirement.ResourceScaleEveryVersion,
			"scales at each version and reads the scale at all versions, and then at each other", func(ctx SpecContext, r *round) {
				versions := slices.DeleteFunc(r.served(), func(version string) bool { return r.subresources(version).Scale == nil })
				if len(versions) == 0 && r.trial == nil {
					c.env.Inapplicable("no version has the scale subresource")
				}
				for _, version := range versions {
					if o := r.oneSound(ctx, version); o != nil {
						r.scaleEverywhere(ctx, o, versions)
					}
				}
			})
	})
}

// statuses returns what may be written as the status at a version. First come two that have each field that any of the samples or generated
// objects has: with the first value of it, and with another. So each field is written, and written again, whatever the seed.
func (r *round) statuses(ctx context.Context, version string) []map[string]any {
	first, second := map[string]any{}, map[string]any{}
	var statuses []map[string]any
	for _, candidate := range r.donors(ctx, version) {
		status, ok := candidate.Object["status"].(map[string]any)
		if !ok || len(status) == 0 {
			continue
		}
		statuses = append(statuses, status)
		for field, value := range status {
			switch before, known := first[field]; {
			case !known:
				first[field], second[field] = value, value
			case reflect.DeepEqual(second[field], before):
				second[field] = value
			}
		}
	}
	if len(statuses) == 0 {
		return nil
	}
	all := []map[string]any{first, second}
	for _, field := range slices.Sorted(maps.Keys(first)) { // for API servers that refuse one of them
		for _, whole := range []map[string]any{first, second} {
			part := maps.Clone(whole)
			delete(part, field)
			all = append(all, part)
		}
	}
	return append(all, statuses...)
}

// writeStatuses writes a status at an object's version, and another one; then one at each other version, and at its own again. What a
// webhook kept of an earlier one must not come back.
func (r *round) writeStatuses(ctx context.Context, o *object, versions []string) {
	GinkgoHelper()
	at := []string{o.version, o.version}
	for _, version := range versions {
		if version != o.version {
			at = append(at, version, o.version)
		}
	}
	for i, version := range at {
		seen := o
		if i > 1 {
			seen = r.view(ctx, o, version)
		}
		if seen == nil || !r.writeStatus(ctx, seen) {
			continue
		}
		r.env.Tried(1)
		if i < 2 {
			r.rewriteEverywhere(ctx, seen)
		}
	}
	r.unwritten()
}

// unwritten notes that a field cannot be judged if API servers refuse every status that has it.
func (r *round) unwritten() {
	for _, field := range slices.Sorted(maps.Keys(r.statusRefused)) {
		if !r.statusWritten[field] && r.blocked == "" {
			r.blocked = fmt.Sprintf("could not be judged for %s: the API server refuses every status that has it: %v", field, r.statusRefused[field])
		}
	}
}

// noteFields notes of the fields of a status at a version whether API servers took them, or why not.
func (r *round) noteFields(version string, status map[string]any, err error) {
	for field := range status {
		key := fieldpath.Child("status", field) + " at " + version
		if err == nil {
			r.statusWritten[key] = true
		} else if r.statusRefused[key] == nil {
			r.statusRefused[key] = err
		}
	}
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
		got, err := r.putStatus(ctx, o, o.version, read)
		if refused(err) {
			r.env.Fruitless("the API server refuses a status at %s: %v", o.version, err)
			r.noteFields(o.version, status, err)
			continue
		}
		r.must(ctx, o, err, "writing the status at %s", o.version)
		r.noteFields(o.version, status, nil)
		r.wrote(writeStatus, o.version, map[string]any{"status": status})
		o.expected["status"] = status
		r.definition.Schema(o.version).Prepare(o.expected)
		r.kept(ctx, o, got, "status written and read at %s (stored at %s)", o.version, r.storage)
		return true
	}
	return false
}

func (r *round) putStatus(ctx context.Context, o *object, version string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	got, err := r.crd.At(version).Update(ctx, object, "status")
	r.journal.addWith(version, object, o.name, "kubectl replace --subresource=status -o yaml")
	return got, err
}

// rewriteEverywhere puts an object with an annotation changed, and its status as it is, at each version.
func (r *round) rewriteEverywhere(ctx context.Context, o *object) {
	GinkgoHelper()
	for _, version := range r.served() {
		read := r.read(ctx, o, version)
		if read == nil {
			continue
		}
		answer, err := put(ctx, r, o, version, read, nil, map[string]any{touched: version})
		if refused(err) {
			r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "putting at %s what was read there failed: %v", version, err)
			continue
		}
		r.must(ctx, o, err, "putting at %s what has a status that was written at %s", version, o.version)
		_ = unstructured.SetNestedField(o.expected, version, "metadata", "annotations", touched)
		if r.subresources(version).Status != nil {
			answer, err = r.putStatus(ctx, o, version, answer)
			if refused(err) {
				r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "putting the status at %s as it was read there failed: %v", version, err)
				continue
			}
			r.must(ctx, o, err, "putting the status at %s as it was read there", version)
		}
		if got := r.afterWrite(ctx, o, version, answer); got != nil {
			r.kept(ctx, o, got, "status written at %s, put at %s, read at %s (stored at %s)", o.version, version, o.version, r.storage)
		}
	}
}

// scaleEverywhere scales an object at its version, and then at each other, and at its own again.
func (r *round) scaleEverywhere(ctx context.Context, o *object, versions []string) {
	GinkgoHelper()
	if !r.scale(ctx, o) {
		return
	}
	for _, version := range versions {
		if version == o.version {
			continue
		}
		for _, at := range []string{version, o.version} {
			if seen := r.view(ctx, o, at); seen != nil {
				r.scale(ctx, seen)
			}
		}
	}
}

// scale sets the replicas of an object at its version and looks for them at all versions. It is false when the API server
// accepts no other number, or the webhook fails.
func (r *round) scale(ctx context.Context, o *object) bool {
	GinkgoHelper()
	now, known := r.replicas(ctx, o, o.version)
	if !known {
		r.env.Fruitless("the object has no replicas at %s, and there is no default", o.version)
		return false
	}
	for _, replicas := range []int64{now + 1, now + 2, now - 1, 1, 0} {
		if replicas == now || replicas < 0 {
			continue
		}
		_, err := r.crd.At(o.version).MergePatch(ctx, o.name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
		r.journal.add(o.name, "kubectl scale %s --replicas=%d", r.address(o.version, o.name), replicas)
		if refused(err) {
			r.env.Fruitless("the API server refuses to scale at %s: %v", o.version, err)
			continue
		}
		r.must(ctx, o, err, "scaling at %s to %d", o.version, replicas)
		r.env.Tried(1)
		scaled := map[string]any{}
		_ = unstructured.SetNestedField(scaled, replicas, strings.Split(strings.Trim(r.subresources(o.version).Scale.SpecReplicasPath, "."), ".")...)
		r.wrote(scales, o.version, scaled)
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
		lossy := r.lossy(version, path)
		switch {
		case got == replicas && known || lossy && !known:
		case lossy:
			change := corpus.Loss{Path: path, Before: replicas, After: got, Declared: true}
			if r.definition.Schema(version).Replaces(change) {
				r.violated(ctx, requirement.PartEmpty, o, "scaled at %s, the scale read at %s (stored at %s): %s", o.version, version, r.storage, change)
			}
		case !known:
			r.fail(ctx, o, "scaled at %s, the scale read at %s (stored at %s): %s: expected %d, got nothing", o.version, version, r.storage, path, replicas)
		default:
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
