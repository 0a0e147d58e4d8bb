// Package services makes services of a cluster lead to listeners outside of it.
package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/crdconform/crdconform/cluster"
)

// Router makes services without a selector, each with one endpoint. It touches nothing that it did not make itself.
type Router struct {
	client kubernetes.Interface
	run    string
	await  Await

	mu         sync.Mutex
	made       map[key]bool
	namespaces map[string]bool // made by the router
}

// Await returns when calls to a port of the address of a service arrive.
type Await func(ctx context.Context, clusterIP string, port int32) error

type key struct{ namespace, name string }

// NewRouter returns a router that labels whatever it makes with the ID of a run.
func NewRouter(client kubernetes.Interface, run string, await Await) *Router {
	return &Router{client: client, run: run, await: await, made: map[key]bool{}, namespaces: map[string]bool{}}
}

// Route makes calls to a port of a service go to an address, <host>:<port> with an IP address as host, in place of where they
// went before. The namespace is made if there is none. An empty address takes the service away. A service that somebody else
// made is an error.
func (r *Router) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.remove(ctx, key{namespace, name}); err != nil || address == "" {
		return err
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	target, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("service %s/%s: there is no port %s", namespace, name, text)
	}
	if err := r.ensure(ctx, namespace); err != nil {
		return err
	}
	service, err := r.client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: r.meta(name),
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: portName, Port: port}}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("service %s/%s: there is one that is not this run's, so it is left alone: delete it, or use another cluster", namespace, name)
	}
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	r.made[key{namespace, name}] = true
	if err := r.lead(ctx, service, host, int32(target)); err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	if err := r.await(ctx, service.Spec.ClusterIP, port); err != nil {
		return fmt.Errorf("service %s/%s, which leads to %s: %w", namespace, name, address, err)
	}
	return nil
}

const portName = "https"

// lead gives a service its endpoint.
func (r *Router) lead(ctx context.Context, service *corev1.Service, host string, port int32) error {
	addresses := discoveryv1.AddressTypeIPv4
	if ip := net.ParseIP(host); ip == nil {
		return fmt.Errorf("services lead to IP addresses, and %s is none", host)
	} else if ip.To4() == nil {
		addresses = discoveryv1.AddressTypeIPv6
	}
	meta := r.meta(service.Name)
	meta.Labels[discoveryv1.LabelServiceName] = service.Name
	meta.Labels[discoveryv1.LabelManagedBy] = "crdconform"
	// It goes with the service, wherever there is a garbage collector.
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}}
	_, err := r.client.DiscoveryV1().EndpointSlices(service.Namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: addresses,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(portName), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
	}, metav1.CreateOptions{})
	return err
}

func (r *Router) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{cluster.RunLabel: r.run}}
}

// ensure makes a namespace that is not there.
func (r *Router) ensure(ctx context.Context, namespace string) error {
	_, err := r.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: r.meta(namespace)}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	r.namespaces[namespace] = true
	return nil
}

// remove takes a service away that the router made.
func (r *Router) remove(ctx context.Context, k key) error {
	if !r.made[k] {
		return nil
	}
	slices := r.client.DiscoveryV1().EndpointSlices(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{})
	service := r.client.CoreV1().Services(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{})
	if err := errors.Join(unlessGone(slices), unlessGone(service)); err != nil {
		return fmt.Errorf("removing the service %s/%s: %w", k.namespace, k.name, err)
	}
	delete(r.made, k)
	return nil
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Close removes whatever the router made. It does not wait until namespaces are empty.
func (r *Router) Close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for k := range r.made {
		errs = append(errs, r.remove(ctx, k))
	}
	for namespace := range r.namespaces {
		err := unlessGone(r.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
		if err == nil {
			delete(r.namespaces, namespace)
			continue
		}
		errs = append(errs, fmt.Errorf("removing the namespace %s: %w", namespace, err))
	}
	return errors.Join(errs...)
}
