package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// appliesAgain has the managers of objects apply them when they are migrated.
func (w *writer) appliesAgain(ctx context.Context, k *kind, objects []string) error {
	id := requirement.UpgradeUseApply
	if !w.record.selects(id) {
		return nil
	}
	tried := 0
	err := w.batches(ctx, k, k.home(), objects, func(page []*unstructured.Unstructured) error {
		n, err := w.applies(ctx, k, k.home(), page, id, "once the objects are migrated")
		tried += n
		return err
	})
	w.record.tried(id, k, tried)
	w.record.unmanaged(k, id)
	return err
}

// delete tries to delete each object that was there, and deletes half of those that were created.
func (w *writer) delete(ctx context.Context, k *kind) error {
	id := requirement.UpgradeUseDelete
	if !w.record.selects(id) {
		return nil
	}
	home := k.home()
	objects := slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool { return !k.book.known(page{after, home}, object) })
	if len(objects) == 0 {
		w.record.blocked(id, k, requirement.UpgradeReadGet)
		return nil
	}
	remove := func(options metav1.DeleteOptions) func(ctx context.Context, object string) (func() error, error) {
		return func(ctx context.Context, object string) (func() error, error) {
			at, name := w.at(k, home, object)
			err := at.Delete(ctx, name, options)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				err = nil
			}
			return nil, err
		}
	}
	failures, err := w.each(ctx, objects, remove(metav1.DeleteOptions{DryRun: dryRun()}))
	if err != nil {
		return err
	}
	var gone []string
	for i, m := range k.made {
		if i%2 == 0 {
			gone = append(gone, m.object)
		}
	}
	really, err := w.each(ctx, gone, remove(metav1.DeleteOptions{}))
	w.record.tried(id, k, len(objects)+len(gone))
	for _, f := range append(failures, really...) {
		w.record.find(finding{
			id: id, kind: k, object: f.object, version: home, message: fmt.Sprintf("it cannot be deleted at %s: %s", home, said(f.err)),
			commands: []string{k.kubectlDelete(home, f.object)},
		})
	}
	return err
}

const (
	// collectTimeout is how long a garbage collector may take by default. It looks for new definitions every half minute.
	collectTimeout = 2 * time.Minute

	collectPoll = 500 * time.Millisecond
)

// garbage has the garbage collector collect what an object owns.
func (w *writer) garbage(ctx context.Context) error {
	id := requirement.UpgradeUseCollected
	if !w.collects(ctx) {
		for _, k := range w.kinds.going() {
			w.record.spare(id, k, "a cluster of the kind %s has no garbage collector; kind has one", w.cluster.Name())
		}
		return nil
	}
	for _, k := range w.kinds.going() {
		if !w.record.selects(id) || k.objects == 0 {
			continue
		}
		owners := slices.DeleteFunc(slices.Clone(k.made), func(m made) bool { return slices.Index(k.made, m)%2 == 0 })
		if len(owners) == 0 || !k.scoped {
			w.record.skip(id, k, "no namespaced object was left to own another")
			continue
		}
		for _, version := range k.new.served() {
			if err := w.collectsFor(ctx, k, owners[0].object, version); err != nil {
				return err
			}
			if owners = owners[1:]; len(owners) == 0 {
				break
			}
		}
	}
	return nil
}

// collectsFor deletes an object that owns a ConfigMap by a reference at a version, and waits until that is gone.
func (w *writer) collectsFor(ctx context.Context, k *kind, owner, version string) error {
	at, name := w.at(k, k.home(), owner)
	got, err := at.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if isAbout(err) {
			return nil
		}
		return err
	}
	maps := w.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(got.GetNamespace())
	owned := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	owned.SetName(name + "-owned")
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: k.group + "/" + version, Kind: k.kind, Name: name, UID: got.GetUID()}})
	if _, err = maps.Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating what %s owns: %w", owner, err)
	}
	if err = at.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && isAbout(err) {
		return nil // that it cannot be deleted was reported
	}
	within, cancel := context.WithTimeout(ctx, w.collectTimeout)
	defer cancel()
	err = kube.Until(within, collectPoll, func(ctx context.Context) (bool, error) {
		_, gone := maps.Get(ctx, owned.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(gone), nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.record.tried(requirement.UpgradeUseCollected, k, 1)
	if err != nil {
		w.record.find(finding{
			id: requirement.UpgradeUseCollected, kind: k, object: owner, version: version,
			message: fmt.Sprintf("a ConfigMap that it owns by a reference at %s is still there %s after it was deleted", version, w.collectTimeout),
		})
	}
	return nil
}
