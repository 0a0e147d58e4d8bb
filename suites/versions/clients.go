package versions

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/fixtures"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

func clients(env *suites.Env) {
	Describe("clients", func() {
		env.With(fixtures.Webhook).It(requirement.VersionsClientsBothVersions,
			"lets four clients on two versions count up one object and reads it at both", func(ctx SpecContext, crd *suites.Resource) {
				const each = 10
				object := fixtures.LocalCronTab.At("v1beta1")
				object.SetAnnotations(map[string]string{"count": "0"})
				crd.Create(ctx, "v1beta1", object)
				var writers sync.WaitGroup
				errs := make(chan error, 4)
				for _, version := range []string{"v1beta1", "v1", "v1beta1", "v1"} {
					writers.Go(func() { errs <- countUp(ctx, crd.At(version), each) })
				}
				writers.Wait()
				close(errs)
				for err := range errs {
					Expect(err).NotTo(HaveOccurred())
				}
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(And(
					HaveField("GetAnnotations()", HaveKeyWithValue("count", strconv.Itoa(4*each))),
					HaveField("Object", HaveKeyWithValue("hostPort", "localhost:1234"))))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(
					HaveField("GetAnnotations()", HaveKeyWithValue("count", strconv.Itoa(4*each))),
					HaveField("Object", HaveKeyWithValue("host", "localhost"))))
			})
	})
}

// countUp counts an annotation up, n times, by reading the object and putting it back. Conflicts with other writers are
// what optimistic locking is for and start a round anew; any other error ends it.
func countUp(ctx context.Context, objects suites.Objects, n int) error {
	for range n {
		for {
			object, err := objects.Get(ctx, "local-crontab")
			if err != nil {
				return err
			}
			if err := increment(object); err != nil {
				return err
			}
			if _, err = objects.Update(ctx, object); err == nil {
				break
			}
			if !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

func increment(object *unstructured.Unstructured) error {
	annotations := object.GetAnnotations()
	count, err := strconv.Atoi(annotations["count"])
	if err != nil {
		return fmt.Errorf("the object lost its count: %w", err)
	}
	annotations["count"] = strconv.Itoa(count + 1)
	object.SetAnnotations(annotations)
	return nil
}
