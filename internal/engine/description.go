// Package engine is the one place that brings an API server and the webhook under test up, runs the specs on them, sends load,
// keeps what explains failures, and takes everything down. The commands run, check and load, each column of a matrix, and Run
// and Judge of package crdconform describe what they want, and hand that over.
package engine

import (
	"context"
	"net/http"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/load/workers"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Description is what to run: what a configuration file says, and what only a program can say.
//
// A Config that config.Read or config.Default returned is taken as it is. In one without an APIVersion, a field that is zero
// stands for its default, and so does Generate.Objects: samples alone are converted when it is 0 in a Config of the former.
type Description struct {
	config.Config

	// CA verifies the webhook at Webhook.URL or of Webhook.FromCRD, as PEM certificates. It takes the place of Webhook.CAFile.
	CA []byte

	// Handler is a webhook to serve over TLS and to judge, in the place of Webhook.
	Handler http.Handler

	// HandlerPath is the path at which Handler is called: /convert if empty.
	HandlerPath string

	// Baseline is an earlier load test to compare with. It may be nil.
	Baseline *Baseline

	// Workers share the load that Load sends, and Launcher is where they run. This process sends it by itself if Launcher is nil.
	Workers  int
	Launcher workers.Launcher

	// Source is where the API server comes from that specs need and programs want to talk to. It may be nil where Cluster is
	// embedded, for the built-in one, or none.
	Source *source.Source

	// LoadSource is where the API server comes from that Load measures clients of where load.throughAPIServer asks for that: the
	// built-in one, with a watch cache, if it is nil.
	LoadSource *source.Source

	// APIServer has the API server judged, by Chapters, rather than the webhook. Then the webhook is the reference webhook, or one
	// that does the same.
	APIServer bool

	// Chapters returns the chapters to check, once it is known what runs as pods: those about webhooks if it is nil.
	Chapters func(Pods) []suites.Area

	// Readings have nothing be written to the cluster: see suites.Options. It may be nil.
	Readings map[requirement.ID]suites.Reading

	// ServeReference is the command that serves the reference webhook, for an image of it: a program that is static, and its
	// arguments. It is deployed where Pods are wanted and no webhook of the user's runs as pods. It may be nil.
	ServeReference func(address, certs string, drain time.Duration) ([]string, error)

	// KnownFailingFile is where KnownFailing comes from, for messages: what Config says of that if empty.
	KnownFailingFile string

	// Lenient lets requirements pass that are known to fail.
	Lenient bool

	// CollectArtifacts is called when something failed on a cluster that can tell more, with the function that writes it to a
	// folder. It may be nil.
	CollectArtifacts func(report *reports.Report, write func(dir string) error) error

	// HoldAdvice is what to add where the program under test was stopped at the end, such as "; use --hold to keep it running".
	HoldAdvice string

	// AfterJudged is called when all is judged and the webhook still runs, with the whole report. It may be nil.
	AfterJudged func(context.Context, *reports.Report)

	// RerunCommand returns a command that checks one requirement again, for reports. A definition is named when there are
	// several. It may be nil.
	RerunCommand func(definition string, id requirement.ID) string
}
