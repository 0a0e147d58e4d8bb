package subject

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestNoCluster has the file that names no cluster lead clients nowhere, as an empty one would not: they look elsewhere then.
func TestNoCluster(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := new(Process)
	file, err := p.noCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	})
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: []string{file}}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err == nil {
		t.Fatalf("it names %s", config.Host)
	}
	if clientcmd.IsEmptyConfig(err) {
		t.Errorf("%v: clients look elsewhere", err)
	}
	if got := p.cause(err.Error()); !strings.HasPrefix(got, "it looks for a cluster, and this run has none: ") {
		t.Errorf("%v: got %q", err, got)
	}
}

func TestCause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		alone        bool
		output, want string // what the sentence begins with
	}{
		"nothing of a cluster": {false, `{"level":"error","msg":"problem running manager","error":"open tls.crt: no such file or directory"}`, ""},
		"a log of a leader":    {false, "leader election: became leader", ""},
		"client-go, in a pod": {
			false, `{"error":"unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"}`,
			"it looks for the cluster of its pod and does not read $KUBECONFIG",
		},
		"python, in a pod":            {false, "kubernetes.config.config_exception.ConfigException: Service host/port is not set.", "it looks for the cluster of its pod"},
		"python, no cluster":          {true, "ConfigException: Invalid kube-config file. No configuration found.", "it looks for a cluster, and this run has none"},
		"the same with a cluster":     {false, `error: context "crdconform-without-cluster" does not exist`, "it looks for the cluster of its pod"},
		"outside a pod":               {false, `"error":"unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"`, "it wants to elect a leader"},
		"no Leases":                   {false, "error retrieving resource lock default/x: the server could not find the requested resource (get leases.coordination.k8s.io x)", "it wants to elect a leader"},
		"a kind, in JSON":             {false, `{"error":"no matches for kind \"Deployment\" in version \"apps/v1\""}`, "it asks for Deployment of apps/v1, which the API server of this run does not serve"},
		"a kind":                      {false, `no matches for kind "Secret" in version "v1"`, "it asks for Secret of v1, "},
		"a resource":                  {false, "the server could not find the requested resource (post events.events.k8s.io)", "it asks for events.events.k8s.io, "},
		"a resource with its name":    {false, "the server could not find the requested resource (get secrets certs)", "it asks for secrets, "},
		"a custom kind":               {false, `no matches for kind "Ext" in version "es.example.org/v1"`, "it asks for Ext of es.example.org/v1, which no definition that is installed serves: one that does is enough, "},
		"a custom resource":           {false, "the server could not find the requested resource (get exts.es.example.org)", "it asks for exts.es.example.org, which no definition that is installed serves: "},
		"a custom kind of Kubernetes": {false, `no matches for kind "Gateway" in version "gateway.networking.k8s.io/v1"`, "it asks for Gateway of gateway.networking.k8s.io/v1, which no definition "},
		"a kind of Kubernetes":        {false, `no matches for kind "Lease" in version "storage.k8s.io/v1"`, "it asks for Lease of storage.k8s.io/v1, which the API server of this run does not serve: check on a whole control plane"},
		"the aggregator":              {false, `no matches for kind "APIService" in version "apiregistration.k8s.io/v1"`, "it asks for APIService of apiregistration.k8s.io/v1, which the API server of this run does not serve: "},
		"a group":                     {false, "unable to retrieve the complete list of server APIs: apps/v1: the server could not find the requested resource", "it asks for apps/v1, "},
	} {
		p := new(Process)
		if test.alone {
			p.alone = "somewhere"
		}
		if got := p.cause(test.output); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
