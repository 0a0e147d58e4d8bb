package suites_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/migration"
)

// simple is a migrator as people write them: it lists all objects, writes each, and changes status.storedVersions. Without any of its
// faults it is correct.
type simple struct {
	write writing

	selects           string // the labels of the objects that it lists
	skipsSecondPage   bool   // as by a wrong loop
	firstPageOnly     bool   // it lists with a limit, and knows nothing of tokens
	skipsDeleting     bool   // objects that are being deleted
	skipsRecent       bool   // objects that were created within the last hour
	former            bool   // it reads and writes at the former version, as long as that is served
	againInTheEnd     bool   // it writes all that it listed once more, to be sure
	backsUp           bool   // it creates copies
	losesExpired      bool   // what a list of several pages had when it expired is all
	lags              bool   // it lists what a cache had before the last write, and takes conflicts for writes of others
	defaultNamespace  bool   // it lists one namespace
	namespacedOnly    bool   // it has no list for other scopes
	trimsFirst        bool
	trimsAfterOne     bool // object
	neverTrims        bool
	leavesFields      bool // managed fields remain as they are
	stopsAtRefused    bool // and says nothing
	skipsRefused      bool // and says nothing
	goesOnAfterChange bool // of the definition
	looksAtStorage    bool // and at nothing else of the definition
	deprecates        bool // the former version
}

// writing writes an object that was read, at the storage version and with managed fields that may be new.
type writing func(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error

const fieldManager = "migrator"

// migrate does it.
func (s simple) migrate(ctx context.Context, j proof.Job) error {
	definitions, err := clientset.NewForConfig(j.Config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(j.Config)
	if err != nil {
		return err
	}
	crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := crds.Get(ctx, j.Definition, metav1.GetOptions{})
	if err != nil {
		return err
	}
	unchanged := func() (*apiextensionsv1.CustomResourceDefinition, error) {
		now, err := crds.Get(ctx, j.Definition, metav1.GetOptions{})
		changed := err == nil && now.Generation != crd.Generation
		if s.looksAtStorage {
			changed = err == nil && migrationStorage(now) != migrationStorage(crd)
		}
		if changed && !s.goesOnAfterChange {
			err = errors.New("the definition changed meanwhile")
		}
		return now, err
	}
	if s.deprecates {
		if crd, err = deprecate(ctx, crds, crd); err != nil {
			return err
		}
	}
	trim := func() error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			now, err := unchanged()
			if err != nil {
				return err
			}
			now.Status.StoredVersions = []string{migrationStorage(now)}
			_, err = crds.UpdateStatus(ctx, now, metav1.UpdateOptions{})
			return err
		})
	}
	if s.trimsFirst {
		if err := trim(); err != nil {
			return err
		}
	}
	meanwhile := func() error { return nil }
	if s.trimsAfterOne {
		meanwhile = trim
	}
	if err := s.objects(ctx, crd, objects, j.Drop, meanwhile); err != nil {
		return err
	}
	if s.neverTrims {
		_, err = unchanged()
		return err
	}
	return trim()
}

func migrationStorage(crd *apiextensionsv1.CustomResourceDefinition) string {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	return crd.Spec.Versions[i].Name
}

// deprecate changes the definition.
func deprecate(ctx context.Context, crds apiextensionsclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		for i, v := range crd.Spec.Versions {
			crd.Spec.Versions[i].Deprecated = !v.Storage
		}
		changed, err := crds.Update(ctx, crd, metav1.UpdateOptions{})
		if err == nil {
			crd = changed
			return nil
		}
		now, failed := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if failed != nil {
			return failed
		}
		crd = now
		return err
	})
	return crd, err
}

// objects writes all objects. Meanwhile is called after the first.
func (s simple) objects(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, client dynamic.Interface, drop string, meanwhile func() error) error {
	version := migrationStorage(crd)
	if s.former && fixtures.Version(crd, "v1beta1").Served {
		version = "v1beta1"
	}
	all := client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
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
		if s.skips(&objects[i]) {
			continue
		}
		done, err := s.object(ctx, all.Namespace(objects[i].GetNamespace()), crd, objects[i].DeepCopy(), drop)
		if done || err != nil {
			return err
		}
		if i == 0 {
			if err := meanwhile(); err != nil {
				return err
			}
		}
	}
	if s.againInTheEnd {
		for i := range objects {
			_ = stale(ctx, all.Namespace(objects[i].GetNamespace()), &objects[i], nil) // what fails was written already
		}
	}
	return nil
}

func (s simple) skips(object *unstructured.Unstructured) bool {
	return s.skipsDeleting && object.GetDeletionTimestamp() != nil || s.skipsRecent && time.Since(object.GetCreationTimestamp().Time) < time.Hour
}

// object writes an object, and reports whether that was all that it wants to do.
func (s simple) object(ctx context.Context, at dynamic.ResourceInterface, crd *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured, drop string) (done bool, err error) {
	name := object.GetName()
	if s.backsUp {
		backup := &unstructured.Unstructured{Object: map[string]any{"host": "backup"}}
		backup.SetGroupVersionKind(object.GroupVersionKind())
		backup.SetName(name + "-backup")
		if _, err := at.Create(ctx, backup, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
			return false, err
		}
	}
	for {
		var fields []metav1.ManagedFieldsEntry
		if !s.leavesFields {
			fields = cleaned(crd, object.GetManagedFields(), drop)
		}
		err := s.write(ctx, at, object, fields)
		if apierrors.IsConflict(err) && !s.lags {
			if object, err = at.Get(ctx, name, metav1.GetOptions{}); err == nil {
				continue
			}
		}
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), s.skipsRefused:
			return false, nil
		case s.stopsAtRefused:
			return true, nil
		}
		return false, fmt.Errorf("%s: %w", name, err)
	}
}

// list lists all objects, page by page.
func (s simple) list(ctx context.Context, at dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	if s.lags {
		return lagging(ctx, at)
	}
	var all []unstructured.Unstructured
	options := metav1.ListOptions{Limit: 4, LabelSelector: s.selects}
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
		if page.GetContinue() == "" || s.firstPageOnly {
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
		return []metav1.ManagedFieldsEntry{{
			Manager: fieldManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: crd.Spec.Group + "/" + migrationStorage(crd), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:name":{}}}`),
		}}
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

// merge sends all that was read as a merge patch, which needs no resource version.
func merge(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	read.SetResourceVersion("")
	read.SetUID("")
	read.SetManagedFields(fields)
	body, err := read.MarshalJSON()
	if err == nil {
		_, err = at.Patch(ctx, read.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	}
	return err
}

// withStatus also puts the status that was read, if there is one.
func withStatus(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	old := read.DeepCopy()
	if err := put(ctx, at, read, fields); err != nil {
		return err
	}
	if _, has := old.Object["status"]; !has {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := at.Get(ctx, old.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		old.SetResourceVersion(now.GetResourceVersion())
		_, err = at.UpdateStatus(ctx, old, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
}

// migrationWithout puts an object of a type that lacks a field of metadata.
func migrationWithout(field string) writing {
	return func(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
		unstructured.RemoveNestedField(read.Object, "metadata", field)
		return put(ctx, at, read, fields)
	}
}

// mark leaves an annotation by which it knows what it wrote.
func mark(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	annotations := maps.Clone(read.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.com/migrated"] = "true"
	read.SetAnnotations(annotations)
	return put(ctx, at, read, fields)
}

// touch changes something, so that the API server stores the object, and changes it back.
func touch(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	host, had := read.Object["host"]
	read.Object["host"] = "touched"
	written, err := at.Update(ctx, read, metav1.UpdateOptions{FieldManager: fieldManager})
	if err != nil {
		return err
	}
	if delete(written.Object, "host"); had {
		written.Object["host"] = host
	}
	return put(ctx, at, written, fields)
}

// own applies all that was read, by force.
func own(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) error {
	all := read.DeepCopy()
	all.SetManagedFields(nil)
	written, err := at.Apply(ctx, read.GetName(), all, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil || fields == nil {
		return err
	}
	return patch(ctx, at, written, cleanedOf(written, fields))
}

// cleanedOf keeps the entries of the migrator beside those that remain.
func cleanedOf(written *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for _, entry := range written.GetManagedFields() {
		if entry.Manager == fieldManager {
			fields = append(fields, entry)
		}
	}
	return fields
}

// wipe removes all managed fields.
func wipe(ctx context.Context, at dynamic.ResourceInterface, read *unstructured.Unstructured, _ []metav1.ManagedFieldsEntry) error {
	return put(ctx, at, read, []metav1.ManagedFieldsEntry{{}})
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

// migrationFault is a faulty migrator with the requirements that it breaks.
type migrationFault struct {
	migrator simple
	breaks   []requirement.ID
}

// left is what is broken if objects are left at the older version.
func left() []requirement.ID {
	return []requirement.ID{
		requirement.MigrationObjectsStored, requirement.MigrationObjectsNamespaces, requirement.MigrationObjectsClusterScoped, requirement.MigrationObjectsExpired,
		requirement.MigrationManagedFieldsServed, requirement.MigrationStoredVersionsLast, requirement.MigrationRemovalObjects,
	}
}

// faulty are the migrators that run the whole chapter.
func faulty() map[string]migrationFault {
	return map[string]migrationFault{
		"skips a page":                      {simple{write: put, skipsSecondPage: true}, []requirement.ID{requirement.MigrationObjectsStored, requirement.MigrationStoredVersionsLast}},
		"stops when a list expires":         {simple{write: put, losesExpired: true}, []requirement.ID{requirement.MigrationObjectsExpired}},
		"puts a stale copy":                 {simple{write: stale}, []requirement.ID{requirement.MigrationClientsWrites}},
		"trims too early":                   {simple{write: put, trimsFirst: true}, []requirement.ID{requirement.MigrationStoredVersionsLast, requirement.MigrationRefusedReported}},
		"never trims":                       {simple{write: put, neverTrims: true}, []requirement.ID{requirement.MigrationStoredVersionsExact, requirement.MigrationRemovalObjects}},
		"ignores managed fields":            {simple{write: put, leavesFields: true}, []requirement.ID{requirement.MigrationManagedFieldsServed, requirement.MigrationRemovalApplied}},
		"migrates the status only":          {simple{write: statusOnly}, left()},
		"takes a conflict for done":         {simple{write: put, lags: true}, left()},
		"stops at what is refused, quietly": {simple{write: put, stopsAtRefused: true}, []requirement.ID{requirement.MigrationRefusedReported}},
		"forgets other namespaces":          {simple{write: put, defaultNamespace: true}, []requirement.ID{requirement.MigrationObjectsNamespaces}},
		"forgets what is in no namespace":   {simple{write: put, namespacedOnly: true}, []requirement.ID{requirement.MigrationObjectsClusterScoped}},
		"goes on after a flip":              {simple{write: put, goesOnAfterChange: true}, []requirement.ID{requirement.MigrationDefinitionFlipped}},
		"drops fields that its type lacks":  {simple{write: typed}, []requirement.ID{requirement.MigrationObjectsContent}},
		"deletes objects and creates them":  {simple{write: recreate}, []requirement.ID{requirement.MigrationObjectsKept, requirement.MigrationObjectsStored, requirement.MigrationClientsWrites}},
		"applies what was deleted":          {simple{write: upsert}, []requirement.ID{requirement.MigrationClientsDeletions}},
		"takes everything for its own":      {simple{write: own}, []requirement.ID{requirement.MigrationManagedFieldsKept}},
		"deprecates the former version":     {simple{write: put, deprecates: true}, []requirement.ID{requirement.MigrationDefinitionKept}},
	}
}

// usual are the requirements that are judged with each migrator by default, whether or not it breaks them.
func usual() []requirement.ID {
	return []requirement.ID{requirement.MigrationObjectsContent, requirement.MigrationObjectsStored, requirement.MigrationManagedFieldsKept}
}

// judge has a migrator fail exactly the specs of the requirements that it breaks: of these and the usual ones, or of all.
func (f migrationFault) judge(t *testing.T, genuine *embedded.Cluster, domain string, all bool) {
	t.Helper()
	var selected []requirement.ID
	if !all {
		selected = append(usual(), f.breaks...)
	}
	want := slices.Sorted(slices.Values(f.breaks))
	if got := failed(t, genuine, migration.New(f.migrator.migrate), domain, selected...); !slices.Equal(got, want) {
		t.Errorf("failed: %v\nwant: %v", got, want)
	}
}

// migratorTrials has each migrator of some tables judged by all specs, or by a few more than those of what it breaks.
func migratorTrials(allSpecs bool, tables ...map[string]migrationFault) []trial {
	var all []trial
	for kind, faults := range tables {
		for n, name := range slices.Sorted(maps.Keys(faults)) {
			all = append(all, trial{"migrator/" + name, func(t *testing.T, genuine *embedded.Cluster) {
				t.Helper()
				faults[name].judge(t, genuine, fmt.Sprintf("migrator%d-%d.example.com", kind, n), allSpecs)
			}})
		}
	}
	return all
}

// correct are migrators that do it another way than ours, and break nothing.
func correct() map[string]migrationFault {
	return map[string]migrationFault{
		"empty apply":                   {migrator: simple{write: apply}},
		"put with the resource version": {migrator: simple{write: put}},
		"empty merge patch":             {migrator: simple{write: patch}},
	}
}

// failed runs the chapter, or the specs of some requirements, and returns what failed. Everything else must have passed.
func failed(t *testing.T, c *embedded.Cluster, chapter suites.Area, domain string, selected ...requirement.ID) []requirement.ID {
	t.Helper()
	options := suites.Options{Cluster: c, Seed: 1, Domain: domain}
	if len(selected) > 0 {
		options.Select = func(id requirement.ID) bool { return slices.Contains(selected, id) }
	}
	env := suitetest.Env(t, options)
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
