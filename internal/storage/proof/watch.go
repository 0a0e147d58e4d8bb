package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
)

// watchInterval is how often the definition is read.
const watchInterval = 200 * time.Millisecond

// change is a state of the definition during the migration.
type change struct {
	revision   string
	generation int64
	storage    string   // storage version
	stored     []string // status.storedVersions
	trimmed    []string // what they had before and no more
	elder      sample   // objects that were stored at another version when a version was taken off
	unknown    string   // why it is not known which were, if so
}

// watcher records what becomes of the definition.
type watcher struct {
	stop    func()
	changes []change // of the goroutine that reads, until it was stopped
}

// watch reads the definition again and again until it is stopped. To be asked for, a watch would need a right that reading does not.
// What it misses of the definition shows in the generation, and the last change of the status in its resource version.
func (p *Proof) watch(ctx context.Context) *watcher {
	w := &watcher{changes: []change{{revision: p.crd.ResourceVersion, generation: p.crd.Generation, storage: p.storage, stored: p.crd.Status.StoredVersions}}}
	// A look at the objects that has begun is completed, even if the migration is over meanwhile.
	ctx = context.WithoutCancel(ctx)
	var done sync.WaitGroup
	halt := make(chan struct{})
	w.stop = sync.OnceFunc(func() {
		close(halt)
		done.Wait()
	})
	done.Go(func() {
		next := time.NewTicker(watchInterval)
		defer next.Stop()
		for {
			select {
			case <-halt:
				return
			case <-next.C:
			}
			// An API server that is away for a moment is asked again; the last answer is what End reads.
			within, cancel := context.WithTimeout(ctx, requestTimeout)
			crd, err := p.definitions.Client.Get(within, p.crd.Name, metav1.GetOptions{})
			cancel()
			if err == nil {
				p.changed(ctx, w, crd)
			}
		}
	})
	return w
}

// changed notes a state of the definition.
func (p *Proof) changed(ctx context.Context, w *watcher, crd *apiextensionsv1.CustomResourceDefinition) {
	last := w.changes[len(w.changes)-1]
	if last.revision == crd.ResourceVersion {
		return
	}
	c := change{revision: crd.ResourceVersion, generation: crd.Generation, storage: kube.StorageVersion(crd), stored: crd.Status.StoredVersions}
	for _, version := range last.stored {
		if !slices.Contains(c.stored, version) {
			c.trimmed = append(c.trimmed, version)
		}
	}
	if len(c.trimmed) > 0 {
		p.snapshot(ctx, &c)
	}
	w.changes = append(w.changes, c)
}

// snapshot notes which objects had not been written at a revision since the beginning, of those that had to be.
func (p *Proof) snapshot(ctx context.Context, c *change) {
	var unknown sample
	all := kube.Pager[*metav1.PartialObjectMetadataList]{
		List:    p.metadata.Resource(p.resource(p.served[0])).List,
		Options: metav1.ListOptions{Limit: p.options.PageSize, ResourceVersion: c.revision, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		Anew:    func() error { return errors.New("the API server has forgotten them") }, // what is there now says nothing about then
	}
	err := all.Each(ctx, func(page *metav1.PartialObjectMetadataList) error {
		for i := range page.Items {
			object := &page.Items[i]
			key := kube.Key(object.Namespace, object.Name)
			switch n := p.before.find(key); {
			case n < 0 || p.before.wrote[n] != number(object.ResourceVersion):
			case p.before.elder.has(n):
				c.elder.add(key)
			case p.before.unknown.has(n) && p.before.wrote[n] <= number(p.crd.ResourceVersion):
				unknown.add(key)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		c.unknown = fmt.Sprintf("reading the objects as they were then: %v", err)
	case unknown.count > 0:
		c.unknown = fmt.Sprintf("etcd cannot be read, and %d had not been written then, such as %s", unknown.count, &unknown)
	}
}

// names lists the first of some objects.
func names(keys []string, count int) string {
	const shown = 5
	text := strings.Join(keys[:min(shown, len(keys))], ", ")
	if count > shown {
		text += " " + visible.More(count-shown)
	}
	return text
}
