package main

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/cache"
)

// keepGroupList begins to keep the list of groups at /apis in step with the definitions, which the aggregator of a full
// control plane does.
func keepGroupList(crds *apiserver.CustomResourceDefinitions) {
	informer := crds.Informers.Apiextensions().V1().CustomResourceDefinitions()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{ //nolint:errcheck // 1.21 returns nothing, and others no error for an informer that is not stopped
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	go func() {
		published := map[string][]string{}
		for range changed {
			all, err := informer.Lister().List(labels.Everything())
			if err != nil {
				utilruntime.HandleError(err)
				continue
			}
			served := servedBy(all)
			for group := range published {
				if served[group] == nil {
					crds.GenericAPIServer.DiscoveryGroupManager.RemoveGroup(group)
				}
			}
			for group, versions := range served {
				crds.GenericAPIServer.DiscoveryGroupManager.AddGroup(listed(group, versions))
			}
			published = served
		}
	}()
}

// servedBy returns the versions that the established definitions serve, by group.
func servedBy(crds []*apiextensionsv1.CustomResourceDefinition) map[string][]string {
	served := map[string][]string{}
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Served && !slices.Contains(served[crd.Spec.Group], v.Name) {
				served[crd.Spec.Group] = append(served[crd.Spec.Group], v.Name)
			}
		}
	}
	return served
}

// listed is what the list says of a group.
func listed(name string, versions []string) metav1.APIGroup {
	slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	group := metav1.APIGroup{Name: name}
	for _, v := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}
