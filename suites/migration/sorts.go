package migration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// comment is a field that the newer version alone has.
const comment = "comment"

func commented(crd *apiextensionsv1.CustomResourceDefinition) {
	fixtures.Version(crd, newer).Schema.OpenAPIV3Schema.Properties[comment] = apiextensionsv1.JSONSchemaProps{Type: "string"}
}

// rich creates an object with all that metadata can hold, and a status.
func (c chapter) rich(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	object := fixtures.LocalCronTab.At(older)
	object.SetName("rich")
	object.SetLabels(map[string]string{"app": "crontab", "empty": ""})
	object.SetAnnotations(map[string]string{"example.com/note": "keep it", "example.com/empty": ""})
	object.SetFinalizers([]string{"example.com/held"})
	owner := crd.Get(ctx, older, name(0))
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: crd.APIVersion(older), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	released(crd, object.GetName())
	crd.Create(ctx, older, object)
	c.env.Require(suites.ErrorOf(crd.At(older).MergePatch(ctx, object.GetName(), `{"status": {"replicas": 2, "labelSelector": "app=crontab"}}`, "status")), "writing its status")
}

// dying creates an object that is being deleted.
func (c chapter) dying(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	like := newer
	if crd.Webhook != nil {
		like = older
	}
	object := fixtures.LocalCronTab.At(like)
	object.SetName("dying")
	object.SetFinalizers([]string{"example.com/held"})
	released(crd, object.GetName())
	crd.Create(ctx, older, object)
	c.env.Require(crd.At(older).Delete(ctx, object.GetName()), "deleting it")
}

// recent creates an object at the newer version, with a field that the older one lacks.
func (c chapter) recent(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	object := fixtures.LocalCronTab.At(newer)
	object.SetName("recent")
	object.Object[comment] = "since the newer version"
	crd.Create(ctx, newer, object)
}

// released takes the finalizers off an object in the end, with which its definition could not be deleted.
func released(crd *suites.Resource, name string) {
	DeferCleanup(func(ctx SpecContext) error {
		_, err := crd.At(newer).MergePatch(ctx, name, `{"metadata": {"finalizers": null}}`)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("taking the finalizers off %s: %w", name, err)
		}
		return nil
	})
}
