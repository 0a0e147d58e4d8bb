package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// reader reads the objects, and has compared what they show.
type reader struct {
	part

	hooks *webhooks
	began time.Time
	to    string // the files of the new release
}

// baseline notes what the objects show at every version, and which cannot be read. If nothing converts them, that is the one that they are
// stored at.
func (r *reader) baseline(ctx context.Context, k *kind) error {
	id, versions, converted := requirement.UpgradeObjectsReadable, k.old.served(), r.hooks.old.converts(k.old)
	if !converted {
		r.record.skip(id, k, "nothing is known that converts the objects of the old release; give its webhook")
		r.record.note("the objects of %s were read before the upgrade only at the version that they are stored at, since the webhook of the old release was not given", k.name)
		versions = slices.DeleteFunc(versions, func(version string) bool { return version != k.old.storage() })
	}
	unreadable := map[string]bool{}
	for _, version := range versions {
		var suspect []*unstructured.Unstructured
		unlisted, failures, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			if s := k.old.schema(version); s != nil && len(invalid(object.Object, nil, s)) > 0 {
				suspect = append(suspect, object.DeepCopy())
			}
			return k.book.enter(page{before, version}, object)
		})
		if err != nil {
			return err
		}
		if err := r.refusedBefore(ctx, k, version, suspect); err != nil {
			return err
		}
		if !converted {
			continue
		}
		r.record.tried(id, k, len(k.book.names))
		r.record.unread(k, version, id, failures, unlisted, "even before the upgrade")
		for _, f := range failures {
			unreadable[f.object] = true
		}
	}
	k.unreadable = unreadable
	return nil
}

// refusedBefore notes which objects that the old schema refuses cannot be applied before the upgrade either.
func (r *reader) refusedBefore(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured) error {
	failures, err := every(ctx, objects, keyOf, func(ctx context.Context, object *unstructured.Unstructured) (func() error, error) {
		return nil, r.apply(ctx, k, version, secondManager, annotated(object))
	})
	for _, f := range failures {
		k.invalid[f.object] = true
	}
	if len(failures) > 0 {
		r.record.note("%s not valid at %s before the upgrade, such as %s, and could not be applied then either, for which it is not to blame; mend that: %s",
			visible.Count(len(failures), "object of "+k.name+" was", "objects of "+k.name+" were"), version, failures[0].object, said(failures[0].err))
	}
	return err
}

// as reads the objects at some versions, which are to show what they showed before the upgrade.
func (r *reader) as(ctx context.Context, k *kind, s *side, versions []string, id requirement.ID, did string) error {
	for _, version := range versions {
		c := comparison{when: before, content: id, pruned: id, now: s, did: did}
		if s == k.new {
			c.pruned = "" // that is not the fault of the webhook
		}
		unlisted, failures, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			_, err := r.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		r.record.tried(id, k, len(k.book.names))
		r.record.unread(k, version, id, failures, unlisted, did)
	}
	return nil
}

// unread notes what cannot be read, but for what could not be read before the upgrade either.
func (r *record) unread(k *kind, version string, id requirement.ID, failures []failure, unlisted error, did string) {
	fresh := slices.DeleteFunc(slices.Clone(failures), func(f failure) bool {
		return k.unreadable[f.object]
	})
	for _, f := range fresh {
		r.find(finding{
			id: id, kind: k, object: f.object, version: version, message: fmt.Sprintf("it cannot be read at %s %s: %s", version, did, said(f.err)),
			commands: []string{k.kubectlGet(version, f.object)},
		})
	}
	if unlisted != nil && len(failures) == 0 {
		r.find(finding{
			id: id, kind: k, version: version, message: fmt.Sprintf("the objects cannot be listed at %s %s: %s", version, did, said(unlisted)),
			commands: []string{k.kubectlList(version)},
		})
	}
}

// read reads the objects in all ways at all versions, and compares them with what they were.
func (r *reader) read(ctx context.Context) error {
	for _, k := range r.kinds.inhabited() {
		if r.hooks.broken && k.new.converts() {
			r.record.stop(k, requirement.UpgradeWebhookStarts)
			continue
		}
		for _, version := range k.storedFirst() {
			if err := r.readAt(ctx, k, version); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(k.new.served(), func(version string) bool { return k.book.has(page{before, version}) }) {
			r.record.spare(requirement.UpgradeReadContent, k, "no version is served both before and after the upgrade")
			r.record.spare(requirement.UpgradeReadPruned, k, "no version is served both before and after the upgrade")
		}
		for _, id := range []requirement.ID{requirement.UpgradeWebhookOldDefinitions, requirement.UpgradeWebhookOldBuild} {
			r.record.once(k, id, "the same is already reported for the new release alone", requirement.UpgradeReadGet, requirement.UpgradeReadContent, requirement.UpgradeReadPruned)
		}
	}
	return r.shipped(ctx)
}

func (r *reader) readAt(ctx context.Context, k *kind, version string) error {
	const did = "after the upgrade"
	c := comparison{when: before, content: requirement.UpgradeReadContent, pruned: requirement.UpgradeReadPruned, now: k.new, did: did}
	compared, objects := 0, 0
	unlisted, failures, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
		objects++
		was, err := r.compare(k, version, object, c)
		if err != nil {
			return err
		}
		if was {
			compared++
		}
		r.record.creatable(k, version, object)
		return k.book.enter(page{after, version}, object)
	})
	if err != nil {
		return err
	}
	r.record.tried(requirement.UpgradeReadContent, k, compared)
	r.record.tried(requirement.UpgradeReadPruned, k, compared)
	r.record.tried(requirement.UpgradeWriteCreate, k, objects)
	if unlisted == nil && r.record.selects(requirement.UpgradeReadGet) {
		if failures, err = r.get(ctx, k, version); err != nil {
			return err
		}
	}
	r.record.tried(requirement.UpgradeReadGet, k, len(k.book.names))
	r.record.unread(k, version, requirement.UpgradeReadGet, failures, nil, did)
	if len(failures) > 0 {
		by := requirement.UpgradeObjectsReadable
		if r.record.broken(requirement.UpgradeReadGet, k) {
			by = requirement.UpgradeReadGet
		}
		r.record.blocked(requirement.UpgradeReadList, k, by)
		r.record.blocked(requirement.UpgradeReadWatch, k, by)
		return nil
	}
	r.record.tried(requirement.UpgradeReadList, k, len(k.book.names))
	if unlisted != nil {
		r.record.unread(k, version, requirement.UpgradeReadList, nil, unlisted, did)
		r.record.blocked(requirement.UpgradeReadWatch, k, requirement.UpgradeReadList)
		return nil
	}
	return r.watched(ctx, k, version)
}

// creatable notes that an object is not valid any more by itself.
func (r *record) creatable(k *kind, version string, object *unstructured.Unstructured) {
	if !r.selects(requirement.UpgradeWriteCreate) {
		return
	}
	for _, p := range invalid(object.Object, k.old.schema(version), k.new.schema(version)) {
		r.find(finding{
			id: requirement.UpgradeWriteCreate, kind: k, object: keyOf(object), version: version, field: p.Path, effect: "refused",
			message:  fmt.Sprintf("it could not be created again at %s as it is: %s", version, p),
			commands: []string{k.kubectlCreate(version, keyOf(object))},
		})
	}
}

// watched watches the objects.
func (r *reader) watched(ctx context.Context, k *kind, version string) error {
	if !r.record.selects(requirement.UpgradeReadWatch) {
		return nil
	}
	missing, ended, err := r.watch(ctx, k, version)
	if err != nil {
		return err
	}
	r.record.tried(requirement.UpgradeReadWatch, k, len(k.book.names))
	if len(missing) == 0 {
		return nil
	}
	why := "it did not show all objects"
	if ended != nil {
		why = said(ended)
	}
	for _, object := range missing {
		r.record.find(finding{
			id: requirement.UpgradeReadWatch, kind: k, object: object, version: version, message: fmt.Sprintf("a watch at %s does not show it: %s", version, why),
			commands: []string{k.kubectlList(version, "--watch")},
		})
	}
	return nil
}

// readBack reads the objects with the old release in place. Those that were there are to show what they did, and new ones what they
// showed at the same version.
func (r *reader) readBack(ctx context.Context, k *kind, did string) error {
	if k.objects == 0 {
		return nil
	}
	versions, blind := k.old.served(), !r.hooks.old.converts(k.old)
	if blind {
		versions = slices.DeleteFunc(versions, func(version string) bool { return version != k.old.storage() })
	}
	madeAt := map[string]string{}
	for _, m := range k.made {
		madeAt[m.object] = m.version
	}
	for _, version := range versions {
		unlisted, failures, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			c := comparison{when: before, content: requirement.UpgradeBackContent, pruned: requirement.UpgradeBackContent, now: k.old, did: did}
			if at, isNew := madeAt[keyOf(object)]; isNew {
				c.when, c.losses = after, true
				if at != version { // what it showed at other versions is what the new webhook made of it
					return nil
				}
			}
			_, err := r.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		if blind && isUnconverted(unlisted) { // some are stored at the new version, and nobody is there to convert them
			for _, id := range []requirement.ID{requirement.UpgradeBackRead, requirement.UpgradeBackContent} {
				r.record.half(id, k, "not all objects could be read "+did+", since the old webhook was not given")
			}
			continue
		}
		r.record.tried(requirement.UpgradeBackRead, k, len(k.book.names))
		r.record.tried(requirement.UpgradeBackContent, k, len(k.book.names)-len(failures))
		r.record.unread(k, version, requirement.UpgradeBackRead, failures, unlisted, did)
	}
	return nil
}

// readAgain reads all objects once more, which are to show what they showed after the upgrade.
func (r *reader) readAgain(ctx context.Context, k *kind) error {
	id := requirement.UpgradeUseRead
	const did = "after the objects were written and migrated"
	for _, version := range k.new.served() {
		c := comparison{when: after, content: id, pruned: id, now: k.new, did: did}
		unlisted, failures, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			_, err := r.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		// What could not be read after the upgrade was reported then.
		failures = slices.DeleteFunc(failures, func(f failure) bool { return !k.book.known(page{after, version}, f.object) })
		for _, by := range []requirement.ID{requirement.UpgradeReadGet, requirement.UpgradeReadList} {
			if unlisted != nil && r.record.broken(by, k) {
				unlisted = nil
				r.record.explain(id, k, string(by), alike(by))
			}
		}
		r.record.tried(id, k, len(r.record.readable(k, version)))
		r.record.unread(k, version, id, failures, unlisted, did)
	}
	if len(r.record.readable(k, k.home())) == 0 {
		r.record.blocked(id, k, requirement.UpgradeReadGet)
	}
	r.record.once(k, id, alike(requirement.UpgradeWriteNoOp), requirement.UpgradeWriteNoOp)
	r.record.settleMigration(k)
	return nil
}

// storedFirst returns the served versions, that at which the objects are stored first: what the API server drops there, it drops before
// anything is converted.
func (k *kind) storedFirst() []string {
	served := slices.Clone(k.new.served())
	slices.SortStableFunc(served, func(a, b string) int { return k.stored[b] - k.stored[a] })
	return served
}

// shipped reads the objects under the definitions as they are shipped, where these lack the conversion stanza that a program is to add: until
// it has, the API server only changes the apiVersion of objects.
func (r *reader) shipped(ctx context.Context) error {
	for _, k := range r.kinds.inhabited() {
		if !k.new.unnamed || r.hooks.broken || r.hooks.new.client == nil || !r.record.selects(requirement.UpgradeReadContent) {
			continue
		}
		client := r.hooks.new.client
		if err := r.putManifest(ctx, k, k.new, withoutWebhook(k.new.given)); err != nil {
			if isRefusal(err) {
				continue // it was accepted with the stanza
			}
			return err
		}
		for _, version := range k.new.served() {
			if err := r.relabelled(ctx, k, version); err != nil {
				return err
			}
		}
		if err := r.put(ctx, k, k.new, client); err != nil {
			return err
		}
	}
	return nil
}

// relabelled notes which objects show something else at a version than what the webhook makes of them.
func (r *reader) relabelled(ctx context.Context, k *kind, version string) error {
	_, _, err := r.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
		was, err := k.book.differs(page{after, version}, object)
		if err != nil || was == nil {
			return err
		}
		var fields []string
		for _, change := range changes(was, content(object.Object), k.new.schema(version), k.new.schema(version)) {
			if field := k.new.schema(version).Pattern(change.Path); !r.record.lossy(k, version, change) && !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
		if len(fields) == 0 {
			return nil
		}
		r.record.find(finding{
			id: requirement.UpgradeReadContent, kind: k, object: keyOf(object), version: version,
			message: fmt.Sprintf("the definition as it is shipped has no spec.conversion, so until something patches that into it, nothing is converted: what is stored at another version is only relabelled %s, with another value of %s "+
				"than the webhook returns, and what is written meanwhile stays so; put the stanza into the manifest", version, strings.Join(fields, ", ")),
			commands: []string{k.way.command() + " " + r.to, k.kubectlGet(version, keyOf(object))},
		})
		return nil
	})
	return err
}
