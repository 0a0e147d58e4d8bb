package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// watchedTimeout is how long End waits for the watch to report what it read of the definition.
	watchedTimeout = 30 * time.Second

	watchPause = 100 * time.Millisecond
)

// change is a state of the definition during the migration.
type change struct {
	revision string
	storage  string   // storage version
	stored   []string // status.storedVersions
	trimmed  []string // what they had before and no more
	elder    []string // objects that were stored at another version when a version was taken off; the first ones
	elders   int      // how many
	unknown  string   // why it is not known which were, if so
}

// watcher records what becomes of the definition.
type watcher struct {
	stop func()

	mu      sync.Mutex
	changes []change
	moved   chan struct{} // closed with each change, and replaced
	gap     string        // why some changes were missed, if so
}

// watch records changes of the definition until it is stopped. When a version is taken off the status, it looks at once which objects
// had not been written since the beginning at that revision.
func (p *Proof) watch(ctx context.Context) (*watcher, error) {
	w := &watcher{moved: make(chan struct{})}
	w.note(change{revision: p.crd.ResourceVersion, storage: p.storage, stored: p.crd.Status.StoredVersions})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	events, err := p.follow(ctx, p.crd.ResourceVersion)
	if err != nil {
		cancel()
		return nil, err
	}
	var done sync.WaitGroup
	w.stop = func() { cancel(); done.Wait() }
	done.Go(func() {
		for {
			for event := range events.ResultChan() {
				crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
				if !ok || event.Type == watch.Error {
					break
				}
				p.changed(ctx, w, crd)
			}
			events.Stop()
			if events = p.resume(ctx, w); events == nil {
				return
			}
		}
	})
	return w, nil
}

func (p *Proof) follow(ctx context.Context, revision string) (watch.Interface, error) {
	return p.definitions.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.crd.Name, ResourceVersion: revision})
}

// resume watches on after the watch ended, from what is there now if it is too late for more. It returns nil when it was stopped.
func (p *Proof) resume(ctx context.Context, w *watcher) watch.Interface {
	for {
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
			return nil
		}
		last := w.last()
		events, err := p.follow(ctx, last.revision)
		if err == nil {
			return events
		}
		crd, getErr := p.definitions.Get(ctx, p.crd.Name, metav1.GetOptions{})
		if getErr != nil || crd.ResourceVersion == last.revision {
			continue
		}
		w.mu.Lock()
		w.gap = fmt.Sprintf("the watch of the definition was interrupted: %v", err)
		w.mu.Unlock()
		p.changed(ctx, w, crd)
	}
}

// changed notes a state of the definition.
func (p *Proof) changed(ctx context.Context, w *watcher, crd *apiextensionsv1.CustomResourceDefinition) {
	last := w.last()
	c := change{revision: crd.ResourceVersion, storage: storageOf(crd), stored: crd.Status.StoredVersions}
	for _, version := range last.stored {
		if !slices.Contains(c.stored, version) {
			c.trimmed = append(c.trimmed, version)
		}
	}
	switch {
	case len(c.trimmed) == 0:
	case p.before.elder == nil:
		c.unknown = "etcd cannot be read"
	default:
		p.snapshot(ctx, &c)
	}
	w.note(c)
}

// snapshot notes which objects had not been written at a revision since the beginning, of those that had to be.
func (p *Proof) snapshot(ctx context.Context, c *change) {
	options := metav1.ListOptions{Limit: p.options.PageSize, ResourceVersion: c.revision, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for {
		page, err := p.metadata.Resource(p.resource(p.served[0])).List(ctx, options)
		if err != nil {
			c.unknown = fmt.Sprintf("reading the objects as they were then: %v", err)
			return
		}
		for i := range page.Items {
			object := &page.Items[i]
			key := keyOf(object.Namespace, object.Name)
			n := p.before.find(key)
			if n < 0 || !p.before.isElder(n) || p.before.wrote[n] != number(object.ResourceVersion) {
				continue
			}
			if c.elders++; c.elders <= maxFindings {
				c.elder = append(c.elder, key)
			}
		}
		if page.Continue == "" {
			return
		}
		options = metav1.ListOptions{Limit: p.options.PageSize, Continue: page.Continue}
	}
}

func (w *watcher) note(c change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *watcher) last() change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes[len(w.changes)-1]
}

// until returns all changes up to a revision, and why some were missed, if so. It waits for them.
func (w *watcher) until(ctx context.Context, revision string) ([]change, string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchedTimeout)
	defer cancel()
	for {
		w.mu.Lock()
		last, moved := w.changes[len(w.changes)-1], w.moved
		changes, gap := slices.Clone(w.changes), w.gap
		w.mu.Unlock()
		if last.revision == revision || number(last.revision) > number(revision) {
			return changes, gap, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, "", fmt.Errorf("waiting for the watch of the definition: %w", context.Cause(ctx))
		}
	}
}

// names lists the first of some objects.
func names(keys []string, count int) string {
	const shown = 5
	text := strings.Join(keys[:min(shown, len(keys))], ", ")
	if count > shown {
		text += fmt.Sprintf(" and %d more", count-shown)
	}
	return text
}
