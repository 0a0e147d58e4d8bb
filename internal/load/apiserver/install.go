package apiserver

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// poll is how long to wait before something is looked at again.
	poll = 20 * time.Millisecond

	// removal is how long the API server may take to remove the definition, each object of it first.
	removal = 5 * time.Minute
)

// install creates the definition, converted by way of the proxy.
func (r *run) install(ctx context.Context) error {
	r.progress("installing " + r.Definition.Name())
	crd := kube.Fresh(r.Definition.CRD)
	crd.Spec.Conversion = kube.ConvertedBy(crd, apiextensionsv1.WebhookClientConfig{URL: &r.proxy.url, CABundle: r.proxy.ca})
	created, err := r.crds.Create(ctx, crd)
	if err != nil {
		return fmt.Errorf("installing %s: %w", crd.Name, err)
	}
	r.definition = created
	return nil
}

// established waits until the definition is established and objects can be created without being held.
func (r *run) established(ctx context.Context) error {
	hold, err := r.crds.Established(ctx, r.definition.Name)
	if err != nil {
		return err
	}
	if err := hold.Wait(ctx); err != nil {
		return err
	}
	return r.crds.Served(ctx, r.definition, "")
}

// change changes the definition.
func (r *run) change(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	return r.crds.Change(ctx, r.definition, change)
}

// remove deletes the definition, which deletes its objects. It says first that nothing is converted any more, so that a
// webhook that does not convert cannot keep them.
func (r *run) remove(ctx context.Context) error {
	still := r.step("removing " + r.definition.Name)
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	err := r.change(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = r.crds.Remove(ctx, r.definition, func(context.Context, *apiextensionsv1.CustomResourceDefinition) { still("it is still there") })
	}
	if err != nil {
		return fmt.Errorf("%w; delete it by hand", err)
	}
	return nil
}
