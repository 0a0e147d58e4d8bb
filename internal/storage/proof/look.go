package proof

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
)

// look reads all objects after the migration, at every version that was served before and still is.
func (p *Proof) look(ctx context.Context, e *evidence) error {
	served := kube.ReadableVersions(e.crd)
	first := true
	for v, version := range p.served {
		if !slices.Contains(served, version) {
			e.weaker = append(e.weaker, version+" is no longer served, so nothing was read at it")
			continue
		}
		_, err := p.each(ctx, version, "", func(object *unstructured.Unstructured) error {
			if e.isOwn(kube.Key(object.GetNamespace(), object.GetName())) {
				return nil
			}
			s := p.glance(version, object)
			if first {
				s.owns(object)
				e.identity(s)
				e.managed(s)
				e.ownership(s)
				if p.options.Foreign {
					e.follows(s)
				}
			}
			if e.differs(v, s) {
				s.owns(object)
				e.content(v, version, s)
			}
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
