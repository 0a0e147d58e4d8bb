// Package doctor looks at all definitions of a cluster and at the webhooks that convert their objects, and judges what it saw by the
// requirements doctor.*. Looking sends nothing but GET requests, and judging is pure.
package doctor

import (
	"crypto/x509"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/storage"
)

// Cluster is what was read from a cluster.
type Cluster struct {
	Context     string
	Version     string // of Kubernetes
	Definitions []*Definition
	Webhooks    []*Webhook // that the definitions have, each once
}

// Definition is what was read about a definition.
type Definition struct {
	*apiextensionsv1.CustomResourceDefinition

	Holders []string // of names that are not accepted: definitions, each with which it has
	Webhook *Webhook // nil if it has none
	Trust   error    // why its authority does not verify what the webhook serves; nil if it does, or if nothing was seen of that

	Conversions   []Conversion // an object, read at each served version, or the list that failed
	Unconverted   string       // why there are none, or not all
	Unconvertible bool         // whether that is since there is nothing to convert

	Foreign   map[string]int // objects among those that were listed whose managed fields name a version that the definition lacks
	Unsampled string         // why none were listed

	Storage  *storage.Definition // nil if its objects were not looked at
	Unstored string              // why, if they should have been
	Lint     []lint.Diagnostic
	Unlinted string // why it could not be linted
}

// Conversion is an object that was read at a version.
type Conversion struct {
	Version, Object string
	Err             error
}

// Webhook is what was read about a webhook that definitions name.
type Webhook struct {
	Name string // the service as namespace/name:port, or the URL

	Service   bool     // whether it is reached through a service of the cluster
	Namespace Thing    // of the service
	Exists    Thing    // the service itself
	Port      Thing    // of the service
	Ready     int      // endpoints that are ready
	Endpoints int      // in all
	Unseen    string   // why endpoints are not known
	Workloads []string // of the pods behind the service, by their names

	Definitions []*Definition

	Chain      []*x509.Certificate // that it serves; nil if there was no connection from here
	ServerName string              // that its certificate must have
	Unreached  string              // why there was no connection from here
	Broken     bool                // whether that is the fault of the webhook
}

// Thing is whether something is in the cluster.
type Thing struct {
	There  bool
	Going  bool   // it is being deleted
	Unseen string // why it is not known
	Wrong  string // what is wrong with it
}
