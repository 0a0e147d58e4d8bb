package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
)

// ownedPoll is how often an API server is asked whether an object is gone.
const ownedPoll = 100 * time.Millisecond

// Object is an object that a run created.
type Object struct {
	Kind      schema.GroupVersionKind
	Resource  schema.GroupVersionResource
	Namespace string
	Name      string
	UID       types.UID
}

// DefinitionObject returns a definition as an object.
func DefinitionObject(crd *apiextensionsv1.CustomResourceDefinition) Object {
	v1 := apiextensionsv1.SchemeGroupVersion
	return Object{Kind: v1.WithKind("CustomResourceDefinition"), Resource: v1.WithResource("customresourcedefinitions"), Name: crd.Name, UID: crd.UID}
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind.Kind + " " + o.Name
	}
	return o.Kind.Kind + " " + o.Namespace + "/" + o.Name
}

// Owned remembers the objects that a run creates in a cluster that outlives it.
type Owned struct {
	Client dynamic.Interface

	all []Object // in the order of their creation
}

// Add adds an object, once.
func (o *Owned) Add(object Object) {
	if !slices.Contains(o.all, object) {
		o.all = append(o.all, object)
	}
}

// Has reports whether an object of a UID is one of them.
func (o *Owned) Has(uid types.UID) bool {
	return slices.ContainsFunc(o.all, func(object Object) bool { return object.UID == uid })
}

// Namespace creates a namespace that belongs to a run, unless it is there, and reports whether it did.
func (o *Owned) Namespace(ctx context.Context, name, run string) (created bool, err error) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	namespace.SetLabels(map[string]string{cluster.RunLabel: run})
	object := Object{Kind: namespace.GroupVersionKind(), Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Name: name}
	there, err := o.Client.Resource(object.Resource).Create(ctx, namespace, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("creating the namespace %s: %w", name, err)
	}
	object.UID = there.GetUID()
	o.Add(object)
	return true, nil
}

// Remove deletes what was created, in an order in which each can go, and waits until it is gone. What others made in its place is left alone.
// What cannot be removed is still remembered.
func (o *Owned) Remove(ctx context.Context) error {
	left := slices.Clone(o.all)
	slices.Reverse(left)
	slices.SortStableFunc(left, func(x, y Object) int { return cmp.Compare(RemovalRank(x.Kind), RemovalRank(y.Kind)) })
	var errs []error
	for begin := 0; begin < len(left); {
		end := begin
		for end < len(left) && RemovalRank(left[end].Kind) == RemovalRank(left[begin].Kind) {
			end++
		}
		errs = append(errs, o.removeGroup(ctx, left[begin:end]))
		begin = end
	}
	return errors.Join(errs...)
}

// removeGroup deletes objects that do not need each other.
func (o *Owned) removeGroup(ctx context.Context, group []Object) error {
	var errs []error
	var deleted []Object
	for _, object := range group {
		propagation := metav1.DeletePropagationBackground
		if Rank(object.Kind) == workloadRank {
			propagation = metav1.DeletePropagationForeground // it is gone when its pods are
		}
		err := o.Client.Resource(object.Resource).Namespace(object.Namespace).Delete(ctx, object.Name, metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(object.UID)), PropagationPolicy: &propagation,
		})
		switch {
		case err == nil:
			deleted = append(deleted, object)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another one by now
			o.forget(object)
		default:
			errs = append(errs, fmt.Errorf("removing %s: %w", object, err))
		}
	}
	for _, object := range deleted {
		err := Until(ctx, ownedPoll, func(ctx context.Context) (bool, error) {
			there, err := o.Client.Resource(object.Resource).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return true, nil
			case apierrors.IsForbidden(err):
				return false, err
			}
			return err == nil && there.GetUID() != object.UID, nil // the API server may be away for a moment
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("removing %s: it still exists: %w", object, err))
			continue
		}
		o.forget(object)
	}
	return errors.Join(errs...)
}

func (o *Owned) forget(object Object) {
	o.all = slices.DeleteFunc(o.all, func(other Object) bool { return other == object })
}

// The ranks of kinds: what has a lower one is created first.
const (
	namespaceRank = iota
	definitionRank
	accessRank // accounts, rights, settings
	serviceRank
	otherRank
	workloadRank
	hookRank // what API servers ask about every request
)

// Rank orders kinds for creation, so that each object finds what it needs.
func Rank(kind schema.GroupVersionKind) int {
	switch kind.Group {
	case "":
		switch kind.Kind {
		case "Namespace":
			return namespaceRank
		case "ServiceAccount", "ConfigMap", "Secret", "PersistentVolume", "PersistentVolumeClaim", "LimitRange", "ResourceQuota":
			return accessRank
		case "Service":
			return serviceRank
		case "Pod", "ReplicationController":
			return workloadRank
		}
	case "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io":
		return accessRank
	case apiextensionsv1.GroupName:
		return definitionRank
	case "apps", "batch":
		return workloadRank
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return hookRank
	}
	return otherRank
}

// RemovalRank is like Rank, for what has to go first: objects may only go while the webhook of their definition is there.
func RemovalRank(kind schema.GroupVersionKind) int {
	return slices.Index([]int{hookRank, otherRank, definitionRank, workloadRank, serviceRank, accessRank, namespaceRank}, Rank(kind))
}
