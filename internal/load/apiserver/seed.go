package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// seeders is how many objects are created at a time.
	seeders = 10

	// kinds is how many samples are used, at most.
	kinds = 50

	// hopeless is how long samples are tried when the webhook does not convert all of them.
	hopeless = 10 * time.Second
)

// template is a sample as the API server stores it, and as it serves it at the other version.
type template struct {
	stored, other *unstructured.Unstructured
	status        map[string]any // at the storage version, where it is written by itself; nil if there is none
}

// at is the template at a version, with a name.
func (t template) at(r *run, version, name string) *unstructured.Unstructured {
	from := t.stored
	if version == r.other {
		from = t.other
	}
	object := from.DeepCopy()
	object.SetName(name)
	return object
}

// bare leaves of an object what a client would create anew. It returns the status too if that has to be written by itself.
func (r *run) bare(object *unstructured.Unstructured) (*unstructured.Unstructured, map[string]any) {
	fresh := fleet.Fresh(object)
	fresh.SetAnnotations(object.GetAnnotations())
	if !r.hasStatus(object.GroupVersionKind().Version) {
		return fresh, nil
	}
	status, there := fresh.Object["status"].(map[string]any)
	delete(fresh.Object, "status")
	if !there || len(status) == 0 {
		return fresh, nil
	}
	return fresh, status
}

// hasStatus reports whether a version has the status subresource.
func (r *run) hasStatus(version string) bool {
	return slices.ContainsFunc(r.Definition.CRD.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Subresources != nil && v.Subresources.Status != nil
	})
}

// putStatus is a request that gives an object a status.
func (r *run) putStatus(version, name string, status map[string]any) (kube.Request, error) {
	body, err := json.Marshal(map[string]any{"status": status})
	return r.clients.Request(history.Status, version, name, "", body), err
}

// put creates an object, with a status if there is one.
func (r *run) put(ctx context.Context, object *unstructured.Unstructured, status map[string]any) error {
	if _, err := r.make(ctx, object); err != nil || status == nil {
		return err
	}
	q, err := r.putStatus(object.GroupVersionKind().Version, object.GetName(), status)
	if err == nil {
		_, err = r.clients.Do(ctx, q)
	}
	if err != nil {
		return fmt.Errorf("its status: %w", err)
	}
	return nil
}

// nameOf is the name of the n-th object of a sort.
func nameOf(sort string, n int) string { return fmt.Sprintf("crdconform-%s-%06d", sort, n) }

// seed makes templates of the samples and creates the objects, at the storage version.
func (r *run) seed(ctx context.Context) error {
	r.progress("trying the samples")
	var refused, unconverted error
	began := time.Now()
	for i, sample := range r.Objects[:min(len(r.Objects), kinds)] {
		t, err := r.try(ctx, sample, nameOf("sample", i))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			r.templates = append(r.templates, t)
			continue
		}
		r.note("the sample %s at %s is left out: %v", sample.GetName(), sample.GroupVersionKind().Version, err)
		refused = err
		if _, is := errors.AsType[*unconvertedError](err); is {
			unconverted = err
		}
		if unconverted != nil && time.Since(began) > hopeless { // each might take as long as the API server waits for a webhook
			r.note("the remaining samples are not tried: those so far took %s", time.Since(began).Round(time.Second))
			break
		}
	}
	switch {
	case len(r.templates) > 0:
		return r.create(ctx)
	case unconverted != nil:
		return fmt.Errorf("%w: of the %d samples none can be read at %s; %w", ErrConvertsNothing, len(r.Objects), r.other, unconverted)
	}
	return fmt.Errorf("the API server accepts none of the %d samples; the last is refused with: %w", len(r.Objects), refused)
}

// ErrConvertsNothing ends a run, since all that comes would fail too.
var ErrConvertsNothing = errors.New("the webhook converts nothing, so the measurement ends here")

// unconvertedError is why an object cannot be read at the other version.
type unconvertedError struct {
	version string
	err     error
}

func (e *unconvertedError) Error() string {
	return fmt.Sprintf("it cannot be read at %s: %v", e.version, e.err)
}

func (e *unconvertedError) Unwrap() error { return e.err }

// try creates a sample, reads it at both versions, and deletes it.
func (r *run) try(ctx context.Context, sample *unstructured.Unstructured, name string) (template, error) {
	fresh, status := r.bare(sample)
	fresh.SetName(name)
	err := r.put(ctx, fresh, status)
	var t template
	if err == nil {
		t, err = r.read(ctx, name)
	}
	if gone := r.delete(ctx, r.storage, name); err == nil {
		err = gone
	}
	return t, err
}

// read makes a template of an object.
func (r *run) read(ctx context.Context, name string) (template, error) {
	stored, err := r.get(ctx, r.storage, name)
	if err != nil {
		return template{}, err
	}
	var t template
	t.stored, t.status = r.bare(stored)
	other, err := r.get(ctx, r.other, name)
	if err != nil {
		return template{}, &unconvertedError{r.other, err}
	}
	t.other, _ = r.bare(other)
	return t, nil
}

// create creates the objects.
func (r *run) create(ctx context.Context) error {
	still := r.step(fmt.Sprintf("creating %d objects", r.Seeded))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for seeder := range seeders {
		all.Go(func() {
			for i := seeder; i < r.Seeded && ctx.Err() == nil; i += seeders {
				if seeder == 0 { // one of them reports
					still(fmt.Sprintf("%d are there", i))
				}
				if err := r.put(ctx, r.seeded(i).at(r, r.storage, nameOf("object", i)), r.seeded(i).status); err != nil {
					cancel(fmt.Errorf("creating object %d of %d: %w", i+1, r.Seeded, err))
				}
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.result.Objects = r.Seeded
	body, err := r.clients.Do(ctx, kube.Request{Path: r.clients.Path(r.storage)})
	if err != nil {
		return fmt.Errorf("listing the objects at %s: %w", r.storage, err)
	}
	r.result.ObjectBytes = len(body) / r.Seeded
	return nil
}

// seeded is the template of the n-th object.
func (r *run) seeded(n int) template { return r.templates[n%len(r.templates)] }

// annotated returns the body of an object with an annotation of ours.
func annotated(object *unstructured.Unstructured, value int) ([]byte, error) {
	changed := object.DeepCopy()
	annotations := changed.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[mark] = strconv.Itoa(value)
	changed.SetAnnotations(annotations)
	return changed.MarshalJSON()
}
