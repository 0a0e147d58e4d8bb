package deployed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// polling is how often the API server is asked whether something has come about.
const polling = 100 * time.Millisecond

// applier creates objects for a run, and remembers them. It changes nothing that was there before.
type applier struct {
	mapper meta.ResettableRESTMapper
	run    string
	owned  kube.Owned

	definitions kube.Definitions
}

func newApplier(config *rest.Config, run string) (*applier, error) {
	clients, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clients.Discovery))
	return &applier{mapper: mapper, run: run, owned: kube.Owned{Client: clients.Objects}, definitions: clients.Definitions}, nil
}

// mapping finds the resource of an object's kind.
func (a *applier) mapping(object *unstructured.Unstructured) (*meta.RESTMapping, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster has no %s of %s; install it first, or leave the object out", kind.Kind, object.GetAPIVersion())
	}
	return mapping, err
}

func (a *applier) at(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.owned.Client.Resource(mapping.Resource).Namespace(namespace)
	}
	return a.owned.Client.Resource(mapping.Resource)
}

// applyAll creates objects, in an order in which each finds what it needs. Those that say no namespace get the given one.
// When something is there already that is not of this run, nothing is created.
func (a *applier) applyAll(ctx context.Context, namespace string, documents []document) error {
	documents = slices.Clone(documents)
	slices.SortStableFunc(documents, func(x, y document) int {
		return cmp.Compare(kube.Rank(x.GroupVersionKind()), kube.Rank(y.GroupVersionKind()))
	})
	defined := definedKinds(documents)
	var problems []error
	for _, d := range documents {
		if err := a.prepare(ctx, namespace, d, defined); err != nil {
			problems = append(problems, fmt.Errorf("%s (%s): %w", title(d.Unstructured), d.From, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, d := range documents {
		if err := a.apply(ctx, d.Unstructured); err != nil {
			return fmt.Errorf("%s (%s): %w", title(d.Unstructured), d.From, err)
		}
	}
	return nil
}

// prepare marks an object as the run's and puts it into a namespace. It fails if an object that was created by others exists.
func (a *applier) prepare(ctx context.Context, namespace string, d document, defined map[schema.GroupKind]bool) error {
	mark(d.Unstructured, a.run)
	if defined[d.GroupVersionKind().GroupKind()] {
		return errors.New("it is an object of a definition in the same manifests, so the webhook must be ready first; leave it out, and give it as a sample")
	}
	mapping, err := a.mapping(d.Unstructured)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && d.GetNamespace() == "" {
		d.SetNamespace(namespace)
	} else if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		d.SetNamespace("")
	}
	nameSubjects(d.Unstructured, namespace)
	there, err := a.at(mapping, d.GetNamespace()).Get(ctx, d.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case there.GetLabels()[cluster.RunLabel] != a.run:
		return errNotOurs
	}
	return nil
}

// errNotOurs says that something is there which the run did not create.
var errNotOurs = errors.New("it already exists and was not created by this run; delete it, or use another namespace or cluster")

// apply creates an object, and waits for definitions until they are served.
func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	if namespace := object.GetNamespace(); namespace != "" {
		if _, err := a.owned.Namespace(ctx, namespace, a.run); err != nil {
			return err
		}
	}
	mapping, err := a.mapping(object)
	if err != nil {
		return err
	}
	created, err := a.create(ctx, a.at(mapping, object.GetNamespace()), object)
	if err != nil {
		return err
	}
	a.owned.Add(kube.Object{Kind: object.GroupVersionKind(), Resource: mapping.Resource, Namespace: object.GetNamespace(), Name: object.GetName(), UID: created.GetUID()})
	if !isDefinition(object.GroupVersionKind()) {
		return nil
	}
	a.mapper.Reset()
	_, err = a.definitions.Established(ctx, object.GetName())
	return err
}

// create creates an object. An existing object of the run is updated; one created by others is not, even if it appeared after
// the check.
func (a *applier) create(ctx context.Context, at dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	created, err := at.Create(ctx, object, metav1.CreateOptions{FieldManager: kube.FieldManager, FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	there, err := at.Get(ctx, object.GetName(), metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, err
	case there.GetLabels()[cluster.RunLabel] != a.run:
		return nil, errNotOurs
	}
	ours := object.DeepCopy()
	ours.SetUID(there.GetUID()) // another one by now is a conflict
	return at.Apply(ctx, object.GetName(), ours, metav1.ApplyOptions{FieldManager: kube.FieldManager, Force: true})
}

// poll asks again and again, until the answer is yes or an error or the context ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	return kube.Until(ctx, polling, func(context.Context) (bool, error) { return ask() })
}

func isDefinition(kind schema.GroupVersionKind) bool {
	return kind.Group == apiextensionsv1.GroupName && kind.Kind == "CustomResourceDefinition"
}

// definedKinds returns the kinds that the manifests define.
func definedKinds(documents []document) map[schema.GroupKind]bool {
	defined := map[schema.GroupKind]bool{}
	for _, d := range documents {
		if isDefinition(d.GroupVersionKind()) {
			group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
			defined[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	return defined
}

// mark gives an object, and the pods that come of it, the label of the run. What a server filled in is taken out.
func mark(object *unstructured.Unstructured, run string) {
	delete(object.Object, "status")
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	places := [][]string{{}}
	switch object.GetKind() {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "ReplicationController":
		places = append(places, []string{"spec", "template"})
	case "CronJob":
		places = append(places, []string{"spec", "jobTemplate"}, []string{"spec", "jobTemplate", "spec", "template"})
	}
	for _, place := range places {
		if inner := within(object.Object, place); inner != nil {
			part := unstructured.Unstructured{Object: inner}
			labels := maps.Clone(part.GetLabels())
			if labels == nil {
				labels = map[string]string{}
			}
			labels[cluster.RunLabel] = run
			part.SetLabels(labels)
		}
	}
}

// within returns the map at a place in an object, itself and no copy, or nil.
func within(object map[string]any, place []string) map[string]any {
	for _, field := range place {
		inner, is := object[field].(map[string]any)
		if !is {
			return nil
		}
		object = inner
	}
	return object
}

// nameSubjects completes the accounts that a binding of rights names without a namespace.
func nameSubjects(object *unstructured.Unstructured, namespace string) {
	if !strings.HasSuffix(object.GetKind(), "RoleBinding") {
		return
	}
	subjects, _ := object.Object["subjects"].([]any)
	for _, one := range subjects {
		if subject, is := one.(map[string]any); is && subject["kind"] == "ServiceAccount" && subject["namespace"] == nil {
			subject["namespace"] = cmp.Or(object.GetNamespace(), namespace)
		}
	}
}

// documentOf makes a document of an object that crdconform has made itself.
func documentOf(object any) (document, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return document{}, err
	}
	d := document{Unstructured: new(unstructured.Unstructured), From: "made by crdconform"}
	return d, d.UnmarshalJSON(data)
}
