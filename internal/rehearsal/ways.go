package rehearsal

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// wayIDs are the requirements about ways.
func wayIDs() map[Way]requirement.ID {
	return map[Way]requirement.ID{
		Apply: requirement.UpgradeDefinitionsApply, ServerSide: requirement.UpgradeDefinitionsServerSideApply, Replace: requirement.UpgradeDefinitionsReplace,
	}
}

// ways installs the new definitions over the old ones in each way, while there are no objects, and looks what is left of the old ones.
func (d *definitions) ways(ctx context.Context) error {
	for _, k := range d.kinds.upgraded() {
		fresh, refused, err := d.fresh(ctx, k)
		if err != nil {
			return err
		}
		if refused != nil {
			d.record.find(finding{
				id: requirement.UpgradeDefinitionsAccepted, kind: k, version: k.new.storage(),
				message:  "the API server refuses the new definition, even where no old one exists: " + said(refused),
				commands: []string{"kubectl create --dry-run=server " + d.to},
			})
			d.record.stop(k, requirement.UpgradeDefinitionsAccepted)
			continue
		}
		for _, way := range Ways() {
			if k.old == nil {
				d.record.spare(wayIDs()[way], k, "the old release has no such definition")
				continue
			}
			if len(k.old.installed(way)) == 0 {
				d.record.spare(wayIDs()[way], k, "the old definition is of a release of Helm, which merges the new one into it as kubectl apply does")
				continue
			}
			if err := d.tryWay(ctx, k, way, fresh); err != nil {
				return err
			}
		}
		d.record.noWay(k)
	}
	return nil
}

// noWay leaves it to the step that installs the definitions to report that they are refused in every way, unless it is for the stanza of
// the release, in whose place that step puts the one of a webhook that runs.
func (r *record) noWay(k *kind) {
	for _, way := range Ways() {
		id := wayIDs()[way]
		if j := r.judged[at{id, k}]; j != nil && j.tried > 0 || slices.ContainsFunc(r.findingsOf(id, k), func(c *cause) bool { return strings.Contains(c.Message, bundle) }) {
			return
		}
	}
	for _, way := range Ways() {
		if id := wayIDs()[way]; r.broken(id, k) {
			r.forget(id, k, fmt.Sprintf("cannot be judged while %s fails", requirement.UpgradeDefinitionsAccepted))
		}
	}
}

// tryWay installs the new definition in a way over the old one, as that may have been installed.
func (d *definitions) tryWay(ctx context.Context, k *kind, way Way, fresh map[string]any) error {
	if !d.record.selects(wayIDs()[way]) {
		return nil
	}
	for _, installed := range k.old.installed(way) {
		if err := d.tryOver(ctx, k, way, installed, fresh); err != nil {
			return err
		}
		if d.record.broken(wayIDs()[way], k) {
			break // it says nothing more
		}
	}
	return nil
}

// tryOver installs the old definition in one way and the new one over it in another, or the same.
func (d *definitions) tryOver(ctx context.Context, k *kind, way, installed Way, fresh map[string]any) error {
	id := wayIDs()[way]
	planted, err := d.installOld(ctx, k, installed, k.old.foundBy(way))
	if err != nil {
		if ctx.Err() != nil || !isAbout(err) {
			return err
		}
		if installed == way {
			d.record.skip(id, k, "the old definition cannot be installed in this way: %s", said(err))
		}
		return nil
	}
	if planted && way == ServerSide {
		d.record.skip(id, k, "today's API server refuses to create the old definition, so it is not known which of its fields were applied by server-side apply")
		return d.install.remove(ctx, k.name)
	}
	if _, late := d.install.Established(ctx, k.name); ctx.Err() != nil { // what is immutable is so from then on, if it is ever established
		return late
	}
	injector := k.old.injector()
	switch {
	case planted:
	case k.old.managed() && installed == Replace:
		err = d.install.restore(ctx, k.old)
	case injector != "":
		err = d.install.inject(ctx, k.name, injector)
	}
	if err != nil && (ctx.Err() != nil || !isAbout(err)) {
		return err
	}
	over := "the old one" + k.old.historyOf(way, installed, injector)
	refused := d.install.putBy(ctx, way, k.new.given, k.old.author(installed))
	switch {
	case ctx.Err() != nil || refused != nil && !isAbout(refused):
		return refused
	case refused != nil && isStoredVersions(refused):
		d.record.blocked(id, k, requirement.UpgradeDefinitionsAccepted)
	case refused != nil:
		d.record.find(finding{
			id: id, kind: k, commands: d.wayCommands(k, way, installed),
			message: fmt.Sprintf("%s of the new definition over %s fails: %s%s", k.old.commandOf(way), over, said(refused), k.remedy(refused, injector)),
		})
	default:
		d.record.tried(id, k, 1)
		upgraded, err := d.specOf(ctx, k)
		if err != nil {
			return err
		}
		expected := runtime.DeepCopyJSON(fresh)
		if injector != "" && k.new.converts() { // it goes on writing it
			withoutBundle(expected)
			withoutBundle(upgraded)
		}
		if k.new.assumed() { // something puts it there
			delete(expected, "conversion")
			delete(upgraded, "conversion")
		}
		if texts := k.old.leftovers(expected, upgraded); len(texts) > 0 {
			d.record.find(finding{
				id: id, kind: k, commands: d.wayCommands(k, way, installed),
				message: fmt.Sprintf("after %s of the new definition over %s, it is not what its manifest says: %s; state these fields in the release, or have users %s", k.old.commandOf(way), over, strings.Join(visible.Few(texts, 5, ""), "; "), forcing(way)),
			})
		}
	}
	return d.install.remove(ctx, k.name)
}

// forcing is what users do to have all fields be as a manifest says.
func forcing(way Way) string {
	if way == Replace {
		return "delete them first"
	}
	return "run kubectl replace"
}

// historyOf says what happened to the old definition before the new one is installed, as far as that is not what happens then.
func (s *side) historyOf(way, installed Way, injector string) string {
	text := ""
	switch {
	case s.managed() && installed == Replace:
		text = " with the owners that its fields have"
	case installed == way:
	case installed == Replace:
		text = ", which kubectl create (or Helm) installed"
	default:
		text = ", which " + installed.command() + " installed"
	}
	if injector != "" {
		text += fmt.Sprintf(", in which %s wrote the caBundle", injector)
	}
	return text
}

// remedy says what to do about a definition that is refused, as far as that is known.
func (k *kind) remedy(refused error, injector string) string {
	switch {
	case apierrors.IsConflict(refused):
		return "; leave these fields out of the release, or have users apply it with --force-conflicts, which takes them from their owners"
	case isTooLong(refused):
		return "; it has to be applied with --server-side, which needs no such annotation, or leave descriptions out of it"
	case strings.Contains(said(refused), "spec.preserveUnknownFields"):
		return "; the old definition has it, and it stays where the new one does not say otherwise: write preserveUnknownFields: false in the release"
	case strings.Contains(said(refused), bundle):
		return "; once there is a caBundle with a certificate, API servers refuse another in its place: leave it out of the release" + by(injector)
	case strings.Contains(said(refused), "field is immutable"):
		return "; keep it, or make it a definition of another name, to which users copy their objects"
	case injector != "" && !k.new.converts() && strings.Contains(said(refused), "spec.conversion"):
		return fmt.Sprintf("; %s owns the caBundle, so that stays without the rest of the stanza: keep spec.conversion in the release, or have users remove it first: "+
			`kubectl patch crd %s --type=json -p '[{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]'`, injector, k.name)
	}
	return ""
}

// bundle is what API servers call the caBundle of a definition that they refuse for it.
const bundle = "caBundle: Invalid value"

// by says who writes the caBundle of installed definitions, if that is known.
func by(injector string) string {
	if injector == "" {
		return ""
	}
	return ", since " + injector + " writes it"
}

// command is the command of a way.
func (w Way) command() string {
	switch w {
	case ServerSide:
		return "kubectl apply --server-side"
	case Replace:
		return "kubectl replace"
	case Apply:
	}
	return "kubectl apply"
}

// commandOf is the command of a way for what an old definition is of.
func (s *side) commandOf(way Way) string {
	if way == Apply && s.released() {
		return "helm upgrade"
	}
	return way.command()
}

func (d *definitions) wayCommands(k *kind, way, installed Way) []string {
	if way == Apply && k.old.released() {
		return []string{k.old.upgradeOfRelease()}
	}
	first := installed.command()
	if installed == Replace {
		first = "kubectl create"
	}
	return []string{first + " " + d.from, way.command() + " " + d.to}
}

// leftovers says how the specification of the new definition differs from the one that the same manifest makes where nothing was before.
func (s *side) leftovers(fresh, upgraded map[string]any) []string {
	const most = 60 // bytes of a value

	var everything *corpus.Schema // which compares values as they are
	want, got := map[string]any{"spec": fresh}, map[string]any{"spec": upgraded}
	texts := visible.Strings(everything.Losses(want, got))
	for _, loss := range everything.Losses(got, want) {
		if loss.After == nil && !reflect.DeepEqual(loss.Before, loss.After) {
			text, _ := corpus.Encode(loss.Before) // it came from JSON
			if len(text) > most {
				text = append(text[:most:most], "..."...)
			}
			texts = append(texts, fmt.Sprintf("%s: expected nothing, got %s of the old one%s", loss.Path, text, ownersOf(s.typed.ManagedFields, loss.Path)))
		}
	}
	return slices.Compact(texts)
}
