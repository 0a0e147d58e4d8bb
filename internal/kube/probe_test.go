package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/cluster"
)

// TestProbe points the API server at one webhook after the other, has it convert an object for each, and leaves nothing behind.
func TestProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, client := in()
		client.PrependReactor("create", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
			crd, is := action.(kubetesting.CreateActionImpl).Object.(*apiextensionsv1.CustomResourceDefinition)
			if !is {
				t.Fatal(action)
			}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{established(0)}
			return false, nil, nil
		})
		objects := fake.NewSimpleDynamicClient(runtime.NewScheme())
		missing := apierrors.NewNotFound(schema.GroupResource{}, "")
		refused := errors.New("conversion webhook for probe.example.com/v1, Kind=Probe failed")
		answers := []error{missing, errors.New("no leader"), nil, missing, refused}
		objects.PrependReactor("*", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
			if want := []string{"patch v1", "patch v1", "patch v1", "get v1beta1", "get v1beta1"}[5-len(answers)]; action.GetVerb()+" "+action.GetResource().Version != want {
				t.Errorf("got %v, want %s", action, want)
			}
			err := answers[0]
			answers = answers[1:]
			return true, &unstructured.Unstructured{Object: map[string]any{}}, err
		})
		p := Probe{Definitions: d, Objects: objects, Run: "r1", Group: "probe.example.com", Plural: "probes"}
		if err := p.Remove(t.Context()); err != nil {
			t.Errorf("before it began: %v", err)
		}
		for _, url := range []string{"https://one", "https://two"} {
			if err := p.Point(t.Context(), apiextensionsv1.WebhookClientConfig{URL: &url}); err != nil {
				t.Fatal(err)
			}
			crd, err := d.Client.Get(t.Context(), "probes.probe.example.com", metav1.GetOptions{})
			if err != nil || *crd.Spec.Conversion.Webhook.ClientConfig.URL != url || crd.Labels[cluster.RunLabel] != "r1" {
				t.Errorf("%v: %v", crd, err)
			}
		}
		for _, want := range []error{missing, refused} {
			if err := p.Ask(t.Context()); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if err := p.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		if left, err := d.Client.List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
			t.Errorf("left are %v: %v", left, err)
		}
		forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		answers = append(answers, fmt.Errorf("apply: %w", forbidden))
		objects.ReactionChain = objects.ReactionChain[1:]
		objects.PrependReactor("*", "*", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, answers[0] })
		if err := p.Point(t.Context(), apiextensionsv1.WebhookClientConfig{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "creating an object of probes.probe.example.com") {
			t.Errorf("without the right: %v", err)
		}
	})
}
