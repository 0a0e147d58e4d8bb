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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// oldWebhookStill reads the objects while the old webhook still serves under the new definitions, as between two steps of a rollout.
func (l *leg) oldWebhookStill(ctx context.Context) error {
	id := requirement.UpgradeWebhookOldBuild
	for _, k := range l.going() {
		switch {
		case k.objects == 0:
			continue
		case !k.old.converts():
			l.record.spare(id, k, "no webhook converts objects of the old definition")
			continue
		case !k.new.converts():
			l.record.spare(id, k, "no webhook converts objects of the new definition")
			continue
		case l.oldHook.running == nil:
			l.record.skip(id, k, "the old webhook was not given")
			continue
		case !l.record.selects(id):
			continue
		}
		const did = "by the old webhook under the new definition"
		versions := slices.DeleteFunc(k.storedFirst(), func(version string) bool { return !slices.Contains(k.old.served(), version) })
		if err := l.as(ctx, k, k.new, versions, id, did); err != nil {
			return err
		}
		for _, version := range versions {
			if err := l.oldWrites(ctx, k, version, did); err != nil {
				return err
			}
		}
	}
	return nil
}

// oldWrites tries to write the objects while the old webhook has to bring them to the new storage version.
func (l *leg) oldWrites(ctx context.Context, k *kind, version, did string) error {
	objects := slices.DeleteFunc(slices.Clone(k.book.names), func(object string) bool { return k.unreadable[object] })
	failures, err := l.each(ctx, objects, func(ctx context.Context, object string) (func() error, error) {
		at, name := l.at(k, version, object)
		got, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // that it cannot be read was reported already
		}
		_, err = at.Update(ctx, got, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		if err != nil && !isUnconverted(err) {
			return nil, nil //nolint:nilnil // it has nothing to do with the webhook
		}
		return nil, err
	})
	for _, f := range failures {
		l.record.find(finding{
			id: requirement.UpgradeWebhookOldBuild, kind: k, object: f.object, version: version,
			message: fmt.Sprintf("it cannot be written at %s %s, whose storage version is %s: %s; until all pods are of the new release, every write fails: serve the new version in one release, and store at it from the next on",
				version, did, k.new.storage(), said(f.err)),
			commands: []string{k.kubectlReplace(version, f.object)},
		})
	}
	return err
}

// start starts the new webhook while the objects are stored as the old release has left them, and nobody else converts them. The
// definitions name it before it runs.
func (l *leg) start(ctx context.Context) error {
	id := requirement.UpgradeWebhookStarts
	kinds := slices.DeleteFunc(l.upgraded(), func(k *kind) bool { return !k.new.converts() || k.stopped != "" })
	switch {
	case len(kinds) == 0:
		l.record.spare(id, nil, "no webhook converts objects of any new definition that could be installed")
		return nil
	case l.newHook.build == nil:
		l.record.skip(id, nil, "the new webhook was not given")
		l.broken = true
		return nil
	}
	if l.oldHook.build != nil && l.oldHook.build.Acts() {
		if err := l.oldHook.stop(ctx); err != nil {
			return err
		}
	}
	if l.newHook.build.Starts() {
		if err := l.newHook.stop(ctx); err != nil { // it may run, to mend something
			return err
		}
	}
	point := func(client apiextensionsv1.WebhookClientConfig) error {
		return l.point(ctx, kinds, (*kind).newSide, &client)
	}
	err := l.startHook(ctx, &l.newHook, point)
	if err == nil && l.newHook.build.Starts() {
		err = l.serves(ctx, kinds)
	}
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil && !l.newHook.build.Starts():
		return unreachable(err)
	case err != nil:
		return l.diagnose(ctx, kinds, err)
	case !l.newHook.build.Starts():
		l.record.spare(id, nil, "the new webhook is already running, so it was not started")
	default:
		l.record.tried(id, nil, 1)
	}
	return nil
}

// diagnose finds out whether a program that does not start waits for itself: it does if it starts once its kinds can be read without it.
func (l *leg) diagnose(ctx context.Context, kinds []*kind, failed error) error {
	id := requirement.UpgradeWebhookStarts
	if err := l.newHook.stop(ctx); err != nil {
		return err
	}
	for _, k := range kinds {
		manifest := withoutWebhook(k.new.manifest)
		if err := l.putManifest(ctx, k, k.new, manifest, l.install.column(manifest)); err != nil {
			return err
		}
	}
	for _, k := range kinds { // that it does not start under the old definitions either says nothing more
		if first := l.record.findingsOf(requirement.UpgradeWebhookOldDefinitions, k); len(first) == 1 && first[0].Verdict == requirement.Tolerated {
			l.record.forget(requirement.UpgradeWebhookOldDefinitions, k, fmt.Sprintf("cannot be judged while %s fails", id))
		}
	}
	again := l.startHook(ctx, &l.newHook, func(apiextensionsv1.WebhookClientConfig) error { return nil })
	if ctx.Err() != nil {
		return again
	}
	if again != nil {
		l.broken = true
		l.record.find(finding{id: id, message: "the new program does not start: " + failed.Error()})
		for _, k := range kinds {
			l.record.stop(k, id)
		}
		return nil
	}
	message := "the new program waits for itself: it does not serve conversions before it has read its own kind, and nobody else converts the objects, which are stored at the old version. " +
		"It starts only when nothing has to be converted. Have it serve before it lists or watches: " + failed.Error()
	first := kinds[0]
	l.record.find(finding{id: id, message: message, commands: []string{
		"kubectl scale deployment --replicas=0 ...", "kubectl scale deployment --replicas=1 ...", first.kubectlList(first.new.storage()),
	}})
	return l.point(ctx, kinds, (*kind).newSide, l.newHook.client)
}

const (
	// servesTimeout is how long a webhook that runs may take until it converts.
	servesTimeout = time.Minute

	servesPoll = 250 * time.Millisecond
)

// serves waits until a webhook that runs can be asked, with an object of each definition. A proper refusal is an answer.
func (l *leg) serves(ctx context.Context, kinds []*kind) error {
	for _, k := range kinds {
		object, version := k.unlike()
		if object == "" {
			continue
		}
		at, name := l.at(k, version, object)
		var last error
		within, cancel := context.WithTimeout(ctx, servesTimeout)
		err := kube.Until(within, servesPoll, func(ctx context.Context) (bool, error) {
			_, last = at.Get(ctx, name, metav1.GetOptions{})
			if l.running() != nil {
				return false, l.running()
			}
			return !isUnreached(last), nil
		})
		cancel()
		if err != nil && ctx.Err() == nil {
			return errors.Join(fmt.Errorf("it runs, but API servers get no response from it: reading %s of %s at %s: %w", object, k.name, version, last), l.running())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// running returns why the new webhook does not run any more.
func (l *leg) running() error {
	if l.newHook.running == nil || l.newHook.running.Alive == nil {
		return nil
	}
	return l.newHook.running.Alive()
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

// read reads the objects in all ways at all versions, and compares them with what they were.
func (l *leg) read(ctx context.Context) error {
	for _, k := range l.going() {
		if k.objects == 0 {
			continue
		}
		if l.broken && k.new.converts() {
			l.record.stop(k, requirement.UpgradeWebhookStarts)
			continue
		}
		for _, version := range k.storedFirst() {
			if err := l.readAt(ctx, k, version); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(k.new.served(), func(version string) bool { return k.book.has(page{before, version}) }) {
			l.record.spare(requirement.UpgradeReadContent, k, "no version is served both before and after the upgrade")
			l.record.spare(requirement.UpgradeReadPruned, k, "no version is served both before and after the upgrade")
		}
		for _, id := range []requirement.ID{requirement.UpgradeWebhookOldDefinitions, requirement.UpgradeWebhookOldBuild} {
			l.record.once(k, id, "the same is already reported for the new release alone", requirement.UpgradeReadGet, requirement.UpgradeReadContent, requirement.UpgradeReadPruned)
		}
	}
	return l.shipped(ctx)
}

// once takes back what was found of a requirement if all of it was found of others as well, and says why: it is reported once.
func (r *record) once(k *kind, id requirement.ID, why string, others ...requirement.ID) {
	found := r.findingsOf(id, k)
	if len(found) == 0 {
		return
	}
	var by []string
	for _, c := range found {
		same := func(other *cause) bool {
			return other.Version == c.Version && other.place == c.place && other.effect == c.effect && (c.Field != "" || tail(other.Message) == tail(c.Message))
		}
		i := slices.IndexFunc(others, func(other requirement.ID) bool { return slices.ContainsFunc(r.findingsOf(other, k), same) })
		if i < 0 {
			return
		}
		if other := string(others[i]); !slices.Contains(by, other) {
			by = append(by, other)
		}
	}
	r.yield(id, k, strings.Join(by, ", "), why)
}

// tail is what an API server says of it, behind what was done.
func tail(message string) string {
	i := slices.Index([]byte(message), ':')
	if i < 0 {
		return message
	}
	return number.ReplaceAllString(quotedName.ReplaceAllString(message[i:], ""), "")
}

// storedFirst returns the served versions, that at which the objects are stored first: what the API server drops there, it drops before
// anything is converted.
func (k *kind) storedFirst() []string {
	served := slices.Clone(k.new.served())
	slices.SortStableFunc(served, func(a, b string) int { return k.stored[b] - k.stored[a] })
	return served
}

func (l *leg) readAt(ctx context.Context, k *kind, version string) error {
	const did = "after the upgrade"
	c := comparison{when: before, content: requirement.UpgradeReadContent, pruned: requirement.UpgradeReadPruned, now: k.new, did: did}
	compared, objects := 0, 0
	unlisted, failures, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
		objects++
		was, err := l.compare(k, version, object, c)
		if err != nil {
			return err
		}
		if was {
			compared++
		}
		l.record.creatable(k, version, object)
		return k.book.enter(page{after, version}, object)
	})
	if err != nil {
		return err
	}
	l.record.tried(requirement.UpgradeReadContent, k, compared)
	l.record.tried(requirement.UpgradeReadPruned, k, compared)
	l.record.tried(requirement.UpgradeWriteCreate, k, objects)
	if unlisted == nil && l.record.selects(requirement.UpgradeReadGet) {
		if failures, err = l.get(ctx, k, version); err != nil {
			return err
		}
	}
	l.record.tried(requirement.UpgradeReadGet, k, len(k.book.names))
	l.record.unread(k, version, requirement.UpgradeReadGet, failures, nil, did)
	if len(failures) > 0 {
		by := requirement.UpgradeObjectsReadable
		if l.record.broken(requirement.UpgradeReadGet, k) {
			by = requirement.UpgradeReadGet
		}
		l.record.blocked(requirement.UpgradeReadList, k, by)
		l.record.blocked(requirement.UpgradeReadWatch, k, by)
		return nil
	}
	l.record.tried(requirement.UpgradeReadList, k, len(k.book.names))
	if unlisted != nil {
		l.record.unread(k, version, requirement.UpgradeReadList, nil, unlisted, did)
		l.record.blocked(requirement.UpgradeReadWatch, k, requirement.UpgradeReadList)
		return nil
	}
	return l.watched(ctx, k, version)
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
func (l *leg) watched(ctx context.Context, k *kind, version string) error {
	if !l.record.selects(requirement.UpgradeReadWatch) {
		return nil
	}
	missing, ended, err := l.watch(ctx, k, version)
	if err != nil {
		return err
	}
	l.record.tried(requirement.UpgradeReadWatch, k, len(k.book.names))
	if len(missing) == 0 {
		return nil
	}
	why := "it did not show all objects"
	if ended != nil {
		why = said(ended)
	}
	for _, object := range missing {
		l.record.find(finding{
			id: requirement.UpgradeReadWatch, kind: k, object: object, version: version, message: fmt.Sprintf("a watch at %s does not show it: %s", version, why),
			commands: []string{k.kubectlList(version, "--watch")},
		})
	}
	return nil
}
