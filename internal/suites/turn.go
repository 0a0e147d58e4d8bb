package suites

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/requirement"
)

// InTurn makes the specs of the set-up share one definition, one after the other, in the API group of the first of them that is selected.
// Each has it to itself: without objects, and with a webhook that converts correctly and has received nothing. It is for specs that
// leave the definition as it is. A definition takes an API server as long as ten specs.
func (s Setup) InTurn() Setup {
	s.shared, s.inTurn = &shared{}, true
	return s
}

// takeTurn waits for the definition of a spec that shares it in turn, and clears it for the next one. If it was not clear after the spec before,
// the spec gets a definition of its own.
func (s Setup) takeTurn(ctx ginkgo.SpecContext, id requirement.ID, p *pending) *Resource {
	ginkgo.GinkgoHelper()
	r := p.take(ctx)
	if p.uncleared {
		return s.env.Install(ctx, id, 0, s.definition, s.options...)
	}
	if r.Webhook != nil {
		r.Webhook.Forget()
	}
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) {
		if r.Webhook != nil {
			r.Webhook.Mend()
		}
		p.uncleared = r.clear(ctx) != nil
	})
	return r
}

// clear removes all objects, with their finalizers.
func (r *Resource) clear(ctx context.Context) error {
	definition, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	objects := r.Everywhere(servedVersion(definition))
	left, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range left.Items {
		release(ctx, objects, object)
		// Whatever is wrong, the object is there still.
		_ = objects.Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	}
	if left, err = objects.List(ctx, metav1.ListOptions{}); err == nil && len(left.Items) > 0 {
		err = fmt.Errorf("%d objects of %s remain", len(left.Items), r.Name())
	}
	return err
}
