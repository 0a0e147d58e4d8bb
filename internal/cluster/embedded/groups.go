package embedded

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
)

// keepGroupList keeps the list of groups at /apis in step with the definitions, which the aggregator of a full control
// plane does. Clients that know aggregated discovery get that from upstream's code.
func keepGroupList(hook genericapiserver.PostStartHookContext, crds *apiserver.CustomResourceDefinitions) error {
	informer := crds.Informers.Apiextensions().V1().CustomResourceDefinitions()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return err
	}
	go func() {
		published := map[string]bool{}
		for {
			select {
			case <-hook.Done():
				return
			case <-changed:
			}
			all, err := informer.Lister().List(labels.Everything())
			if err != nil {
				utilruntime.HandleErrorWithContext(hook, err, "listing definitions")
				continue
			}
			publish(crds.GenericAPIServer.DiscoveryGroupManager, groupsOf(all), published)
		}
	}()
	return nil
}

// groupLister is the part of upstream's group manager that is needed.
type groupLister interface {
	AddGroup(group metav1.APIGroup)
	RemoveGroup(name string)
}

// publish lists the groups and takes those off the list that are no longer among them. It keeps account of what is listed
// in published.
func publish(manager groupLister, groups []metav1.APIGroup, published map[string]bool) {
	for name := range published {
		if !slices.ContainsFunc(groups, func(g metav1.APIGroup) bool { return g.Name == name }) {
			manager.RemoveGroup(name)
			delete(published, name)
		}
	}
	for _, group := range groups {
		manager.AddGroup(group)
		published[group.Name] = true
	}
}

// groupsOf returns the groups that the established definitions serve, with their versions by priority.
func groupsOf(crds []*apiextensionsv1.CustomResourceDefinition) []metav1.APIGroup {
	served := map[string][]string{}
	var names []string
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		group := crd.Spec.Group
		for _, v := range crd.Spec.Versions {
			if !v.Served || slices.Contains(served[group], v.Name) {
				continue
			}
			if served[group] == nil {
				names = append(names, group)
			}
			served[group] = append(served[group], v.Name)
		}
	}
	slices.Sort(names)
	groups := make([]metav1.APIGroup, 0, len(names))
	for _, name := range names {
		versions := served[name]
		slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
		group := metav1.APIGroup{Name: name}
		for _, v := range versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
		}
		group.PreferredVersion = group.Versions[0]
		groups = append(groups, group)
	}
	return groups
}
