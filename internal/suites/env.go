package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Namespace is where namespaced objects are created.
const Namespace = "default"

// usualEffect is how long the effect of a request may take to show, as a rule.
const usualEffect = 30 * time.Second

// Options say what a run is about.
type Options struct {
	// Cluster is the API server to check. Without one, only specs that need none can run.
	Cluster cluster.Cluster

	// Starting waits for an API server that takes the place of Cluster and still starts, or returns why it does not. Specs that need the
	// subject's own definition wait for it, and no others: see Own. It may be nil.
	Starting func(context.Context) (cluster.Cluster, error)

	// Subject is the webhook to judge. Without one, only specs that need none can run.
	Subject *Subject

	// Seed makes every random choice repeatable.
	Seed int64

	// Select says which requirements to check; nil for all.
	Select func(requirement.ID) bool

	// Priority puts the specs of a requirement before those of lower priority; nil if all are alike. The order among those that are alike is
	// random.
	Priority func(requirement.ID) int

	// Enough reports after each spec whether its result is reason to run no more of them. It may be nil.
	Enough func(Result) bool

	// Domain ends the API groups of the definitions that are installed: example.com if empty. In a cluster that others use it
	// should be the run's own.
	Domain string

	// Run is the ID of the run, which definitions get as a label so that they can be found when the run was killed. It makes
	// NewEnv fail with a ForeignError when the cluster has definitions in the run's API groups without that label. None if
	// empty.
	Run string

	// Readings make the run one that only reads, unless nil: the requirements that they are of are checked by them, and all
	// others that are about the cluster are not applicable.
	Readings map[requirement.ID]Reading

	// Effect is how long the effect of a request may take to show: usualEffect if 0.
	Effect time.Duration
}

// Subject is a webhook under test and the objects of one kind that it converts.
type Subject struct {
	Client *wire.Client
	Corpus corpus.Corpus

	// Objects is how many objects are generated for each version, where the schemas are known: 50 if 0, none if less.
	Objects int

	// Budget is how long the webhook is asked about its objects; 0 if there is no limit. What is left then is not applicable.
	Budget time.Duration

	// Tried receives what has been tried so far, again and again: the coverage of each pair of versions, and what could not be generated.
	// It may be nil.
	Tried func(coverage []reports.Coverage, gaps []string)

	// Written receives what clients of the API server have written so far, again and again: the coverage of each version and verb. It may be
	// nil.
	Written func([]reports.Coverage)

	// Stale receives once how many objects are judged that earlier schemas allowed, and the differences from these that are not, each with
	// the reason. It may be nil.
	Stale func(objects int, missed []string)

	// Spent is called when something is left because the budget is spent. It may be nil.
	Spent func()

	// Lossy reports whether what is at a path of an object at a version may be lost on the way through another version, and
	// the reason for that. Nil means that nothing may.
	Lossy func(from, through, path string) (reason string, declared bool)

	// Meant reports whether a field may have another value at another version: one that is in the field into, or stands for the same if into
	// is empty. It returns the reason for that. Nil means that none may.
	Meant func(from, to, path, into string) (reason string, declared bool)

	// Installed says that the definition is already in the cluster, installed for this run without a webhook.
	Installed bool

	// Reference is how a definition refers to the webhook. When it is nil, that is by its URL, or by the service that its
	// certificate is for; one that listens on loopback is led to where the API server is on another machine.
	Reference *apiextensionsv1.WebhookClientConfig

	// Alive returns an error when the webhook is known to run no more, with what is known of it. It may be nil.
	Alive func() error

	// Revive starts the webhook again if it has ended, and returns how it did, and whether that was before a time; no error if it has not, or
	// is not started again any more. It is nil unless the webhook is a program that the run has started.
	Revive func(ctx context.Context, since time.Time) (before bool, ended error)

	fatal map[string]contract.Response // see Fatal
	hung  error                        // see Hangs
	spent spent
}

// Env is what specs may use. It is built once and passed to the areas; specs read it and never change it.
type Env struct {
	Cluster cluster.Cluster // nil when there is none
	Subject *Subject        // nil when there is none

	CRDs      apiextensionsclient.CustomResourceDefinitionInterface
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface

	selection
	arrival
	attempt

	seed        int64
	domain      string
	run         string
	readings    map[requirement.ID]Reading
	effect      time.Duration
	http        *http.Client
	minor       requirement.Minor
	version     string
	host        *host // nil when there is none
	hostless    error // why there is none, a cluster.ErrNotReached
	installer   *installer
	unreachable reach
	stopped     <-chan struct{} // closed when the run is to end early
}

// selection says which specs run, in what order, and when that is enough.
type selection struct {
	selects  func(requirement.ID) bool
	priority func(requirement.ID) int
	enough   func(Result) bool
}

// arrival is the start of an API server that is not waited for before the specs.
type arrival struct {
	starting func(context.Context) (cluster.Cluster, error) // nil if it runs already
	arrived  chan struct{}                                  // closed when it has started, or has not
	absent   error                                          // why it has not
}

// attempt is the spec that runs.
type attempt struct {
	running   requirement.ID // what it checks
	trials    int            // see Tried
	fruitless string         // see Fruitless
}

// NewEnv connects to what the options name. Close frees what it holds.
func NewEnv(ctx context.Context, options Options) (*Env, error) {
	e := newEnv(options)
	if e.Cluster == nil {
		return e, nil
	}
	if err := e.join(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// join connects to the cluster.
func (e *Env) join(ctx context.Context) error {
	if err := e.connect(); err != nil {
		return fmt.Errorf("connecting to the %s cluster: %w", e.Cluster.Name(), err)
	}
	version, err := e.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the %s cluster for its version: %w", e.Cluster.Name(), err)
	}
	e.version = version.GitVersion
	if e.minor, err = requirement.ParseMinor(version.Major + "." + version.Minor); err != nil {
		return fmt.Errorf("the version of the %s cluster: %w", e.Cluster.Name(), err)
	}
	if e.readings != nil {
		return nil
	}
	if err = e.foreign(ctx); err != nil {
		return err
	}
	switch e.host, err = newHost(ctx, e.Cluster); {
	case errors.Is(err, cluster.ErrNotReached):
		e.hostless = err // the reason for specs that need a webhook
	case err != nil:
		return fmt.Errorf("starting a webhook for the %s cluster: %w", e.Cluster.Name(), err)
	}
	return nil
}

// await waits for the API server that starts meanwhile.
func (e *Env) await(ctx context.Context) {
	api, err := e.starting(ctx)
	if err == nil {
		e.Cluster = api
		err = e.join(ctx)
	}
	e.absent = err
}

// present has a spec wait for the API server if it still starts. It ends the run if there will be none.
func (e *Env) present(ctx ginkgo.SpecContext) {
	ginkgo.GinkgoHelper()
	if e.starting == nil {
		return
	}
	select {
	case <-e.arrived:
	case <-ctx.Done():
		ginkgo.Fail(setUp + "it was interrupted")
	}
	if e.absent != nil {
		ginkgo.AbortSuite("no API server")
	}
}

func newEnv(options Options) *Env {
	e := &Env{
		Cluster:   options.Cluster,
		Subject:   options.Subject,
		selection: selection{options.Select, options.Priority, options.Enough},
		arrival:   arrival{starting: options.Starting, arrived: make(chan struct{})},
		seed:      options.Seed,
		domain:    cmp.Or(options.Domain, "example.com"),
		run:       options.Run,
		readings:  options.Readings,
		effect:    cmp.Or(options.Effect, usualEffect),
	}
	if e.selects == nil {
		e.selects = func(requirement.ID) bool { return true }
	}
	if e.priority == nil {
		e.priority = func(requirement.ID) int { return 0 }
	}
	if e.enough == nil {
		e.enough = func(Result) bool { return false }
	}
	e.installer = newInstaller(e)
	return e
}

func (e *Env) connect() error {
	config := e.Cluster.Config()
	config.WarningHandlerWithContext = collectWarnings{}
	config.Wrap(e.unreachable.through)
	if e.Subject != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return timed{&e.Subject.spent, next} })
	}
	if e.Subject != nil && e.Subject.Revive != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &reviving{env: e, next: next} })
	}
	config.ContentConfig = rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	clients, err := kube.Connect(config)
	if err != nil {
		return err
	}
	e.http, e.CRDs, e.Dynamic, e.Discovery = clients.Once.HTTP(), clients.Definitions.Client, clients.Objects, clients.Discovery
	return nil
}

// Close removes what the run installed and has not removed yet, and frees what the Env holds.
func (e *Env) Close(ctx context.Context) error {
	return errors.Join(e.installer.close(ctx), e.free())
}

// Leave is Close for a cluster that is thrown away next, with all that is in it: it removes nothing there.
func (e *Env) Leave() error {
	e.installer.settle()
	return e.free()
}

// free frees what the Env holds.
func (e *Env) free() error {
	var err error
	if e.host != nil {
		err = e.host.close()
	}
	if e.http != nil {
		e.http.CloseIdleConnections()
	}
	return err
}

// Seed is what makes every random choice repeatable.
func (e *Env) Seed() int64 { return e.seed }

// Checks reports whether the run has a spec of a requirement.
func (e *Env) Checks(id requirement.ID) bool { return slices.Contains(e.installer.order, id) }

// Last reports whether the running spec is the last of its area.
func (e *Env) Last() bool {
	rest := e.installer.order[slices.Index(e.installer.order, e.running)+1:]
	return !slices.ContainsFunc(rest, func(id requirement.ID) bool { return id.Area() == e.running.Area() })
}

// Version is the Kubernetes version of the cluster, such as v1.37.2; empty without a cluster.
func (e *Env) Version() string { return e.version }

// Minor is the Kubernetes minor of the cluster.
func (e *Env) Minor() requirement.Minor { return e.minor }

// Rand returns the source of random choices for a requirement. It yields the same in every run with the same seed,
// whichever other specs run.
func (e *Env) Rand(id requirement.ID) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(id))
	return rand.New(rand.NewPCG(uint64(e.seed), hash.Sum64()))
}

// Storage returns the storage of the cluster, or skips the spec where it cannot be looked into.
func (e *Env) Storage() cluster.Storage {
	storage, ok := e.Cluster.(cluster.Storage)
	if !ok {
		ginkgo.Skip(fmt.Sprintf("requires access to etcd, which a cluster of the kind %s does not give", e.Cluster.Name()))
	}
	return storage
}

// Services returns the cluster as one that routes services, or skips the spec where it does not. What it returns skips the
// spec too, once it turns out that services cannot be led out of the cluster.
func (e *Env) Services() cluster.Services {
	services, ok := e.Cluster.(cluster.Services)
	if !ok {
		ginkgo.Skip(fmt.Sprintf("requires a service of its own, which a cluster of the kind %s does not route", e.Cluster.Name()))
	}
	return routes{services}
}

// routes are the services of a cluster for a spec.
type routes struct{ cluster.Services }

// Route makes calls to a service go to an address.
func (r routes) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	err := r.Services.Route(ctx, namespace, name, port, address)
	skipUnreached(err)
	return err
}

// skipUnreached skips the spec when an error says that the API server reaches nothing here.
func skipUnreached(err error) {
	if errors.Is(err, cluster.ErrNotReached) {
		ginkgo.Skip("needs a webhook of its own: " + err.Error())
	}
}

// SkipWithWatchCache skips a spec that needs every read to go to storage.
func (e *Env) SkipWithWatchCache() {
	if e.Cluster.WatchCache() {
		ginkgo.Skip("requires that every read reaches storage, but a watch cache answers some")
	}
}

// Answer is a response of the API server as it came over HTTP.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Warnings are the texts of the Warning headers of the API server's responses.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// Texts returns what was collected so far, each text once for every time it came.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.texts...)
}

type warningsKey struct{}

// CollectWarnings returns a context that collects the warnings of requests made with it.
func CollectWarnings(ctx context.Context) (context.Context, *Warnings) {
	w := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, w), w
}

// collectWarnings hands warnings to the context of their request, and drops them if the context does not collect them.
type collectWarnings struct{}

func (collectWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	w, ok := ctx.Value(warningsKey{}).(*Warnings)
	if !ok || code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, strings.TrimSpace(text))
}
