package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// secondManager is a manager that has applied nothing yet.
const secondManager = "crdconform-second"

// rehearsed is an annotation that is applied.
const rehearsed = "crdconform.dev/rehearsed"

// write has the API server try the writes of controllers and users for each object, and discards them.
func (l *leg) write(ctx context.Context) error {
	for _, k := range l.going() {
		if k.objects == 0 {
			continue
		}
		// At the version of controllers last: they are not asked about objects that cannot be written at another.
		versions := slices.Clone(k.new.served())
		slices.SortStableFunc(versions, func(a, b string) int { return compareBool(a == k.home(), b == k.home()) })
		tried := map[requirement.ID]int{}
		for _, version := range versions {
			if err := l.writeAt(ctx, k, version, tried); err != nil {
				return err
			}
		}
		l.record.wrote(k, tried)
		l.record.unmanaged(k, requirement.UpgradeWriteApply)
	}
	return nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
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
func (l *leg) writeAt(ctx context.Context, k *kind, version string, tried map[requirement.ID]int) error {
	objects := l.record.readable(k, version)
	noOps := 0
	err := l.batches(ctx, k, version, objects, func(page []*unstructured.Unstructured) error {
		if l.record.selects(requirement.UpgradeWriteNoOp) {
			if err := l.noOps(ctx, k, version, page); err != nil {
				return err
			}
			noOps += len(page)
		}
		page = slices.DeleteFunc(page, func(object *unstructured.Unstructured) bool {
			return l.record.brokenFor(requirement.UpgradeWriteNoOp, k, keyOf(object))
		})
		if err := l.edits(ctx, k, version, page); err != nil {
			return err
		}
		if version == k.home() && k.new.status(version) && l.record.selects(requirement.UpgradeWriteStatus) {
			if err := l.statuses(ctx, k, version, page); err != nil {
				return err
			}
			tried[requirement.UpgradeWriteStatus] += len(page)
		}
		page = slices.DeleteFunc(page, func(object *unstructured.Unstructured) bool {
			return l.record.brokenFor(requirement.UpgradeDropSafe, k, keyOf(object))
		})
		applied, err := l.applies(ctx, k, version, page, requirement.UpgradeWriteApply, "after the upgrade")
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

// dryRun are the options of a write that is discarded.
func dryRun() []string { return []string{metav1.DryRunAll} }

// noOps writes objects at a version as they were read there.
func (l *leg) noOps(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, sent *unstructured.Unstructured) (func() error, error) {
		at, _ := l.at(k, version, keyOf(sent))
		got, err := at.Update(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		if err != nil {
			return nil, err
		}
		return func() error { l.unchanged(k, version, sent, got); return nil }, nil
	})
	for _, f := range failures {
		l.record.unwritable[written{k, version, f.object}] = true
		l.record.find(finding{
			id: requirement.UpgradeWriteNoOp, kind: k, object: f.object, version: version,
			message:  fmt.Sprintf("the API server refuses to write it at %s as it is read there: %s", version, said(f.err)),
			commands: []string{k.kubectlReplace(version, f.object)},
		})
	}
	return err
}

// unchanged notes what a write changes that is to change nothing.
func (l *leg) unchanged(k *kind, version string, sent, got *unstructured.Unstructured) {
	for _, change := range changes(content(sent.Object), content(got.Object), k.new.schema(version), k.new.schema(version)) {
		if l.lossy(k, version, change.Path) {
			continue
		}
		l.record.find(finding{
			id: requirement.UpgradeWriteNoOp, kind: k, object: keyOf(sent), version: version, field: change.Path, effect: change.effect, lacking: change.lacking,
			before: shown(change.Before, change.Added), after: shown(change.After, change.After == nil),
			message:  fmt.Sprintf("written at %s as it was read there, it changes: %s", version, change.Loss),
			commands: []string{k.kubectlReplace(version, keyOf(sent), "-o yaml")},
		})
	}
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
func (l *leg) statuses(ctx context.Context, k *kind, home string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, sent *unstructured.Unstructured) (func() error, error) {
		at, _ := l.at(k, home, keyOf(sent))
		_, err := at.UpdateStatus(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		return nil, err
	})
	for _, f := range failures {
		l.record.find(finding{
			id: requirement.UpgradeWriteStatus, kind: k, object: f.object, version: home,
			message:  fmt.Sprintf("the API server refuses to write its status at %s as it is read there: %s", home, said(f.err)),
			commands: []string{k.kubectlReplace(home, f.object, "--subresource=status")},
		})
	}
	return err
}

// applies has the managers of objects apply them again at a version: where they have applied them, and where controllers work, where
// another manager applies an annotation, too. It returns how many could be tried.
func (l *leg) applies(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured, id requirement.ID, did string) (int, error) {
	if !l.record.selects(id) {
		return 0, nil
	}
	tried := 0
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, object *unstructured.Unstructured) (func() error, error) {
		if foreign := k.foreign(object); foreign != "" {
			return func() error {
				l.record.note("objects of %s could not be applied before the upgrade either, since their managed fields name %s, which the old definition does not have, such as %s", k.name, foreign, keyOf(object))
				return nil
			}, nil
		}
		manager, applied := applier(k, object)
		if manager != "" && (version == applied || version == k.home()) {
			what := "what it has applied"
			if version != applied {
				what += " (at " + applied + ")"
			}
			if err := l.apply(ctx, k, version, manager, k.whole(object)); err != nil {
				return nil, &applyError{err, manager, what}
			}
		}
		if version == k.home() {
			if err := l.apply(ctx, k, version, secondManager, annotated(object)); err != nil {
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
		l.record.find(finding{
			id: id, kind: k, object: f.object, version: version,
			message:  fmt.Sprintf("the manager %s cannot apply %s at %s %s: %s", failed.manager, failed.what, version, did, said(f.err)),
			commands: []string{k.kubectlApply(version, f.object, failed.manager)},
		})
	}
	return tried, err
}

// refusedBefore notes which objects that the old schema refuses cannot be applied before the upgrade either.
func (l *leg) refusedBefore(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, object *unstructured.Unstructured) (func() error, error) {
		return nil, l.apply(ctx, k, version, secondManager, annotated(object))
	})
	for _, f := range failures {
		k.invalid[f.object] = true
	}
	if len(failures) > 0 {
		l.record.note("%d objects of %s, such as %s, were not valid at %s before the upgrade, and could not be applied then either, for which it is not to blame; mend them: %s",
			len(failures), k.name, failures[0].object, version, said(failures[0].err))
	}
	return err
}

// apply has a manager apply something, without keeping it.
func (a *api) apply(ctx context.Context, k *kind, version, manager string, part *unstructured.Unstructured) error {
	at, name := a.at(k, version, keyOf(part))
	_, err := at.Apply(ctx, name, part, metav1.ApplyOptions{DryRun: dryRun(), FieldManager: manager, Force: true})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // somebody else wrote to it
	}
	return err
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

// kubectlApply is the command with which a manager tries to apply an object.
func (k *kind) kubectlApply(version, object, manager string) string {
	namespace, name := kube.SplitKey(object)
	meta := "name: " + name
	if namespace != "" {
		meta += ", namespace: " + namespace
	}
	manifest := fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {%s, annotations: {%s: \"true\"}}}", k.group, version, k.kind, meta, rehearsed)
	return fmt.Sprintf("kubectl apply --server-side --dry-run=server --force-conflicts --field-manager=%s -f - <<'EOF'\n%s\nEOF", strings.ReplaceAll(manager, "'", ""), manifest)
}
