package kind_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/services"
)

// arrives is an Await that has nothing to wait for.
func arrives(context.Context, string, int32) error { return nil }

// all returns what is in a cluster, as kind namespace/name, sorted. It fails for what lacks the label of the run.
func all(t *testing.T, client *fake.Clientset, run string) []string {
	t.Helper()
	namespaces, err1 := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	services, err2 := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	slicesThere, err3 := client.DiscoveryV1().EndpointSlices("").List(t.Context(), metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var found []string
	add := func(kind string, meta metav1.ObjectMeta) {
		found = append(found, fmt.Sprintf("%s %s/%s", kind, meta.Namespace, meta.Name))
		if meta.Labels[cluster.RunLabel] != run {
			t.Errorf("%s %s has the labels %v", kind, meta.Name, meta.Labels)
		}
	}
	for _, n := range namespaces.Items {
		add("namespace", n.ObjectMeta)
	}
	for _, s := range services.Items {
		add("service", s.ObjectMeta)
	}
	for _, s := range slicesThere.Items {
		add("slice", s.ObjectMeta)
	}
	slices.Sort(found)
	return found
}

func expect(t *testing.T, client *fake.Clientset, want ...string) {
	t.Helper()
	if got := all(t, client, "one"); !slices.Equal(got, want) {
		t.Errorf("the cluster has %q, want %q", got, want)
	}
}

func TestRouteAndBack(t *testing.T) {
	client := fake.NewClientset()
	var awaited []string
	r := services.NewRouter(client, "one", func(_ context.Context, ip string, port int32) error {
		awaited = append(awaited, fmt.Sprintf("%q:%d", ip, port))
		return nil
	}, func(ctx context.Context, _ string, port int32) error {
		if _, err := client.DiscoveryV1().EndpointSlices("ns").Get(ctx, "hook", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("waiting for calls to be refused while there is an endpoint: %v", err)
		}
		awaited = append(awaited, fmt.Sprintf("none:%d", port))
		return nil
	})
	if err := r.Route(t.Context(), "ns", "hook", 1234, "192.0.2.7:4711"); err != nil {
		t.Fatal(err)
	}
	expect(t, client, "namespace /ns", "service ns/hook", "slice ns/hook")
	if len(awaited) != 1 || !strings.HasSuffix(awaited[0], ":1234") {
		t.Errorf("awaited %v", awaited)
	}
	service, err := client.CoreV1().Services("ns").Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 1234 || len(service.Spec.Selector) != 0 {
		t.Errorf("the service is %+v", service.Spec)
	}
	slice, err := client.DiscoveryV1().EndpointSlices("ns").Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slice.Labels[discoveryv1.LabelServiceName] != "hook" || slice.AddressType != discoveryv1.AddressTypeIPv4 ||
		slice.Endpoints[0].Addresses[0] != "192.0.2.7" || *slice.Ports[0].Port != 4711 || *slice.Ports[0].Name != service.Spec.Ports[0].Name {
		t.Errorf("the slice is %+v", slice)
	}

	// Another address takes the place of the first.
	if err := r.Route(t.Context(), "ns", "hook", 443, "[2001:db8::1]:4712"); err != nil {
		t.Fatal(err)
	}
	slice, err = client.DiscoveryV1().EndpointSlices("ns").Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slice.AddressType != discoveryv1.AddressTypeIPv6 || *slice.Ports[0].Port != 4712 {
		t.Errorf("the slice is %+v", slice)
	}
	again, err := client.CoreV1().Services("ns").Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil || again.UID != service.UID || len(again.Spec.Ports) != 1 || again.Spec.Ports[0].Port != 443 {
		t.Errorf("the service is %+v, %v", again, err)
	}

	if err := r.Route(t.Context(), "ns", "hook", 443, ""); err != nil {
		t.Fatal(err)
	}
	expect(t, client, "namespace /ns", "service ns/hook") // its address stays, or others would get it
	if len(awaited) != 4 || awaited[1] != "none:1234" || !strings.HasSuffix(awaited[2], ":443") || awaited[3] != "none:443" {
		t.Errorf("awaited %v", awaited)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, client)
}

func TestCloseRemovesWhatIsLeft(t *testing.T) {
	client := fake.NewClientset()
	r := services.NewRouter(client, "one", arrives, nil)
	for _, name := range []string{"hook", "other"} {
		if err := r.Route(t.Context(), "ns", name, 443, "192.0.2.7:1"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing to do
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, client)
	}
}

func TestWhatOthersMadeIsLeftAlone(t *testing.T) {
	theirs := map[string]string{"owner": "somebody"}
	client := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: theirs}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hook", Labels: theirs}},
	)
	r := services.NewRouter(client, "one", arrives, nil)
	err := r.Route(t.Context(), "ns", "hook", 443, "192.0.2.7:1")
	if err == nil || !strings.Contains(err.Error(), "service ns/hook: it exists and does not belong to this run") {
		t.Errorf("got %v", err)
	}
	if err := r.Route(t.Context(), "ns", "hook", 443, ""); err != nil {
		t.Error(err)
	}
	if err := r.Route(t.Context(), "ns", "mine", 443, "192.0.2.7:1"); err != nil {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, action := range client.Actions() {
		if d, ok := action.(clienttesting.DeleteAction); ok && (d.GetName() == "hook" || d.GetName() == "ns") {
			t.Errorf("%s %s was deleted", d.GetResource().Resource, d.GetName())
		}
		if action.GetVerb() == "update" || action.GetVerb() == "patch" {
			t.Errorf("%s was changed", action.GetResource().Resource)
		}
	}
	service, err := client.CoreV1().Services("ns").Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil || service.Labels["owner"] != "somebody" {
		t.Errorf("the service is %v, %v", service, err)
	}
}

func TestAddresses(t *testing.T) {
	client := fake.NewClientset()
	r := services.NewRouter(client, "one", arrives, nil)
	for address, want := range map[string]string{
		"192.0.2.7":           "missing port",
		"example.com:443":     "services lead to IP addresses, and example.com is not one",
		"192.0.2.7:https":     "unknown port https",
		"192.0.2.7:0":         "unknown port 0",
		"192.0.2.7:65536":     "unknown port 65536",
		"192.0.2.7:-1":        "unknown port -1",
		"[2001:db8::1]:99999": "unknown port 99999",
	} {
		if err := r.Route(t.Context(), "ns", "hook", 443, address); err == nil || !strings.Contains(err.Error(), "service ns/hook: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
	}
	expect(t, client)
}

func TestCallsThatDoNotArrive(t *testing.T) {
	client := fake.NewClientset()
	r := services.NewRouter(client, "one", func(context.Context, string, int32) error { return errors.New("nothing came") }, nil)
	err := r.Route(t.Context(), "ns", "hook", 443, "192.0.2.7:1")
	if err == nil || err.Error() != "service ns/hook, which leads to 192.0.2.7:1: nothing came" {
		t.Errorf("got %v", err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, client)
}

// TestNamespaceOfAnEarlierRun has a namespace that goes after a while, and one that does not in time.
func TestNamespaceOfAnEarlierRun(t *testing.T) {
	going := func() *corev1.Namespace {
		now := metav1.Now()
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", DeletionTimestamp: &now, Finalizers: []string{"a/b"}}}
	}
	client := fake.NewClientset(going())
	asked := 0
	client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		if asked++; asked < 3 {
			return false, nil, nil
		}
		if err := client.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "ns"); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
	})
	if err := services.NewRouter(client, "one", arrives, nil).Route(t.Context(), "ns", "hook", 443, "192.0.2.7:1"); err != nil {
		t.Fatal(err)
	}
	expect(t, client, "namespace /ns", "service ns/hook", "slice ns/hook")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := services.NewRouter(fake.NewClientset(going()), "one", arrives, nil).Route(ctx, "ns", "hook", 443, "192.0.2.7:1")
	if err == nil || !strings.Contains(err.Error(), "namespace ns: it is still being deleted") {
		t.Errorf("got %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, resource := range []string{"namespaces", "services", "endpointslices"} {
		t.Run(resource, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("create", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "x", errors.New("no"))
			})
			r := services.NewRouter(client, "one", arrives, nil)
			if err := r.Route(t.Context(), "ns", "hook", 443, "192.0.2.7:1"); !apierrors.IsForbidden(err) {
				t.Errorf("got %v", err)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			expect(t, client)
		})
	}
	t.Run("delete", func(t *testing.T) {
		client := fake.NewClientset()
		r := services.NewRouter(client, "one", arrives, nil)
		if err := r.Route(t.Context(), "ns", "hook", 443, "192.0.2.7:1"); err != nil {
			t.Fatal(err)
		}
		client.PrependReactor("delete", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("away")
		})
		if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "removing the service ns/hook: away") {
			t.Errorf("got %v", err)
		}
	})
}
