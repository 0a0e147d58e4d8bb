package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// follower is a client that watches as controllers do: where a watch ends it goes on at the resourceVersion of the last event,
// and lists again when the server says that this one is too old.
type follower struct {
	objects dynamic.ResourceInterface

	mu       sync.Mutex
	since    string
	state    map[string]string // the resourceVersions of the objects, by their names
	versions map[string]bool   // apiVersions that were shown
	events   []string
	listed   int // how many times
	err      error
}

// follow begins to follow the objects of a definition at a version. The follower ends with the context.
func follow(ctx context.Context, crd *suites.Resource, version string) (*follower, error) {
	f := &follower{objects: crd.Everywhere(version).Namespace(suites.Namespace), versions: map[string]bool{}}
	return f, f.list(ctx)
}

func (f *follower) list(ctx context.Context) error {
	list, err := f.objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since, f.state = list.GetResourceVersion(), map[string]string{}
	f.listed++
	for _, object := range list.Items {
		f.state[object.GetName()] = object.GetResourceVersion()
		f.versions[object.GetAPIVersion()] = true
	}
	return nil
}

// run watches until the context ends or something goes wrong.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.watch(ctx)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = f.list(ctx)
		}
		if err != nil && ctx.Err() == nil {
			f.mu.Lock()
			f.err = err
			f.mu.Unlock()
			return
		}
	}
}

// watch watches until the watch ends.
func (f *follower) watch(ctx context.Context) error {
	events, err := f.objects.Watch(ctx, metav1.ListOptions{ResourceVersion: f.since})
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		f.saw(event.Type, object)
	}
	return nil
}

func (f *follower) saw(what watch.EventType, object *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since = object.GetResourceVersion()
	f.versions[object.GetAPIVersion()] = true
	f.state[object.GetName()] = object.GetResourceVersion()
	revision := object.GetResourceVersion()
	if what == watch.Deleted {
		delete(f.state, object.GetName())
		revision = "" // the response to the deletion does not say it
	}
	f.events = append(f.events, described(what, object.GetName(), revision))
}

// described is an event as text, for comparison.
func described(what watch.EventType, name, revision string) string {
	return fmt.Sprintf("%s %s %s", what, name, revision)
}

// knows returns the objects that the follower knows of, by their names, or why it gave up.
func (f *follower) knows() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.state), f.err
}

func followed(ctx SpecContext, crd *suites.Resource) {
	created := func(version, name string) *unstructured.Unstructured {
		object := fixtures.LocalCronTab.At(version)
		object.SetName(name)
		return crd.Create(ctx, version, object)
	}
	patched := func(version, name, patch string) *unstructured.Unstructured {
		GinkgoHelper()
		object, err := crd.At(version).MergePatch(ctx, name, patch)
		Expect(err).NotTo(HaveOccurred())
		return object
	}
	created("v1beta1", "first")
	second := created("v1beta1", "second")

	following, stop := context.WithCancel(ctx)
	followers := map[string]*follower{}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	for _, version := range []string{"v1beta1", "v1"} {
		f, err := follow(following, crd, version)
		Expect(err).NotTo(HaveOccurred())
		followers[version] = f
		watching.Go(func() { f.run(following) })
	}

	want := map[string]string{"second": second.GetResourceVersion()}
	var events []string
	expect := func(what watch.EventType, object *unstructured.Unstructured) {
		want[object.GetName()] = object.GetResourceVersion()
		events = append(events, described(what, object.GetName(), object.GetResourceVersion()))
	}
	expect(watch.Modified, patched("v1", "first", `{"port": "1"}`))
	expect(watch.Added, created("v1beta1", "third"))
	crd.Change(ctx, fixtures.StoredAt("v1"))
	expect(watch.Modified, patched("v1beta1", "first", `{"hostPort": "localhost:2"}`))
	expect(watch.Modified, patched("v1beta1", "second", "{}")) // which moves it to the storage version
	Expect(crd.At("v1").Delete(ctx, "third")).To(Succeed())
	delete(want, "third")
	events = append(events, described(watch.Deleted, "third", ""))
	expect(watch.Added, created("v1", "last"))

	for version, f := range followers {
		Eventually(ctx, f.knows).Should(Equal(want), "who watches at %s must come to know every change", version)
	}
	stop()
	watching.Wait()
	for version, f := range followers {
		Expect(slices.Collect(maps.Keys(f.versions))).To(ConsistOf(crd.APIVersion(version)))
		if f.listed == 1 {
			Expect(f.events).To(Equal(events), "nothing may be missing or come twice at %s", version)
		} else {
			Expect(slices.Compact(slices.Sorted(slices.Values(f.events)))).To(HaveLen(len(f.events)), "nothing may come twice at %s", version)
		}
	}
}
