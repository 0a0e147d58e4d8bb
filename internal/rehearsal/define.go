package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/requirement"
)

// drop looks whether the versions that the new definitions lack are still needed.
func (l *leg) drop(ctx context.Context) error {
	var names []string
	for _, k := range l.going() {
		l.record.unmanaged(k, requirement.UpgradeDropSafe)
		if len(k.dropped()) == 0 {
			l.record.spare(requirement.UpgradeDropSafe, k, "the new definition has all versions of the old one")
			continue
		}
		names = append(names, k.name)
	}
	if len(names) == 0 || !l.record.selects(requirement.UpgradeDropSafe) {
		return nil
	}
	client, err := l.storage.Client()
	if err != nil {
		return err
	}
	inventory, spool, err := storage.Inspect(ctx, l.config, names, storage.Options{Source: storage.SourceOf(client)})
	if err != nil {
		return err
	}
	defer func() { _ = spool.Close() }() // there is none
	for _, k := range l.going() {
		i := slices.IndexFunc(inventory.Definitions, func(d *storage.Definition) bool { return d.Name == k.name })
		if i < 0 {
			continue
		}
		l.record.tried(requirement.UpgradeDropSafe, k, k.objects)
		for _, version := range k.dropped() {
			if v := inventory.Definitions[i].Version(version); v != nil {
				l.record.droppable(k, version, storage.Judge(inventory, inventory.Definitions[i], v, false))
			}
		}
	}
	return nil
}

// dropped are the versions of the old definition that the new one lacks.
func (k *kind) dropped() []string {
	return slices.DeleteFunc(k.old.versions(), k.new.has)
}

// unmanaged notes that a requirement rests on managed fields, which the objects of a definition were dumped without.
func (r *record) unmanaged(k *kind, id requirement.ID) {
	if k.bare == 0 {
		return
	}
	all := ""
	if k.scoped {
		all = " -A"
	}
	why := fmt.Sprintf("%d of %d objects were dumped without their managed fields, which kubectl hides, so whether these name a version that goes, or their managers can still apply, is not known; "+
		"dump them again: kubectl get %s.%s%s -o yaml --show-managed-fields", k.bare, k.objects, k.plural, k.group, all)
	if len(k.dropped()) > 0 {
		r.open(id, k, why)
	} else if id != requirement.UpgradeDropSafe {
		r.half(id, k, why)
	}
}

// droppable notes what still needs a version. That status.storedVersions has it is left to the API server, which refuses the definition, and
// manifests are up to users.
func (r *record) droppable(k *kind, version string, verdict storage.Removal) {
	for _, f := range verdict.Findings {
		skipped := []requirement.ID{requirement.StorageDropStorageVersion, requirement.StorageDropStoredVersions, requirement.StorageDropRequests, requirement.StorageDropManifests}
		if f.Answer == storage.Safe || slices.Contains(skipped, f.Requirement) {
			continue
		}
		if f.Answer == storage.CannotTell {
			r.note("%s: %s", k.name, f.Text)
			continue
		}
		for _, blocker := range f.First {
			found := finding{
				id: requirement.UpgradeDropSafe, kind: k, object: kube.Key(blocker.Namespace, blocker.Name), version: version,
				message: fmt.Sprintf("%s is removed, and %s (%s)", version, stillNeeds(blocker, version), f.Requirement),
			}
			if f.Mend != "" {
				found.message += "; " + f.Mend
			}
			if blocker.Mend != "" {
				found.commands = append(found.commands, blocker.Mend)
			}
			r.find(found)
		}
		r.more(requirement.UpgradeDropSafe, k, version, string(f.Requirement), int(f.Count))
	}
}

// stillNeeds says how an object needs a version.
func stillNeeds(b storage.Blocker, version string) string {
	by := ""
	if b.By != "" {
		by = " of " + b.By
	}
	switch b.Kind {
	case storage.ManagedFields:
		return "managed fields" + by + " name it, so server-side apply fails from then on"
	case storage.OwnerReference:
		return b.Resource + " has an owner reference" + by + " that names it, so it is never collected"
	case storage.StoredObject, storage.LastApplied, storage.HelmRelease, storage.Manifest:
	}
	return "this object is stored at " + version + ", so it can be neither read nor deleted from then on"
}

// define installs the new definitions over the old ones, with the objects there. If they are refused, it does what makes them acceptable,
// to go on.
func (l *leg) define(ctx context.Context) error {
	for _, k := range l.upgraded() {
		if k.stopped != "" {
			continue
		}
		if err := l.defineOne(ctx, k); err != nil {
			return err
		}
		if k.old != nil && k.stopped == "" {
			l.record.takenAway(k)
			l.record.appliedBefore(k)
		}
	}
	return nil
}

func (l *leg) defineOne(ctx context.Context, k *kind) error {
	err := l.put(ctx, k, k.new, l.oldHook.client)
	if isRefusal(err) && !isStoredVersions(err) {
		err = l.anotherWay(ctx, k, err)
	}
	l.record.tried(requirement.UpgradeDefinitionsAccepted, k, max(k.objects, 1))
	if err == nil {
		err = l.install.named(ctx, k.name)
	}
	if errors.Is(err, kube.ErrNamesTaken) {
		l.record.find(finding{
			id: requirement.UpgradeDefinitionsAccepted, kind: k, version: k.new.storage(),
			message: fmt.Sprintf("the API server stores the new definition and does not accept its names, so that nothing of it takes effect: %v; give it names that nothing else has, "+
				"and no short name that is its own singular or plural", err),
			commands: []string{k.way.command() + " " + l.to.Apply, fmt.Sprintf("kubectl get crd %s -o jsonpath='{.status.conditions}'", k.name)},
		})
		l.record.stop(k, requirement.UpgradeDefinitionsAccepted)
		return nil
	}
	if !isRefusal(err) {
		return err
	}
	l.record.find(finding{
		id: requirement.UpgradeDefinitionsAccepted, kind: k, version: k.new.storage(),
		message:  "the API server refuses the new definition over the old one: " + said(err),
		commands: l.refusalCommands(k),
	})
	if k.old != nil && isStoredVersions(err) {
		mended, err := l.mend(ctx, k, l.oldHook.client)
		if err != nil || mended {
			return err
		}
	}
	l.record.stop(k, requirement.UpgradeDefinitionsAccepted)
	return nil
}

// takenAway notes what clients of the old definition could request, and is not there any more.
func (r *record) takenAway(k *kind) {
	for _, version := range k.old.served() {
		was := k.old.subresources(version)
		now := k.new.subresources(version)
		switch {
		case !slices.Contains(k.new.served(), version):
			r.note("%s does not serve %s any more: clients and manifests that name it get the status 404", k.name, version)
			continue
		case was.Status != nil && now.Status == nil:
			r.find(finding{
				id: requirement.UpgradeWriteStatus, kind: k, version: version,
				message: fmt.Sprintf("the new definition has no subresource for the status at %s, and the old one has: controllers that write the status get 404, "+
					"and a client that replaces an object without its status deletes it; add subresources: {status: {}} to the version", version),
				commands: []string{fmt.Sprintf("kubectl get --raw /apis/%s/%s | jq '.resources[].name'", k.group, version)},
			})
		case was.Status == nil && now.Status != nil:
			r.note("%s has the subresource for the status at %s now: a status that clients write together with the rest of an object is ignored from then on", k.name, version)
		}
		if was.Scale != nil && now.Scale == nil {
			r.note("%s has no subresource for the scale at %s any more: kubectl scale and autoscalers get 404", k.name, version)
		}
	}
}

// appliedBefore notes which objects kubectl has last applied at another version than the one that is stored from now on.
func (r *record) appliedBefore(k *kind) {
	for _, version := range k.old.versions() {
		if objects := k.applied[version]; len(objects) > 0 && version != k.new.storage() && k.old.storage() != k.new.storage() {
			r.note("%d objects of %s, such as %s, were last applied at %s by kubectl: when their manifests are rewritten to %s, a field that has another name there stays in the object if it is removed from the manifest; "+
				"rewrite them first, and kubectl apply set-last-applied -f MANIFEST, before they change", len(objects), k.name, objects[0], version, k.new.storage())
		}
	}
}

// anotherWay installs a definition in another way that the API server accepts.
func (l *leg) anotherWay(ctx context.Context, k *kind, refused error) error {
	usual := k.way
	for _, way := range Ways() {
		if way == usual {
			continue
		}
		k.way = way
		err := l.put(ctx, k, k.new, l.oldHook.client)
		if err == nil {
			l.record.note("%s of the new definition %s fails, so it is installed by %s: %s", usual.command(), k.name, way.command(), said(refused))
			return nil
		}
		if !isRefusal(err) {
			return err
		}
	}
	k.way = usual
	return refused
}

// isRefusal reports whether the API server refused a definition.
func isRefusal(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && isAbout(err)
}

func (l *leg) refusalCommands(k *kind) []string {
	commands := []string{k.way.command() + " " + l.to.Apply}
	if k.old != nil {
		commands = append([]string{fmt.Sprintf("kubectl get crd %s -o jsonpath='{.status.storedVersions}'", k.name)}, commands...)
	}
	return commands
}

// mend brings the objects to a version that the new definition has, under the old definition, so that it can be installed, with a
// webhook. It reports whether that was possible.
func (l *leg) mend(ctx context.Context, k *kind, with *apiextensionsv1.WebhookClientConfig) (bool, error) {
	to := k.old.storage()
	if !k.new.has(to) {
		i := slices.IndexFunc(k.old.served(), k.new.has)
		if i < 0 {
			l.record.note("%s: the new definition has none of the versions that the old one serves, so its objects cannot be migrated; a release in between that serves versions of both is missing", k.name)
			return false, nil
		}
		to = k.old.served()[i]
	}
	client, err := l.someWebhook(ctx, k.old)
	if err != nil {
		return false, err
	}
	manifest, _, err := l.manifestOf(k.old, client)
	if err != nil {
		return false, err
	}
	manifest = storedAt(manifest, to)
	if err = l.putManifest(ctx, k, k.old, manifest, l.install.column(manifest)); err != nil {
		return false, err
	}
	result, err := migrate.Run(ctx, l.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
	if incomplete := (*migrate.IncompleteError)(nil); errors.As(err, &incomplete) {
		l.record.note("%s: to go on, its objects had to be migrated to %s under the old definition, but could not be: %v%s", k.name, to, err, firstRefusal(result))
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("migrating %s to %s under the old definition: %w", k.name, to, err)
	}
	err = l.put(ctx, k, k.new, with)
	if isRefusal(err) {
		return false, nil
	}
	if err == nil {
		l.record.note("%s: to go on, its objects were migrated to %s under the old definition, by crdconform storage migrate, after which the new definition was accepted", k.name, to)
	}
	return err == nil, err
}

func firstRefusal(result migrate.Result) string {
	if len(result.Refused) == 0 {
		return ""
	}
	return ", such as " + result.Refused[0].String()
}

// someWebhook returns how to refer to a webhook that runs: that of the old release or, where there is none, the new one. It is nil if
// none is needed.
func (l *leg) someWebhook(ctx context.Context, s *side) (*apiextensionsv1.WebhookClientConfig, error) {
	switch {
	case !s.converts():
		return nil, nil //nolint:nilnil // nothing is converted
	case l.oldHook.client != nil:
		return l.oldHook.client, nil
	case l.newHook.build == nil:
		return nil, nil //nolint:nilnil // there is none
	}
	err := l.startHook(ctx, &l.newHook, func(apiextensionsv1.WebhookClientConfig) error { return nil })
	return l.newHook.client, err
}

// newWebhookFirst runs the new webhook under the old definitions.
func (l *leg) newWebhookFirst(ctx context.Context) error {
	id := requirement.UpgradeWebhookOldDefinitions
	alone := map[*kind]string{} // why the old definition needs no webhook
	kinds := slices.DeleteFunc(l.going(), func(k *kind) bool {
		switch {
		case l.newHook.build == nil:
			l.record.spare(id, k, "the new release has no webhook")
		case !k.new.converts():
			l.record.spare(id, k, "no webhook converts objects of the new definition")
		case !k.old.converts():
			alone[k] = "no webhook converts objects of the old definition"
		default:
			return k.objects == 0
		}
		return true
	})
	if len(kinds)+len(alone) == 0 || !l.record.selects(id) {
		return nil
	}
	if build := l.newHook.build; len(kinds) == 0 && (!build.Starts() || !build.Acts()) { // it cannot notice which definitions there are
		l.record.spareAll(id, alone)
		return nil
	}
	err := l.startFor(ctx, &l.newHook, kinds, (*kind).oldSide)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil && !l.newHook.build.Starts():
		return unreachable(err)
	case err != nil:
		for _, k := range slices.Concat(kinds, slices.SortedFunc(maps.Keys(alone), func(a, b *kind) int { return a.index - b.index })) {
			l.record.find(finding{
				id: id, part: requirement.PartNotReady, kind: k,
				message: "the new program does not start while the old definitions are there, as with Helm, which leaves crds/ alone: " + oneLine(err) +
					"; have users install the new definitions first, or have the program wait for them",
				commands: []string{k.way.command() + " " + l.from.Apply},
			})
		}
	default:
		l.record.spareAll(id, alone)
		for _, k := range kinds {
			if err := l.as(ctx, k, k.old, k.old.served(), id, "by the new webhook under the old definition"); err != nil {
				return err
			}
		}
	}
	if l.newHook.build.Starts() { // it is started again, when nobody else converts
		if err := l.newHook.stop(ctx); err != nil {
			return err
		}
	}
	return l.point(ctx, kinds, (*kind).oldSide, l.oldHook.client)
}

// spareAll notes for definitions why there is nothing to judge.
func (r *record) spareAll(id requirement.ID, why map[*kind]string) {
	for k, text := range why {
		r.spare(id, k, "%s", text)
	}
}

// unreachable is that nothing can be judged, since a webhook that is said to run cannot be reached.
func unreachable(err error) error { return fmt.Errorf("the new webhook cannot be reached: %w", err) }

// as reads the objects at some versions, which are to show what they showed before the upgrade.
func (l *leg) as(ctx context.Context, k *kind, s *side, versions []string, id requirement.ID, did string) error {
	for _, version := range versions {
		c := comparison{when: before, content: id, pruned: id, now: s, did: did}
		if s == k.new {
			c.pruned = "" // that is not the fault of the webhook
		}
		unlisted, failures, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			_, err := l.compare(k, version, object, c)
			return err
		})
		if err != nil {
			return err
		}
		l.record.tried(id, k, len(k.book.names))
		l.record.unread(k, version, id, failures, unlisted, did)
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

// oneLine is an error without the output of a program behind its first line.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " / ")
}
