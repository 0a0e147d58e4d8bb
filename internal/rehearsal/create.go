package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
func (w *writer) create(ctx context.Context) error {
	id := requirement.UpgradeUseCreate
	for _, k := range w.kinds.inhabited() {
		for _, version := range k.new.served() {
			if w.record.allBroken(k, version) {
				w.record.blocked(id, k, requirement.UpgradeWriteNoOp)
				continue
			}
			candidates, from, err := w.candidates(ctx, k, version)
			if err != nil {
				return err
			}
			for _, candidate := range candidates {
				if err := w.createOne(ctx, k, version, candidate, from); err != nil {
					return err
				}
			}
		}
		if err := w.relabels(ctx, k); err != nil {
			return err
		}
		if len(k.made) > 0 {
			w.record.tried(id, k, len(k.made))
			continue
		}
		w.record.skip(id, k, "the API server accepted none of the objects that were to be created, which are like those that are there or made from the schema")
	}
	return nil
}

// candidates are objects to create at a version: like some that are there or, if there are none, made up.
func (w *writer) candidates(ctx context.Context, k *kind, version string) (all []*unstructured.Unstructured, from origin, err error) {
	for _, object := range w.record.readable(k, version) {
		if len(all) == copies {
			break
		}
		if w.record.brokenFor(requirement.UpgradeWriteCreate, k, object) {
			continue
		}
		at, name := w.at(k, version, object)
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
		all = append(all, k.new.definition.Generator(version, w.seed, nil).Objects(corpus.Plain, generated)...)
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
func (w *writer) createOne(ctx context.Context, k *kind, version string, object *unstructured.Unstructured, from origin) error {
	name := keyOf(object)
	at, _ := w.at(k, version, name)
	_, err := at.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case err == nil:
	case isRefused(err), from == schemas && isAbout(err) && !isUnreached(err): // made-up objects may mean nothing to the webhook
		return nil
	case isAbout(err):
		w.record.find(finding{
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
		at, bare := w.at(k, other, name)
		got, err := at.Get(ctx, bare, metav1.GetOptions{})
		if err != nil && !isAbout(err) {
			return err
		}
		if err != nil {
			w.record.find(finding{
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

// relabels creates objects with what is new in the new release, where nothing converts, and has clients of the other versions write them back
// as they read them: the API server drops what these versions do not have.
func (w *writer) relabels(ctx context.Context, k *kind) error {
	home := k.home()
	if k.new.converts() || k.new.schema(home) == nil || !w.record.selects(requirement.UpgradeWriteNoOp) {
		return nil
	}
	for i, object := range k.new.definition.Generator(home, w.seed, nil).Objects(corpus.Plain, generated) {
		object.Object["metadata"] = map[string]any{"name": fmt.Sprintf("%s-relabeled-%d", madeSuffix, i)}
		if k.scoped {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		for _, version := range k.new.served() {
			if version == home {
				continue
			}
			if err := w.relabel(ctx, k, version, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// relabel creates an object where controllers work, writes it back at another version, and deletes it again.
func (w *writer) relabel(ctx context.Context, k *kind, version string, object *unstructured.Unstructured) (err error) {
	name := keyOf(object)
	at, bare := w.at(k, k.home(), name)
	created, err := at.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return unlessAbout(err)
	}
	defer func() { err = errors.Join(err, unlessAbout(at.Delete(ctx, bare, metav1.DeleteOptions{}))) }()
	other, _ := w.at(k, version, name)
	read, err := other.Get(ctx, bare, metav1.GetOptions{})
	if err == nil {
		_, err = other.Update(ctx, read, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return unlessAbout(err)
	}
	now, err := at.Get(ctx, bare, metav1.GetOptions{})
	if err != nil {
		return unlessAbout(err)
	}
	schema, before := k.new.schema(k.home()), k.old.schema(k.home())
	for _, change := range changes(content(created.Object), content(now.Object), schema, schema) {
		if change.effect != "lost" || before != nil && before.Lacks(change.Path) == "" || w.record.lossy(k, version, change) {
			continue // it was so before the upgrade
		}
		f := change.finding(requirement.UpgradeWriteNoOp, k, version, object)
		f.message = fmt.Sprintf("a new object with %s loses it when a client of %s writes what it has read, since nothing converts: have a webhook keep it in an annotation, or give %[2]s the field, too", change.Path, version)
		f.commands = []string{k.kubectlReplace(version, name)}
		w.record.find(f)
	}
	return nil
}

// unlessAbout returns an error that is not about the object or the definition.
func unlessAbout(err error) error {
	if err == nil || isAbout(err) {
		return nil
	}
	return err
}

// existing are the objects that were there before the upgrade.
func (k *kind) existing() []string { return k.book.names[:min(k.objects, len(k.book.names))] }
