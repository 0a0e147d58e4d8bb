// Package control checks what the rest of a control plane does with custom resources: the namespace controller and the garbage
// collector, kubectl, the aggregator, authorization, the controllers that read /scale, the one that migrates storage, and
// webhooks that run as pods.
//
// What a control plane has is found out by asking it. A spec that needs more is not applicable.
package control

import (
	"cmp"
	"time"

	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on the rest of a control plane, with the kubectl that is on PATH.
var Area = New(Options{})

// Options say what the chapter uses besides the API server, and how long it waits.
type Options struct {
	// Kubectl is the kubectl to use: its path, or a name to look up on PATH. It is kubectl if empty; then there need not be
	// one.
	Kubectl string

	// CatchUp is how long controllers may take to learn of a new definition and to act on it: 50 s if 0. They look at
	// discovery every 30 s, and try again what failed before that at growing intervals.
	CatchUp time.Duration

	// Webhook is a webhook that runs as pods of the cluster and converts the CronTabs of the documents. Where it is nil, what
	// needs one is not applicable.
	Webhook *deployed.Webhook

	// NoWebhook says why there is no such webhook, going on after "and": something general if empty.
	NoWebhook string

	// Undeployed is why it could not be deployed: what needs one is Errored then. It is nil unless that was tried.
	Undeployed error
}

// New returns the chapter with options.
func New(options Options) suites.Area {
	return suites.Area{Name: "control", Register: func(env *suites.Env) {
		c := chapter{env: env, options: options, catchUp: cmp.Or(options.CatchUp, 50*time.Second)}
		c.namespaces()
		c.garbage()
		c.garbageVersions()
		c.client()
		c.definitions()
		c.upgrading()
		c.aggregator()
		c.admission()
		c.access()
		c.scaling()
		c.migration()
		c.meanwhile()
		c.webhook()
	}}
}

// chapter declares the specs.
type chapter struct {
	env     *suites.Env
	options Options
	catchUp time.Duration
}

// The versions of the definitions that have two. Discovery prefers the newer one.
const (
	older = "v1beta1"
	newer = "v1"
)

// poll is how often controllers and documents of the whole API are asked. Nothing of what they do takes less.
const poll = 100 * time.Millisecond
