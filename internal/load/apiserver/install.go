package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

const (
	// poll is how long to wait before something is looked at again.
	poll = 20 * time.Millisecond

	// effect is how long a change of the definition may take to show.
	effect = 30 * time.Second

	// createHold is how long API servers hold the first create of a definition after it was established.
	createHold = 2 * time.Second

	// removal is how long the API server may take to remove the definition, each object of it first.
	removal = 5 * time.Minute
)

// install creates the definition, converted by way of the proxy.
func (r *run) install(ctx context.Context) error {
	r.progress("installing " + r.Definition.Name())
	crd := r.Definition.CRD.DeepCopy()
	crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels, Annotations: crd.Annotations}
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	reviews := []string{"v1"}
	if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && len(c.Webhook.ConversionReviewVersions) > 0 {
		reviews = c.Webhook.ConversionReviewVersions
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: r.proxy.clientConfig(), ConversionReviewVersions: reviews},
	}
	// This cannot be interrupted: it would be unknown whether the definition exists.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), effect)
	defer cancel()
	created, err := r.api.crds.Create(creating, crd, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w; it does not belong to this run; delete it, or use another cluster", err)
	}
	if err != nil {
		return fmt.Errorf("installing %s: %w", crd.Name, err)
	}
	r.definition = created
	return nil
}

// established waits until the definition is established and objects can be created without being held.
func (r *run) established(ctx context.Context) error {
	var since time.Time
	err := wait.PollUntilContextTimeout(ctx, poll, effect, true, func(ctx context.Context) (bool, error) {
		last, err := r.api.crds.Get(ctx, r.definition.Name, metav1.GetOptions{})
		if err != nil || !apihelpers.IsCRDConditionTrue(last, apiextensionsv1.Established) {
			return false, err
		}
		since = apihelpers.FindCRDCondition(last, apiextensionsv1.Established).LastTransitionTime.Time
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be established: %w", r.definition.Name, err)
	}
	pause(ctx, min(time.Until(since.Add(createHold)), createHold)) // whatever the server's clock says
	// For a moment after it was established, a definition may not be served yet.
	err = wait.PollUntilContextTimeout(ctx, poll, effect, true, func(ctx context.Context) (bool, error) {
		for _, version := range r.served {
			if _, refused := r.api.list(ctx, nothing(r, version)); statusOf(refused) == http.StatusNotFound {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be served at %q: %w", r.definition.Name, r.served, err)
	}
	return nil
}

// change changes the definition.
func (r *run) change(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := r.api.crds.Get(ctx, r.definition.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if crd.UID != r.definition.UID {
			return errors.New("it was replaced meanwhile, so it is left alone")
		}
		change(crd)
		_, err = r.api.crds.Update(ctx, crd, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing %s: %w", r.definition.Name, err)
	}
	return nil
}

// remove deletes the definition, which deletes its objects. It is told before that nothing is converted any more, so that a
// webhook that does not convert cannot keep them.
func (r *run) remove(ctx context.Context) error {
	still := r.step("removing " + r.definition.Name)
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	err := r.change(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	if err == nil {
		err = r.api.crds.Delete(ctx, r.definition.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(r.definition.UID))})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			_, there := r.api.crds.Get(ctx, r.definition.Name, metav1.GetOptions{})
			still("it is still there")
			return apierrors.IsNotFound(there), nil
		})
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w; delete it by hand", r.definition.Name, err)
	}
	return nil
}
