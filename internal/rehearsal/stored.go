package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// stored looks at the versions at which objects are stored, and migrates them.
type stored struct {
	part

	hooks *webhooks
}

// drop looks whether the versions that the new definitions lack are still needed.
func (s *stored) drop(ctx context.Context) error {
	var names []string
	for _, k := range s.kinds.going() {
		s.record.unmanaged(k, requirement.UpgradeDropSafe)
		if len(k.dropped()) == 0 {
			s.record.spare(requirement.UpgradeDropSafe, k, "the new definition has all versions of the old one")
			continue
		}
		names = append(names, k.name)
	}
	if len(names) == 0 || !s.record.selects(requirement.UpgradeDropSafe) {
		return nil
	}
	client, err := s.storage.Client()
	if err != nil {
		return err
	}
	inventory, spool, err := storage.Inspect(ctx, s.config, names, storage.Options{Source: storage.SourceOf(client)})
	if err != nil {
		return err
	}
	defer func() { _ = spool.Close() }() // there is none
	for _, k := range s.kinds.going() {
		i := slices.IndexFunc(inventory.Definitions, func(d *storage.Definition) bool { return d.Name == k.name })
		if i < 0 {
			continue
		}
		s.record.tried(requirement.UpgradeDropSafe, k, k.objects)
		for _, version := range k.dropped() {
			if v := inventory.Definitions[i].Version(version); v != nil {
				v.Requests.Ignored = true
				s.record.droppable(k, version, storage.Judge(inventory, inventory.Definitions[i], v))
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
	why := fmt.Sprintf("%d of %s dumped without their managed fields, which kubectl hides, so whether these name a version that goes, or their managers can still apply, is not known; "+
		"dump them again: kubectl get %s.%s%s -o yaml --show-managed-fields", k.bare, visible.Count(k.objects, "object was", "objects were"), k.plural, k.group, all)
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

// migrate migrates the objects to the new storage version, and proves it.
func (s *stored) migrate(ctx context.Context) error {
	id := requirement.UpgradeMigrationProved
	for _, k := range s.kinds.inhabited() {
		elsewhere, err := s.elsewhere(ctx, k)
		switch {
		case err != nil:
			return err
		case elsewhere == 0:
			s.record.spare(id, k, "all objects are stored at the storage version %s", k.new.storage())
			continue
		case s.record.broken(requirement.UpgradeReadGet, k):
			s.record.blocked(id, k, requirement.UpgradeReadGet)
			continue
		case !s.record.selects(id):
			continue
		}
		if err := s.proveMigration(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *stored) proveMigration(ctx context.Context, k *kind) error {
	id := requirement.UpgradeMigrationProved
	p, err := proof.Begin(ctx, s.config, k.name, proof.Options{Storage: s.storage, OtherClients: s.hooks.new.acts()})
	if err != nil {
		if isAbout(err) {
			s.record.errored(id, k, err)
			return nil
		}
		return err
	}
	result, failed := migrate.Run(ctx, s.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
	verdict, err := p.End(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if incomplete := (*migrate.IncompleteError)(nil); failed != nil && !errors.As(failed, &incomplete) {
		return fmt.Errorf("migrating %s: %w", k.name, failed)
	}
	if err != nil {
		return fmt.Errorf("proving the migration of %s: %w", k.name, err)
	}
	s.record.tried(id, k, verdict.Objects)
	commands := []string{fmt.Sprintf("crdconform storage migrate %s --context NAME", k.name)}
	for _, refusal := range result.Refused {
		if strings.Contains(refusal.Reason, noSpace) {
			return errors.New(refusal.Reason)
		}
		s.record.find(finding{
			id: id, kind: k, object: kube.Key(refusal.Namespace, refusal.Name), version: k.new.storage(), commands: commands,
			message: fmt.Sprintf("it cannot be migrated to %s: %s", k.new.storage(), refusal.Reason),
		})
	}
	by := requirement.UpgradeWriteNoOp
	differ := 0
	for _, f := range verdict.Findings {
		refused := len(result.Refused) > 0 && (f.Requirement == requirement.MigrationObjectsStored || f.Requirement == requirement.MigrationStoredVersionsExact)
		if refused {
			continue // it was reported
		}
		object := kube.Key(f.Namespace, f.Name)
		if f.Requirement == requirement.MigrationObjectsContent && s.record.selects(requirement.UpgradeUseRead) {
			// It is reported with the field in the next step, unless it was already.
			if differ++; !s.record.brokenFor(by, k, object) {
				by = requirement.UpgradeUseRead
			}
			continue
		}
		s.record.find(finding{
			id: id, kind: k, object: object, version: k.new.storage(), commands: commands,
			message: fmt.Sprintf("migrating to %s: expected %s, got %s (%s)", k.new.storage(), f.Expected, f.Actual, f.Requirement),
		})
	}
	if differ > 0 {
		s.record.explain(id, k, string(by), alike(by))
	}
	if failed != nil && len(result.Refused) == 0 {
		s.record.find(finding{id: id, kind: k, version: k.new.storage(), message: "the migration is not complete: " + failed.Error(), commands: commands})
	}
	for _, one := range result.Orphans {
		s.record.note("%s: %s owned %s at %s, which nobody owns after the migration: %s, such as %s", k.name, one.Manager, strings.Join(one.Fields, ", "), one.Version, visible.Count(one.Objects, "object", ""), one.Example)
	}
	return nil
}

// alike says why what was found of another requirement is reported for this one.
func alike(by requirement.ID) string {
	return map[requirement.ID]string{
		requirement.UpgradeWriteNoOp:  "the same change is already reported for writes that change nothing",
		requirement.UpgradeUseRead:    "objects are read differently afterwards",
		requirement.UpgradeReadPruned: "what differs was dropped at the version at which it is stored",
		requirement.UpgradeReadGet:    "objects that cannot be read are already reported",
		requirement.UpgradeReadList:   "lists that fail are already reported",
	}[by]
}

// settleMigration decides what explains that objects differ after the migration, once they were read: if all of it is known and right, or
// means the same as before, the migration is proved.
func (r *record) settleMigration(k *kind) {
	id := requirement.UpgradeMigrationProved
	proved, read := r.judged[at{id, k}], r.judged[at{requirement.UpgradeUseRead, k}]
	if proved == nil || proved.explained == "" || read == nil {
		return
	}
	by, why := proved.explained, proved.why
	switch {
	case len(read.failed) > 0:
		by, why = string(requirement.UpgradeUseRead), alike(requirement.UpgradeUseRead)
	case read.explained != "":
		by, why = read.explained, read.why
	case read.verdict() == requirement.Passed:
		by, why = "", ""
	}
	for _, j := range r.everywhere(id, k) {
		j.explained, j.why = by, why
	}
}
