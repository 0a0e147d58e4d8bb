package suites

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// installers is how many definitions are installed at a time.
	installers = 4

	// removers is how many of those that remain are removed at a time at the end.
	removers = 16

	// ahead is how many definitions are installed before their specs, at most. Fewer would make specs wait for the hold; more make
	// API servers slow and large, which publish all of them together each time that one is added.
	ahead = 30

	poll = 5 * time.Millisecond
)

// installer installs the definitions that specs announced, ahead of the specs and in the background, so that they do not
// wait for the hold on the first create; and removes them after.
type installer struct {
	env *Env

	mu        sync.Mutex
	announced []*pending
	order     []requirement.ID // in which specs run; nil when that is not known
	position  int              // in announced, of the definition that was asked for last
	asked     *sync.Cond
	cancel    context.CancelFunc
	running   sync.WaitGroup
	removals  sync.WaitGroup
	installed map[string]*apiextensionsv1.CustomResourceDefinition // to remove, by their names

	wantsOwn bool                        // a spec was declared that needs the subject's own definition
	own      *pending                    // the subject's own definition, see Env.Own; nil until it is wanted
	unroute  func(context.Context) error // removes the route to the webhook under test; nil when there is none
}

// pending is a definition that is being installed for a spec.
type pending struct {
	installer *installer
	setup     Setup
	group     string
	ids       []requirement.ID // of the specs that want it
	index     int              // in what was announced
	done      chan struct{}    // closed when resource or err is set
	resource  *Resource
	err       error
	users     atomic.Int32 // specs that have not given it back
	uncleared bool         // see Setup.takeTurn
}

// shared is the definition that the specs of a set-up share; pending is nil until one of them is announced.
type shared struct{ pending *pending }

func newInstaller(e *Env) *installer {
	i := &installer{env: e, installed: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	i.asked = sync.NewCond(&i.mu)
	return i
}

// wants reports whether the spec of a requirement is to run, as far as that is known.
func (i *installer) wants(id requirement.ID) bool {
	return i.env.selects(id) && (i.order == nil || slices.Contains(i.order, id))
}

// announce says that a spec will need a set-up. Specs that are not selected need none.
func (i *installer) announce(s Setup, id requirement.ID) *pending {
	p := &pending{installer: i, setup: s, group: i.env.groupOf(id), done: make(chan struct{})}
	if !i.wants(id) || i.env.readings != nil {
		return p
	}
	if s.shared != nil && s.shared.pending != nil {
		p = s.shared.pending
	} else {
		i.announced = append(i.announced, p)
	}
	if s.shared != nil {
		s.shared.pending = p
	}
	p.ids = append(p.ids, id)
	p.users.Add(1)
	return p
}

// forget forgets what was announced.
func (i *installer) forget() { i.announced, i.position = nil, 0 }

// arrange puts what was announced into the order in which specs run.
func (i *installer) arrange() {
	turn := map[requirement.ID]int{}
	for n, id := range i.order {
		turn[id] = n
	}
	first := func(p *pending) int {
		n := len(i.order)
		for _, id := range p.ids {
			n = min(n, turn[id])
		}
		return n
	}
	slices.SortStableFunc(i.announced, func(a, b *pending) int { return first(a) - first(b) })
}

// groupOf is the API group of the definition for a spec: the requirement's name below the domain.
func (e *Env) groupOf(id requirement.ID) string {
	return strings.ReplaceAll(string(id), ".", "-") + "." + e.domain
}

// start begins to install what was announced.
func (i *installer) start() {
	ctx, cancel := i.context(context.Background())
	i.cancel = cancel
	if i.env.starting == nil {
		i.begin(ctx)
		return
	}
	i.running.Go(func() {
		defer close(i.env.arrived)
		if i.env.await(ctx); i.env.absent == nil {
			i.begin(ctx)
		}
	})
}

// begin begins to install when there is an API server.
func (i *installer) begin(ctx context.Context) {
	i.startOwn(ctx)
	i.arrange()
	queue := make(chan *pending, len(i.announced))
	for n, p := range i.announced {
		p.index = n
		queue <- p
	}
	close(queue)
	for range installers {
		i.running.Go(func() {
			for p := range queue {
				i.waitFor(ctx, p)
				p.resource, p.err = i.install(ctx, p.group, p.setup)
				close(p.done)
			}
		})
	}
}

// context returns a context that ends when no spec waits any more.
func (i *installer) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	context.AfterFunc(ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.asked.Broadcast()
	})
	return ctx, cancel
}

// waitFor waits until specs are so far that a definition is to be installed.
func (i *installer) waitFor(ctx context.Context, p *pending) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for p.index > i.position+ahead && ctx.Err() == nil {
		i.asked.Wait()
	}
}

// ask says that a spec wants its definition.
func (i *installer) ask(p *pending) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.position = max(i.position, p.index)
	i.asked.Broadcast()
}

// take waits for the definition of a spec and makes sure that it is removed after the spec, or after the last one of those
// that share it.
func (p *pending) take(ctx ginkgo.SpecContext) *Resource {
	ginkgo.GinkgoHelper()
	r := p.wait(ctx)
	ginkgo.DeferCleanup(func() {
		r.show()
		if p.users.Add(-1) == 0 {
			p.installer.remove(r)
		}
	})
	return r
}

// take waits for the definition of a spec, see pending.take; or for the spec's part of it, see Apart.
func (s Setup) take(ctx ginkgo.SpecContext, id requirement.ID, p *pending) *Resource {
	ginkgo.GinkgoHelper()
	if s.inTurn {
		return s.takeTurn(ctx, id, p)
	}
	if s.apart == nil || !apierrors.IsInvalid(p.outcome(ctx)) {
		return p.take(ctx)
	}
	options := append(slices.Clone(s.options), s.apart)
	gomega.Expect(s.env.Submit(ctx, id, s.definition, options...)).To(gomega.Succeed(), "the API server must accept the part of the definition that this is about")
	return s.env.Install(ctx, id, 0, s.definition, options...)
}

// outcome waits until a definition is installed or could not be, and returns why.
func (p *pending) outcome(ctx ginkgo.SpecContext) error {
	ginkgo.GinkgoHelper()
	p.installer.ask(p)
	select {
	case <-p.done:
	case <-ctx.Done():
		p.installer.env.errored("the definition was not installed in time")
	}
	return p.err
}

// wait waits for a definition, until objects can be created without being held.
func (p *pending) wait(ctx ginkgo.SpecContext) *Resource {
	ginkgo.GinkgoHelper()
	err := p.outcome(ctx)
	skipUnreached(err)
	p.installer.env.Require(err, "installing the definition")
	if p.resource.hold.Wait(ctx) != nil {
		ginkgo.Fail(setUp + "it was interrupted") // before a clean-up is registered, which Ginkgo no longer takes when it gives up on the spec
	}
	return p.resource
}

func (i *installer) install(ctx context.Context, group string, s Setup) (*Resource, error) {
	r, definition, err := i.add(ctx, group, s)
	if err != nil {
		return nil, err
	}
	if err := i.ready(ctx, r, definition); err != nil {
		return nil, err
	}
	return r, nil
}

// ready waits until a definition is established and served.
func (i *installer) ready(ctx context.Context, r *Resource, definition *apiextensionsv1.CustomResourceDefinition) error {
	var err error
	if r.hold, err = i.env.definitions().Established(ctx, definition.Name); err != nil {
		return err
	}
	if err = r.served(ctx, definition); err != nil {
		return err
	}
	return r.filled(ctx, definition)
}

// resourceOf returns the resource of a definition.
func (i *installer) resourceOf(definition *apiextensionsv1.CustomResourceDefinition) *Resource {
	return &Resource{
		env:        i.env,
		group:      definition.Spec.Group,
		plural:     definition.Spec.Names.Plural,
		kind:       definition.Spec.Names.Kind,
		namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
	}
}

// add creates a definition and connects it to a webhook of its own if it needs one.
func (i *installer) add(ctx context.Context, group string, s Setup, options ...fixtures.Option) (*Resource, *apiextensionsv1.CustomResourceDefinition, error) {
	definition := s.definition.New(append([]fixtures.Option{fixtures.InGroup(group)}, s.options...)...)
	r := i.resourceOf(definition)
	if conversion := definition.Spec.Conversion; conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter {
		if i.env.host == nil {
			return nil, nil, i.env.hostless
		}
		r.Webhook = i.env.host.webhook(group)
		conversion.Webhook.ClientConfig = r.Webhook.ClientConfig()
	}
	for _, option := range options {
		option(definition)
	}
	return r, definition, i.create(ctx, definition)
}

func (i *installer) create(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	if run := i.env.run; run != "" {
		metav1.SetMetaDataLabel(&definition.ObjectMeta, cluster.RunLabel, run)
	}
	created, err := i.env.definitions().Create(ctx, definition)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.installed[definition.Name] = created
	return nil
}

// remove deletes a definition in the background.
func (i *installer) remove(r *Resource) {
	if r.Webhook != nil {
		r.Webhook.Mend()
	}
	i.removals.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), i.env.effect)
		defer cancel()
		// What is left is removed by close, which reports what it cannot.
		_ = i.delete(ctx, r.Name(), nil)
	})
}

// delete deletes a definition that was installed, and calls meanwhile, if that is not nil, until it is gone.
func (i *installer) delete(ctx context.Context, name string, meanwhile func(context.Context, *apiextensionsv1.CustomResourceDefinition)) error {
	i.mu.Lock()
	definition, there := i.installed[name]
	i.mu.Unlock()
	if !there {
		return nil
	}
	if err := i.env.definitions().Remove(ctx, definition, meanwhile); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.installed[name] == definition { // it may have been installed again
		delete(i.installed, name)
	}
	return nil
}

// settle stops installing, and waits until what specs gave back is removed.
func (i *installer) settle() {
	if i.cancel != nil {
		i.cancel()
	}
	i.running.Wait()
	i.removals.Wait()
}

// close stops installing and removes what is left. It has more time than other effects: where a run is interrupted, all of its
// definitions go at once, and an API server removes five at a time.
func (i *installer) close(ctx context.Context) error {
	i.settle()
	ctx, cancel := context.WithTimeout(ctx, 2*i.env.effect)
	defer cancel()
	i.mu.Lock()
	var left []string
	for name := range i.installed {
		left = append(left, name)
	}
	i.mu.Unlock()
	// Several at once, so that one which cannot go takes no time from the others.
	errs := make([]error, len(left)+1) // the last is of the route
	slots := make(chan struct{}, removers)
	var removals sync.WaitGroup
	for n, name := range left {
		slots <- struct{}{}
		removals.Go(func() {
			defer func() { <-slots }()
			errs[n] = i.delete(ctx, name, i.free)
		})
	}
	removals.Wait()
	if i.unroute != nil {
		errs[len(left)] = i.unroute(ctx)
	}
	return errors.Join(errs...)
}

// free takes the finalizers off the objects of a definition, which would keep it. Specs take off theirs, but when the run is stopped an
// object may be created after that. What goes wrong shows in the definition being there still.
func (i *installer) free(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) {
	version := servedVersion(definition)
	objects := i.env.Dynamic.Resource(schema.GroupVersionResource{Group: definition.Spec.Group, Version: version, Resource: definition.Spec.Names.Plural})
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, object := range list.Items {
		release(ctx, objects, object)
	}
}

// release takes the finalizers off an object.
func release(ctx context.Context, objects dynamic.NamespaceableResourceInterface, object unstructured.Unstructured) {
	if len(object.GetFinalizers()) > 0 {
		_, _ = objects.Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	}
}

// definitions installs definitions for specs.
func (e *Env) definitions() kube.Definitions {
	return kube.Definitions{Client: e.CRDs, Limit: e.patience()}
}

func (e *Env) patience() time.Duration { return max(e.effect, usualEffect) }

// eventually polls until what a spec needs is there, an error ends it, or the time for that is over. A busy API server takes its time for it,
// however short the effects are that tests wait for.
func (e *Env) eventually(ctx context.Context, condition func(context.Context) (bool, error)) error {
	within, cancel := context.WithTimeout(ctx, e.patience())
	defer cancel()
	return kube.Until(within, poll, condition)
}

// Install installs a definition on the spot, for specs that need several. The number distinguishes them. It does not wait for
// the hold on the first create.
func (e *Env) Install(ctx ginkgo.SpecContext, id requirement.ID, number int, definition fixtures.Definition, options ...fixtures.Option) *Resource {
	ginkgo.GinkgoHelper()
	r, err := e.installer.install(ctx, fmt.Sprintf("n%d-%s", number, e.groupOf(id)), e.With(definition, options...))
	skipUnreached(err)
	e.Require(err, "installing the definition")
	ginkgo.DeferCleanup(func() {
		r.show()
		e.installer.remove(r)
	})
	return r
}

// Add creates the definition of a set-up without waiting for it to be established, for specs that watch what becomes of
// it. The options are applied after the definition was connected to its webhook.
func (s Setup) Add(ctx ginkgo.SpecContext, id requirement.ID, options ...fixtures.Option) *Resource {
	ginkgo.GinkgoHelper()
	r, _, err := s.env.installer.add(ctx, s.env.groupOf(id), s, options...)
	skipUnreached(err)
	s.env.Require(err, "creating the definition")
	ginkgo.DeferCleanup(func() {
		r.show()
		s.env.installer.remove(r)
	})
	return r
}
