package storage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterstorage "github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/files"
)

// Source is where stored bytes can be read: etcd, or a snapshot of it.
type Source interface {
	// get returns the value of a key, or nil if there is none.
	get(ctx context.Context, key string) ([]byte, error)

	// each calls visit with everything below a prefix. When it has to begin again, it calls again first.
	each(ctx context.Context, prefix string, visit func(key string, value []byte) error, again func() error) error

	// key returns the key of what has these names.
	key(names ...string) string

	// basis is what verdicts rest on: Etcd or Snapshot.
	basis() Basis

	// Close ends the connection or closes the file.
	Close() error
}

// errAnother says that a source is not that of the cluster.
var errAnother = errors.New("another cluster")

// belongs makes sure that a source is of the cluster that has a definition, and reports whether the definition there is the same
// as now.
func belongs(ctx context.Context, s Source, d *Definition) (same bool, err error) {
	key := s.key("apiextensions.k8s.io", "customresourcedefinitions", d.Name)
	data, err := s.get(ctx, key)
	if err != nil {
		return false, err
	}
	if data == nil {
		return false, fmt.Errorf("it has no definition %s at %s; it is of %w, of another time, or its prefix is not %s", d.Name, key, errAnother, s.key())
	}
	v, err := parse(data)
	if err != nil {
		return false, fmt.Errorf("the definition %s: %w", d.Name, err)
	}
	if string(v.Metadata.UID) != d.UID {
		return false, fmt.Errorf("its definition %s has the UID %s, that of the cluster %s: it is of %w", d.Name, v.Metadata.UID, d.UID, errAnother)
	}
	return v.Metadata.Generation == d.Generation, nil
}

// EtcdOptions say how to reach etcd.
type EtcdOptions struct {
	Endpoints []string // URLs
	CAFile    string   // of the certificate authority of the servers; those of the system if empty
	CertFile  string   // of the client certificate; none if empty
	KeyFile   string   // of its key
	Prefix    string   // of the keys of the API server; /registry if empty
}

// Check returns an error if an endpoint is no URL of etcd: https, http or unix.
func (o EtcdOptions) Check() error {
	for _, endpoint := range o.Endpoints {
		scheme, rest, _ := strings.Cut(endpoint, "://")
		_, err := url.Parse(endpoint)
		if err != nil || rest == "" || !slices.Contains([]string{"https", "http", "unix"}, scheme) {
			return fmt.Errorf("the etcd endpoint %q is not a URL such as https://127.0.0.1:2379", endpoint)
		}
	}
	return nil
}

// etcdTimeout is how long etcd has for an answer.
const etcdTimeout = 15 * time.Second

// OpenEtcd connects to etcd, and makes sure that it answers.
func OpenEtcd(ctx context.Context, options EtcdOptions) (Source, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	config := clientv3.Config{Endpoints: options.Endpoints, DialTimeout: etcdTimeout, Logger: zap.NewNop()}
	if slices.ContainsFunc(options.Endpoints, func(endpoint string) bool { return strings.HasPrefix(endpoint, "https:") }) {
		var err error
		if config.TLS, err = options.tls(); err != nil {
			return nil, err
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &etcd{client, options.Prefix}
	if _, err := e.get(ctx, e.key()); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd at %s cannot be read: %w; are the endpoint, the certificate authority and the client certificate right?", strings.Join(options.Endpoints, ", "), err), client.Close())
	}
	return e, nil
}

func (o EtcdOptions) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := files.Read(o.CAFile, files.Certificates)
		if err != nil {
			return nil, fmt.Errorf("the certificate authority of etcd: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the certificate authority of etcd %s: there is no certificate in it", o.CAFile)
		}
	}
	if o.CertFile != "" || o.KeyFile != "" {
		pair, err := files.KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the client certificate for etcd: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// etcd is a running etcd.
type etcd struct {
	client *clientv3.Client
	prefix string
}

func (e *etcd) basis() Basis               { return Etcd }
func (e *etcd) Close() error               { return e.client.Close() }
func (e *etcd) key(names ...string) string { return keyBelow(e.prefix, names) }

// keyBelow is a key below a prefix, or below the usual one.
func keyBelow(prefix string, names []string) string {
	if prefix == "" {
		prefix = clusterstorage.Prefix
	}
	return path.Join(append([]string{"/", prefix}, names...)...)
}

func (e *etcd) get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	response, err := e.client.Get(ctx, key)
	if err != nil || len(response.Kvs) == 0 {
		return nil, err
	}
	return response.Kvs[0].Value, nil
}

const (
	// pageBytes is about how much of etcd is in memory at a time, in bytes.
	pageBytes = 8 << 20

	// firstKeys and mostKeys are how many keys are read at first and at most at a time.
	firstKeys, mostKeys = 50, 1000

	// attempts is how often a list begins at most.
	attempts = 4
)

func (e *etcd) each(ctx context.Context, prefix string, visit func(string, []byte) error, again func() error) error {
	for attempt := 1; ; attempt++ {
		err := e.pages(ctx, prefix, visit)
		if !errors.Is(err, rpctypes.ErrCompacted) || attempt == attempts {
			return err
		}
		if err := again(); err != nil {
			return err
		}
	}
}

// pages reads everything below a prefix as it was at one revision.
func (e *etcd) pages(ctx context.Context, prefix string, visit func(string, []byte) error) error {
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	revision, limit := int64(0), int64(firstKeys)
	for {
		within, cancel := context.WithTimeout(ctx, etcdTimeout)
		page, err := e.client.Get(within, from, clientv3.WithRange(end), clientv3.WithLimit(limit), clientv3.WithRev(revision))
		cancel()
		if err != nil {
			return err
		}
		size := 0
		for _, kv := range page.Kvs {
			size += len(kv.Value)
			if err := visit(string(kv.Key), kv.Value); err != nil {
				return err
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return nil
		}
		revision = page.Header.Revision
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		limit = min(mostKeys, max(1, int64(pageBytes*len(page.Kvs)/max(1, size))))
	}
}

// stored is an object that etcd or an API server has.
type stored struct {
	metav1.ObjectMeta
	version string // that it is stored at; empty if that is not known
}

// SourceOf returns the etcd behind a client, which others close.
func SourceOf(client *clientv3.Client) Source { return lent{&etcd{client: client}} }

// lent is a source whose connection belongs to somebody else.
type lent struct{ *etcd }

// Close leaves the connection open.
func (lent) Close() error { return nil }
