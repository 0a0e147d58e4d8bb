package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// rollout replaces the old webhook by the new one.
type rollout struct {
	part

	hooks  *webhooks
	reader *reader
	writer *writer
	from   string // the files of the old release
}

// newWebhookFirst runs the new webhook under the old definitions.
func (o *rollout) newWebhookFirst(ctx context.Context) error {
	id := requirement.UpgradeWebhookOldDefinitions
	var alone []*kind // whose old definition needs no webhook
	kinds := slices.DeleteFunc(o.kinds.going(), func(k *kind) bool {
		switch {
		case o.hooks.new.build == nil:
			o.record.spare(id, k, "the new release has no webhook")
		case !k.new.converts():
			o.record.spare(id, k, "no webhook converts objects of the new definition")
		case !k.old.converts():
			alone = append(alone, k)
		default:
			return k.objects == 0
		}
		return true
	})
	if len(kinds)+len(alone) == 0 || !o.record.selects(id) {
		return nil
	}
	spareAll := func() {
		for _, k := range alone {
			o.record.spare(id, k, "no webhook converts objects of the old definition")
		}
	}
	if build := o.hooks.new.build; len(kinds) == 0 && (!build.Starts() || !build.Acts()) { // it cannot notice which definitions there are
		spareAll()
		return nil
	}
	err := o.hooks.startFor(ctx, &o.hooks.new, kinds, (*kind).oldSide)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil && !o.hooks.new.build.Starts():
		return unreachable(err)
	case err != nil:
		for _, k := range slices.Concat(kinds, alone) {
			o.record.find(finding{
				id: id, part: requirement.PartNotReady, kind: k,
				message: "the new program does not start while the old definitions are there, as with Helm, which leaves crds/ alone: " + strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " / ") +
					"; have users install the new definitions first, or have the program wait for them",
				commands: []string{k.way.command() + " " + o.from},
			})
		}
	default:
		spareAll()
		for _, k := range kinds {
			if err := o.reader.as(ctx, k, k.old, k.old.served(), id, "by the new webhook under the old definition"); err != nil {
				return err
			}
		}
	}
	if o.hooks.new.build.Starts() { // it is started again, when nobody else converts
		if err := o.hooks.new.stop(ctx); err != nil {
			return err
		}
	}
	return o.hooks.point(ctx, kinds, (*kind).oldSide, o.hooks.old.client)
}

// unreachable is that nothing can be judged, since a webhook that is said to run cannot be reached.
func unreachable(err error) error { return fmt.Errorf("the new webhook cannot be reached: %w", err) }

// oldWebhookStill reads the objects while the old webhook still serves under the new definitions, as between two steps of a rollout.
func (o *rollout) oldWebhookStill(ctx context.Context) error {
	id := requirement.UpgradeWebhookOldBuild
	for _, k := range o.kinds.inhabited() {
		switch {
		case !k.old.converts():
			o.record.spare(id, k, "no webhook converts objects of the old definition")
			continue
		case !k.new.converts():
			o.record.spare(id, k, "no webhook converts objects of the new definition")
			continue
		case o.hooks.old.running == nil:
			o.record.skip(id, k, "the old webhook was not given")
			continue
		case !o.record.selects(id):
			continue
		}
		const did = "by the old webhook under the new definition"
		versions := slices.DeleteFunc(k.storedFirst(), func(version string) bool { return !slices.Contains(k.old.served(), version) })
		if err := o.reader.as(ctx, k, k.new, versions, id, did); err != nil {
			return err
		}
		for _, version := range versions {
			if err := o.writer.oldWrites(ctx, k, version, did); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts the new webhook while the objects are stored as the old release has left them, and nobody else converts them. The
// definitions name it before it runs.
func (o *rollout) start(ctx context.Context) error {
	id := requirement.UpgradeWebhookStarts
	kinds := o.converted()
	switch {
	case len(kinds) == 0:
		o.record.spare(id, nil, "no webhook converts objects of any new definition that could be installed")
		return nil
	case o.hooks.new.build == nil:
		o.record.skip(id, nil, "the new webhook was not given")
		o.hooks.broken = true
		return nil
	}
	if err := o.hooks.old.retire(ctx); err != nil {
		return err
	}
	if o.hooks.new.build.Starts() {
		if err := o.hooks.new.stop(ctx); err != nil { // it may run, to mend something
			return err
		}
	}
	point := func(client apiextensionsv1.WebhookClientConfig) error {
		return o.hooks.point(ctx, kinds, (*kind).newSide, &client)
	}
	err := o.hooks.start(ctx, &o.hooks.new, point)
	if err == nil && o.hooks.new.build.Starts() {
		err = o.serves(ctx, kinds)
	}
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil && !o.hooks.new.build.Starts():
		return unreachable(err)
	case err != nil:
		for _, k := range kinds { // that it does not start under the old definitions either says nothing more
			if first := o.record.findingsOf(requirement.UpgradeWebhookOldDefinitions, k); len(first) == 1 && first[0].Verdict == requirement.Tolerated {
				o.record.forget(requirement.UpgradeWebhookOldDefinitions, k, fmt.Sprintf("cannot be judged while %s fails", id))
			}
		}
		return o.diagnose(ctx, kinds, kinds[0], kinds[0].new.storage(), "stored at the old version", err)
	case !o.hooks.new.build.Starts():
		o.record.spare(id, nil, "the new webhook is already running, so it was not started")
	default:
		o.record.tried(id, nil, 1)
	}
	return nil
}

// converted are the definitions that the new webhook converts.
func (o *rollout) converted() []*kind {
	return slices.DeleteFunc(o.kinds.upgraded(), func(k *kind) bool { return !k.new.converts() || k.stopped != "" })
}

// again starts a program once more, as the next update or a lost node does, when the objects are stored at the new version: what it read
// at the old one without a conversion it cannot read any more before somebody converts.
func (o *rollout) again(ctx context.Context) error {
	moved := slices.DeleteFunc(o.kinds.inhabited(), func(k *kind) bool { return !k.new.converts() || k.old.storage() == k.new.storage() })
	if id := requirement.UpgradeWebhookStarts; len(moved) == 0 || !o.hooks.new.acts() || o.hooks.new.running == nil || o.record.broken(id, nil) || !o.record.selects(id) {
		return nil
	}
	if err := o.hooks.new.stop(ctx); err != nil {
		return err
	}
	kinds := o.converted()
	err := o.hooks.startFor(ctx, &o.hooks.new, kinds, (*kind).newSide)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return o.diagnose(ctx, kinds, moved[0], moved[0].old.storage(), "stored at the new version when it is started again", err)
}

// diagnose finds out whether a program that does not start waits for itself: it does if it starts once its kinds can be read without it, at
// a version that they are not stored at.
func (o *rollout) diagnose(ctx context.Context, kinds []*kind, first *kind, version, stored string, failed error) error {
	id := requirement.UpgradeWebhookStarts
	if err := o.hooks.new.stop(ctx); err != nil {
		return err
	}
	for _, k := range kinds {
		if err := o.putManifest(ctx, k, k.new, withoutWebhook(k.new.manifest)); err != nil {
			return err
		}
	}
	again := o.hooks.start(ctx, &o.hooks.new, nil)
	if ctx.Err() != nil {
		return again
	}
	if again != nil {
		o.hooks.broken = true
		o.record.find(finding{id: id, message: "the new program does not start: " + failed.Error()})
		for _, k := range kinds {
			o.record.stop(k, id)
		}
		return nil
	}
	message := "the new program waits for itself: it does not serve conversions before it has read its own kind, and nobody else converts the objects, which are " + stored + ". " +
		"It starts only when nothing has to be converted. Have it serve before it lists or watches: " + failed.Error()
	o.record.find(finding{id: id, message: message, commands: []string{
		"kubectl scale deployment --replicas=0 ...", "kubectl scale deployment --replicas=1 ...", first.kubectlList(version),
	}})
	return o.hooks.point(ctx, kinds, (*kind).newSide, o.hooks.new.client)
}

const (
	// servesTimeout is how long a webhook that runs may take until it converts.
	servesTimeout = time.Minute

	servesPoll = 250 * time.Millisecond
)

// serves waits until a webhook that runs can be asked, with an object of each definition. A proper refusal is an answer.
func (o *rollout) serves(ctx context.Context, kinds []*kind) error {
	for _, k := range kinds {
		object, version := k.unlike()
		if object == "" {
			continue
		}
		at, name := o.at(k, version, object)
		var last error
		within, cancel := context.WithTimeout(ctx, servesTimeout)
		err := kube.Until(within, servesPoll, func(ctx context.Context) (bool, error) {
			_, last = at.Get(ctx, name, metav1.GetOptions{})
			if o.hooks.alive() != nil {
				return false, o.hooks.alive()
			}
			return !isUnreached(last), nil
		})
		cancel()
		if err != nil && ctx.Err() == nil {
			return errors.Join(fmt.Errorf("it runs, but API servers get no response from it: reading %s of %s at %s: %w", object, k.name, version, last), o.hooks.alive())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlike returns an object that is stored at another version than one that is served, and that version; nothing if there is none.
func (k *kind) unlike() (object, version string) {
	if k.book == nil || len(k.book.names) == 0 {
		return "", ""
	}
	for _, version := range k.new.served() {
		if k.stored[version] == 0 {
			return k.book.names[0], version
		}
	}
	return "", ""
}
