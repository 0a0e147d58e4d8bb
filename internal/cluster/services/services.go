// Package services makes services of a cluster lead to listeners outside of it.
package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// Router makes services without a selector, each with one endpoint. It touches nothing that it did not make itself.
type Router struct {
	client kubernetes.Interface
	run    string
	arrive Await
	refuse Await // nil if unknown

	mu         sync.Mutex
	made       map[key]*corev1.Service
	slices     map[key]types.UID    // endpoints
	namespaces map[string]types.UID // made by the router
}

// Await returns when calls to a port of the address of a service arrive, or when they are refused.
type Await func(ctx context.Context, clusterIP string, port int32) error

type key struct{ namespace, name string }

// NewRouter returns a router that labels whatever it makes with the ID of a run. It waits until calls arrive where it leads them
// and, unless refuse is nil, until they are refused when it has taken their endpoint away: some time they go where they went before.
func NewRouter(client kubernetes.Interface, run string, arrive, refuse Await) *Router {
	return &Router{client: client, run: run, arrive: arrive, refuse: refuse, made: map[key]*corev1.Service{}, slices: map[key]types.UID{}, namespaces: map[string]types.UID{}}
}

// Route makes calls to a port of a service go to an address, <host>:<port> with an IP address as host, in place of where they
// went before. The namespace is made if there is none. With an empty address calls are refused. The service stays until Close
// all the same: if another took its place, clients that learn of that late would reach the next owner of the old address. A
// service that was created by others is an error.
func (r *Router) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{namespace, name}
	if err := r.close(ctx, k); err != nil || address == "" {
		return err
	}
	to, err := parse(address)
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	service, err := r.service(ctx, k, port)
	if err != nil {
		return err
	}
	if err := r.lead(ctx, service, to); err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	if err := r.arrive(ctx, service.Spec.ClusterIP, port); err != nil {
		return fmt.Errorf("service %s/%s, which leads to %s: %w", namespace, name, address, err)
	}
	return nil
}

// close takes the endpoint of a service away and waits until nothing goes there any more.
func (r *Router) close(ctx context.Context, k key) error {
	if err := r.unlead(ctx, k); err != nil || r.made[k] == nil || r.refuse == nil {
		return err
	}
	spec := r.made[k].Spec
	if err := r.refuse(ctx, spec.ClusterIP, spec.Ports[0].Port); err != nil {
		return fmt.Errorf("service %s/%s, whose endpoint was removed: %w", k.namespace, k.name, err)
	}
	return nil
}

// service returns the service with a port, made if it is not there yet.
func (r *Router) service(ctx context.Context, k key, port int32) (*corev1.Service, error) {
	ports := []corev1.ServicePort{{Name: portName, Port: port}}
	services := r.client.CoreV1().Services(k.namespace)
	if service := r.made[k]; service != nil {
		service.Spec.Ports = ports
		updated, err := services.Update(ctx, service, metav1.UpdateOptions{})
		if err != nil {
			return nil, fmt.Errorf("service %s/%s: %w", k.namespace, k.name, err)
		}
		r.made[k] = updated
		return updated, nil
	}
	if err := r.ensure(ctx, k.namespace); err != nil {
		return nil, err
	}
	made, err := services.Create(ctx, &corev1.Service{ObjectMeta: r.meta(k.name), Spec: corev1.ServiceSpec{Ports: ports}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("service %s/%s: it exists and does not belong to this run; delete it, or use another cluster", k.namespace, k.name)
	}
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: %w", k.namespace, k.name, err)
	}
	r.made[k] = made
	return made, nil
}

const portName = "https"

// target is what a service leads to.
type target struct {
	ip   net.IP
	port int32
}

// parse reads an address.
func parse(address string) (target, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return target{}, err
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return target{}, fmt.Errorf("services lead to IP addresses, and %s is not one", host)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return target{}, fmt.Errorf("unknown port %s", text)
	}
	return target{ip, int32(port)}, nil
}

// lead gives a service its endpoint.
func (r *Router) lead(ctx context.Context, service *corev1.Service, to target) error {
	addresses := discoveryv1.AddressTypeIPv4
	if to.ip.To4() == nil {
		addresses = discoveryv1.AddressTypeIPv6
	}
	meta := r.meta(service.Name)
	meta.Labels[discoveryv1.LabelServiceName] = service.Name
	meta.Labels[discoveryv1.LabelManagedBy] = "crdconform"
	// It goes with the service, wherever there is a garbage collector.
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}}
	made, err := r.client.DiscoveryV1().EndpointSlices(service.Namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: addresses,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{to.ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new(portName), Port: &to.port, Protocol: new(corev1.ProtocolTCP)}},
	}, metav1.CreateOptions{})
	if err == nil {
		r.slices[key{service.Namespace, service.Name}] = made.UID
	}
	return err
}

func (r *Router) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{cluster.RunLabel: r.run}}
}

const (
	// leaving is how long a namespace may take to go that an earlier run made.
	leaving = time.Minute

	poll = 200 * time.Millisecond
)

// ensure makes a namespace that is not there. One that is being deleted has to go first.
func (r *Router) ensure(ctx context.Context, namespace string) error {
	within, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	namespaces := r.client.CoreV1().Namespaces()
	err := kube.Until(within, poll, func(ctx context.Context) (bool, error) {
		made, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: r.meta(namespace)}, metav1.CreateOptions{})
		if err == nil {
			r.namespaces[namespace] = made.UID
			return true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, err
		}
		there, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && there.DeletionTimestamp == nil, err
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return fmt.Errorf("namespace %s: it is still being deleted: %w", namespace, err)
	}
	return fmt.Errorf("namespace %s: %w", namespace, err)
}

// unlead takes the endpoint of a service away that the router made.
func (r *Router) unlead(ctx context.Context, k key) error {
	uid, led := r.slices[k]
	if !led {
		return nil
	}
	if err := unlessGone(r.client.DiscoveryV1().EndpointSlices(k.namespace).Delete(ctx, k.name, only(uid))); err != nil {
		return fmt.Errorf("removing the endpoint of the service %s/%s: %w", k.namespace, k.name, err)
	}
	delete(r.slices, k)
	return nil
}

// remove takes a service away that the router made.
func (r *Router) remove(ctx context.Context, k key) error {
	service := r.client.CoreV1().Services(k.namespace).Delete(ctx, k.name, only(r.made[k].UID))
	if err := errors.Join(r.unlead(ctx, k), unlessGone(service)); err != nil {
		return fmt.Errorf("removing the service %s/%s: %w", k.namespace, k.name, err)
	}
	delete(r.made, k)
	return nil
}

// only is for the deletion of an object, and not of one that took its place.
func only(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))}
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
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
	for namespace, uid := range r.namespaces {
		err := unlessGone(r.client.CoreV1().Namespaces().Delete(ctx, namespace, only(uid)))
		if err == nil {
			delete(r.namespaces, namespace)
			continue
		}
		errs = append(errs, fmt.Errorf("removing the namespace %s: %w", namespace, err))
	}
	return errors.Join(errs...)
}
