package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/requirement"
)

// backBefore puts the old release back while nothing was written since the upgrade, and the new one again.
func (l *leg) backBefore(ctx context.Context) error {
	if !l.wantsBack() {
		return nil
	}
	if err := l.goBack(ctx, "before anything is written", "before anything was written"); err != nil || ctx.Err() != nil {
		return err
	}
	if l.oldHook.build != nil && l.oldHook.build.Acts() {
		if err := l.oldHook.stop(ctx); err != nil {
			return err
		}
	}
	var converted []*kind
	for _, k := range l.going() {
		if k.new.converts() && !l.broken && l.newHook.build != nil {
			converted = append(converted, k)
			continue
		}
		if err := l.forward(ctx, k, nil); err != nil {
			return err
		}
	}
	if len(converted) == 0 {
		return nil
	}
	return l.startHook(ctx, &l.newHook, func(client apiextensionsv1.WebhookClientConfig) error {
		for _, k := range converted {
			if err := l.forward(ctx, k, &client); err != nil {
				return err
			}
		}
		return nil
	})
}

// forward installs the new definition again.
func (l *leg) forward(ctx context.Context, k *kind, client *apiextensionsv1.WebhookClientConfig) error {
	err := l.put(ctx, k, k.new, client)
	if isRefusal(err) && isStoredVersions(err) {
		var mended bool
		if mended, err = l.mend(ctx, k, client); err == nil && !mended {
			err = errors.New("the API server refuses it")
		}
	}
	if err != nil {
		return fmt.Errorf("installing the new definition %s again: %w", k.name, err)
	}
	return nil
}

// backAfter puts the old release back when new objects were created and all were migrated.
func (l *leg) backAfter(ctx context.Context) error {
	if !l.wantsBack() {
		return nil
	}
	return l.goBack(ctx, "after the objects were written", "after objects were written")
}

func (l *leg) wantsBack() bool {
	return slices.ContainsFunc([]requirement.ID{requirement.UpgradeBackDefinitions, requirement.UpgradeBackRead, requirement.UpgradeBackContent}, l.record.selects)
}

// goBack puts the old definitions and the old webhook back, and reads the objects. It is given when that is, and when it was.
func (l *leg) goBack(ctx context.Context, when, past string) error {
	kinds := l.going()
	restored := map[*kind]bool{}
	for _, k := range kinds {
		ok, err := l.restore(ctx, k, when)
		if err != nil {
			return err
		}
		restored[k] = ok
		if !ok {
			l.record.blocked(requirement.UpgradeBackRead, k, requirement.UpgradeBackDefinitions)
			l.record.blocked(requirement.UpgradeBackContent, k, requirement.UpgradeBackDefinitions)
		}
	}
	kinds = slices.DeleteFunc(kinds, func(k *kind) bool { return !restored[k] })
	if l.newHook.build != nil && l.newHook.build.Acts() {
		if err := l.newHook.stop(ctx); err != nil {
			return err
		}
	}
	converted := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return !k.old.converts() })
	if len(converted) > 0 && l.oldHook.build != nil {
		err := l.startFor(ctx, &l.oldHook, converted, (*kind).oldSide)
		if err != nil {
			return fmt.Errorf("the old webhook does not start again: %w", err)
		}
	}
	for _, k := range kinds {
		if err := l.readBack(ctx, k, "once the old release was back ("+past+")"); err != nil {
			return err
		}
	}
	return nil
}

// restore puts the old definition in the place of the new one. If the API server refuses it, the objects are brought back to the old
// storage version first, if they can be. It reports whether the old definition is there.
func (l *leg) restore(ctx context.Context, k *kind, when string) (bool, error) {
	id := requirement.UpgradeBackDefinitions
	err := l.put(ctx, k, k.old, l.oldHook.client)
	l.record.tried(id, k, max(k.objects, 1))
	if err == nil {
		l.goes(k, "%s, the old definition can be put back.", when)
		return true, nil
	}
	if !isRefusal(err) {
		return false, err
	}
	l.record.find(finding{
		id: id, kind: k, version: k.old.storage(), message: fmt.Sprintf("the API server refuses the old definition over the new one, %s: %s", when, said(err)),
		commands: []string{k.way.command() + " " + l.from.Apply},
	})
	if !isStoredVersions(err) || !k.new.has(k.old.storage()) {
		l.goes(k, "%s, the old definition cannot be put back any more: %s.", when, said(err))
		return false, nil
	}
	hindered, err := l.detour(ctx, k)
	switch {
	case err != nil:
		return false, err
	case hindered == "":
		l.goes(k, "%s, the old definition can be put back only after the new one was changed to store at %s, and the objects were migrated back.", when, k.old.storage())
	default:
		l.goes(k, "%s, the old definition cannot be put back any more: %s.", when, hindered)
	}
	return hindered == "", nil
}

// detour migrates the objects back to the old storage version, and puts the old definition in the place of the new one then. It returns
// what hinders that; nothing if it is done.
func (l *leg) detour(ctx context.Context, k *kind) (hindered string, err error) {
	manifest, _, err := l.manifestOf(k.new, l.newHook.client)
	if err != nil {
		return "", err
	}
	manifest = storedAt(manifest, k.old.storage())
	if err = l.putManifest(ctx, k, k.new, manifest, l.install.column(manifest)); err != nil {
		if isRefusal(err) {
			return fmt.Sprintf("the new definition cannot be changed to store at %s: %s", k.old.storage(), said(err)), nil
		}
		return "", err
	}
	_, err = migrate.Run(ctx, l.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if incomplete := (*migrate.IncompleteError)(nil); errors.As(err, &incomplete) {
		return "the objects cannot be migrated back to " + k.old.storage(), nil
	}
	if err != nil {
		return "", fmt.Errorf("migrating %s back to %s: %w", k.name, k.old.storage(), err)
	}
	err = l.put(ctx, k, k.old, l.oldHook.client)
	if isRefusal(err) {
		return said(err), nil
	}
	return "", err
}

// wayBack says how some definitions can be put back.
type wayBack struct {
	how   string
	kinds []string
}

// goes notes how the way back of a definition is.
func (l *leg) goes(k *kind, format string, arguments ...any) {
	how := fmt.Sprintf(format, arguments...)
	i := slices.IndexFunc(l.back, func(w wayBack) bool { return w.how == how })
	if i < 0 {
		i = len(l.back)
		l.back = append(l.back, wayBack{how: how})
	}
	if !slices.Contains(l.back[i].kinds, k.name) {
		l.back[i].kinds = append(l.back[i].kinds, k.name)
	}
}

// sentences says how the way back is, once for all definitions for which it is the same.
func sentences(ways []wayBack) []string {
	var all []string
	for _, w := range ways {
		all = append(all, strings.Join(w.kinds, ", ")+": "+w.how)
	}
	return all
}

// readBack reads the objects with the old release in place. Those that were there are to show what they did, and new ones what they
// showed at the same version.
func (l *leg) readBack(ctx context.Context, k *kind, did string) error {
	if k.objects == 0 {
		return nil
	}
	versions, blind := k.old.served(), !l.oldHook.converts(k.old)
	if blind {
		versions = slices.DeleteFunc(versions, func(version string) bool { return version != k.old.storage() })
	}
	madeAt := map[string]string{}
	for _, m := range k.made {
		madeAt[m.object] = m.version
	}
	for _, version := range versions {
		unlisted, failures, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			c := comparison{when: before, content: requirement.UpgradeBackContent, pruned: requirement.UpgradeBackContent, now: k.old, did: did}
			if at, isNew := madeAt[keyOf(object)]; isNew {
				c.when, c.losses = after, true
				if at != version { // what it showed at other versions is what the new webhook made of it
					return nil
				}
			}
			_, err := l.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		if blind && isUnconverted(unlisted) { // some are stored at the new version, and nobody is there to convert them
			for _, id := range []requirement.ID{requirement.UpgradeBackRead, requirement.UpgradeBackContent} {
				l.record.half(id, k, "not all objects could be read "+did+", since the old webhook was not given")
			}
			continue
		}
		l.record.tried(requirement.UpgradeBackRead, k, len(k.book.names))
		l.record.tried(requirement.UpgradeBackContent, k, len(k.book.names)-len(failures))
		l.record.unread(k, version, requirement.UpgradeBackRead, failures, unlisted, did)
	}
	return nil
}
