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
		for _, version := range k.new.served() {
			if err := l.noOps(ctx, k, version); err != nil {
				return err
			}
		}
		if err := l.controllers(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// readable are the objects of before the upgrade that can be read at a version, and at all others.
func (l *leg) readable(k *kind, version string) []string {
	return slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool {
		return !k.book.known(page{after, version}, object) || l.record.brokenFor(requirement.UpgradeReadGet, k, object)
	})
}

// dryRun are the options of a write that is discarded.
func dryRun() []string { return []string{metav1.DryRunAll} }

// noOps writes each object at a version as it is read there.
func (l *leg) noOps(ctx context.Context, k *kind, version string) error {
	id := requirement.UpgradeWriteNoOp
	if !l.record.selects(id) {
		return nil
	}
	objects := l.readable(k, version)
	failures, err := l.each(ctx, objects, func(ctx context.Context, object string) (func() error, error) {
		at, name := l.at(k, version, object)
		sent, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // that is about reading
		}
		got, err := at.Update(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		if err != nil {
			return nil, err
		}
		return func() error { l.unchanged(k, version, sent, got); return nil }, nil
	})
	l.record.tried(id, k, len(objects))
	for _, f := range failures {
		l.record.unwritable[written{k, version, f.object}] = true
		l.record.find(finding{
			id: id, kind: k, object: f.object, version: version,
			message:  fmt.Sprintf("the API server refuses to write it at %s as it is read there: %s", version, said(f.err)),
			commands: []string{l.kubectlReplace(k, version, f.object)},
		})
	}
	if len(objects) < len(k.book.names) && len(objects) == 0 {
		l.record.blocked(id, k, requirement.UpgradeReadGet)
	}
	return err
}

// unchanged notes what a write changes that is to change nothing.
func (l *leg) unchanged(k *kind, version string, sent, got *unstructured.Unstructured) {
	for _, change := range changes(content(sent.Object), content(got.Object), k.new.schema(version), k.new.schema(version)) {
		if _, known := l.lossy(k, version, change.Path); known {
			continue
		}
		l.record.find(finding{
			id: requirement.UpgradeWriteNoOp, kind: k, object: keyOf(sent), version: version, field: change.Path, effect: change.effect, lacking: change.lacking,
			before: shown(change.Before, change.Added), after: shown(change.After, change.After == nil),
			message:  fmt.Sprintf("written at %s as it was read there, it changes: %s", version, change.Loss),
			commands: []string{l.kubectlReplace(k, version, keyOf(sent), "-o yaml")},
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

// controllers writes the status of each object, and has two managers apply it.
func (l *leg) controllers(ctx context.Context, k *kind) error {
	home := k.home()
	objects := slices.DeleteFunc(l.readable(k, home), func(object string) bool { return l.record.brokenFor(requirement.UpgradeWriteNoOp, k, object) })
	applied := slices.DeleteFunc(slices.Clone(objects), func(object string) bool { return l.record.brokenFor(requirement.UpgradeDropSafe, k, object) })
	if len(objects) == 0 {
		by := requirement.UpgradeReadGet
		if l.record.broken(requirement.UpgradeWriteNoOp, k) {
			by = requirement.UpgradeWriteNoOp
		}
		l.record.blocked(requirement.UpgradeWriteStatus, k, by)
		l.record.blocked(requirement.UpgradeWriteApply, k, by)
		return nil
	}
	if !k.new.status(home) {
		l.record.skip(requirement.UpgradeWriteStatus, k, true, "the new definition has no subresource for the status")
	} else if l.record.selects(requirement.UpgradeWriteStatus) {
		if err := l.statuses(ctx, k, home, objects); err != nil {
			return err
		}
	}
	if len(applied) == 0 {
		l.record.blocked(requirement.UpgradeWriteApply, k, requirement.UpgradeDropSafe)
		return nil
	}
	return l.applies(ctx, k, applied, requirement.UpgradeWriteApply, "after the upgrade")
}

func (l *leg) statuses(ctx context.Context, k *kind, home string, objects []string) error {
	failures, err := l.each(ctx, objects, func(ctx context.Context, object string) (func() error, error) {
		at, name := l.at(k, home, object)
		sent, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // that is about reading
		}
		_, err = at.UpdateStatus(ctx, sent, metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody else wrote to it
		}
		return nil, err
	})
	l.record.tried(requirement.UpgradeWriteStatus, k, len(objects))
	for _, f := range failures {
		l.record.find(finding{
			id: requirement.UpgradeWriteStatus, kind: k, object: f.object, version: home,
			message:  fmt.Sprintf("the API server refuses to write its status at %s as it is read there: %s", home, said(f.err)),
			commands: []string{l.kubectlReplace(k, home, f.object, "--subresource=status")},
		})
	}
	return err
}

// applies has the manager of each object apply it again, and another one an annotation.
func (l *leg) applies(ctx context.Context, k *kind, objects []string, id requirement.ID, did string) error {
	if !l.record.selects(id) {
		return nil
	}
	apply := func(ctx context.Context, object, version, manager string, part func(*unstructured.Unstructured) *unstructured.Unstructured) error {
		at, name := l.at(k, version, object)
		got, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil //nolint:nilerr // that is about reading
		}
		_, err = at.Apply(ctx, name, part(got), metav1.ApplyOptions{DryRun: dryRun(), FieldManager: manager, Force: true})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil // somebody else wrote to it
		}
		return err
	}
	home := k.home()
	failures, err := l.each(ctx, objects, func(ctx context.Context, object string) (func() error, error) {
		version, manager := home, secondManager
		at, name := l.at(k, home, object)
		if got, err := at.Get(ctx, name, metav1.GetOptions{}); err == nil {
			if foreign := k.foreign(got); foreign != "" {
				return func() error {
					l.note("objects of %s could not be applied before the upgrade either, since their managed fields name %s, which the old definition does not have, such as %s", k.name, foreign, object)
					return nil
				}, nil
			}
			version, manager = applier(k, got, home)
		}
		if manager != secondManager {
			if err := apply(ctx, object, version, manager, k.whole); err != nil {
				return nil, &applyError{err, version, manager, "what it has applied"}
			}
			if version != home {
				if err := apply(ctx, object, home, manager, k.whole); err != nil {
					return nil, &applyError{err, home, manager, "what it has applied at " + version}
				}
			}
		}
		if err := apply(ctx, object, home, secondManager, annotated); err != nil {
			return nil, &applyError{err, home, secondManager, "an annotation"}
		}
		return nil, nil //nolint:nilnil // there is nothing to note
	})
	l.record.tried(id, k, len(objects))
	for _, f := range failures {
		failed := &applyError{}
		if !errors.As(f.err, &failed) {
			continue
		}
		l.record.find(finding{
			id: id, kind: k, object: f.object, version: failed.version,
			message:  fmt.Sprintf("the manager %s cannot apply %s at %s %s: %s", failed.manager, failed.what, failed.version, did, said(f.err)),
			commands: []string{l.kubectlApply(k, failed.version, f.object, failed.manager)},
		})
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

	version, manager, what string
}

func (e *applyError) Unwrap() error { return e.error }

// applier returns the manager that has applied an object, and the version at which it did, or the storage version if that is not served
// any more.
func applier(k *kind, object *unstructured.Unstructured, home string) (version, manager string) {
	for _, entry := range object.GetManagedFields() {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err == nil && gv.Group == k.group && slices.Contains(k.new.served(), gv.Version) {
			return gv.Version, entry.Manager
		}
		return home, entry.Manager
	}
	return home, secondManager
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
func (*leg) kubectlApply(k *kind, version, object, manager string) string {
	namespace, name := split(object)
	meta := "name: " + name
	if namespace != "" {
		meta += ", namespace: " + namespace
	}
	manifest := fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {%s, annotations: {%s: \"true\"}}}", k.group, version, k.kind, meta, rehearsed)
	return fmt.Sprintf("kubectl apply --server-side --dry-run=server --force-conflicts --field-manager=%s -f - <<'EOF'\n%s\nEOF", strings.ReplaceAll(manager, "'", ""), manifest)
}
