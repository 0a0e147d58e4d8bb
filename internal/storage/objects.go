package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
)

// Objects are the stored objects of a cluster, as a source has them.
type Objects struct{ source Source }

// ObjectsOf returns the stored objects behind a source. It fails if the source is not that of the cluster that has the definition.
func ObjectsOf(ctx context.Context, source Source, crd *apiextensionsv1.CustomResourceDefinition) (*Objects, error) {
	_, err := belongs(ctx, source, &Definition{Name: crd.Name, UID: string(crd.UID), Generation: crd.Generation})
	return &Objects{source}, err
}

// errCompacted is that a list would have to begin again, with objects that were visited already.
var errCompacted = errors.New("etcd was compacted while it was read; try again")

// EachStored calls visit with what is stored for each object of a resource: JSON, also where the API server stores CBOR, or the bytes
// as they are if they are encrypted.
func (o *Objects) EachStored(ctx context.Context, group, resource string, visit func(cluster.Stored)) error {
	return o.source.each(ctx, o.source.key(group, resource)+"/", func(key string, data []byte) error {
		if bytes.HasPrefix(data, cbor) {
			var err error
			if data, err = toJSON(data); err != nil {
				return fmt.Errorf("%s: it is not CBOR: %w", key, err)
			}
		}
		visit(cluster.Stored{Data: data})
		return nil
	}, func() error { return errCompacted })
}

// StoredAll returns what EachStored visits.
func (o *Objects) StoredAll(ctx context.Context, group, resource string) ([]cluster.Stored, error) {
	var all []cluster.Stored
	err := o.EachStored(ctx, group, resource, func(stored cluster.Stored) { all = append(all, stored) })
	return all, err
}
