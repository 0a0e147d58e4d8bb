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
//
// Rehearse rehearses an upgrade, as the command crdconform rehearse does.
package crdconform

import (
	"context"
	"io"
	"net/http"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/engine"
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

	// Start brings up the API server that the checks need which need one, or connects to it. What it creates there has the ID of
	// the run as its label, and its log goes to the writer. The built-in one is started if it is nil; then Cluster has to be
	// embedded or none.
	Start func(ctx context.Context, run string, log io.Writer) (cluster.Cluster, error)

	// RerunCommand returns a command that checks one requirement again, for reports. A definition is named when there are
	// several. It may be nil.
	RerunCommand func(definition string, id requirement.ID) string
}

// Judge brings the webhook up, checks it, and takes everything down that was started. The error is about what the Check says, or
// the files that it names. What could not be judged, and why, is in the report. When the context ends the report is partial.
// Nothing is written to disk.
func (c Check) Judge(ctx context.Context) (*reports.Report, error) {
	plan, err := c.description().Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return nil, err
	}
	report := plan.Run(ctx, nil, nil)
	report.Tool = tool
	return report, nil
}

// tool is what reports say that they were made by.
const tool = "library"

// description is what the engine is to do.
func (c Check) description() engine.Description {
	d := engine.Description{Config: c.Config, CA: c.CA, Handler: c.Handler, HandlerPath: c.HandlerPath, RerunCommand: c.RerunCommand}
	if c.Start != nil {
		d.Source = &source.Source{What: "an API server", Labels: true, Pods: true, Images: true}
		d.Source.Start = func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
			return c.Start(ctx, run.ID, run.Log)
		}
	}
	return d
}
