package config

// The sections of settings that few need, which have no flags. The table of options says what each key means.

// cluster says how the API server to check is made or reached, beyond its kind.
type cluster struct {
	WatchCache  bool   `json:"watchCache,omitempty"`
	Keep        bool   `json:"keep,omitempty"`
	KindImage   string `json:"kindImage,omitempty"`
	KindConfig  string `json:"kindConfig,omitempty"`
	Assets      string `json:"assets,omitempty"`
	WebhookHost string `json:"webhookHost,omitempty"`
	Listen      string `json:"listen,omitempty"`
}

// connection says how the commands for existing clusters connect, beyond a kubeconfig and a context.
type connection struct {
	Cluster        string   `json:"cluster,omitempty"`
	User           string   `json:"user,omitempty"`
	Server         string   `json:"server,omitempty"`
	As             string   `json:"as,omitempty"`
	AsGroup        []string `json:"asGroup,omitempty"`
	AsUID          string   `json:"asUID,omitempty"`
	RequestTimeout Duration `json:"requestTimeout,omitzero"`
}

// storage says how stored objects are read and migrated.
type storage struct {
	Etcd           etcd      `json:"etcd,omitzero" jsonschema:"description=Where the stored bytes of the cluster can be read."`
	PageSize       int64     `json:"pageSize,omitempty"`
	Concurrency    int       `json:"concurrency,omitempty"`
	QPS            float64   `json:"qps,omitempty"`
	MaxLatency     Duration  `json:"maxLatency,omitzero"`
	MaxObjectSize  int       `json:"maxObjectSize,omitempty"`
	Settle         *Duration `json:"settle,omitempty"`
	LeaseNamespace string    `json:"leaseNamespace,omitempty"`
	State          string    `json:"state,omitempty"`
	SkipResources  []string  `json:"skipResources,omitempty"`
}

// etcd says where the stored bytes of a cluster can be read.
type etcd struct {
	Endpoints []string `json:"endpoints,omitempty"`
	CAFile    string   `json:"caFile,omitempty"`
	CertFile  string   `json:"certFile,omitempty"`
	KeyFile   string   `json:"keyFile,omitempty"`
	Prefix    string   `json:"prefix,omitempty"`
}

// record limits a recording, and says which certificate its proxy serves with.
type record struct {
	TLSCert      string `json:"tlsCert,omitempty"`
	TLSKey       string `json:"tlsKey,omitempty"`
	MaxSize      string `json:"maxSize,omitempty"`
	MaxExchanges int    `json:"maxExchanges,omitempty"`
}

// diff says how to verify the one and the other webhook of a comparison.
type diff struct {
	CAFileA     string `json:"caFileA,omitempty"`
	CAFileB     string `json:"caFileB,omitempty"`
	ServerNameA string `json:"serverNameA,omitempty"`
	ServerNameB string `json:"serverNameB,omitempty"`
}

// settings checks these sections, beyond the bounds of their numbers.
func (k *checker) settings() {
	e := k.config.Storage.Etcd
	k.unless(len(e.Endpoints) > 0 || e.CAFile+e.CertFile+e.KeyFile == "", "storage.etcd", "caFile, certFile and keyFile need endpoints")
	k.unless(len(e.Endpoints) == 0 || (e.CertFile == "") == (e.KeyFile == ""), "storage.etcd", "certFile and keyFile must be given together")
	r := k.config.Record
	k.unless((r.TLSCert == "") == (r.TLSKey == ""), "record", "tlsCert and tlsKey must be given together")
}
