// Package storage looks into etcd, where API servers keep their objects.
package storage

import (
	"context"
	"fmt"
	"path"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdconform/crdconform/cluster"
)

// Prefix is where API servers keep everything in etcd, unless its --etcd-prefix says otherwise.
const Prefix = "/registry"

// Etcd is the storage of a cluster whose etcd can be reached.
type Etcd struct {
	client func() (*clientv3.Client, error)
}

var _ cluster.Storage = (*Etcd)(nil)

// New returns the storage behind a client, which is asked for whenever it is needed. The caller closes it.
func New(client func() (*clientv3.Client, error)) *Etcd { return &Etcd{client} }

// keyOf returns where an object is in etcd. API servers keep definitions beside custom resources.
func keyOf(k cluster.Key) string {
	return path.Join(Prefix, k.Group, k.Resource, k.Namespace, k.Name)
}

// Stored returns what etcd has for an object.
func (e *Etcd) Stored(ctx context.Context, key cluster.Key) (cluster.Stored, error) {
	client, err := e.client()
	if err != nil {
		return cluster.Stored{}, err
	}
	response, err := client.Get(ctx, keyOf(key))
	if err != nil {
		return cluster.Stored{}, fmt.Errorf("storage: %w", err)
	}
	if len(response.Kvs) == 0 {
		return cluster.Stored{}, fmt.Errorf("%s: %w", keyOf(key), cluster.ErrNotStored)
	}
	return cluster.Stored{Data: response.Kvs[0].Value, Revision: response.Kvs[0].ModRevision}, nil
}

// StoredAll returns what etcd has for all objects of a resource.
func (e *Etcd) StoredAll(ctx context.Context, group, resource string) ([]cluster.Stored, error) {
	var all []cluster.Stored
	err := e.EachStored(ctx, group, resource, func(stored cluster.Stored) { all = append(all, stored) })
	return all, err
}

// pageSize is how many objects EachStored reads at a time.
const pageSize = 500

// EachStored calls visit with what etcd has for each object of a resource, sorted by namespace and name. It reads some at a time, so
// that it needs no memory for all. What is written meanwhile may be seen or not.
func (e *Etcd) EachStored(ctx context.Context, group, resource string, visit func(cluster.Stored)) error {
	client, err := e.client()
	if err != nil {
		return err
	}
	prefix := keyOf(cluster.Key{Group: group, Resource: resource}) + "/"
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		page, err := client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(pageSize))
		if err != nil {
			return fmt.Errorf("storage: %w", err)
		}
		for _, kv := range page.Kvs {
			visit(cluster.Stored{Data: kv.Value, Revision: kv.ModRevision})
		}
		if !page.More {
			return nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// Overwrite puts something else in etcd for an object that is there.
func (e *Etcd) Overwrite(ctx context.Context, key cluster.Key, data []byte) error {
	if _, err := e.Stored(ctx, key); err != nil {
		return err
	}
	return e.Put(ctx, key, data)
}

// Put stores something under a key, whether or not something is there.
func (e *Etcd) Put(ctx context.Context, key cluster.Key, data []byte) error {
	client, err := e.client()
	if err != nil {
		return err
	}
	if _, err := client.Put(ctx, keyOf(key), string(data)); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// Client returns the client of etcd while it runs. Others close it.
func (e *Etcd) Client() (*clientv3.Client, error) { return e.client() }
