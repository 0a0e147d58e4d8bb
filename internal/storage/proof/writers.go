package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
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
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/internal/history"
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

	halt    chan struct{}
	running sync.WaitGroup

	mu   sync.Mutex
	uids map[string]types.UID // of objects of the writers that are there, as far as they know
	done map[string]bool      // objects that somebody wrote to; true if they are the writers' own
}

// statusField is where a status is written: a field that is the same at all served versions and takes any value of its type.
type statusField struct {
	name    string // empty if there is none
	integer bool
}

// write starts the writers.
func (p *Proof) write() *writers {
	w := &writers{proof: p, began: time.Now(), halt: make(chan struct{}), uids: map[string]types.UID{}, done: map[string]bool{}, status: statusOf(p.crd)}
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
		p.verdict.Weaker = append(p.verdict.Weaker, "there is no object that the writers could take as an example, so they wrote nothing")
		return w
	}
	if w.status.name == "" {
		p.verdict.Weaker = append(p.verdict.Weaker, "no status was written: the served versions have no field in common below status, or no status subresource")
	}
	n := clientsPerVersion * len(p.served)
	for client := range n {
		c := &writer{writers: w, number: client, version: p.served[client%len(p.served)], random: rand.New(rand.NewPCG(uint64(client), 1))}
		w.running.Go(func() { c.work(time.Duration(float64(time.Second) * float64(n) / rate)) })
	}
	return w
}

// stop lets the writers finish what they are at.
func (w *writers) stop() {
	select {
	case <-w.halt:
		return
	default:
	}
	close(w.halt)
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

// work writes once in an interval, to an object of the writers and to one that is migrated by turns.
func (c *writer) work(interval time.Duration) {
	next := time.NewTicker(max(interval, time.Microsecond))
	defer next.Stop()
	for {
		select {
		case <-c.halt:
			return
		case <-next.C:
		}
		c.turn++
		if every := c.proof.options.Writers.Existing; every > 0 && c.turn%2 == 0 {
			if chosen := (c.proof.before.len() + every - 1) / every; chosen > 0 {
				kinds := []history.Kind{history.Patch, history.Update, history.Apply}
				n := int(c.next.Add(1)-1) % chosen
				c.do(kinds[c.random.IntN(len(kinds))], c.proof.before.name(n*every))
				continue
			}
		}
		c.own()
	}
}

// own does something with an object of the writers.
func (c *writer) own() {
	n := c.random.IntN(objectsPerClient * clientsPerVersion * len(c.proof.served))
	key := keyOf(c.namespace, fmt.Sprintf("%s%d", c.proof.prefix(), n))
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
	c.do(kind, key)
}

// do performs an operation and records it. An update reads the object first, which is recorded as well.
func (c *writer) do(kind history.Kind, key string) {
	o := history.Operation{Client: c.number, Object: key, Kind: kind, Version: c.version}
	var request func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error)
	namespace, name := split(key)
	own := c.isOwn(name)
	manager := "crdconform-writer-" + c.version
	if kind != history.Read && kind != history.Delete {
		o.Written = strconv.FormatInt(c.value.Add(1), 10)
	}
	annotated := map[string]any{c.proof.annotation(): o.Written}
	switch kind {
	case history.Create:
		object := c.example(name)
		object.SetAnnotations(merged(object.GetAnnotations(), c.proof.annotation(), o.Written))
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return at.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
		}
	case history.Update:
		object := c.get(key)
		if object == nil {
			return
		}
		over := c.state(object, own)
		o.Over = &over
		object.SetAnnotations(merged(object.GetAnnotations(), c.proof.annotation(), o.Written))
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return at.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
		}
	case history.Apply:
		object := c.applied(key, annotated)
		if object == nil {
			return
		}
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return at.Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: manager, Force: true})
		}
	case history.Patch:
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, c.proof.annotation(), o.Written)
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return at.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
		}
	case history.Status:
		value := strconv.Quote(o.Written)
		if c.status.integer {
			value = o.Written
		}
		patch := fmt.Sprintf(`{"status":{%q:%s}}`, c.status.name, value)
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return at.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, "status")
		}
	case history.Delete:
		request = func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
			return nil, at.Delete(ctx, name, metav1.DeleteOptions{})
		}
	case history.Read:
		c.get(key)
		return
	}
	c.send(o, own, c.proof.at(c.version).Namespace(namespace), request)
}

// applied is what a client applies to an object: annotations, and the UID, or an apply would create what somebody deleted. It is nil if
// there is no object.
func (c *writer) applied(key string, annotations map[string]any) *unstructured.Unstructured {
	c.mu.Lock()
	uid := c.uids[key]
	c.mu.Unlock()
	if uid == "" {
		read := c.get(key)
		if read == nil {
			return nil
		}
		uid = read.GetUID()
	}
	_, name := split(key)
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": annotations}}}
	object.SetAPIVersion(c.proof.crd.Spec.Group + "/" + c.version)
	object.SetKind(c.proof.crd.Spec.Names.Kind)
	object.SetName(name)
	object.SetUID(uid)
	return object
}

// get reads an object and records it. It returns nil if there is none, or no answer.
func (c *writer) get(key string) *unstructured.Unstructured {
	namespace, name := split(key)
	o := history.Operation{Client: c.number, Object: key, Kind: history.Read, Version: c.version}
	return c.send(o, c.isOwn(name), c.proof.at(c.version).Namespace(namespace), func(ctx context.Context, at dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return at.Get(ctx, name, metav1.GetOptions{})
	})
}

// send sends a request and records what came of it.
func (c *writer) send(o history.Operation, own bool, at dynamic.ResourceInterface, request func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error)) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	o.Call = int64(time.Since(c.began))
	object, err := request(ctx, at)
	o.Return = int64(time.Since(c.began))
	o.Outcome = outcomeOf(o.Kind, err)
	if err == nil && object != nil {
		seen := c.state(object, own)
		o.Seen = &seen
	}
	c.recorder.Add(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[o.Object] = own
	switch {
	case err == nil && object != nil:
		c.uids[o.Object] = object.GetUID()
	case o.Outcome == history.NotFound || o.Kind == history.Delete && err == nil:
		delete(c.uids, o.Object)
	}
	if err != nil {
		return nil
	}
	return object
}

// Write has a client of a version write to an object now, or delete it, as the writers do by themselves. It is for tests that need a
// write at a certain moment. It returns when the client has its answer.
func (p *Proof) Write(kind history.Kind, version, namespace, name string) {
	c := &writer{writers: p.writers, number: -1, version: version}
	c.do(kind, keyOf(namespace, name))
}

// Own is the name of an object that the writers may create, and that End deletes, other than those that they write by themselves.
func (p *Proof) Own(name string) string { return p.prefix() + name }

// outcomeOf says what a client knows after an error. An API server that fails may have written before: it converts what it wrote for
// the answer.
func outcomeOf(kind history.Kind, err error) history.Outcome {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return history.Acknowledged
	case !errors.As(err, &status):
		return history.Unknown
	case apierrors.IsNotFound(err) && kind != history.Create:
		return history.NotFound
	case apierrors.IsAlreadyExists(err) && kind == history.Create:
		return history.Exists
	case status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError && !apierrors.IsTimeout(err):
		return history.Refused
	}
	return history.Unknown
}

// state is what an object shows of what the writers wrote.
func (w *writers) state(object *unstructured.Unstructured, own bool) history.State {
	s := history.State{Exists: true, UID: string(object.GetUID()), Content: object.GetAnnotations()[w.proof.annotation()]}
	if own && w.status.name != "" {
		if value, found, err := unstructured.NestedFieldNoCopy(object.Object, "status", w.status.name); found && err == nil {
			s.Status = fmt.Sprint(value)
		}
	}
	return s
}

// example is a new object like the first one, under a name.
func (c *writer) example(name string) *unstructured.Unstructured {
	like := c.proof.before.examples[c.version]
	object := like.DeepCopy()
	delete(object.Object, "status")
	object.Object["metadata"] = map[string]any{}
	object.SetName(name)
	object.SetLabels(like.GetLabels())
	return object
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
func (w *writers) readAll() {
	versions := w.proof.served
	w.each(func(worker int, key string) {
		c := &writer{writers: w, number: clientsPerVersion*len(versions) + worker, version: versions[worker%len(versions)]}
		c.get(key)
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
		namespace, name := split(key)
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

func merged(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

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
