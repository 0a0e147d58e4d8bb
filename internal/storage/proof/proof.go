// Package proof proves a migration of stored objects by any migrator: it looks at all objects before and after, has clients of its
// own write meanwhile, and judges what it saw. It infers nothing from the requests of the migrator.
package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// DefaultPageSize is how many objects are read at a time.
const DefaultPageSize = 500

// cleanTimeout is how long it may take to remove what the writers wrote.
const cleanTimeout = time.Minute

// Options say how a migration is proved.
type Options struct {
	// Storage is the etcd of the cluster. Without it, resource versions show what is stored where, which is a weaker verdict.
	Storage Storage

	// StoredAt returns at which version an object is stored, or "" if that is not known. It counts where etcd cannot be read. It may be nil.
	StoredAt func(object *metav1.ObjectMeta) string

	// Retired is a version that is served, and is to be dropped later: managed fields must not name it in the end. It may be empty.
	Retired string

	// Writers are clients that write during the migration; none by default.
	Writers Writers

	// OtherClients says that other clients may write during the migration, such as controllers. What differs in an object to which
	// another client wrote meanwhile is then not held against the migration. It must be false in clusters of the run.
	OtherClients bool

	// Reported says that the migrator reports each of its writes by Rewrote. Whether another client wrote to an object is known exactly
	// then; otherwise, managed fields show it.
	Reported bool

	// Foreign says that somebody else's program migrates. Objects that changed meanwhile are then followed write by write, to name the
	// writes that it undid by writing what it had read before.
	Foreign bool

	// Untrimmed says that the migration is not asked to change status.storedVersions, and Unmended that it is not asked to change
	// managed fields.
	Untrimmed, Unmended bool

	// Drop makes End remove all versions from the definition that are not the storage version, and read, apply and delete all
	// objects. It is for clusters of the run only.
	Drop bool

	// History receives what the writers did, as JSON lines. It may be nil.
	History io.Writer

	// PageSize is how many objects are read at a time, DefaultPageSize if 0.
	PageSize int64
}

// Storage is what can be read of etcd. A cluster.Storage is one.
type Storage interface {
	// StoredAll returns what is stored for each object of a resource.
	StoredAll(ctx context.Context, group, resource string) ([]cluster.Stored, error)
}

// Writers are clients of all served versions.
type Writers struct {
	// Rate is how many writes a second are sent by all of them together; none if 0.
	Rate float64

	// Existing makes them write one in so many of the objects that are migrated, too: an annotation, which End removes again.
	// None if 0.
	Existing int

	// Namespace is where objects of their own are created, "default" if empty. They are like the first object of the definition, and
	// End deletes them.
	Namespace string
}

// Finding is something that the migration broke.
type Finding struct {
	Requirement requirement.ID `json:"requirement"`
	Namespace   string         `json:"namespace,omitempty"`
	Name        string         `json:"name,omitempty"` // empty if it is about the definition
	Expected    string         `json:"expected"`
	Actual      string         `json:"actual"`
}

// String names the object and says what is wrong.
func (f Finding) String() string {
	name := kube.Key(f.Namespace, f.Name)
	if name != "" {
		name += ": "
	}
	return fmt.Sprintf("%sexpected %s, got %s (%s)", name, f.Expected, f.Actual, f.Requirement)
}

// maxFindings is how many findings of a requirement a Report lists.
const maxFindings = 100

// Report is what came of a proof.
type Report struct { //nolint:recvcheck // a value, to which the proof alone adds
	Definition string `json:"definition"`
	Storage    string `json:"storage"` // the storage version
	Objects    int    `json:"objects"` // that were there before

	// Findings are what is wrong, in the order of the catalogue, at most 100 of a requirement. Violations counts all.
	Findings   []Finding              `json:"findings,omitempty"`
	Violations map[requirement.ID]int `json:"violations,omitempty"`

	// Weaker are the reasons why something could not be proved, or only in part.
	Weaker []string `json:"weaker,omitempty"`

	// Changed is how many objects other clients changed, so that their content was not compared. ChangedBy counts them by who wrote to
	// them, as managed fields show, which is empty where they don't.
	Changed   int            `json:"changed"`
	ChangedBy map[string]int `json:"changedBy,omitempty"`

	// Gone is how many objects are not there any more, which other clients may have deleted.
	Gone int `json:"gone"`

	// Undecided is how many objects were not written since the definition changed, of which it is not known at which version they are
	// stored.
	Undecided int `json:"undecided"`

	Writes  int           `json:"writes"`  // that were acknowledged to the writers
	Refused int           `json:"refused"` // requests of the writers; conflicts among them belong to it
	Unknown int           `json:"unknown"` // requests of the writers of which nobody knows whether they happened
	Wrote   time.Duration `json:"wrote"`   // how long the writers were at work, in nanoseconds
}

// Proved reports whether nothing is wrong. What could not be proved is in Weaker.
func (v Report) Proved() bool { return len(v.Findings) == 0 }

// Of returns the findings of a requirement.
func (v Report) Of(id requirement.ID) []Finding {
	var found []Finding
	for _, f := range v.Findings {
		if f.Requirement == id {
			found = append(found, f)
		}
	}
	return found
}

// Rate is how many writes a second were acknowledged.
func (v Report) Rate() float64 {
	if v.Wrote == 0 {
		return 0
	}
	return float64(v.Writes) / v.Wrote.Seconds()
}

// Proof is one that has begun.
type Proof struct {
	options     Options
	id          string // of this proof: part of the names of what it writes
	definitions kube.Definitions
	objects     dynamic.Interface
	metadata    metadata.Interface
	once        *kube.Once

	crd     *apiextensionsv1.CustomResourceDefinition // before
	storage string                                    // the storage version
	served  []string                                  // versions, the storage version first if it is served
	clock   clock

	defaults map[string]func(object map[string]any) // of the served versions
	mu       sync.Mutex                             // guards before.rewrote
	before   *inventory
	watched  *watcher
	writers  *writers
	report   Report
}

// Begin looks at all objects of a definition, named as in crontabs.example.com, and starts the writers. It is called when the definition
// has its new storage version, and before the migration. End must be called, whatever becomes of the migration.
func Begin(ctx context.Context, config *rest.Config, definition string, options Options) (*Proof, error) {
	if options.PageSize == 0 {
		options.PageSize = DefaultPageSize
	}
	p := &Proof{options: options, id: uuid.NewString()[:8]}
	if err := p.connect(config); err != nil {
		return nil, err
	}
	crd, err := p.definitions.Client.Get(ctx, definition, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the cluster has no definition %s; \"kubectl get crd\" lists those that it has", definition)
	}
	if err != nil {
		return nil, err
	}
	p.crd, p.storage, p.served = crd, kube.StorageVersion(crd), kube.ReadableVersions(crd)
	p.report.Definition, p.report.Storage = definition, p.storage
	if len(p.served) == 0 {
		return nil, fmt.Errorf("%s serves no version, so its objects cannot be read", definition)
	}
	p.defaults = map[string]func(map[string]any){}
	for _, version := range p.served {
		if p.defaults[version], err = kube.Defaults(crd, version); err != nil {
			return nil, err
		}
	}
	if p.before, err = p.inventory(ctx); err != nil {
		return nil, fmt.Errorf("reading the objects of %s before the migration: %w", definition, err)
	}
	p.report.Objects = p.before.len()
	p.watched, p.writers = p.watch(ctx), p.write(ctx)
	return p, nil
}

func (p *Proof) connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentConfig = rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	config.Wrap(p.clock.wrap)
	clients, err := kube.Connect(config)
	if err != nil {
		return err
	}
	p.definitions, p.objects, p.metadata, p.once = clients.Definitions, clients.Objects, clients.Metadata, clients.Once
	return nil
}

// End stops the writers, looks at all objects again and says what came of it. It removes what the writers wrote. The error says why
// that or the look could not be completed; the report is as far as it came.
func (p *Proof) End(ctx context.Context) (report Report, err error) {
	p.writers.stop()
	p.watched.stop()
	// What was written is removed even if the rest is interrupted.
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = errors.Join(err, p.writers.clean(within))
	}()
	crd, err := p.definitions.Client.Get(ctx, p.crd.Name, metav1.GetOptions{})
	if err != nil {
		return p.report, fmt.Errorf("reading %s after the migration: %w", p.crd.Name, err)
	}
	after := &evidence{
		terms: terms{
			storage: p.storage, retired: p.options.Retired, trims: !p.options.Untrimmed, mends: !p.options.Unmended, others: p.options.OtherClients,
			reported: p.options.Reported, began: p.clock.first(), own: p.prefix(), before: p.before,
		},
		course:  course{crd: crd},
		strange: strange{excused: map[string]int{}},
		legible: true,
	}
	p.changed(ctx, p.watched, crd)
	after.definitions = p.watched.changes
	p.writers.readAll(ctx)
	if err = p.account(after); err != nil {
		return p.report, err
	}
	// Managed fields of the writers are gone with what they wrote.
	if err = p.writers.clean(ctx); err != nil {
		return p.report, err
	}
	if err = p.look(ctx, after); err != nil {
		return p.report, err
	}
	p.explain(ctx, after)
	p.follow(ctx, after)
	findings := judge(after)
	if p.options.Drop {
		more, dropErr := p.drop(ctx, after)
		findings, err = append(findings, more...), dropErr
	}
	p.report.Weaker = append(p.report.Weaker, after.weaker...)
	p.report.ChangedBy, p.report.Undecided, p.report.Gone = after.excused, after.undecided.count, after.gone.count
	for _, n := range after.excused {
		p.report.Changed += n
	}
	p.report.add(findings)
	return p.report, err
}

// Rewrote says that the migrator wrote an object, which had a resource version and got another one by that. It may be called by
// several goroutines.
func (p *Proof) Rewrote(namespace, name, from, to string) {
	n := p.before.find(kube.Key(namespace, name))
	if n < 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := cmp.Or(p.before.rewrote[n], p.before.wrote[n]); last == number(from) {
		p.before.rewrote[n] = number(to)
	}
}

// account hands over what the writers did.
func (p *Proof) account(after *evidence) error {
	operations := p.writers.recorder.Operations()
	for _, o := range operations {
		switch {
		case o.Outcome == history.Unknown:
			p.report.Unknown++
		case o.Outcome != history.Acknowledged:
			p.report.Refused++
		case o.Kind != history.Read:
			p.report.Writes++
		}
	}
	p.report.Wrote = p.writers.wrote
	if p.options.History != nil {
		if err := history.Encode(p.options.History, operations); err != nil {
			return err
		}
	}
	var err error
	after.history = operations
	after.violations, err = history.Judge(operations, p.writers.initial())
	return err
}

// add adds findings, in the order of the catalogue.
func (v *Report) add(findings []Finding) {
	order := map[requirement.ID]int{}
	for i, r := range requirement.All() {
		order[r.ID] = i
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return order[a.Requirement] - order[b.Requirement] })
	for _, f := range findings {
		if v.Violations == nil {
			v.Violations = map[requirement.ID]int{}
		}
		if v.Violations[f.Requirement]++; v.Violations[f.Requirement] <= maxFindings {
			v.Findings = append(v.Findings, f)
		}
	}
}

// at returns the objects of all namespaces at a version.
func (p *Proof) at(version string) dynamic.NamespaceableResourceInterface {
	return p.objects.Resource(p.resource(version))
}

func (p *Proof) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: p.crd.Spec.Group, Version: version, Resource: p.crd.Spec.Names.Plural}
}

// each reads all objects at a version, page by page. It reads them as they were at a revision if one is given. When the list expires
// it goes on with what is there now.
func (p *Proof) each(ctx context.Context, version, revision string, visit func(*unstructured.Unstructured) error) (first string, err error) {
	all := kube.Pager[*unstructured.UnstructuredList]{List: p.at(version).List, Options: metav1.ListOptions{Limit: p.options.PageSize}, Ahead: true}
	if revision != "" {
		all.Options.ResourceVersion, all.Options.ResourceVersionMatch = revision, metav1.ResourceVersionMatchExact
	}
	err = all.Each(ctx, func(page *unstructured.UnstructuredList) error {
		for i := range page.Items {
			if err = visit(&page.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return all.Revision, err
}
