package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// dropColumn is a printer column by which the changed definition is recognised.
	dropColumn = "Proof"

	// dropManager is the field manager of the applies after the drop.
	dropManager = "crdconform-dropped"
)

// drop removes all versions but the storage version from the definition, and reads, applies and deletes all objects.
func (p *Proof) drop(ctx context.Context, e *evidence) ([]Finding, error) {
	dropped := &evidence{}
	err := p.definitions.Change(ctx, p.crd, p.only)
	if refused, is := errors.AsType[*apierrors.StatusError](err); is && apierrors.IsInvalid(refused) {
		dropped.found(requirement.MigrationRemovalObjects, "", "a definition that can be without its other versions", refused.Error())
		return dropped.findings, nil
	}
	if err != nil {
		return nil, fmt.Errorf("removing the other versions of %s: %w", p.crd.Name, err)
	}
	alone := p.crd.DeepCopy()
	p.only(alone)
	if err := p.definitions.Served(ctx, alone, dropColumn); err != nil {
		return nil, fmt.Errorf("waiting until requests are served by %s without its other versions: %w", p.crd.Name, err)
	}
	for n := range p.before.len() {
		key := p.before.name(n)
		if e.deleted(key) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return dropped.findings, context.Cause(ctx)
		}
		p.exercise(ctx, dropped, n)
	}
	return dropped.findings, nil
}

// only leaves the storage version of a definition, with a printer column by which the change is recognised.
func (p *Proof) only(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name != p.storage })
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: dropColumn, Type: "string", JSONPath: ".metadata.name"}}
	}
}

// exercise reads, applies and deletes an object at the only version that is left.
func (p *Proof) exercise(ctx context.Context, e *evidence, n int) {
	key := p.before.name(n)
	namespace, name := kube.SplitKey(key)
	at := p.at(p.storage).Namespace(namespace)
	object, err := at.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		e.found(requirement.MigrationRemovalObjects, key, "it to be read at "+p.storage, err.Error())
		return
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{p.annotation(): "dropped"}}}}
	applied.SetGroupVersionKind(object.GroupVersionKind())
	applied.SetName(name)
	if _, err = at.Apply(ctx, name, applied, metav1.ApplyOptions{FieldManager: dropManager, Force: true}); err != nil {
		e.found(requirement.MigrationRemovalApplied, key, "it to be applied at "+p.storage, err.Error())
	}
	uid := object.GetUID()
	if err = at.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		e.found(requirement.MigrationRemovalObjects, key, "it to be deleted at "+p.storage, err.Error())
		return
	}
	if _, err = at.Get(ctx, name, metav1.GetOptions{}); err == nil && len(object.GetFinalizers()) == 0 {
		e.found(requirement.MigrationRemovalObjects, key, "it to be gone once it was deleted", "it is there")
	} else if err != nil && !apierrors.IsNotFound(err) {
		e.found(requirement.MigrationRemovalObjects, key, "it to be gone once it was deleted", err.Error())
	}
}
