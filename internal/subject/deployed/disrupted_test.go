package deployed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSettled counts neither pods that stop, nor those that the service does not know yet, nor former ones.
func TestSettled(t *testing.T) {
	t.Parallel()
	pod := func(name string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"app": "webhook"}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	endpoint := func(name string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name, UID: types.UID(name)}}
	}
	stopping := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	starting := func(p *corev1.Pod) { p.Status.Conditions = nil }
	for name, test := range map[string]struct {
		pods      []corev1.Pod
		endpoints []discoveryv1.Endpoint
		want      bool
	}{
		"whole":                      {[]corev1.Pod{pod("a", nil), pod("b", nil)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("b")}, true},
		"too few":                    {[]corev1.Pod{pod("a", nil)}, []discoveryv1.Endpoint{endpoint("a")}, false},
		"too many":                   {[]corev1.Pod{pod("a", nil), pod("b", nil), pod("c", nil)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("b")}, false},
		"one stops":                  {[]corev1.Pod{pod("a", nil), pod("b", stopping)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("b")}, false},
		"one starts":                 {[]corev1.Pod{pod("a", nil), pod("b", starting)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("b")}, false},
		"the service lacks one":      {[]corev1.Pod{pod("a", nil), pod("b", nil)}, []discoveryv1.Endpoint{endpoint("a")}, false},
		"a former one":               {[]corev1.Pod{pod("a", nil), pod("former", nil)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("former")}, false},
		"the service has the former": {[]corev1.Pod{pod("a", nil), pod("b", nil)}, []discoveryv1.Endpoint{endpoint("a"), endpoint("former")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := seen{service: &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "webhook"}}}, pods: test.pods, endpoints: test.endpoints}
			if got := s.settled(2, []types.UID{"former"}); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
