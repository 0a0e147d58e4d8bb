package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdconform/crdconform/internal/cluster/storage"
)

// Etcd is an etcd as the embedded API server has one, for an API server in another process. It can be stopped once.
type Etcd struct {
	*storage.Etcd

	mu     sync.Mutex
	member *etcd // nil after Stop
}

// StartEtcd runs an etcd that keeps its data and its sockets in a directory, which must be there. Where the path is too long
// for sockets that is an error.
func StartEtcd(ctx context.Context, dir string) (*Etcd, error) {
	dir = filepath.Join(dir, "etcd")
	sockets, err := SocketDir(dir, filepath.Join(dir, "short"))
	if err != nil {
		return nil, err
	}
	e := &Etcd{}
	e.Etcd = storage.New(e.client)
	e.member, err = startEtcd(ctx, dir, sockets)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return e, nil
}

// URL is where an API server reaches it.
func (e *Etcd) URL() string { return e.member.endpoint }

func (e *Etcd) client() (*clientv3.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.member == nil {
		return nil, errors.New("storage: etcd is down")
	}
	return e.member.client, nil
}

// Stop takes it down. Its files stay.
func (e *Etcd) Stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.member == nil {
		return nil
	}
	member := e.member
	e.member = nil
	return member.stop()
}
