package storage

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// undecodable is about lists and watches of objects of which one cannot be decoded. What a watch cache answers is another matter:
// it goes on for a while with what it has, and then asks clients to come back.
func undecodable(env *suites.Env) {
	Describe("reading what cannot be decoded", func() {
		stored := env.With(fixtures.None)
		// three creates objects, and makes storage have what is no JSON of those that are named.
		three := func(ctx SpecContext, crd *suites.Resource, corrupt ...string) {
			env.SkipWithWatchCache()
			for _, name := range []string{"first", "second", "third"} {
				object := fixtures.LocalCronTab.At("v1")
				object.SetName(name)
				crd.Create(ctx, "v1", object)
			}
			for _, name := range corrupt {
				crd.Overwrite(ctx, name, []byte(`{"apiVersion": `))
			}
		}
		page := func(ctx context.Context, crd *suites.Resource, after string) (*unstructured.UnstructuredList, error) {
			return crd.Everywhere("v1").Namespace(suites.Namespace).List(ctx, metav1.ListOptions{Limit: 1, Continue: after})
		}

		stored.It(requirement.StorageReadUndecodableList,
			"lists three objects, of which the second cannot be decoded, at once and in pages", func(ctx SpecContext, crd *suites.Resource) {
				three(ctx, crd, "second")
				fails := func(err error) {
					GinkgoHelper()
					Expect(err).To(And(HaveOccurred(), HaveField("ErrStatus.Code", Equal(int32(http.StatusInternalServerError)))))
				}
				fails(suites.ErrorOf(crd.At("v1").List(ctx)))
				begun, err := page(ctx, crd, "")
				Expect(err).NotTo(HaveOccurred())
				Expect(begun.Items).To(ConsistOf(HaveField("GetName()", "first")))
				fails(suites.ErrorOf(page(ctx, crd, begun.GetContinue())))
				for _, name := range []string{"first", "third"} {
					Expect(crd.At("v1").Get(ctx, name)).To(HaveField("Object", HaveKeyWithValue("host", "localhost")))
				}
			})

		stored.It(requirement.StorageReadUndecodableNamed,
			"lists three objects, of which two cannot be decoded", func(ctx SpecContext, crd *suites.Resource) {
				three(ctx, crd, "first", "third")
				_, err := crd.At("v1").List(ctx)
				Expect(err).To(MatchError(apierrors.IsStoreReadError, "IsStoreReadError"))
				Expect(err).To(HaveField("ErrStatus.Details.Causes", ConsistOf(
					HaveField("Field", HaveSuffix(keyOf(crd, "first"))), HaveField("Field", HaveSuffix(keyOf(crd, "third"))))), "each must be named by where it is stored")
			})

		stored.It(requirement.StorageReadUndecodableWatch,
			"watches objects, of which one is overwritten by what cannot be decoded", func(ctx SpecContext, crd *suites.Resource) {
				three(ctx, crd)
				events, err := crd.At("v1").Watch(ctx)
				env.Require(err, "watching the objects")
				defer events.Stop()
				env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, "first", `{"port": "4321"}`)), "patching an object")
				Eventually(ctx, events.ResultChan()).Should(Receive(HaveField("Object.Object", HaveKeyWithValue("port", "4321"))))
				crd.Overwrite(ctx, "second", []byte(`{"apiVersion": `))
				Eventually(ctx, events.ResultChan()).Should(Receive(And(
					HaveField("Type", watch.Error), HaveField("Object", HaveField("Code", Equal(int32(http.StatusInternalServerError)))))))
				Eventually(ctx, events.ResultChan()).Should(BeClosed(), "the watch must end")
			})
	})
}

// keyOf is where an object is stored, without the prefix that all keys have.
func keyOf(crd *suites.Resource, name string) string {
	return "/" + crd.Group() + "/crontabs/" + suites.Namespace + "/" + name
}
