package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/requirement"
)

// returning puts the old release back.
type returning struct {
	part

	hooks       *webhooks
	definitions *definitions
	reader      *reader
	from        string // the files of the old release
	ways        []wayBack
}

// before puts the old release back while nothing was written since the upgrade, and the new one again.
func (b *returning) before(ctx context.Context) error {
	if !b.wantsBack() {
		return nil
	}
	if err := b.goBack(ctx, "before anything is written", "before anything was written"); err != nil || ctx.Err() != nil {
		return err
	}
	if err := b.hooks.old.retire(ctx); err != nil {
		return err
	}
	var converted []*kind
	for _, k := range b.kinds.going() {
		if k.new.converts() && !b.hooks.broken && b.hooks.new.build != nil {
			converted = append(converted, k)
			continue
		}
		if err := b.forward(ctx, k, nil); err != nil {
			return err
		}
	}
	if len(converted) == 0 {
		return nil
	}
	return b.hooks.start(ctx, &b.hooks.new, func(client apiextensionsv1.WebhookClientConfig) error {
		for _, k := range converted {
			if err := b.forward(ctx, k, &client); err != nil {
				return err
			}
		}
		return nil
	})
}

// forward installs the new definition again.
func (b *returning) forward(ctx context.Context, k *kind, client *apiextensionsv1.WebhookClientConfig) error {
	err := b.put(ctx, k, k.new, client)
	if isRefusal(err) && isStoredVersions(err) {
		var mended bool
		if mended, err = b.definitions.mend(ctx, k, client); err == nil && !mended {
			err = errors.New("the API server refuses it")
		}
	}
	if err != nil {
		return fmt.Errorf("installing the new definition %s again: %w", k.name, err)
	}
	return nil
}

// after puts the old release back when new objects were created and all were migrated.
func (b *returning) after(ctx context.Context) error {
	if !b.wantsBack() {
		return nil
	}
	return b.goBack(ctx, "after the objects were written", "after objects were written")
}

func (b *returning) wantsBack() bool {
	return slices.ContainsFunc([]requirement.ID{requirement.UpgradeBackDefinitions, requirement.UpgradeBackRead, requirement.UpgradeBackContent}, b.record.selects)
}

// goBack puts the old definitions and the old webhook back, and reads the objects. It is given when that is, and when it was.
func (b *returning) goBack(ctx context.Context, when, past string) error {
	kinds := b.kinds.going()
	restored := map[*kind]bool{}
	for _, k := range kinds {
		ok, err := b.restore(ctx, k, when)
		if err != nil {
			return err
		}
		restored[k] = ok
		if !ok {
			b.record.blocked(requirement.UpgradeBackRead, k, requirement.UpgradeBackDefinitions)
			b.record.blocked(requirement.UpgradeBackContent, k, requirement.UpgradeBackDefinitions)
		}
	}
	kinds = slices.DeleteFunc(kinds, func(k *kind) bool { return !restored[k] })
	if err := b.hooks.new.retire(ctx); err != nil {
		return err
	}
	converted := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return !k.old.converts() })
	if len(converted) > 0 && b.hooks.old.build != nil {
		err := b.hooks.startFor(ctx, &b.hooks.old, converted, (*kind).oldSide)
		if err != nil {
			return fmt.Errorf("the old webhook does not start again: %w", err)
		}
	}
	for _, k := range kinds {
		if err := b.reader.readBack(ctx, k, "once the old release was back ("+past+")"); err != nil {
			return err
		}
	}
	return nil
}

// restore puts the old definition in the place of the new one. If the API server refuses it, the objects are brought back to the old
// storage version first, if they can be. It reports whether the old definition is there.
func (b *returning) restore(ctx context.Context, k *kind, when string) (bool, error) {
	id := requirement.UpgradeBackDefinitions
	err := b.put(ctx, k, k.old, b.hooks.old.client)
	b.record.tried(id, k, max(k.objects, 1))
	if err == nil {
		b.goes(k, "%s, the old definition can be put back.", when)
		return true, nil
	}
	if !isRefusal(err) {
		return false, err
	}
	b.record.find(finding{
		id: id, kind: k, version: k.old.storage(), message: fmt.Sprintf("the API server refuses the old definition over the new one, %s: %s", when, said(err)),
		commands: []string{k.way.command() + " " + b.from},
	})
	if !isStoredVersions(err) || !k.new.has(k.old.storage()) {
		b.goes(k, "%s, the old definition cannot be put back any more: %s.", when, said(err))
		return false, nil
	}
	hindered, err := b.detour(ctx, k)
	switch {
	case err != nil:
		return false, err
	case hindered == "":
		b.goes(k, "%s, the old definition can be put back only after the new one was changed to store at %s, and the objects were migrated back.", when, k.old.storage())
	default:
		b.goes(k, "%s, the old definition cannot be put back any more: %s.", when, hindered)
	}
	return hindered == "", nil
}

// detour migrates the objects back to the old storage version, and puts the old definition in the place of the new one then. It returns
// what hinders that; nothing if it is done.
func (b *returning) detour(ctx context.Context, k *kind) (hindered string, err error) {
	manifest, err := manifestOf(k.new, b.hooks.new.client)
	if err != nil {
		return "", err
	}
	if err = b.putManifest(ctx, k, k.new, storedAt(manifest, k.old.storage())); err != nil {
		if isRefusal(err) {
			return fmt.Sprintf("the new definition cannot be changed to store at %s: %s", k.old.storage(), said(err)), nil
		}
		return "", err
	}
	_, err = migrate.Run(ctx, b.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if incomplete := (*migrate.IncompleteError)(nil); errors.As(err, &incomplete) {
		return "the objects cannot be migrated back to " + k.old.storage(), nil
	}
	if err != nil {
		return "", fmt.Errorf("migrating %s back to %s: %w", k.name, k.old.storage(), err)
	}
	err = b.put(ctx, k, k.old, b.hooks.old.client)
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
func (b *returning) goes(k *kind, format string, arguments ...any) {
	how := fmt.Sprintf(format, arguments...)
	i := slices.IndexFunc(b.ways, func(w wayBack) bool { return w.how == how })
	if i < 0 {
		i = len(b.ways)
		b.ways = append(b.ways, wayBack{how: how})
	}
	if !slices.Contains(b.ways[i].kinds, k.name) {
		b.ways[i].kinds = append(b.ways[i].kinds, k.name)
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
