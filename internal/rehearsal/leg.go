package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// leg is the upgrade from one release to another. It has the parts that take the steps, and takes them in their order.
type leg struct {
	*Plan
	upgrade

	kinds   kinds
	record  *record
	carried *Objects // as they are stored after the upgrade; nil if it did not get so far

	hooks       webhooks
	definitions definitions
	intake      intake
	stored      stored
	rollout     rollout
	reader      reader
	writer      writer
	back        returning
}

// upgrade is what a leg is about.
type upgrade struct {
	from, to Release
	objects  *Objects // that are brought in; nil if the leg before left none
	subject  string   // begins the subjects of results; empty if there is one upgrade only
	carries  bool     // the objects go on to another release
}

// part is what the parts of a leg have in common.
type part struct {
	*api

	kinds  kinds
	record *record
}

// kinds are the definitions of both releases.
type kinds []*kind

// upgraded are the definitions that the new release has.
func (all kinds) upgraded() kinds {
	return slices.DeleteFunc(slices.Clone(all), func(k *kind) bool { return k.new == nil })
}

// going are the definitions that can still be looked at, of both releases.
func (all kinds) going() kinds {
	return slices.DeleteFunc(slices.Clone(all), func(k *kind) bool { return k.old == nil || k.new == nil || k.stopped != "" })
}

// inhabited are those of them that have objects.
func (all kinds) inhabited() kinds {
	return slices.DeleteFunc(all.going(), func(k *kind) bool { return k.objects == 0 })
}

// newLeg prepares a leg. Its definitions are those of both releases.
func newLeg(p *Plan, u upgrade) (*leg, error) {
	l := &leg{Plan: p, upgrade: u}
	known := map[string]*kind{}
	add := func(release Release, put func(*kind, *side, dump.Definition) error) error {
		for _, d := range release.Definitions {
			s, err := newSide(release, d)
			if err != nil {
				return err
			}
			k := known[d.Name]
			if k == nil {
				spec := d.Spec
				k = &kind{
					name: d.Name, group: spec.Group, plural: spec.Names.Plural, kind: spec.Names.Kind,
					scoped: spec.Scope == apiextensionsv1.NamespaceScoped, stored: map[string]int{}, applied: map[string][]string{}, unreadable: map[string]bool{}, invalid: map[string]bool{}, way: p.Way,
				}
				known[d.Name] = k
				l.kinds = append(l.kinds, k)
			}
			if err := put(k, s, d); err != nil {
				return err
			}
		}
		return nil
	}
	err := errors.Join(
		add(u.from, func(k *kind, s *side, d dump.Definition) error { k.old = s; return s.wasApplied(d.Converted) }),
		add(u.to, func(k *kind, s *side, _ dump.Definition) error { k.new = s; return nil }),
	)
	if err != nil {
		return nil, err
	}
	l.record = newRecord(p, u.subject, l.kinds.upgraded())
	for i, k := range l.kinds {
		k.index = i
		if u.objects != nil && len(u.objects.Stored[k.name]) > 0 && k.old != nil {
			k.old.stored = u.objects.Stored[k.name]
		}
		if k.new == nil {
			l.record.note("%s is gone from the new release: kubectl apply, and Helm with crds/, leave it and its objects as they are, and nobody converts them once the old webhook is gone; "+
				"if it was a template of a chart, Helm deletes it with all its objects", k.name)
		}
		for _, s := range []*side{k.old, k.new} {
			if s != nil && s.why != nil {
				l.record.note("what the schemas of %s say is not known, so nothing is judged by them: %v", k.name, s.why)
				break
			}
		}
	}
	return l, nil
}

// connect gives the parts the API server of a cluster.
func (l *leg) connect(c cluster.Cluster) error {
	api, err := connect(c)
	if err != nil {
		return err
	}
	from, to := l.from.Apply, l.to.Apply
	l.hooks = webhooks{api: api, old: hook{build: l.from.Build}, new: hook{build: l.to.Build}}
	p := part{api, l.kinds, l.record}
	l.definitions = definitions{part: p, hooks: &l.hooks, way: l.Way, from: from, to: to}
	l.intake = intake{part: p, hooks: &l.hooks, sources: l.objects, dir: l.Dir}
	l.stored = stored{part: p, hooks: &l.hooks}
	l.reader = reader{part: p, hooks: &l.hooks, began: time.Now(), to: to}
	l.writer = writer{part: p, seed: l.Seed, collectTimeout: cmp.Or(l.CollectTimeout, collectTimeout)}
	l.rollout = rollout{part: p, hooks: &l.hooks, reader: &l.reader, writer: &l.writer, from: from}
	l.back = returning{part: p, hooks: &l.hooks, definitions: &l.definitions, reader: &l.reader, from: from}
	return nil
}

// run takes the steps.
func (l *leg) run(ctx context.Context, c cluster.Cluster) (err error) {
	if err = l.connect(c); err != nil {
		return err
	}
	defer func() {
		// What was started is stopped also when the run is over.
		within := context.WithoutCancel(ctx)
		err = errors.Join(err, l.hooks.old.stop(within), l.hooks.new.stop(within))
		for _, k := range l.kinds {
			err = errors.Join(err, k.book.close())
		}
	}()
	const migrating = "migrate"
	shown := 0
	for _, step := range []struct {
		name, title string
		take        func(context.Context) error
	}{
		{"ways", "install the new definitions over the old ones, without objects", l.definitions.ways},
		{"objects", "install the old release and bring the objects in", l.bring},
		{"drop", "check whether removed versions are still needed", l.stored.drop},
		{"new webhook", "run the new webhook under the old definitions", l.rollout.newWebhookFirst},
		{"definitions", "install the new definitions", l.definitions.define},
		{"old webhook", "run the old webhook under the new definitions", l.rollout.oldWebhookStill},
		{"start", "start the new webhook while nobody else converts", l.rollout.start},
		{"read", "get, list and watch the objects at every version", l.reader.read},
		{"write", "try to write the objects as they are, without keeping the writes", l.writer.write},
		{"back", "put the old release back before anything was written", l.back.before},
		{"create", "create objects at the new versions", l.writer.create},
		{migrating, "migrate the objects to the new storage version", l.migrate},
		{"use", "read, apply and delete what was upgraded", l.use},
		{"back again", "put the old release back after the objects were written", l.back.after},
	} {
		if ctx.Err() != nil {
			return nil // the caller stopped it
		}
		began := time.Now()
		l.record.begin(step.name, step.title)
		if l.Progress != nil {
			l.Progress.Note(step.title)
		}
		err := step.take(ctx)
		l.record.end(time.Since(began))
		if l.Progress != nil && (step.name != migrating || err != nil || ctx.Err() != nil) { // the next step settles what differs after it
			for _, done := range l.record.allSteps()[shown:] {
				l.Progress.Stepped(done)
				shown++
			}
		}
		if ctx.Err() != nil {
			return nil // the caller stopped it
		}
		if isFull(err) {
			err = errors.New("the etcd of this cluster is full: it takes 2 GiB, and keeps each object as often as it was written; rehearse with fewer objects")
		}
		if err != nil {
			return fmt.Errorf("the step %q (%s): %w", step.name, step.title, err)
		}
	}
	return nil
}

// bring installs the old release, brings the objects in as they were, and notes what they show.
func (l *leg) bring(ctx context.Context) error {
	old := slices.DeleteFunc(slices.Clone(l.kinds), func(k *kind) bool { return k.old == nil })
	for _, k := range old {
		if err := l.definitions.bring(ctx, k); err != nil {
			return err
		}
	}
	if l.hooks.old.build != nil && slices.ContainsFunc(old, func(k *kind) bool { return k.old.converts() }) {
		if err := l.hooks.startFor(ctx, &l.hooks.old, old, (*kind).oldSide); err != nil {
			return fmt.Errorf("the old webhook does not start: %w", err)
		}
	}
	if err := l.intake.bring(ctx); err != nil {
		return err
	}
	for _, k := range old {
		if err := l.intake.open(ctx, k); err != nil {
			return err
		}
		if k.objects > 0 {
			if err := l.reader.baseline(ctx, k); err != nil {
				return err
			}
		}
	}
	for _, k := range l.kinds.upgraded() {
		if k.old == nil {
			l.record.skipWithoutObjects(k, "the old release has no such definition")
			l.record.spare(requirement.UpgradeBackDefinitions, k, "the old release has no such definition")
		} else if k.objects == 0 {
			l.record.skipWithoutObjects(k, "there are no objects of it")
		}
	}
	return nil
}

// migrate migrates the objects, and starts the program again when they are.
func (l *leg) migrate(ctx context.Context) error {
	if err := l.stored.migrate(ctx); err != nil {
		return err
	}
	return l.rollout.again(ctx)
}

// use reads, applies and deletes what was upgraded, and keeps what is stored for the next upgrade.
func (l *leg) use(ctx context.Context) error {
	for _, k := range l.kinds.inhabited() {
		if err := l.reader.readAgain(ctx, k); err != nil {
			return err
		}
		objects := slices.DeleteFunc(slices.Clone(k.existing()), func(object string) bool {
			return !k.book.known(page{after, k.home()}, object) || slices.ContainsFunc([]requirement.ID{
				requirement.UpgradeWriteNoOp, requirement.UpgradeWriteApply, requirement.UpgradeDropSafe, requirement.UpgradeMigrationProved,
			}, func(id requirement.ID) bool { return l.record.brokenFor(id, k, object) })
		})
		if len(objects) == 0 {
			l.record.blocked(requirement.UpgradeUseApply, k, requirement.UpgradeWriteApply)
		} else if err := l.writer.appliesAgain(ctx, k, objects); err != nil {
			return err
		}
		if err := l.writer.delete(ctx, k); err != nil {
			return err
		}
	}
	if err := l.writer.garbage(ctx); err != nil {
		return err
	}
	if !l.carries || len(l.kinds.going()) == 0 {
		return nil
	}
	carried, err := l.intake.carry(ctx, l.to.Definitions)
	l.carried = carried
	return err
}

// conclude adds what came of the leg to the outcome.
func (l *leg) conclude(ctx context.Context, o *Outcome) {
	unjudged := "it was not judged"
	if ctx.Err() != nil {
		unjudged = "the rehearsal was interrupted before it was judged"
	} else if len(l.record.steps) > 0 {
		unjudged = fmt.Sprintf("the rehearsal ended in the step %q before it was judged", l.record.steps[len(l.record.steps)-1].Name)
	}
	leg := reports.Leg{From: l.from.Name, To: l.to.Name, Steps: l.record.allSteps(), Findings: l.record.findings(), Return: sentences(l.back.ways)}
	for _, k := range l.record.kinds {
		leg.Kinds = append(leg.Kinds, reports.LegKind{
			Definition: k.name, Kind: k.kind, Objects: k.objects, Stored: k.stored, Served: k.new.served(), Storage: k.new.storage(),
		})
	}
	o.Legs = append(o.Legs, leg)
	o.Results = append(o.Results, l.record.results(unjudged)...)
	o.Notes = append(o.Notes, l.record.notes...)
}

// Bring brings the definitions of a release and objects into a cluster, as a rehearsal does in the beginning. It returns how many objects
// there are then.
func Bring(ctx context.Context, p *Plan, c cluster.Cluster, release Release, objects *Objects) (int, error) {
	l, err := newLeg(p, upgrade{from: release, to: release, objects: objects}) //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return 0, err
	}
	if err = l.connect(c); err != nil {
		return 0, err
	}
	for _, k := range l.kinds {
		if err := l.definitions.bring(ctx, k); err != nil {
			return 0, err
		}
	}
	if err := l.intake.bring(ctx); err != nil {
		return 0, err
	}
	n := 0
	for _, k := range l.kinds {
		n += k.objects
	}
	return n, nil
}
