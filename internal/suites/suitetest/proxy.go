package suitetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// MendProxy lends kube-proxy a library of the node where its image lacks that, as some home-made ones do. Without it calls of
// services with two pods go astray.
func MendProxy(t *testing.T, config *rest.Config) error {
	t.Helper()
	ctx := t.Context()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "two", Labels: map[string]string{discoveryv1.LabelServiceName: "two"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}, {Addresses: []string{"192.0.2.2"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: ptr.To[int32](1)}},
	}
	if _, err = client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err = client.DiscoveryV1().EndpointSlices("default").Create(ctx, endpoints, metav1.CreateOptions{}); err != nil {
		return err
	}
	select { // until it has tried
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	proxies, err := client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy"})
	if err != nil {
		return err
	}
	var said strings.Builder
	for _, pod := range proxies.Items {
		text, readErr := client.CoreV1().Pods("kube-system").GetLogs(pod.Name, new(corev1.PodLogOptions)).DoRaw(ctx)
		if readErr != nil {
			return readErr
		}
		said.Write(text)
	}
	if err = client.CoreV1().Services("default").Delete(ctx, "two", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err = client.DiscoveryV1().EndpointSlices("default").Delete(ctx, "two", metav1.DeleteOptions{}); err != nil {
		return err
	}
	const library = "/usr/lib/x86_64-linux-gnu/libm.so.6"
	if !strings.Contains(said.String(), "libxt_statistic.so: libm.so.6: cannot open shared object file") {
		return nil
	}
	t.Logf("kube-proxy of this node image lacks %s; it is lent that of the node", library)
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"volumes":[{"name":"libm","hostPath":{"path":%q,"type":"File"}}],`+
		`"containers":[{"name":"kube-proxy","volumeMounts":[{"name":"libm","mountPath":%q,"readOnly":true}]}]}}}}`, library, library)
	set, err := client.AppsV1().DaemonSets("kube-system").Patch(ctx, "kube-proxy", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	until, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("kube-proxy is not back after a minute"))
	defer cancel()
	return wait.PollUntilContextCancel(until, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		now, err := client.AppsV1().DaemonSets("kube-system").Get(until, "kube-proxy", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		s := now.Status
		return s.ObservedGeneration >= set.Generation && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled, nil
	})
}
