package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// clientsPerVersion is how many writers each served version has.
	clientsPerVersion = 4

	// objectsPerClient is how many objects of their own the writers have, each. They share them, so there are conflicts, but few.
	objectsPerClient = 4

	// requestTimeout is after how long a writer does not wait any more for an answer, and does not know what happened.
	requestTimeout = 20 * time.Second

	// workers is how many objects are read or cleaned at a time in the end.
	workers = 8
)

// writers are clients that write during a migration. Everything that they do is recorded.
type writers struct {
	proof     *Proof
	began     time.Time
	wrote     time.Duration
	recorder  history.Recorder
	value     atomic.Int64 // the last one that was written
	next      atomic.Int64 // existing object to write
	namespace string
	status    statusField

	clients *fleet.Clients
	halt    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	uids map[string]string // of objects of the writers that are there, as far as they know
	done map[string]bool   // objects that somebody wrote to; true if they are the writers' own
}

// statusField is where a status is written: a field that is the same at all served versions and takes any value of its type.
type statusField struct {
	name    string // empty if there is none
	integer bool
}

// write starts the writers, which go on until they are stopped.
func (p *Proof) write(ctx context.Context) *writers {
	w := &writers{proof: p, began: time.Now(), uids: map[string]string{}, done: map[string]bool{}, status: statusOf(p.crd)}
	w.clients = fleet.New(p.once, p.crd, "", p.annotation(), requestTimeout)
	ctx, w.halt = context.WithCancel(context.WithoutCancel(ctx))
	if p.crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		if w.namespace = p.options.Writers.Namespace; w.namespace == "" {
			w.namespace = metav1.NamespaceDefault
		}
	}
	rate := p.options.Writers.Rate
	if rate <= 0 {
		return w
	}
	if len(p.before.examples) == 0 {
		p.report.Weaker = append(p.report.Weaker, "there is no object that the writers could take as an example, so they wrote nothing")
		return w
	}
	if w.status.name == "" {
		p.report.Weaker = append(p.report.Weaker, "no status was written: the served versions have no field in common below status, or no status subresource")
	}
	n := clientsPerVersion * len(p.served)
	interval := time.Duration(float64(time.Second) * float64(n) / rate)
	for client := range n {
		c := &writer{writers: w, number: client, version: p.served[client%len(p.served)], random: rand.New(rand.NewPCG(uint64(client), 1))}
		w.running.Go(func() { fleet.Pace(ctx, max(interval, time.Microsecond), interval, c.work) })
	}
	return w
}

// stop lets the writers finish what they are at.
func (w *writers) stop() {
	w.halt()
	w.running.Wait()
	w.wrote = time.Since(w.began)
}

// writer is a writer of one version.
type writer struct {
	*writers

	number  int
	version string
	random  *rand.Rand
	turn    int
}

// work writes once, to an object of the writers and to one that is migrated by turns.
func (c *writer) work(ctx context.Context) {
	c.turn++
	if every := c.proof.options.Writers.Existing; every > 0 && c.turn%2 == 0 {
		if chosen := (c.proof.before.len() + every - 1) / every; chosen > 0 {
			kinds := []history.Kind{history.Patch, history.Update, history.Apply}
			n := int(c.next.Add(1)-1) % chosen
			c.do(ctx, kinds[c.random.IntN(len(kinds))], c.proof.before.name(n*every))
			return
		}
	}
	c.own(ctx)
}

// own does something with an object of the writers.
func (c *writer) own(ctx context.Context) {
	n := c.random.IntN(objectsPerClient * clientsPerVersion * len(c.proof.served))
	key := kube.Key(c.namespace, fmt.Sprintf("%s%d", c.proof.prefix(), n))
	c.mu.Lock()
	_, there := c.uids[key]
	c.mu.Unlock()
	kind := history.Create
	if there {
		kinds := []history.Kind{history.Patch, history.Patch, history.Update, history.Update, history.Apply, history.Read, history.Delete}
		if c.status.name != "" {
			kinds = append(kinds, history.Status)
		}
		kind = kinds[c.random.IntN(len(kinds))]
	}
	c.do(ctx, kind, key)
}

// do performs an operation and records it. An update reads the object first, which is recorded as well, and so does an apply of an object
// that is not known, since it has to have the UID, or it would create what somebody deleted.
func (c *writer) do(ctx context.Context, kind history.Kind, key string) {
	o := history.Operation{Client: c.number, Object: key, Kind: kind, Version: c.version}
	if kind != history.Read && kind != history.Delete {
		o.Written = strconv.FormatInt(c.value.Add(1), 10)
	}
	var body []byte
	var err error
	_, name := kube.SplitKey(key)
	switch kind {
	case history.Create:
		like := c.proof.before.examples[c.version].DeepCopy()
		delete(like.Object, "status")
		body, err = c.clients.Copy(like, name, o.Written).MarshalJSON()
	case history.Update:
		var read []byte
		if read, o.Over = c.get(ctx, key); o.Over == nil {
			return
		}
		body, err = c.clients.Rewritten(read, o.Written)
	case history.Apply:
		c.mu.Lock()
		uid := c.uids[key]
		c.mu.Unlock()
		if uid == "" {
			_, read := c.get(ctx, key)
			if read == nil {
				return
			}
			uid = read.UID
		}
		body = c.clients.Applied(c.version, name, uid, o.Written)
	case history.Patch:
		body = c.clients.Marking(o.Written)
	case history.Status:
		value := strconv.Quote(o.Written)
		if c.status.integer {
			value = o.Written
		}
		body = fmt.Appendf(nil, `{"status":{%q:%s}}`, c.status.name, value)
	case history.Delete, history.Read:
	}
	if err == nil { // whatever came from an API server can be sent to it
		c.send(ctx, o, body)
	}
}

// get reads an object and records it. The state is nil if there is none, or no answer.
func (c *writer) get(ctx context.Context, key string) ([]byte, *history.State) {
	return c.send(ctx, history.Operation{Client: c.number, Object: key, Kind: history.Read, Version: c.version}, nil)
}

// send sends a request, and records and returns what came of it. It is finished even if the writers are stopped meanwhile.
func (c *writer) send(ctx context.Context, o history.Operation, body []byte) ([]byte, *history.State) {
	namespace, name := kube.SplitKey(o.Object)
	own, manager, at := c.isOwn(name), "", c.clients.In(namespace)
	if o.Written != "" {
		manager = "crdconform-writer-" + c.version
	}
	o.Call = time.Since(c.began)
	raw, err := at.Do(context.WithoutCancel(ctx), at.Request(o.Kind, c.version, name, manager, body))
	o.Return = time.Since(c.began)
	if err == nil && o.Kind != history.Delete {
		o.Seen, err = c.state(raw, own)
	}
	o.Outcome = fleet.Outcome(o.Kind, err)
	c.recorder.Add(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[o.Object] = own
	switch {
	case o.Seen != nil:
		c.uids[o.Object] = o.Seen.UID
	case o.Outcome == history.NotFound || o.Kind == history.Delete && err == nil:
		delete(c.uids, o.Object)
	}
	return raw, o.Seen
}

// Write has a client of a version write to an object now, or delete it, as the writers do by themselves. It is for tests that need a
// write at a certain moment. It returns when the client has its answer.
func (p *Proof) Write(kind history.Kind, version, namespace, name string) {
	c := &writer{writers: p.writers, number: -1, version: version}
	c.do(context.Background(), kind, kube.Key(namespace, name))
}

// Own is the name of an object that the writers may create, and that End deletes, other than those that they write by themselves.
func (p *Proof) Own(name string) string { return p.prefix() + name }

// state is what an object of an answer shows of what the writers wrote.
func (w *writers) state(raw []byte, own bool) (*history.State, error) {
	o, err := fleet.Decode(raw)
	if err != nil {
		return nil, err
	}
	s := w.clients.State(o)
	if own && w.status.name != "" {
		if value, found, err := unstructured.NestedFieldNoCopy(o.Fields, "status", w.status.name); found && err == nil {
			s.Status = fmt.Sprint(value)
		}
	}
	return &s, nil
}

// initial is what the objects that are migrated show before the writers write to them.
func (w *writers) initial() map[string]history.State {
	states := map[string]history.State{}
	for key, own := range w.done {
		if !own {
			states[key] = history.State{Exists: w.proof.before.find(key) >= 0}
		}
	}
	return states
}

// readAll reads everything that was written to, so that the history has how it ends.
func (w *writers) readAll(ctx context.Context) {
	versions := w.proof.served
	w.each(func(worker int, key string) {
		c := &writer{writers: w, number: clientsPerVersion*len(versions) + worker, version: versions[worker%len(versions)]}
		c.get(ctx, key)
	})
}

// each calls do for all objects that were written to, several at a time.
func (w *writers) each(do func(worker int, key string)) {
	w.mu.Lock()
	keys := slices.Sorted(maps.Keys(w.done))
	w.mu.Unlock()
	queue := make(chan string)
	var all sync.WaitGroup
	for n := range min(workers, len(keys)) {
		all.Go(func() {
			for key := range queue {
				do(n, key)
			}
		})
	}
	for _, key := range keys {
		queue <- key
	}
	close(queue)
	all.Wait()
}

// clean deletes the objects of the writers and takes their annotation off the others. What was cleaned once is not cleaned again.
func (w *writers) clean(ctx context.Context) error {
	var errs []error
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, w.proof.annotation())
	w.each(func(_ int, key string) {
		namespace, name := kube.SplitKey(key)
		at := w.proof.at(w.proof.served[0]).Namespace(namespace)
		var err error
		if w.isOwn(name) {
			err = at.Delete(ctx, name, metav1.DeleteOptions{})
		} else {
			_, err = at.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "crdconform"})
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("removing what was written to %s: %w", key, err))
			return
		}
		delete(w.done, key)
	})
	return errors.Join(errs...)
}

func (w *writers) isOwn(name string) bool {
	prefix := w.proof.prefix()
	return len(name) > len(prefix) && name[:len(prefix)] == prefix
}

// annotation is what the writers write to.
func (p *Proof) annotation() string { return "crdconform.dev/proof-" + p.id }

// prefix begins the names of the writers' own objects.
func (p *Proof) prefix() string { return "crdconform-proof-" + p.id + "-" }

// statusOf finds a field for the status.
func statusOf(crd *apiextensionsv1.CustomResourceDefinition) statusField {
	common := map[statusField]int{}
	served := 0
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		served++
		if v.Subresources == nil || v.Subresources.Status == nil || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return statusField{}
		}
		for name, schema := range v.Schema.OpenAPIV3Schema.Properties["status"].Properties {
			if free := (apiextensionsv1.JSONSchemaProps{Type: schema.Type, Description: schema.Description}); equality.Semantic.DeepEqual(free, schema) && (schema.Type == "string" || schema.Type == "integer") {
				common[statusField{name, schema.Type == "integer"}]++
			}
		}
	}
	best := statusField{}
	for field, n := range common {
		if n == served && (best.name == "" || field.name < best.name) {
			best = field
		}
	}
	return best
}
