package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/requirement"
)

// migrate migrates the objects to the new storage version, and proves it.
func (l *leg) migrate(ctx context.Context) error {
	id := requirement.UpgradeMigrationProved
	for _, k := range l.going() {
		if k.objects == 0 {
			continue
		}
		elsewhere, err := l.elsewhere(ctx, k)
		switch {
		case err != nil:
			return err
		case elsewhere == 0:
			l.record.spare(id, k, "all objects are stored at the storage version %s", k.new.storage())
			continue
		case l.record.broken(requirement.UpgradeReadGet, k):
			l.record.blocked(id, k, requirement.UpgradeReadGet)
			continue
		case !l.record.selects(id):
			continue
		}
		if err := l.proveMigration(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere returns how many objects are not stored at the storage version.
func (a *api) elsewhere(ctx context.Context, k *kind) (int, error) {
	n := 0
	err := a.storage.EachStored(ctx, k.group, k.plural, func(stored cluster.Stored) {
		if versionOf(stored.Data) != k.new.storage() {
			n++
		}
	})
	return n, err
}

func (l *leg) proveMigration(ctx context.Context, k *kind) error {
	id := requirement.UpgradeMigrationProved
	p, err := proof.Begin(ctx, l.config, k.name, proof.Options{Storage: l.storage, OtherClients: l.newHook.build != nil && l.newHook.build.Acts()})
	if err != nil {
		if isAbout(err) {
			l.record.errored(id, k, err)
			return nil
		}
		return err
	}
	result, failed := migrate.Run(ctx, l.config, k.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
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
	l.record.tried(id, k, verdict.Objects)
	commands := []string{fmt.Sprintf("crdconform storage migrate %s --context NAME", k.name)}
	for _, refusal := range result.Refused {
		if strings.Contains(refusal.Reason, noSpace) {
			return errors.New(refusal.Reason)
		}
		l.record.find(finding{
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
		if f.Requirement == requirement.MigrationObjectsContent && l.record.selects(requirement.UpgradeUseRead) {
			// It is reported with the field in the next step, unless it was already.
			if differ++; !l.record.brokenFor(by, k, object) {
				by = requirement.UpgradeUseRead
			}
			continue
		}
		l.record.find(finding{
			id: id, kind: k, object: object, version: k.new.storage(), commands: commands,
			message: fmt.Sprintf("migrating to %s: expected %s, got %s (%s)", k.new.storage(), f.Expected, f.Actual, f.Requirement),
		})
	}
	if differ > 0 {
		l.record.explain(id, k, string(by), alike(by))
	}
	if failed != nil && len(result.Refused) == 0 {
		l.record.find(finding{id: id, kind: k, version: k.new.storage(), message: "the migration is not complete: " + failed.Error(), commands: commands})
	}
	for _, one := range result.Orphans {
		l.record.note("%s: %s owned %s at %s, which nobody owns after the migration: %d objects, such as %s", k.name, one.Manager, strings.Join(one.Fields, ", "), one.Version, one.Objects, one.Example)
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
