package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// copies and generated are how many objects are created at each version: like some that are there, and made from the schema.
	copies    = 5
	generated = 3

	// madeSuffix is in the names of objects that the rehearsal creates.
	madeSuffix = "crdconform-new"
)

// made is an object that the rehearsal created.
type made struct {
	object, version string
}

// origin is what objects that are to be created are like.
type origin int

const (
	others origin = iota // that are there
	schemas
)

// create creates objects at each version that the new definition serves, and reads them at all others.
func (l *leg) create(ctx context.Context) error {
	id := requirement.UpgradeUseCreate
	for _, k := range l.going() {
		if k.objects == 0 {
			continue
		}
		for _, version := range k.new.served() {
			if l.record.allBroken(k, version) {
				l.record.blocked(id, k, requirement.UpgradeWriteNoOp)
				continue
			}
			candidates, from, err := l.candidates(ctx, k, version)
			if err != nil {
				return err
			}
			for _, candidate := range candidates {
				if err := l.createOne(ctx, k, version, candidate, from); err != nil {
					return err
				}
			}
		}
		if len(k.made) > 0 {
			l.record.tried(id, k, len(k.made))
			continue
		}
		l.record.skip(id, k, "the API server accepted none of the objects that were to be created, which are like those that are there or made from the schema")
	}
	return nil
}

// candidates are objects to create at a version: like some that are there or, if there are none, made up.
func (l *leg) candidates(ctx context.Context, k *kind, version string) (all []*unstructured.Unstructured, from origin, err error) {
	for _, object := range l.record.readable(k, version) {
		if len(all) == copies {
			break
		}
		if l.record.brokenFor(requirement.UpgradeWriteCreate, k, object) {
			continue
		}
		at, name := l.at(k, version, object)
		got, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			if !isAbout(err) {
				return nil, from, err
			}
			continue
		}
		all = append(all, k.whole(got))
	}
	if len(all) == 0 && k.new.schema(version) != nil {
		from = schemas
		all = append(all, k.new.definition.Generator(version, l.Seed, nil).Objects(corpus.Plain, generated)...)
	}
	namespace := metav1.NamespaceDefault
	if len(k.book.names) > 0 {
		namespace, _ = kube.SplitKey(k.book.names[0])
	}
	for i, object := range all {
		meta := map[string]any{"name": fmt.Sprintf("%s-%s-%d", madeSuffix, version, i)}
		for _, field := range []string{"labels", "annotations"} {
			if value, found, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field); found {
				meta[field] = value
			}
		}
		object.Object["metadata"] = meta
		if annotations := object.GetAnnotations(); annotations != nil {
			delete(annotations, kube.LastApplied)
			object.SetAnnotations(annotations)
		}
		if k.scoped {
			object.SetNamespace(namespace)
		}
	}
	return all, from, nil
}

// createOne creates an object and reads it at all versions. One that the API server refuses as invalid says nothing about the upgrade:
// that objects which are there are no longer valid was noted when they were read.
func (l *leg) createOne(ctx context.Context, k *kind, version string, object *unstructured.Unstructured, from origin) error {
	name := keyOf(object)
	at, _ := l.at(k, version, name)
	_, err := at.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case err == nil:
	case isRefused(err), from == schemas && isAbout(err) && !isUnreached(err): // made-up objects may mean nothing to the webhook
		return nil
	case isAbout(err):
		l.record.find(finding{
			id: requirement.UpgradeUseCreate, kind: k, object: name, version: version,
			message:  fmt.Sprintf("an object cannot be created at %s after the upgrade: %s", version, said(err)),
			commands: []string{"kubectl create --dry-run=server -f - <<'EOF'\n" + strings.TrimSpace(string(corpus.YAML(object))) + "\nEOF"},
		})
		return nil
	default:
		return err
	}
	k.made = append(k.made, made{name, version})
	for _, other := range k.new.served() {
		at, bare := l.at(k, other, name)
		got, err := at.Get(ctx, bare, metav1.GetOptions{})
		if err != nil && !isAbout(err) {
			return err
		}
		if err != nil {
			l.record.find(finding{
				id: requirement.UpgradeUseCreate, kind: k, object: name, version: other,
				message:  fmt.Sprintf("an object that was created at %s after the upgrade cannot be read at %s: %s", version, other, said(err)),
				commands: []string{k.kubectlGet(other, name)},
			})
			continue
		}
		k.book.add(name)
		if err := k.book.enter(page{after, other}, got); err != nil {
			return err
		}
	}
	return nil
}

// existing are the objects that were there before the upgrade.
func (k *kind) existing() []string { return k.book.names[:min(k.objects, len(k.book.names))] }

// use reads, applies and deletes what was upgraded, and keeps what is stored for the next upgrade.
func (l *leg) use(ctx context.Context) error {
	for _, k := range l.going() {
		if k.objects == 0 {
			continue
		}
		if err := l.readAgain(ctx, k); err != nil {
			return err
		}
		objects := slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool {
			return !k.book.known(page{after, k.home()}, object) || slices.ContainsFunc([]requirement.ID{
				requirement.UpgradeWriteNoOp, requirement.UpgradeWriteApply, requirement.UpgradeDropSafe, requirement.UpgradeMigrationProved,
			}, func(id requirement.ID) bool { return l.record.brokenFor(id, k, object) })
		})
		if len(objects) == 0 {
			l.record.blocked(requirement.UpgradeUseApply, k, requirement.UpgradeWriteApply)
		} else if err := l.appliesAgain(ctx, k, objects); err != nil {
			return err
		}
		if err := l.delete(ctx, k); err != nil {
			return err
		}
	}
	if err := l.garbage(ctx); err != nil {
		return err
	}
	return l.carry(ctx)
}

// appliesAgain has the managers of objects apply them when they are migrated.
func (l *leg) appliesAgain(ctx context.Context, k *kind, objects []string) error {
	id := requirement.UpgradeUseApply
	if !l.record.selects(id) {
		return nil
	}
	tried := 0
	err := l.batches(ctx, k, k.home(), objects, func(page []*unstructured.Unstructured) error {
		n, err := l.applies(ctx, k, k.home(), page, id, "once the objects are migrated")
		tried += n
		return err
	})
	l.record.tried(id, k, tried)
	l.record.unmanaged(k, id)
	return err
}

// readAgain reads all objects once more, which are to show what they showed after the upgrade.
func (l *leg) readAgain(ctx context.Context, k *kind) error {
	id := requirement.UpgradeUseRead
	const did = "after the objects were written and migrated"
	for _, version := range k.new.served() {
		c := comparison{when: after, content: id, pruned: id, now: k.new, did: did}
		unlisted, failures, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			_, err := l.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		// What could not be read after the upgrade was reported then.
		failures = slices.DeleteFunc(failures, func(f failure) bool { return !k.book.known(page{after, version}, f.object) })
		for _, by := range []requirement.ID{requirement.UpgradeReadGet, requirement.UpgradeReadList} {
			if unlisted != nil && l.record.broken(by, k) {
				unlisted = nil
				l.record.explain(id, k, string(by), alike(by))
			}
		}
		l.record.tried(id, k, len(l.record.readable(k, version)))
		l.record.unread(k, version, id, failures, unlisted, did)
	}
	if len(l.record.readable(k, k.home())) == 0 {
		l.record.blocked(id, k, requirement.UpgradeReadGet)
	}
	l.record.once(k, id, alike(requirement.UpgradeWriteNoOp), requirement.UpgradeWriteNoOp)
	l.record.settleMigration(k)
	return nil
}

// delete tries to delete each object that was there, and deletes half of those that were created.
func (l *leg) delete(ctx context.Context, k *kind) error {
	id := requirement.UpgradeUseDelete
	if !l.record.selects(id) {
		return nil
	}
	home := k.home()
	objects := slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool { return !k.book.known(page{after, home}, object) })
	if len(objects) == 0 {
		l.record.blocked(id, k, requirement.UpgradeReadGet)
		return nil
	}
	remove := func(options metav1.DeleteOptions) func(ctx context.Context, object string) (func() error, error) {
		return func(ctx context.Context, object string) (func() error, error) {
			at, name := l.at(k, home, object)
			err := at.Delete(ctx, name, options)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				err = nil
			}
			return nil, err
		}
	}
	failures, err := l.each(ctx, objects, remove(metav1.DeleteOptions{DryRun: dryRun()}))
	if err != nil {
		return err
	}
	var gone []string
	for i, m := range k.made {
		if i%2 == 0 {
			gone = append(gone, m.object)
		}
	}
	really, err := l.each(ctx, gone, remove(metav1.DeleteOptions{}))
	l.record.tried(id, k, len(objects)+len(gone))
	for _, f := range append(failures, really...) {
		l.record.find(finding{
			id: id, kind: k, object: f.object, version: home, message: fmt.Sprintf("it cannot be deleted at %s: %s", home, said(f.err)),
			commands: []string{k.kubectlDelete(home, f.object)},
		})
	}
	return err
}

const (
	// collectTimeout is how long a garbage collector may take by default. It looks for new definitions every half minute.
	collectTimeout = 2 * time.Minute

	collectPoll = 500 * time.Millisecond
)

// garbage has the garbage collector collect what an object owns.
func (l *leg) garbage(ctx context.Context) error {
	id := requirement.UpgradeUseCollected
	if !l.collects(ctx) {
		for _, k := range l.going() {
			l.record.spare(id, k, "a cluster of the kind %s has no garbage collector; kind has one", l.cluster.Name())
		}
		return nil
	}
	for _, k := range l.going() {
		if !l.record.selects(id) || k.objects == 0 {
			continue
		}
		owners := slices.DeleteFunc(slices.Clone(k.made), func(m made) bool { return slices.Index(k.made, m)%2 == 0 })
		if len(owners) == 0 || !k.scoped {
			l.record.skip(id, k, "no namespaced object was left to own another")
			continue
		}
		for _, version := range k.new.served() {
			if err := l.collectsFor(ctx, k, owners[0].object, version); err != nil {
				return err
			}
			if owners = owners[1:]; len(owners) == 0 {
				break
			}
		}
	}
	return nil
}

// collectsFor deletes an object that owns a ConfigMap by a reference at a version, and waits until that is gone.
func (l *leg) collectsFor(ctx context.Context, k *kind, owner, version string) error {
	at, name := l.at(k, k.home(), owner)
	got, err := at.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if isAbout(err) {
			return nil
		}
		return err
	}
	maps := l.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(got.GetNamespace())
	owned := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	owned.SetName(name + "-owned")
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: k.group + "/" + version, Kind: k.kind, Name: name, UID: got.GetUID()}})
	if _, err = maps.Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating what %s owns: %w", owner, err)
	}
	if err = at.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && isAbout(err) {
		return nil // that it cannot be deleted was reported
	}
	limit := cmp.Or(l.CollectTimeout, collectTimeout)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = kube.Until(within, collectPoll, func(ctx context.Context) (bool, error) {
		_, gone := maps.Get(ctx, owned.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(gone), nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.record.tried(requirement.UpgradeUseCollected, k, 1)
	if err != nil {
		l.record.find(finding{
			id: requirement.UpgradeUseCollected, kind: k, object: owner, version: version,
			message: fmt.Sprintf("a ConfigMap that it owns by a reference at %s is still there %s after it was deleted", version, limit),
		})
	}
	return nil
}
