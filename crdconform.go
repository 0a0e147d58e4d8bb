// Package crdconform judges a conversion webhook: whether it keeps its contract with API servers, and what becomes of objects
// that it converts. It is what the command crdconform check does, for programs and for tests in Go.
//
// A test of a webhook that a test server serves:
//
//	func TestConversion(t *testing.T) {
//		crdconform.Run(t, crdconform.Check{
//			Config:  config.Config{CRDs: []string{"../config/crd/bases"}, Samples: []string{"../config/samples"}},
//			Handler: conversion.NewWebhookHandler(scheme, conversion.NewRegistry()),
//		})
//	}
package crdconform

import (
	"context"
	"io"
	"net/http"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/loadgen/workers"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Check is what to check: what a configuration file says, and what only a program can say.
//
// A Config that config.Read or config.Default returned is taken as it is. In one without an APIVersion, a field that is zero
// stands for its default, and so does Generate.Objects: samples alone are converted when it is 0 in a Config of the former.
type Check struct {
	config.Config

	// CA verifies the webhook at Webhook.URL or of Webhook.FromCRD, as PEM certificates. It takes the place of Webhook.CAFile.
	CA []byte

	// Handler is a webhook to serve over TLS and to judge, in the place of Webhook.
	Handler http.Handler

	// HandlerPath is the path at which Handler is called: /convert if empty.
	HandlerPath string

	// Baseline is an earlier load test to compare with. It may be nil.
	Baseline *Baseline

	// Workers share the load that Load sends, and Fleet is where they run. This process sends it by itself if Fleet is nil.
	Workers int
	Fleet   workers.Fleet

	// Start brings up the API server that the checks need which need one, or connects to it. What it creates there has the ID of
	// the run as its label, and its log goes to the writer. The built-in one is started if it is nil; then Cluster has to be
	// embedded or none.
	Start func(ctx context.Context, run string, log io.Writer) (cluster.Cluster, error)

	// Through brings up the API server that Load measures clients of where load.throughAPIServer asks for that, and its log goes to
	// the writer. The built-in one is started, with a watch cache, if it is nil.
	Through func(ctx context.Context, log io.Writer) (cluster.Cluster, error)

	// Explain is called when something failed on a cluster that can tell more, with the function that writes it to a folder. It
	// may be nil.
	Explain func(report *reports.Report, write func(dir string) error) error

	// Hold is called when all is judged and the webhook still runs, with the whole report. It may be nil.
	Hold func(context.Context, *reports.Report)

	// Again returns a command that checks one requirement again, for reports. A definition is named when there are several. It
	// may be nil.
	Again func(definition string, id requirement.ID) string
}
