package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// simple is a migrator as people write them: it lists all objects, writes each, and changes status.storedVersions. Without any of its
// faults it is correct.
type simple struct {
	write writing

	skipsSecondPage   bool // as by a wrong loop
	losesExpired      bool // what a list of several pages had when it expired is all
	lags              bool // it lists what a cache had before the last write, and takes conflicts for writes of others
	defaultNamespace  bool // it lists one namespace
	namespacedOnly    bool // it has no list for other scopes
	trimsFirst        bool
	neverTrims        bool
	leavesFields      bool // managed fields remain as they are
	stopsAtRefused    bool // and says nothing
	goesOnAfterChange bool // of the definition
}

// writing writes an object that was read, at the storage version and with managed fields that may be new.
type writing func(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error

const fieldManager = "migrator"

// migrate does it.
func (s simple) migrate(ctx context.Context, j job) error {
	definitions, err := clientset.NewForConfig(j.config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(j.config)
	if err != nil {
		return err
	}
	crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := crds.Get(ctx, j.definition, metav1.GetOptions{})
	if err != nil {
		return err
	}
	unchanged := func() (*apiextensionsv1.CustomResourceDefinition, error) {
		now, err := crds.Get(ctx, j.definition, metav1.GetOptions{})
		if err == nil && !s.goesOnAfterChange && now.Generation != crd.Generation {
			err = errors.New("the definition changed meanwhile")
		}
		return now, err
	}
	trim := func() error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			now, err := unchanged()
			if err != nil {
				return err
			}
			now.Status.StoredVersions = []string{storage(now)}
			_, err = crds.UpdateStatus(ctx, now, metav1.UpdateOptions{})
			return err
		})
	}
	if s.trimsFirst {
		if err := trim(); err != nil {
			return err
		}
	}
	if err := s.objects(ctx, crd, objects, j.drop); err != nil {
		return err
	}
	if s.neverTrims {
		_, err = unchanged()
		return err
	}
	return trim()
}

func storage(crd *apiextensionsv1.CustomResourceDefinition) string {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	return crd.Spec.Versions[i].Name
}

func (s simple) objects(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, client dynamic.Interface, drop string) error {
	all := client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: storage(crd), Resource: crd.Spec.Names.Plural})
	namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	if s.namespacedOnly && !namespaced {
		return nil
	}
	var listed dynamic.ResourceInterface = all
	if s.defaultNamespace && namespaced {
		listed = all.Namespace(metav1.NamespaceDefault)
	}
	objects, err := s.list(ctx, listed)
	if err != nil {
		return err
	}
	for i := range objects {
		object := &objects[i]
		at := all.Namespace(object.GetNamespace())
		for {
			var fields []metav1.ManagedFieldsEntry
			if !s.leavesFields {
				fields = cleaned(crd, object.GetManagedFields(), drop)
			}
			err := s.write(ctx, at, object, fields)
			if apierrors.IsConflict(err) && !s.lags {
				if object, err = at.Get(ctx, objects[i].GetName(), metav1.GetOptions{}); err == nil {
					continue
				}
			}
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				break
			}
			if err != nil && s.stopsAtRefused {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", objects[i].GetName(), err)
			}
			break
		}
	}
	return nil
}

// list lists all objects, page by page.
func (s simple) list(ctx context.Context, at dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	if s.lags {
		return lagging(ctx, at)
	}
	var all []unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize}
	for n := 1; ; n++ {
		page, err := at.List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			if s.losesExpired {
				return all, nil
			}
			if page, err = at.List(ctx, metav1.ListOptions{}); err == nil {
				return page.Items, nil
			}
		}
		if err != nil {
			return nil, err
		}
		if n != 2 || !s.skipsSecondPage {
			all = append(all, page.Items...)
		}
		if page.GetContinue() == "" {
			return all, nil
		}
		options.Continue = page.GetContinue()
	}
}

// lagging lists the objects as they were before the last one was written.
func lagging(ctx context.Context, at dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	now, err := at.List(ctx, metav1.ListOptions{})
	if err != nil || len(now.Items) < 2 {
		return nil, err
	}
	written := func(a, b unstructured.Unstructured) int {
		return len(a.GetResourceVersion()) - len(b.GetResourceVersion()) + 2*strings.Compare(a.GetResourceVersion(), b.GetResourceVersion())
	}
	inTurn := slices.SortedFunc(slices.Values(now.Items), written)
	then, err := at.List(ctx, metav1.ListOptions{ResourceVersion: inTurn[len(inTurn)-2].GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		return nil, err
	}
	return then.Items, nil
}

// cleaned returns managed fields without those at versions that are not served, or to be dropped; nil if they can stay as they are.
func cleaned(crd *apiextensionsv1.CustomResourceDefinition, fields []metav1.ManagedFieldsEntry, drop string) []metav1.ManagedFieldsEntry {
	goes := map[string]bool{}
	for _, v := range crd.Spec.Versions {
		goes[crd.Spec.Group+"/"+v.Name] = !v.Served || v.Name == drop
	}
	kept := slices.DeleteFunc(slices.Clone(fields), func(entry metav1.ManagedFieldsEntry) bool { return goes[entry.APIVersion] })
	switch {
	case len(kept) == len(fields):
		return nil
	case len(kept) == 0:
		return []metav1.ManagedFieldsEntry{{}} // which removes them all
	}
	return kept
}

// put puts what was read.
func put(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	if fields != nil {
		read.SetManagedFields(fields)
	}
	_, err := at.Update(ctx, read, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// patch changes nothing, or the managed fields.
func patch(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	only := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": string(read.GetUID()), "resourceVersion": read.GetResourceVersion()}}}
	if fields != nil {
		only.SetManagedFields(fields)
	}
	body, err := json.Marshal(only.Object)
	if err == nil {
		_, err = at.Patch(ctx, read.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	}
	return err
}

// apply applies nothing but what identifies the object.
func apply(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	nothing := identity(read)
	nothing.SetUID(read.GetUID())
	nothing.SetResourceVersion(read.GetResourceVersion())
	written, err := at.Apply(ctx, read.GetName(), nothing, metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil || fields == nil {
		return err
	}
	return patch(ctx, at, written, fields)
}

func identity(read *unstructured.Unstructured) *unstructured.Unstructured {
	nothing := &unstructured.Unstructured{Object: map[string]any{}}
	nothing.SetGroupVersionKind(read.GroupVersionKind())
	nothing.SetName(read.GetName())
	return nothing
}

// upsert applies an object whether or not it is there.
func upsert(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	written, err := at.Apply(ctx, read.GetName(), identity(read), metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil || fields == nil {
		return err
	}
	return patch(ctx, at, written, fields)
}

// stale puts what was listed over what is there now.
func stale(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := at.Get(ctx, read.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		read.SetResourceVersion(now.GetResourceVersion())
		return put(ctx, at, read, fields)
	})
}

// statusOnly puts the status, to avoid admission, and takes a definition without one for an object that is gone.
func statusOnly(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, _ []metav1.ManagedFieldsEntry) error {
	_, err := at.UpdateStatus(ctx, read, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// typed puts an object of a type that has no port.
func typed(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	delete(read.Object, "port")
	return put(ctx, at, read, fields)
}

// recreate deletes an object and creates it at the storage version.
func recreate(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, _ []metav1.ManagedFieldsEntry) error {
	uid, version := read.GetUID(), read.GetResourceVersion()
	if err := at.Delete(ctx, read.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}); err != nil {
		return err
	}
	read.SetResourceVersion("")
	read.SetUID("")
	read.SetManagedFields(nil)
	_, err := at.Create(ctx, read, metav1.CreateOptions{FieldManager: fieldManager})
	return err
}

// The faulty migrators, each with the requirements that it breaks.
func faulty() map[string]struct {
	migrator simple
	breaks   []requirement.ID
} {
	type fault = struct {
		migrator simple
		breaks   []requirement.ID
	}
	// What remains if objects are left at the older version.
	left := []requirement.ID{
		requirement.MigrationObjectsStored, requirement.MigrationObjectsNamespaces, requirement.MigrationObjectsClusterScoped, requirement.MigrationObjectsExpired,
		requirement.MigrationManagedFieldsServed, requirement.MigrationStoredVersionsLast, requirement.MigrationRemovalObjects,
	}
	return map[string]fault{
		"skips a page":                      {simple{write: put, skipsSecondPage: true}, []requirement.ID{requirement.MigrationObjectsStored}},
		"stops when a list expires":         {simple{write: put, losesExpired: true}, []requirement.ID{requirement.MigrationObjectsExpired}},
		"puts a stale copy":                 {simple{write: stale}, []requirement.ID{requirement.MigrationClientsWrites}},
		"trims too early":                   {simple{write: put, trimsFirst: true}, []requirement.ID{requirement.MigrationStoredVersionsLast, requirement.MigrationRefusedReported}},
		"never trims":                       {simple{write: put, neverTrims: true}, []requirement.ID{requirement.MigrationStoredVersionsExact, requirement.MigrationRemovalObjects}},
		"ignores managed fields":            {simple{write: put, leavesFields: true}, []requirement.ID{requirement.MigrationManagedFieldsServed, requirement.MigrationRemovalApplied}},
		"migrates the status only":          {simple{write: statusOnly}, left},
		"takes a conflict for done":         {simple{write: put, lags: true}, left},
		"stops at what is refused, quietly": {simple{write: put, stopsAtRefused: true}, []requirement.ID{requirement.MigrationRefusedReported}},
		"forgets other namespaces":          {simple{write: put, defaultNamespace: true}, []requirement.ID{requirement.MigrationObjectsNamespaces}},
		"forgets what is in no namespace":   {simple{write: put, namespacedOnly: true}, []requirement.ID{requirement.MigrationObjectsClusterScoped}},
		"goes on after a flip":              {simple{write: put, goesOnAfterChange: true}, []requirement.ID{requirement.MigrationDefinitionFlipped}},
		"drops fields that its type lacks":  {simple{write: typed}, []requirement.ID{requirement.MigrationObjectsContent}},
		"deletes objects and creates them":  {simple{write: recreate}, []requirement.ID{requirement.MigrationObjectsKept, requirement.MigrationClientsWrites}},
		"applies what was deleted":          {simple{write: upsert}, []requirement.ID{requirement.MigrationClientsDeletions}},
	}
}

// TestFaultyMigratorsAreCaught has each migrator fail exactly the specs of the requirements that it breaks.
func TestFaultyMigratorsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: each faulty migrator runs the whole chapter")
	}
	c := suitetest.Cluster(t, embedded.Options{})
	ran, caught := 0, map[requirement.ID]bool{}
	for n, name := range slices.Sorted(maps.Keys(faulty())) {
		t.Run(name, func(t *testing.T) {
			ran++
			fault := faulty()[name]
			want := slices.Sorted(slices.Values(fault.breaks))
			got := failed(t, c, area(fault.migrator.migrate), fmt.Sprintf("faulty%d", n))
			if !slices.Equal(got, want) {
				t.Errorf("failed: %v\nwant: %v", got, want)
			}
			for _, id := range got {
				caught[id] = true
			}
		})
	}
	if ran < len(faulty()) {
		return // others are left out by -run
	}
	for _, spec := range suites.Preview([]suites.Area{Area}) {
		if !caught[spec.Requirement] {
			t.Errorf("no migrator failed %s, so it is not shown to be able to fail", spec.Requirement)
		}
	}
}

// TestCorrectMigratorsPass has no migrator blamed that does it another way.
func TestCorrectMigratorsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: each migrator runs the whole chapter; TestChapters runs ours")
	}
	c := suitetest.Cluster(t, embedded.Options{})
	for n, test := range []struct {
		name     string
		migrator migrator
	}{
		{"ours", ours},
		{"empty apply", simple{write: apply}.migrate},
		{"put with the resource version", simple{write: put}.migrate},
		{"empty merge patch", simple{write: patch}.migrate},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := failed(t, c, area(test.migrator), fmt.Sprintf("correct%d", n)); len(got) > 0 {
				t.Errorf("failed: %v", got)
			}
		})
	}
	t.Run("in-tree", func(t *testing.T) {
		t.Skip("left out: the controller of StorageVersionMigration is in kube-controller-manager, which embedded API servers do not have; the chapter control judges it on kind")
	})
}

// failed runs the chapter and returns what failed. Everything else must have passed.
func failed(t *testing.T, c *embedded.Cluster, chapter suites.Area, domain string) []requirement.ID {
	t.Helper()
	env := suitetest.Env(t, suites.Options{Cluster: c, Seed: 1, Domain: domain + ".example.com"})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{chapter}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []requirement.ID
	for _, r := range outcome.Results {
		switch r.Verdict {
		case requirement.Failed:
			ids = append(ids, r.Requirement)
			t.Logf("%s: %.400s", r.Requirement, r.Reason)
		case requirement.Passed:
		default:
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
	slices.Sort(ids)
	return ids
}
