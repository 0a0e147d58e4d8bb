package control

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// scaling is about who reads the scale of custom objects.
func (c chapter) scaling() {
	Describe("scaling", Label(suites.Slow), func() {
		scaled := c.env.With(fixtures.Webhook, fixtures.WithSubresources())

		scaled.It(requirement.ControlScalingDisruptionBudget,
			"has a disruption budget for pods of custom objects, whose references name two versions", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(
					ctx, controllers, served("policy/v1", "poddisruptionbudgets", "disruption budgets"),
					may("create", "policy", "poddisruptionbudgets"), may("patch", "policy", "poddisruptionbudgets"), may("create", "", "pods"),
				)
				five := crd.Create(ctx, older, replicated(fixtures.LocalCronTab.At(older), 5))
				two := crd.Create(ctx, newer, replicated(fixtures.RemoteCronTab.At(newer), 2))
				label := map[string]string{"crdconform.dev/owner": string(five.GetUID())}
				c.pod(ctx, crd, label, owner(five, crd.APIVersion(older)))
				c.pod(ctx, crd, label, owner(two, crd.APIVersion(newer)))
				budget := c.put(ctx, crd, c.in("policy/v1", "poddisruptionbudgets"), &policyv1.PodDisruptionBudget{
					TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
					ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
					Spec: policyv1.PodDisruptionBudgetSpec{
						Selector:     &metav1.LabelSelector{MatchLabels: label},
						MinAvailable: new(intstr.FromString("50%")),
					},
				}).GetName()
				// The controller learns of new kinds every 30 s, and by then waits long before it tries again, unless the budget changes.
				changes := 0
				c.soon(ctx, func(ctx context.Context) (policyv1.PodDisruptionBudgetStatus, error) {
					var read policyv1.PodDisruptionBudget
					changes++
					change := fmt.Appendf(nil, `{"metadata": {"annotations": {"crdconform.dev/changes": "%d"}}}`, changes)
					object, err := c.in("policy/v1", "poddisruptionbudgets").Patch(ctx, budget, types.MergePatchType, change, metav1.PatchOptions{})
					if err == nil {
						err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read)
					}
					return read.Status, err
				}).WithPolling(time.Second).Should(SatisfyAll(HaveField("ExpectedPods", int32(7)), HaveField("DesiredHealthy", int32(4))), "half of 5 and 2 replicas must be healthy")
			})

		scaled.It(requirement.ControlScalingAutoscaler,
			"has an autoscaler for a custom object with more replicas than it allows", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(
					ctx, controllers, served("autoscaling/v2", "horizontalpodautoscalers", "autoscalers"),
					may("create", "autoscaling", "horizontalpodautoscalers"),
				)
				object := crd.Create(ctx, older, replicated(fixtures.LocalCronTab.At(older), 5))
				c.put(ctx, crd, c.in("autoscaling/v2", "horizontalpodautoscalers"), &autoscalingv2.HorizontalPodAutoscaler{
					TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
					ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
					Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
						ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: crd.APIVersion(older), Kind: object.GetKind(), Name: object.GetName()},
						MaxReplicas:    3,
					},
				})
				// Without metrics, all that an autoscaler does is to keep to its limits.
				for _, version := range []string{older, newer} {
					c.soon(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
						return crd.At(version).Get(ctx, object.GetName())
					}).
						Should(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("replicas", BeEquivalentTo(3)))), "there must be 3 replicas at %s", version)
				}
			})
	})
}

// replicated sets the replicas that /scale shows.
func replicated(object *unstructured.Unstructured, replicas int64) *unstructured.Unstructured {
	object.Object["spec"] = map[string]any{"replicas": replicas}
	return object
}

// pod creates a pod that a custom object controls. It is never scheduled, so its image is never pulled; and it asks for nothing
// that a restricted namespace forbids.
func (c chapter) pod(ctx SpecContext, crd *suites.Resource, label map[string]string, controller metav1.OwnerReference) {
	GinkgoHelper()
	controller.Controller = new(true)
	c.put(ctx, crd, c.in("v1", "pods"), &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-", Labels: label, OwnerReferences: []metav1.OwnerReference{controller}},
		Spec: corev1.PodSpec{
			SchedulingGates:               []corev1.PodSchedulingGate{{Name: "crdconform.dev/never"}},
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
			SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "never", Image: "crdconform.invalid/never", ImagePullPolicy: corev1.PullNever,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	})
}
