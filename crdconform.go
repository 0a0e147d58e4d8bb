// Package crdconform checks a conversion webhook: whether it keeps its contract with API servers, and whether objects survive its
// conversions. It offers the checks of the command "crdconform check" to Go programs and tests.
//
// A test that checks a webhook, given its http.Handler:
//
//	func TestConversion(t *testing.T) {
//		crdconform.Run(t, crdconform.Check{
//			Config:  config.Config{CRDs: []string{"../config/crd/bases"}, Samples: []string{"../config/samples"}},
//			Handler: conversion.NewWebhookHandler(scheme, conversion.NewRegistry()),
//		})
//	}
//
// Rehearse rehearses an upgrade, like the command "crdconform rehearse".
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

// Check describes a check: the settings of a configuration file, and those that only a program can give.
//
// A Config returned by config.Read or config.Default is used as it is. In a Config without an APIVersion, zero fields stand for their
// defaults. That includes Generate.Objects: to convert only samples, set it to 0 in a Config returned by config.Read or
// config.Default.
type Check struct {
	config.Config

	// CA holds the PEM certificates that verify the webhook of Webhook.URL or Webhook.FromCRD. It replaces Webhook.CAFile.
	CA []byte

	// Handler is a webhook to serve over TLS and check instead of Webhook.
	Handler http.Handler

	// HandlerPath is the URL path at which Handler is called; /convert if empty.
	HandlerPath string

	// Start starts the API server for the checks that need one, or connects to one. Everything created there is labeled with run, the
	// ID of the run. Start writes the log of the API server to log. If Start is nil, the built-in API server is started, and Cluster
	// must be embedded or none.
	Start func(ctx context.Context, run string, log io.Writer) (cluster.Cluster, error)

	// RerunCommand returns a command that checks one requirement again, for reports. The definition is empty unless there are several.
	// RerunCommand may be nil.
	RerunCommand func(definition string, id requirement.ID) string
}

// Judge starts the webhook, checks it, and stops everything that it started. It returns an error if the Check, or a file that it
// names, is invalid. The report lists what could not be judged, with the reasons. If ctx is done early, the report is partial. Judge
// writes nothing to disk.
func (c Check) Judge(ctx context.Context) (*reports.Report, error) {
	plan, err := c.description().Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return nil, err
	}
	report := plan.Run(ctx, nil, nil)
	report.Tool = tool
	return report, nil
}

// tool is the Tool of reports that this package creates.
const tool = "library"

// description returns the description of the check for the engine.
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
