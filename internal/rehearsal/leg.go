package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// The steps, in their order.
const (
	stepWays        = "ways"
	stepObjects     = "objects"
	stepDrop        = "drop"
	stepNewHook     = "new webhook"
	stepDefinitions = "definitions"
	stepOldHook     = "old webhook"
	stepStart       = "start"
	stepRead        = "read"
	stepWrite       = "write"
	stepBack        = "back"
	stepCreate      = "create"
	stepMigrate     = "migrate"
	stepUse         = "use"
	stepBackAgain   = "back again"
)

// titleOf says what happens in a step.
func titleOf(step string) string {
	return map[string]string{
		stepWays:        "install the new definitions over the old ones, without objects",
		stepObjects:     "install the old release and bring the objects in",
		stepDrop:        "check whether removed versions are still needed",
		stepNewHook:     "run the new webhook under the old definitions",
		stepDefinitions: "install the new definitions",
		stepOldHook:     "run the old webhook under the new definitions",
		stepStart:       "start the new webhook while nobody else converts",
		stepRead:        "get, list and watch the objects at every version",
		stepWrite:       "try to write the objects as they are, without keeping the writes",
		stepBack:        "put the old release back before anything was written",
		stepCreate:      "create objects at the new versions",
		stepMigrate:     "migrate the objects to the new storage version",
		stepUse:         "read, apply and delete what was upgraded",
		stepBackAgain:   "put the old release back after the objects were written",
	}[step]
}

// leg is the upgrade from one release to another.
type leg struct {
	*Plan
	*api

	from, to Release
	carries  bool // the objects go on to another release
	record   *record
	kinds    []*kind
	sources  *Objects // that are brought in
	carried  *Objects // as they are stored after the upgrade; nil if it did not get so far
	began    time.Time
	back     []wayBack

	oldHook hook
	newHook hook
	broken  bool // the new webhook does not start
}

// api is the API server of a rehearsal. It reads and writes what is there, and judges nothing.
type api struct {
	cluster cluster.Cluster
	storage Storage
	config  *rest.Config
	objects dynamic.Interface
	rest    rest.Interface
	install *installer
}

// hook is a build of a webhook, and where it is while it runs.
type hook struct {
	build   Build
	running *Webhook
	client  *apiextensionsv1.WebhookClientConfig // nil while it is not known
}

// newLeg prepares a leg. Its definitions are those of both releases.
func newLeg(p *Plan, from, to Release, objects *Objects, subject string, carries bool) (*leg, error) {
	l := &leg{Plan: p, from: from, to: to, sources: objects, carries: carries, oldHook: hook{build: from.Build}, newHook: hook{build: to.Build}}
	known := map[string]*kind{}
	add := func(release Release, put func(*kind, *side, dump.Definition) error) error {
		for _, d := range release.Definitions {
			assumed := slices.Contains(release.Assumed, d.Name)
			s, err := newSide(d, assumed)
			if err != nil {
				return err
			}
			s.unnamed = assumed && release.Shipped
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
		add(from, func(k *kind, s *side, d dump.Definition) error { k.old = s; return s.wasApplied(d.Converted) }),
		add(to, func(k *kind, s *side, _ dump.Definition) error { k.new = s; return nil }),
	)
	if err != nil {
		return nil, err
	}
	l.record = newRecord(l.upgraded(), p.Selects)
	for i, k := range l.kinds {
		k.index = i
		if objects != nil && len(objects.Stored[k.name]) > 0 && k.old != nil {
			k.old.stored = objects.Stored[k.name]
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
	l.record.subject = subject
	return l, nil
}

// upgraded are the definitions that the new release has.
func (l *leg) upgraded() []*kind {
	return slices.DeleteFunc(slices.Clone(l.kinds), func(k *kind) bool { return k.new == nil })
}

// going are the definitions that can still be looked at, of both releases.
func (l *leg) going() []*kind {
	return slices.DeleteFunc(slices.Clone(l.kinds), func(k *kind) bool { return k.old == nil || k.new == nil || k.stopped != "" })
}

// run takes the steps.
func (l *leg) run(ctx context.Context, c cluster.Cluster) (err error) {
	l.began = time.Now()
	if l.api, err = connect(c); err != nil {
		return err
	}
	defer func() {
		// What was started is stopped also when the run is over.
		within := context.WithoutCancel(ctx)
		err = errors.Join(err, l.oldHook.stop(within), l.newHook.stop(within))
		for _, k := range l.kinds {
			err = errors.Join(err, k.book.close())
		}
	}()
	for _, step := range []struct {
		name string
		take func(context.Context) error
	}{
		{stepWays, l.ways},
		{stepObjects, l.bring},
		{stepDrop, l.drop},
		{stepNewHook, l.newWebhookFirst},
		{stepDefinitions, l.define},
		{stepOldHook, l.oldWebhookStill},
		{stepStart, l.start},
		{stepRead, l.read},
		{stepWrite, l.write},
		{stepBack, l.backBefore},
		{stepCreate, l.create},
		{stepMigrate, l.migrate},
		{stepUse, l.use},
		{stepBackAgain, l.backAfter},
	} {
		if ctx.Err() != nil {
			return nil // the caller stopped it
		}
		began := time.Now()
		l.record.begin(step.name)
		if l.Progress != nil {
			l.Progress.Note(titleOf(step.name))
		}
		err := step.take(ctx)
		done := l.record.end(time.Since(began))
		if l.Progress != nil {
			l.Progress.Stepped(done)
		}
		if ctx.Err() != nil {
			return nil // the caller stopped it
		}
		if isFull(err) {
			err = errors.New("the etcd of this cluster is full: it takes 2 GiB, and keeps each object as often as it was written; rehearse with fewer objects")
		}
		if err != nil {
			return fmt.Errorf("the step %q (%s): %w", step.name, titleOf(step.name), err)
		}
	}
	return nil
}

// connect returns the API server of a cluster.
func connect(c cluster.Cluster) (*api, error) {
	storage, able := c.(Storage)
	if !able {
		return nil, fmt.Errorf("a cluster of the kind %s gives no access to what it stores, so objects cannot be brought in as they are; use an embedded one, envtest or kind", c.Name())
	}
	a := &api{cluster: c, storage: storage, config: c.Config()}
	a.config.QPS, a.config.WarningHandler = -1, rest.NoWarnings{}
	clients, err := kube.Connect(a.config)
	if err != nil {
		return nil, err
	}
	a.objects, a.rest = clients.Objects, clients.Discovery.RESTClient()
	a.install = &installer{Definitions: clients.Definitions, crds: a.objects.Resource(definitionsResource()), storage: storage}
	return a, nil
}

// resource returns a client for the objects of a definition at a version, in all namespaces.
func (a *api) resource(k *kind, version string) dynamic.NamespaceableResourceInterface {
	return a.objects.Resource(schema.GroupVersionResource{Group: k.group, Version: version, Resource: k.plural})
}

// at returns a client for the objects beside one.
func (a *api) at(k *kind, version, object string) (dynamic.ResourceInterface, string) {
	namespace, name := kube.SplitKey(object)
	if !k.scoped {
		return a.resource(k, version), name
	}
	return a.resource(k, version).Namespace(namespace), name
}

// stop stops a webhook.
func (h *hook) stop(ctx context.Context) error {
	if h.running == nil {
		return nil
	}
	running := h.running
	h.running, h.client = nil, nil
	within, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return running.Stop(within)
}

const stopTimeout = time.Minute

// start starts a webhook. The function is called when it is known how definitions refer to it.
func (a *api) startHook(ctx context.Context, h *hook, at func(apiextensionsv1.WebhookClientConfig) error) error {
	if h.running != nil {
		return at(*h.client)
	}
	running, err := h.build.Start(ctx, a.cluster, func(client apiextensionsv1.WebhookClientConfig) error {
		h.client = &client
		return at(client)
	})
	if err != nil {
		h.client = nil
		return err
	}
	h.running = running
	return nil
}

// startFor starts a webhook that the definitions of a release name from then on.
func (a *api) startFor(ctx context.Context, h *hook, kinds []*kind, of func(*kind) *side) error {
	return a.startHook(ctx, h, func(client apiextensionsv1.WebhookClientConfig) error { return a.point(ctx, kinds, of, &client) })
}

// nowhere is where definitions have their objects converted while there is nobody to do it.
func nowhere() apiextensionsv1.WebhookClientConfig {
	url := "https://127.0.0.1:1/nobody-converts"
	return apiextensionsv1.WebhookClientConfig{URL: &url}
}

// manifestOf returns a manifest of a definition, converted by a webhook if it is to be, with a column by which it is recognised.
func (a *api) manifestOf(s *side, client *apiextensionsv1.WebhookClientConfig) (map[string]any, string, error) {
	manifest := runtime.DeepCopyJSON(s.manifest)
	if s.converts() {
		if client == nil {
			none := nowhere()
			client = &none
		}
		var err error
		if manifest, err = withClient(manifest, *client); err != nil {
			return nil, "", err
		}
	}
	return manifest, a.install.column(manifest), nil
}

// put installs a definition over what is there, and waits until it is served.
func (a *api) put(ctx context.Context, k *kind, s *side, client *apiextensionsv1.WebhookClientConfig) error {
	manifest, column, err := a.manifestOf(s, client)
	if err != nil {
		return err
	}
	return a.putManifest(ctx, k, s, manifest, column)
}

func (a *api) putManifest(ctx context.Context, k *kind, s *side, manifest map[string]any, column string) error {
	if err := a.install.put(ctx, k.way, manifest); err != nil {
		return &refusedError{err}
	}
	return a.install.effective(ctx, s, column)
}

// refusedError is what the API server says of a definition.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// conclude adds what came of the leg to the outcome.
func (l *leg) conclude(ctx context.Context, o *Outcome) {
	unjudged := "it was not judged"
	if ctx.Err() != nil {
		unjudged = "the rehearsal was interrupted before it was judged"
	} else if len(l.record.steps) > 0 {
		unjudged = fmt.Sprintf("the rehearsal ended in the step %q before it was judged", l.record.steps[len(l.record.steps)-1].Name)
	}
	leg := reports.Leg{From: l.from.Name, To: l.to.Name, Steps: l.record.allSteps(), Findings: l.record.findings(), Return: sentences(l.back)}
	for _, k := range l.record.kinds {
		leg.Kinds = append(leg.Kinds, reports.LegKind{
			Definition: k.name, Kind: k.kind, Objects: k.objects, Stored: k.stored, Served: k.new.served(), Storage: k.new.storage(),
		})
	}
	o.Legs = append(o.Legs, leg)
	o.Results = append(o.Results, l.record.results(unjudged)...)
	o.Notes = append(o.Notes, l.record.notes...)
}

// stop keeps a definition from being looked at any further, because of a requirement.
func (r *record) stop(k *kind, because requirement.ID) {
	k.stopped = because
	for _, id := range IDs() {
		if r.judged[at{id, k}] == nil && id.Area() == Area && id != requirement.UpgradeWebhookStarts {
			r.blocked(id, k, because)
		}
	}
}
