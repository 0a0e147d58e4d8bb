package options

import "time"

// The commands that connect to existing clusters.
const (
	doctor  = "doctor"
	status  = "storage status"
	drop    = "storage safe-to-drop"
	migrate = "storage migrate"
)

// settingOptions are what few need of an API server, of a connection to a cluster, and of what is stored there: keys without flags.
func settingOptions() []Option {
	made, own := []string{check, run, rehearse, column}, []string{check, run, rehearse, disrupt, column}
	return []Option{
		{Key: "cluster.watchCache", Commands: made, Help: "start the API server with a watch cache, as real ones have; requirements that count calls or check failures are then not applicable"},
		{Key: "cluster.keep", Commands: own, Help: "kind: keep the cluster for inspection; \"crdconform cleanup --kind --run ID\" removes it"},
		{Key: "cluster.kindImage", Commands: own, Help: "kind: node image of your own, such as kindest/node:v1.36.3"},
		{Key: "cluster.kindConfig", Commands: append(own, matrix), Files: true, Help: "kind: file with a kind configuration"},
		{Key: "cluster.assets", Commands: made, Files: true, Help: "envtest: folder with kube-apiserver and etcd; default: $KUBEBUILDER_ASSETS"},
		{
			Key: "cluster.webhookHost", Commands: []string{check, run, column},
			Help: "existing: IP address or name by which the API server reaches this machine; without it, requirements that need a webhook are not applicable",
		},
		{Key: "cluster.listen", Commands: []string{check, run, column}, Help: "existing: host and port to listen on for the webhooks of the run, such as 0.0.0.0:9443; default: a free port"},
	}
}

// connectionOptions say how to connect to a cluster.
func connectionOptions() []Option {
	to := []string{doctor, status, drop, migrate}
	return []Option{
		{Key: "connection.cluster", Commands: to, Help: "cluster of the kubeconfig, instead of the context's"},
		{Key: "connection.user", Commands: to, Help: "user of the kubeconfig, instead of the context's"},
		{Key: "connection.server", Commands: to, Help: "URL of the API server, instead of the cluster's"},
		{Key: "connection.as", Commands: to, Help: "user to impersonate"},
		{Key: "connection.asGroup", Commands: to, Help: "groups to impersonate"},
		{Key: "connection.asUID", Commands: to, Help: "UID to impersonate"},
		{Key: "connection.requestTimeout", Commands: to, Help: "time limit for each request; default: no limit"},
	}
}

// storageOptions say how stored objects are read and migrated.
func storageOptions() []Option {
	reads, writes := []string{status, drop, migrate}, []string{migrate}
	return []Option{
		{Key: "storage.etcd.endpoints", Commands: reads, Help: "read the stored versions from etcd at these URLs"},
		{Key: "storage.etcd.caFile", Commands: reads, Files: true, Help: "CA certificates to verify etcd; default: those of the system"},
		{Key: "storage.etcd.certFile", Commands: reads, Files: true, Help: "client certificate for etcd"},
		{Key: "storage.etcd.keyFile", Commands: reads, Files: true, Help: "key of the client certificate for etcd"},
		{Key: "storage.etcd.prefix", Default: "/registry", Implied: true, Commands: reads, Help: "prefix of the keys of the API server in etcd, also in a snapshot"},
		{Key: "storage.skipResources", Commands: []string{status, drop}, Help: "resources to leave out of the search, such as leases.coordination.k8s.io or secrets, where Helm keeps its releases"},
		{Key: "storage.pageSize", Default: 500, Implied: true, Bounds: counted(10_000, "objects at a time", byDefault), Commands: reads, Help: "objects to list at a time"},
		{Key: "storage.concurrency", Default: 10, Implied: true, Bounds: counted(1000, "objects at a time", byDefault), Commands: writes, Help: "objects to write at a time"},
		{Key: "storage.qps", Bounds: &Bounds{Number: "%s requests a second"}, Commands: writes, Help: "maximum requests per second; 0 for no limit"},
		{Key: "storage.maxLatency", Commands: writes, Help: "limit for the 99th percentile of write times, webhooks included; above it, pause and then stop; default: no limit"},
		{
			Key: "storage.maxObjectSize", Default: 3 << 19, Implied: true, Bounds: counted(0, "bytes", byDefault), Commands: writes,
			Help: "maximum size of an object in bytes of JSON: what etcd accepts, by its --max-request-bytes",
		},
		{Key: "storage.settle", Default: 5 * time.Second, Implied: true, Commands: writes, Help: "wait until the last change to the definition is this old, so that all API servers have seen it"},
		{Key: "storage.leaseNamespace", Commands: writes, Help: "namespace of the lease; default: kube-system, or default if there is none"},
		{Key: "storage.state", Commands: writes, Files: true, Help: "file in which to record progress; default: the lease"},
	}
}

// sideOptions say how to verify the one and the other webhook of a comparison.
func sideOptions() []Option {
	to := []string{diff}
	return []Option{
		{Key: "diff.caFileA", Commands: to, Files: true, Help: "certificates to verify the first webhook, in PEM; default: caFile of webhook"},
		{Key: "diff.caFileB", Commands: to, Files: true, Help: "certificates to verify the second webhook, in PEM; default: caFile of webhook"},
		{Key: "diff.serverNameA", Commands: to, Help: "name to verify the certificate of the first webhook against; default: the host of the URL"},
		{Key: "diff.serverNameB", Commands: to, Help: "name to verify the certificate of the second webhook against; default: the host of the URL"},
	}
}

// recordOptions limit a recording, and say which certificate its proxy serves with.
func recordOptions() []Option {
	to := []string{record}
	return []Option{
		{Key: "record.tlsCert", Commands: to, Files: true, Help: "certificate to serve with, in PEM; default: a new one"},
		{Key: "record.tlsKey", Commands: to, Files: true, Help: "private key of tlsCert, in PEM"},
		{Key: "record.maxSize", Default: "256Mi", Implied: true, Commands: to, Help: "maximum size of the file in bytes, such as 64Mi or 1Gi"},
		{Key: "record.maxExchanges", Bounds: &Bounds{Number: "%s exchanges"}, Commands: to, Help: "maximum number of exchanges; default: no limit"},
	}
}

// generatorOptions say who sends a load, and who else watches it.
func generatorOptions() []Option {
	sends := []string{load}
	return []Option{
		{Key: "load.metricsAddress", Commands: sends, Help: "host:port at which to serve /metrics for Prometheus during the load test, without authentication"},
		{Key: "load.vegetaResults", Commands: sends, Files: true, Help: "file to write every request to, in the format of vegeta report, plot and encode"},
		{Key: "load.writeTargets", Commands: sends, Files: true, Help: "file to write the requests to instead of sending them, in the JSON format of vegeta attack; requires the webhook's URL"},
		{
			Key: "load.workers", Bounds: counted(0, "processes", "to use only this process"), Commands: sends,
			Help: "processes that share the load; with workerImage, pods of a Job in a cluster; 0 uses only this process",
		},
		{
			Key: "load.workerImage", Commands: sends,
			Help: "image with crdconform of this release as its entry point, for workers in a cluster; cannot be combined with vegetaResults or webhook.clientCertificate",
		},
		{Key: "load.kubeconfig", Commands: sends, Files: true, Help: "kubeconfig for workerImage; default: $KUBECONFIG or ~/.kube/config"},
		{Key: "load.namespace", Commands: sends, Help: "namespace for workerImage; default: that of the kubeconfig's context"},
		{Key: "load.kubernetes", Commands: sends, Help: "minor version of the API server of throughAPIServer, such as \"1.34\", as listed by \"crdconform matrix minors\"; default: the newest"},
	}
}
