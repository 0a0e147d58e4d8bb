package existing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// Leftover is something that a run created and did not remove.
type Leftover struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Namespace  string
	Name       string
	UID        types.UID
	Run        string // ID of the run
	Created    time.Time

	held bool // whether it has a finalizer that only the run would have taken off
}

// String names it, with its run.
func (l Leftover) String() string {
	name := l.Name
	if l.Namespaced {
		name = l.Namespace + "/" + l.Name
	}
	return fmt.Sprintf("%s %s of the run %s", l.Kind, name, l.Run)
}

// order is the order in which things are removed: what acts on requests first, namespaces last.
func (l Leftover) order() int {
	switch l.Resource.GroupResource().String() {
	case "validatingwebhookconfigurations.admissionregistration.k8s.io", "mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"validatingadmissionpolicybindings.admissionregistration.k8s.io", "validatingadmissionpolicies.admissionregistration.k8s.io":
		return 0
	case definitions + "." + apiextensionsv1.GroupName:
		return 1
	case "namespaces":
		return 3
	}
	return 2
}

// Unlisted is a resource that could not be listed, so a run may have left objects of it.
type Unlisted struct {
	Resource schema.GroupResource
	Err      error
}

// Ours reports whether runs create such things by themselves, for specs, rather than to deploy a webhook.
func (u Unlisted) Ours() bool { return slices.Contains(created(), u.Resource.String()) }

// created are the resources of which runs create something for specs.
func created() []string {
	return []string{
		definitions + "." + apiextensionsv1.GroupName,
		"namespaces", "services", "endpointslices.discovery.k8s.io", "configmaps", "pods",
		"poddisruptionbudgets.policy", "horizontalpodautoscalers.autoscaling", "storageversionmigrations.storagemigration.k8s.io",
		"roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
		"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io",
	}
}

// Cleaner finds and removes what runs left in a cluster. It goes by the label of runs alone.
type Cleaner struct {
	context     string
	discovery   discovery.DiscoveryInterface
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
	metadata    metadata.Interface
}

// NewCleaner connects to a cluster. Of the options, it uses the kubeconfig and the context, which must be named as for Start.
func NewCleaner(ctx context.Context, options Options) (*Cleaner, error) {
	config, name, err := load(options)
	if err != nil {
		return nil, err
	}
	c := &Cleaner{context: name}
	if err := c.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("the cluster of the context %s: %w", name, redacted(err, config))
	}
	return c, nil
}

func (c *Cleaner) connect(ctx context.Context, config *rest.Config) error {
	clients, err := kube.Connect(config)
	if err != nil {
		return err
	}
	c.discovery, c.definitions, c.objects, c.metadata = clients.Discovery, clients.Definitions.Client, clients.Objects, clients.Metadata
	return checkVersion(ctx, clients.Discovery.RESTClient(), config.Host)
}

// Find returns what a run left, or what all runs left if the ID is empty, in the order in which to remove it; and of what it
// could not see. What goes with something else that is found is not listed: objects of definitions, what is in namespaces, and
// what controllers made.
func (c *Cleaner) Find(ctx context.Context, run string) ([]Leftover, []Unlisted, error) {
	selector := cluster.RunLabel
	if run != "" {
		selector += "=" + run
	}
	// What is known in spite of an error is fine: an API server behind the aggregator that is away has nothing of ours.
	lists, err := c.discovery.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, nil, fmt.Errorf("listing the resources of the cluster of the context %s: %w", c.context, err)
	}
	crds := metav1.APIResource{Name: definitions, Kind: "CustomResourceDefinition"}
	found, err := c.list(ctx, apiextensionsv1.SchemeGroupVersion.WithResource(definitions), crds, selector)
	var unlisted []Unlisted
	if err != nil {
		unlisted = append(unlisted, Unlisted{schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: definitions}, err})
	}
	// What they define goes with them, and cannot be listed where it takes a webhook that has gone.
	known := map[string]bool{apiextensionsv1.GroupName: true}
	for _, l := range found {
		_, group, _ := strings.Cut(l.Name, ".")
		known[group] = true
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || known[version.Group] {
			continue
		}
		for _, resource := range list.APIResources {
			if !removable(version.Group, resource) {
				continue
			}
			these, err := c.list(ctx, version.WithResource(resource.Name), resource, selector)
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			if err != nil {
				unlisted = append(unlisted, Unlisted{schema.GroupResource{Group: version.Group, Resource: resource.Name}, err})
			}
			found = append(found, these...)
		}
	}
	return sorted(found), unlisted, nil
}

// removable reports whether runs may have left something of a resource that can be removed. Nodes of a kind cluster have the label
// of its run too, and are not left in it but it.
func removable(group string, resource metav1.APIResource) bool {
	return slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") &&
		!strings.Contains(resource.Name, "/") && (group != "" || resource.Name != "nodes")
}

// listTimeout is how long a list may take. Those of others may want a webhook that hangs.
const listTimeout = 10 * time.Second

// list returns what there is of a resource.
func (c *Cleaner) list(ctx context.Context, at schema.GroupVersionResource, resource metav1.APIResource, selector string) ([]Leftover, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := c.metadata.Resource(at).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil, nil // it has gone
	}
	if err != nil {
		return nil, err
	}
	var found []Leftover
	for i := range list.Items {
		item := &list.Items[i]
		if metav1.GetControllerOf(item) != nil {
			continue
		}
		found = append(found, Leftover{
			Resource: at, Kind: resource.Kind, Namespaced: resource.Namespaced, Namespace: item.Namespace, Name: item.Name,
			UID: item.UID, Run: item.Labels[cluster.RunLabel], Created: item.CreationTimestamp.Time, held: slices.ContainsFunc(item.Finalizers, isOurs),
		})
	}
	return found, nil
}

// sorted leaves out what goes with something else, or is listed twice since two groups have it, and sorts the rest.
func sorted(all []Leftover) []Leftover {
	namespaces, seen := map[string]bool{}, map[types.UID]bool{}
	for _, l := range all {
		if l.order() == 3 {
			namespaces[l.Name] = true
		}
	}
	all = slices.DeleteFunc(all, func(l Leftover) bool {
		again := seen[l.UID]
		seen[l.UID] = true
		return again || l.Namespaced && namespaces[l.Namespace] && !l.held
	})
	slices.SortStableFunc(all, func(a, b Leftover) int {
		if a.order() != b.order() {
			return a.order() - b.order()
		}
		return strings.Compare(a.String(), b.String())
	})
	return all
}

// removers is how many things are removed at a time.
const removers = 4

// Remove removes things and waits until they are gone. It reports the result of each, one after another; nil means that it was
// removed. It returns how many are left.
func (c *Cleaner) Remove(ctx context.Context, all []Leftover, done func(Leftover, error)) int {
	left := 0
	var mu sync.Mutex
	for _, these := range inTurn(all) {
		queue := make(chan Leftover, len(these))
		for _, l := range these {
			queue <- l
		}
		close(queue)
		var workers sync.WaitGroup
		for range removers {
			workers.Go(func() {
				for l := range queue {
					err := c.remove(ctx, l)
					mu.Lock()
					if err != nil {
						left++
					}
					done(l, err)
					mu.Unlock()
				}
			})
		}
		workers.Wait()
	}
	return left
}

// inTurn splits things into those that can be removed at the same time.
func inTurn(all []Leftover) [][]Leftover {
	var turns [][]Leftover
	for i, l := range all {
		if i == 0 || l.order() != all[i-1].order() {
			turns = append(turns, nil)
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], l)
	}
	return turns
}

func (c *Cleaner) remove(ctx context.Context, l Leftover) error {
	if l.order() == 1 {
		if err := c.defuse(ctx, l); err != nil {
			return err
		}
	}
	if l.held {
		if err := c.release(ctx, l); err != nil {
			return err
		}
	}
	within, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	if l.order() == 1 {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: l.Name, UID: l.UID}}
		err := kube.Definitions{Client: c.definitions}.Remove(within, definition, nil)
		if within.Err() != nil {
			return fmt.Errorf("it is being deleted, but still exists after %s%s", removeTimeout, c.stuck(ctx, l))
		}
		return err
	}
	resource := c.metadata.Resource(l.Resource).Namespace(l.Namespace)
	background := metav1.DeletePropagationBackground
	err := resource.Delete(ctx, l.Name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(l.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = kube.Until(within, probePoll, func(ctx context.Context) (bool, error) {
		there, lookErr := resource.Get(ctx, l.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(lookErr) || lookErr == nil && there.UID != l.UID, nil
	})
	if err != nil {
		return fmt.Errorf("it is being deleted, but still exists after %s", removeTimeout)
	}
	return nil
}

// stuck says why a definition is not gone, as far as its conditions say.
func (c *Cleaner) stuck(ctx context.Context, l Leftover) string {
	crd, err := c.definitions.Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Terminating {
			return ": " + condition.Message
		}
	}
	return ""
}
