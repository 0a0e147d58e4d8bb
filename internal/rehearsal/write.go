package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/requirement"
)

// secondManager is a manager that has applied nothing yet.
const secondManager = "crdconform-second"

// rehearsed is an annotation that is applied.
const rehearsed = "crdconform.dev/rehearsed"

// writer has the API server try the writes of controllers and users, and creates and deletes objects.
type writer struct {
	part

	seed           int64
	collectTimeout time.Duration
}

// write has the API server try the writes of controllers and users for each object, and discards them.
func (w *writer) write(ctx context.Context) error {
	for _, k := range w.kinds.inhabited() {
		// At the version of controllers last: they are not asked about objects that cannot be written at another.
		versions := slices.DeleteFunc(slices.Clone(k.new.served()), func(version string) bool { return version == k.home() })
		if len(k.new.served()) > 0 {
			versions = append(versions, k.home())
		}
		tried := map[requirement.ID]int{}
		for _, version := range versions {
			if err := w.writeAt(ctx, k, version, tried); err != nil {
				return err
			}
		}
		w.record.wrote(k, tried)
		w.record.unmanaged(k, requirement.UpgradeWriteApply)
	}
	return nil
}

// wrote notes how many objects were tried to be written, and why none was if so.
func (r *record) wrote(k *kind, tried map[requirement.ID]int) {
	by := requirement.UpgradeReadGet
	for _, id := range []requirement.ID{requirement.UpgradeDropSafe, requirement.UpgradeWriteNoOp} {
		if r.broken(id, k) {
			by = id
		}
	}
	for _, id := range []requirement.ID{requirement.UpgradeWriteNoOp, requirement.UpgradeWriteStatus, requirement.UpgradeWriteApply} {
		switch {
		case tried[id] > 0:
			r.tried(id, k, tried[id])
		case id == requirement.UpgradeWriteStatus && !k.new.status(k.home()):
			r.spare(id, k, "the new definition has no subresource for the status")
		case id == requirement.UpgradeWriteNoOp:
			r.blocked(id, k, requirement.UpgradeReadGet)
		default:
			r.blocked(id, k, by)
		}
	}
}

// writeAt tries all writes at a version: of the object as it is and, where controllers work, of its status and by two managers.
func (w *writer) writeAt(ctx context.Context, k *kind, version string, tried map[requirement.ID]int) error {
	objects := w.record.readable(k, version)
	noOps := 0
	err := w.batches(ctx, k, version, objects, func(page []*unstructured.Unstructured) error {
		if w.record.selects(requirement.UpgradeWriteNoOp) {
			if err := w.noOps(ctx, k, version, page); err != nil {
				return err
			}
			noOps += len(page)
		}
		page = slices.DeleteFunc(page, func(object *unstructured.Unstructured) bool {
			return w.record.brokenFor(requirement.UpgradeWriteNoOp, k, keyOf(object))
		})
		if err := w.edits(ctx, k, version, page); err != nil {
			return err
		}
		if version == k.home() && k.new.status(version) && w.record.selects(requirement.UpgradeWriteStatus) {
			if err := w.statuses(ctx, k, version, page); err != nil {
				return err
			}
			tried[requirement.UpgradeWriteStatus] += len(page)
		}
		page = slices.DeleteFunc(page, func(object *unstructured.Unstructured) bool {
			return w.record.brokenFor(requirement.UpgradeDropSafe, k, keyOf(object))
		})
		applied, err := w.applies(ctx, k, version, page, requirement.UpgradeWriteApply, "after the upgrade")
		if version == k.home() {
			tried[requirement.UpgradeWriteApply] += applied
		}
		return err
	})
	tried[requirement.UpgradeWriteNoOp] = max(tried[requirement.UpgradeWriteNoOp], noOps)
	return err
}

// readable are the objects of before the upgrade that can be read at a version, and at all others.
func (r *record) readable(k *kind, version string) []string {
	return slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool {
		return !k.book.known(page{after, version}, object) || r.brokenFor(requirement.UpgradeReadGet, k, object)
	})
}

// allBroken reports whether no object can be written at a version.
func (r *record) allBroken(k *kind, version string) bool {
	objects := r.readable(k, version)
	return len(objects) > 0 && !slices.ContainsFunc(objects, func(object string) bool { return !r.unwritable[written{k, version, object}] })
}

// noOps writes objects at a version as they were read there.
func (w *writer) noOps(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, sent *unstructured.Unstructured) (func() error, error) {
		at, _ := w.at(k, version, keyOf(sent))
		got, err := at.Update(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		if err != nil {
			return nil, err
		}
		return func() error { w.record.unchanged(k, version, sent, got); return nil }, nil
	})
	for _, f := range failures {
		w.record.unwritable[written{k, version, f.object}] = true
		w.record.find(finding{
			id: requirement.UpgradeWriteNoOp, kind: k, object: f.object, version: version,
			message:  fmt.Sprintf("the API server refuses to write it at %s as it is read there: %s", version, said(f.err)),
			commands: []string{k.kubectlReplace(version, f.object)},
		})
	}
	return err
}

// home is the version at which controllers of the new release work: the storage version if it is served.
func (k *kind) home() string {
	served := k.new.served()
	if len(served) == 0 || slices.Contains(served, k.new.storage()) {
		return k.new.storage()
	}
	return served[0]
}

// statuses writes the status of objects as it was read.
func (w *writer) statuses(ctx context.Context, k *kind, home string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, sent *unstructured.Unstructured) (func() error, error) {
		at, _ := w.at(k, home, keyOf(sent))
		_, err := at.UpdateStatus(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		return nil, err
	})
	for _, f := range failures {
		w.record.find(finding{
			id: requirement.UpgradeWriteStatus, kind: k, object: f.object, version: home,
			message:  fmt.Sprintf("the API server refuses to write its status at %s as it is read there: %s", home, said(f.err)),
			commands: []string{k.kubectlReplace(home, f.object, "--subresource=status")},
		})
	}
	return err
}

// oldWrites tries to write the objects while the old webhook has to bring them to the new storage version.
func (w *writer) oldWrites(ctx context.Context, k *kind, version, did string) error {
	objects := slices.DeleteFunc(slices.Clone(k.book.names), func(object string) bool { return k.unreadable[object] })
	failures, err := w.each(ctx, objects, func(ctx context.Context, object string) (func() error, error) {
		at, name := w.at(k, version, object)
		got, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // that it cannot be read was reported already
		}
		_, err = at.Update(ctx, got, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		if err != nil && !isUnconverted(err) {
			return nil, nil //nolint:nilnil // it has nothing to do with the webhook
		}
		return nil, err
	})
	for _, f := range failures {
		w.record.find(finding{
			id: requirement.UpgradeWebhookOldBuild, kind: k, object: f.object, version: version,
			message: fmt.Sprintf("it cannot be written at %s %s, whose storage version is %s: %s; until all pods are of the new release, every write fails: serve the new version in one release, and store at it from the next on",
				version, did, k.new.storage(), said(f.err)),
			commands: []string{k.kubectlReplace(version, f.object)},
		})
	}
	return err
}

// applies has the managers of objects apply them again at a version: where they have applied them, and where controllers work, where
// another manager applies an annotation, too. It returns how many could be tried.
func (w *writer) applies(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured, id requirement.ID, did string) (int, error) {
	if !w.record.selects(id) {
		return 0, nil
	}
	tried := 0
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, object *unstructured.Unstructured) (func() error, error) {
		if foreign := k.foreign(object); foreign != "" {
			return func() error {
				w.record.note("objects of %s could not be applied before the upgrade either, since their managed fields name %s, which the old definition does not have, such as %s", k.name, foreign, keyOf(object))
				return nil
			}, nil
		}
		manager, applied := applier(k, object)
		if manager != "" && (version == applied || version == k.home()) {
			what := "what it has applied"
			if version != applied {
				what += " (at " + applied + ")"
			}
			if err := w.apply(ctx, k, version, manager, k.whole(object)); err != nil {
				return nil, &applyError{err, manager, what}
			}
		}
		if version == k.home() {
			if err := w.apply(ctx, k, version, secondManager, annotated(object)); err != nil {
				return nil, &applyError{err, secondManager, "an annotation"}
			}
		}
		return func() error { tried++; return nil }, nil
	})
	tried += len(failures)
	for _, f := range failures {
		failed := &applyError{}
		if !errors.As(f.err, &failed) || k.invalid[f.object] {
			continue
		}
		w.record.find(finding{
			id: id, kind: k, object: f.object, version: version,
			message:  fmt.Sprintf("the manager %s cannot apply %s at %s %s: %s", failed.manager, failed.what, version, did, said(f.err)),
			commands: []string{k.kubectlApply(version, f.object, failed.manager)},
		})
	}
	return tried, err
}

// foreign returns a version that managed fields of an object name and neither definition has; empty if there is none.
func (k *kind) foreign(object *unstructured.Unstructured) string {
	for _, entry := range object.GetManagedFields() {
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err == nil && gv.Group == k.group && !k.old.has(gv.Version) && !k.new.has(gv.Version) {
			return gv.Version
		}
	}
	return ""
}

// applyError is that a manager cannot apply an object.
type applyError struct {
	error

	manager, what string
}

func (e *applyError) Unwrap() error { return e.error }

// applier returns the manager that has applied an object, and the version at which it did; nothing if there is none.
func applier(k *kind, object *unstructured.Unstructured) (manager, version string) {
	for _, entry := range object.GetManagedFields() {
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err == nil && gv.Group == k.group && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			return entry.Manager, gv.Version
		}
	}
	return "", ""
}

// whole is an object as its manager applies it.
func (k *kind) whole(object *unstructured.Unstructured) *unstructured.Unstructured {
	whole := object.DeepCopy()
	if k.new.status(object.GroupVersionKind().Version) {
		delete(whole.Object, "status")
	}
	meta := map[string]any{}
	old, _ := whole.Object["metadata"].(map[string]any)
	for _, field := range []string{"name", "namespace", "labels", "annotations", "finalizers"} {
		if value, found := old[field]; found {
			meta[field] = value
		}
	}
	whole.Object["metadata"] = meta
	return whole
}

// annotated is an annotation of an object alone.
func annotated(object *unstructured.Unstructured) *unstructured.Unstructured {
	part := &unstructured.Unstructured{Object: map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}}
	part.SetName(object.GetName())
	part.SetNamespace(object.GetNamespace())
	part.SetAnnotations(map[string]string{rehearsed: "true"})
	return part
}
