package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// publishTimeout is how long the API server may take until discovery shows the storage version.
	publishTimeout = 30 * time.Second

	publishPoll = 50 * time.Millisecond

	// trimAttempts is how often the status is written again after a conflict: other parts of it may change at any time.
	trimAttempts = 5
)

func (m *migration) read(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := m.definitions.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, misused("the cluster has no definition %s; \"kubectl get crd\" lists those that it has", m.name)
	}
	return crd, err
}

// settled waits until the API server stores objects at the storage version: it takes it some time to see a change of the
// definition, and other API servers of the cluster some more.
func (m *migration) settled(ctx context.Context) error {
	if err := m.published(ctx); err != nil {
		return err
	}
	var changed time.Time
	for _, entry := range m.crd.ManagedFields {
		if entry.Time != nil && entry.Subresource == "" && entry.Time.After(changed) {
			changed = entry.Time.Time
		}
	}
	left := m.options.Settle
	if now, err := m.unpaced.Now(ctx); err == nil { // by the clock that the change has its time of
		left = min(left, left-now.Sub(changed))
	}
	if left <= 0 {
		return nil
	}
	m.report(Progress{Waiting: fmt.Sprintf("the definition changed a moment ago: waiting %s until all API servers know", left.Round(100*time.Millisecond))})
	return pause.For(ctx, left)
}

// published waits until discovery shows the storage version as the one that objects are stored at.
func (m *migration) published(ctx context.Context) error {
	want := kube.StorageVersionHash(m.crd.Spec.Group, m.storage, m.crd.Spec.Names.Kind)
	if m.served[0] != m.storage {
		return nil // nothing shows it
	}
	var last error
	within, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	err := kube.Until(within, publishPoll, func(ctx context.Context) (bool, error) {
		raw, err := m.everything.Discovery().RESTClient().Get().AbsPath("apis", m.crd.Spec.Group, m.storage).DoRaw(ctx)
		if last = err; err != nil {
			return false, nil //nolint:nilerr // it is tried again
		}
		list := &metav1.APIResourceList{}
		if err := json.Unmarshal(raw, list); err != nil {
			return false, err
		}
		return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name == m.crd.Spec.Names.Plural && (r.StorageVersionHash == want || r.StorageVersionHash == "")
		}), nil
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case last != nil:
		return fmt.Errorf("discovery of %s/%s: %w", m.crd.Spec.Group, m.storage, last)
	}
	return fmt.Errorf("%s: the API server does not store objects at %s after %s, though the definition says so", m.name, m.storage, publishTimeout)
}

// unchanged reads the definition again and returns it. The error is an IncompleteError if anything in it changed since the start.
func (m *migration) unchanged(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := m.storesAsBefore(ctx)
	if err == nil && crd.Generation != m.crd.Generation {
		return nil, incomplete("%s changed during the migration (generation %d, now %d); status.storedVersions was left as it is: run it again", m.name, m.crd.Generation, crd.Generation)
	}
	return crd, err
}

// storesAsBefore reads the definition again and returns it. The error is an IncompleteError if what it stores changed since the start.
func (m *migration) storesAsBefore(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := m.definitions.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, incomplete("%s was deleted during the migration", m.name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	m.result.StoredVersions = crd.Status.StoredVersions
	storage := kube.StorageVersion(crd)
	switch {
	case crd.UID != m.crd.UID:
		return nil, incomplete("%s was deleted and created again during the migration; run it again for the new one", m.name)
	case crd.DeletionTimestamp != nil:
		return nil, incomplete("%s is being deleted, with all its objects", m.name)
	case storage != m.storage:
		return nil, incomplete("the storage version of %s changed from %s to %s during the migration; status.storedVersions was left as it is: run it again", m.name, m.storage, storage)
	}
	return crd, nil
}

// trim makes the storage version the only stored version.
func (m *migration) trim(ctx context.Context) error {
	if !m.start.Completed {
		return incomplete("status.storedVersions was left as it is: it is not known that all objects of %s were migrated; take the step %s, too", m.name, Objects)
	}
	for attempt := 1; ; attempt++ {
		crd, err := m.unchanged(ctx)
		if err != nil {
			return err
		}
		if slices.Equal(crd.Status.StoredVersions, []string{m.storage}) {
			return nil
		}
		patch, err := json.Marshal(trimPatch{preconditionsOf(&crd.ObjectMeta), storedStatus{[]string{m.storage}}})
		if err != nil {
			return err
		}
		crd, err = m.definitions.Patch(ctx, m.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
		if apierrors.IsConflict(err) && attempt < trimAttempts {
			continue
		}
		if err != nil {
			return fmt.Errorf("status.storedVersions of %s: %w", m.name, err)
		}
		m.result.StoredVersions, m.result.Trimmed = crd.Status.StoredVersions, true
		return nil
	}
}
