package proof

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// look reads all objects after the migration, at every version that was served before and still is.
func (p *Proof) look(ctx context.Context, e *evidence) error {
	served := servedOf(e.crd)
	first := true
	for v, version := range p.served {
		if !slices.Contains(served, version) {
			e.weaker = append(e.weaker, version+" is no longer served, so nothing was read at it")
			continue
		}
		_, err := p.each(ctx, version, "", func(object *unstructured.Unstructured) error {
			s := p.see(object)
			if e.isOwn(s.key) {
				return nil
			}
			if first {
				e.identity(s)
				e.managed(s.key, authorsOf(object, time.Time{}))
			}
			e.content(v, version, s, authorsOf(object, p.writers.began))
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading the objects at %s after the migration: %w", version, err)
		}
		first = false
	}
	if p.options.Storage == nil {
		return nil
	}
	if err := p.eachStored(ctx, e.stored); err != nil {
		return err
	}
	if !e.legible {
		e.weaker = append(e.weaker, "etcd holds something other than JSON, as when it is encrypted, so it does not show at which versions objects are stored")
	}
	return nil
}

// authorsOf returns who wrote to an object since a point in time, to the second, without the writers of the proof.
func authorsOf(object *unstructured.Unstructured, since time.Time) []author {
	var authors []author
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && !entry.Time.Before(&metav1.Time{Time: since.Truncate(time.Second)}) {
			authors = append(authors, author{entry.Manager, entry.Time.UTC().Format(time.RFC3339), entry.APIVersion})
		}
	}
	return authors
}
