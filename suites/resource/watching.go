package resource

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/requirement"
)

// patience is how long an event, or a removal, may take: as long as API servers wait for a webhook, and a little more.
const patience = 35 * time.Second

func watching(c *chapter) {
	Describe("watching", func() {
		c.it(requirement.ResourceWatchEveryVersion,
			"watches at all versions while an object of each is created, changed and deleted", func(ctx SpecContext, r *round) {
				r.aboutWhole = true
				for _, version := range r.served() {
					r.watchOf(ctx, version)
				}
			})
	})
}

// watchOf creates, changes and deletes an object of a version under the eyes of watches at all versions.
func (r *round) watchOf(ctx context.Context, version string) {
	GinkgoHelper()
	samples := r.samples(ctx, version)
	if len(samples) == 0 {
		return
	}
	name := samples[0].GetName()
	watches := map[string]watch.Interface{}
	for _, watched := range r.served() {
		w, err := r.crd.At(watched).WatchOne(ctx, name)
		r.require(err, "watching at %s", watched)
		defer w.Stop()
		watches[watched] = w
		r.journal.add(name, "kubectl get %s -o yaml --watch &", r.address(watched, name))
	}
	o := r.one(ctx, version)
	if o == nil || o.name != name {
		return // another sample is used, which no client watches
	}
	r.each(ctx, o, watches, watch.Added, "created at "+version)
	_, err := mergePatch().change(ctx, r, o, version, nil, nil, map[string]any{touched: version})
	if refused(err) {
		r.blame(ctx, requirement.ResourceWriteValidatedRead, o, "changing an annotation at %s: expected it to be changed, got: %v", version, err)
		return
	}
	r.must(ctx, o, err, "changing an annotation at %s", version)
	r.each(ctx, o, watches, watch.Modified, "an annotation changed at "+version)
	err = r.crd.At(version).Delete(ctx, name)
	r.journal.add(name, "kubectl delete %s", r.address(version, name))
	r.must(ctx, o, err, "deleting at %s", version)
	r.each(ctx, o, watches, watch.Deleted, "deleted at "+version)
}

// each fails the spec unless each watch brings an event of a type next, with the object as it is to be there.
func (r *round) each(ctx context.Context, o *object, watches map[string]watch.Interface, want watch.EventType, done string) {
	GinkgoHelper()
	for _, version := range r.served() {
		got, err := next(ctx, watches[version], want)
		if err != nil {
			r.unconverted(ctx, err) // ends the spec when that is not the webhook's doing
			r.fail(ctx, o, "%s, watched at %s (stored at %s): expected the event %s, got %v", done, version, r.storage, want, err)
		}
		r.env.Tried(1)
		if got.GetAPIVersion() != r.crd.APIVersion(version) {
			r.fail(ctx, o, "%s, watched at %s: apiVersion: expected %s, got %s", done, version, r.crd.APIVersion(version), got.GetAPIVersion())
		}
		if want == watch.Deleted {
			continue
		}
		read := r.read(ctx, o, version)
		if read == nil {
			continue
		}
		if lost, _ := r.losses(version, read.Object, got.Object); len(lost) > 0 {
			r.failLosing(ctx, o, version, lost, "%s, the event %s watched at %s, compared with a read there", done, want, version)
		}
	}
}

// next returns the object of the next event, or what came in its place.
func next(ctx context.Context, w watch.Interface, want watch.EventType) (*unstructured.Unstructured, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case event, open := <-w.ResultChan():
		if !open {
			return nil, errors.New("the end of the watch")
		}
		if event.Type == watch.Error {
			return nil, fmt.Errorf("an error: %w", apierrors.FromObject(event.Object))
		}
		object, ok := event.Object.(*unstructured.Unstructured)
		if event.Type != want || !ok {
			return nil, fmt.Errorf("the event %s", event.Type)
		}
		return object, nil
	case <-timer.C:
		return nil, fmt.Errorf("nothing in %s", patience)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
