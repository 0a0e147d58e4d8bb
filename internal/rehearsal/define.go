package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// definitions installs the definitions of both releases, as users do.
type definitions struct {
	part

	hooks    *webhooks
	way      Way
	from, to string // the files of the releases
}

// bring installs the old definition of a kind, in the way in which it can be.
func (d *definitions) bring(ctx context.Context, k *kind) error {
	manifest, err := manifestOf(k.old, nil)
	if err != nil {
		return err
	}
	column := d.install.column(manifest)
	ways := append([]Way{d.way}, Ways()...)
	var first error
	for _, way := range ways {
		_, err = d.installOld(ctx, k, way, manifest)
		if err == nil {
			k.way = way
			break
		}
		if ctx.Err() != nil || !isAbout(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the API server refuses the old definition %s: %s", k.name, said(first))
	case k.way != d.way:
		d.record.note("%s of the old definition %s fails, so it is installed by %s: %s", d.way.command(), k.name, k.way.command(), said(first))
	}
	if err := d.install.effective(ctx, k.old, column); err != nil {
		return err
	}
	if k.old.stored == nil {
		return nil
	}
	if err := d.install.trim(ctx, k.name, k.old.stored); err != nil {
		if !isAbout(err) {
			return err
		}
		d.record.note("status.storedVersions of %s could not be set to that of your cluster, %s: %s", k.name, strings.Join(k.old.stored, ", "), said(err))
		k.old.stored = nil
	}
	return nil
}

// installOld installs the old definition. One that API servers of today refuse to create is written to etcd, as it is in clusters
// that have had it for a long time.
func (d *definitions) installOld(ctx context.Context, k *kind, way Way, manifest map[string]any) (planted bool, err error) {
	applied := (&unstructured.Unstructured{Object: manifest}).GetAnnotations()[kube.LastApplied]
	if applied != "" && way == Apply {
		way = Replace // it is from a cluster, where it was applied already, and something else may have changed it since
	}
	refused := d.install.put(ctx, way, manifest)
	if refused == nil || !isRefused(refused) || isTooLong(refused) {
		return false, refused
	}
	if way == Apply {
		if manifest, err = d.install.applied(manifest, ""); err != nil {
			return false, err
		}
	}
	d.record.note("today's API server refuses to create the old definition %s, so it was written to etcd, as it is in clusters that have had it for a long time: %s", k.name, said(refused))
	if err = d.install.plant(ctx, manifest, k.index+1); err != nil {
		return false, err
	}
	_, err = d.install.Established(ctx, k.name)
	return true, err
}

// define installs the new definitions over the old ones, with the objects there. If they are refused, it does what makes them acceptable,
// to go on.
func (d *definitions) define(ctx context.Context) error {
	for _, k := range d.kinds.upgraded() {
		if k.stopped != "" {
			continue
		}
		if err := d.defineOne(ctx, k); err != nil {
			return err
		}
		if k.old != nil && k.stopped == "" {
			d.record.takenAway(k)
			d.record.appliedBefore(k)
		}
	}
	return nil
}

func (d *definitions) defineOne(ctx context.Context, k *kind) error {
	err := d.put(ctx, k, k.new, d.hooks.old.client)
	if isRefusal(err) && !isStoredVersions(err) {
		err = d.anotherWay(ctx, k, err)
	}
	d.record.tried(requirement.UpgradeDefinitionsAccepted, k, max(k.objects, 1))
	if err == nil {
		err = d.install.named(ctx, k.name)
	}
	if errors.Is(err, kube.ErrNamesTaken) {
		d.record.find(finding{
			id: requirement.UpgradeDefinitionsAccepted, kind: k, version: k.new.storage(),
			message:  fmt.Sprintf("the API server stores the new definition and does not accept its names, so that nothing of it takes effect: %v; %s", err, d.kinds.freeing(k)),
			commands: []string{k.way.command() + " " + d.to, fmt.Sprintf("kubectl get crd %s -o jsonpath='{.status.conditions}'", k.name)},
		})
		d.record.stop(k, requirement.UpgradeDefinitionsAccepted)
		return nil
	}
	if !isRefusal(err) {
		return err
	}
	commands := []string{k.way.command() + " " + d.to}
	if k.old != nil && isStoredVersions(err) {
		commands = append([]string{fmt.Sprintf("kubectl get crd %s -o jsonpath='{.status.storedVersions}'", k.name)}, commands...)
	}
	d.record.find(finding{
		id: requirement.UpgradeDefinitionsAccepted, kind: k, version: k.new.storage(),
		message:  "the API server refuses the new definition over the old one: " + said(err) + k.remedy(err, ""),
		commands: commands,
	})
	if k.old != nil && isStoredVersions(err) {
		mended, err := d.mend(ctx, k, d.hooks.old.client)
		if err != nil || mended {
			return err
		}
	}
	d.record.stop(k, requirement.UpgradeDefinitionsAccepted)
	return nil
}

// freeing says what to do about names that are taken.
func (all kinds) freeing(k *kind) string {
	for _, gone := range all {
		if gone.new == nil && gone.group == k.group && gone.kind == k.kind {
			return fmt.Sprintf("the new release has it in place of %s, whose objects it does not get: keep the plural; users would have to copy their objects, and then delete the old definition with all of them", gone.name)
		}
	}
	return "give it names that nothing else has, and no short name that is its own singular or plural"
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
		if objects := k.applied[version]; len(objects) > 0 && version != k.new.storage() && (k.old.storage() != k.new.storage() || !k.new.has(version)) {
			r.note("%s last applied at %s by kubectl, such as %s: when its manifest is rewritten to %s, a field that has another name there stays in the object if it is removed from the manifest; "+
				"rewrite manifests first, and kubectl apply set-last-applied -f MANIFEST, before they change", visible.Count(len(objects), "object of "+k.name+" was", "objects of "+k.name+" were"), version, objects[0], k.new.storage())
		}
	}
}

// anotherWay installs a definition in another way that the API server accepts.
func (d *definitions) anotherWay(ctx context.Context, k *kind, refused error) error {
	usual := k.way
	for _, way := range Ways() {
		if way == usual {
			continue
		}
		k.way = way
		err := d.put(ctx, k, k.new, d.hooks.old.client)
		if err == nil {
			d.record.note("%s of the new definition %s fails, so it is installed by %s: %s", usual.command(), k.name, way.command(), said(refused))
			return nil
		}
		if !isRefusal(err) {
			return err
		}
	}
	k.way = usual
	return refused
}

// mend brings the objects to a version that the new definition has, under the old definition, so that it can be installed, with a
// webhook. It reports whether that was possible.
func (d *definitions) mend(ctx context.Context, k *kind, with *apiextensionsv1.WebhookClientConfig) (bool, error) {
	to := k.old.storage()
	if !k.new.has(to) {
		i := slices.IndexFunc(k.old.served(), k.new.has)
		if i < 0 {
			d.record.note("%s: the new definition has none of the versions that the old one serves, so its objects cannot be migrated; a release in between that serves versions of both is missing", k.name)
			return false, nil
		}
		to = k.old.served()[i]
	}
	client, err := d.hooks.any(ctx, k.old)
	if err != nil {
		return false, err
	}
	manifest, err := manifestOf(k.old, client)
	if err != nil {
		return false, err
	}
	if err = d.putManifest(ctx, k, k.old, storedAt(manifest, to)); err != nil {
		return false, err
	}
	result, err := migrate.Run(ctx, d.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
	if incomplete := (*migrate.IncompleteError)(nil); errors.As(err, &incomplete) {
		d.record.note("%s: to go on, its objects had to be migrated to %s under the old definition, but could not be: %v%s", k.name, to, err, firstRefusal(result))
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("migrating %s to %s under the old definition: %w", k.name, to, err)
	}
	err = d.put(ctx, k, k.new, with)
	if isRefusal(err) {
		return false, nil
	}
	if err == nil {
		d.record.note("%s: to go on, its objects were migrated to %s under the old definition, by crdconform storage migrate, after which the new definition was accepted", k.name, to)
	}
	return err == nil, err
}

func firstRefusal(result migrate.Result) string {
	if len(result.Refused) == 0 {
		return ""
	}
	return ", such as " + result.Refused[0].String()
}

// isStoredVersions reports whether a definition is refused for its status.storedVersions.
func isStoredVersions(err error) bool { return strings.Contains(said(err), "status.storedVersions") }

// isTooLong reports whether a definition does not fit into the annotation of kubectl apply.
func isTooLong(err error) bool { return strings.Contains(said(err), "metadata.annotations: Too long") }

// stop keeps a definition from being looked at any further, because of a requirement.
func (r *record) stop(k *kind, because requirement.ID) {
	k.stopped = because
	for _, id := range IDs() {
		if r.judged[at{id, k}] == nil && id.Area() == Area && id != requirement.UpgradeWebhookStarts {
			r.blocked(id, k, because)
		}
	}
}
