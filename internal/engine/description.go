// Package engine is the one place that starts an API server and the webhook under test, runs the specs on them, sends load,
// collects what explains failures, and stops everything. The commands run, check and load, each column of a matrix, and Run
// and Judge of package crdconform pass it a description of what to do.
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

	// LoadProfiles are built-in load profiles to send one after another, in the place of the one in Config. If it is empty, that is
	// sent.
	LoadProfiles []string

	// Workers share the load that Load sends, and Launcher starts them. If it is nil, this process sends everything.
	Workers  int
	Launcher workers.Launcher

	// Source provides the API server for specs and programs that need one. It may be nil if Cluster is none, or embedded for the
	// built-in one.
	Source *source.Source

	// LoadSource provides the API server whose clients Load measures, for load.throughAPIServer. If it is nil, that is the built-in
	// one with a watch cache.
	LoadSource *source.Source

	// JudgesServer judges the API server, by Chapters, instead of the webhook. The webhook is then the reference webhook, or one that
	// does the same.
	JudgesServer bool

	// Chapters returns the chapters to check, once it is known what runs as pods. If it is nil, they are those about webhooks.
	Chapters func(Pods) []suites.Area

	// Readings are checks that write nothing to the cluster: see suites.Options. It may be nil.
	Readings map[requirement.ID]suites.Reading

	// ServeReference returns the command that serves the reference webhook in an image: a static program and its arguments. It is
	// deployed if specs need Pods and no webhook of the user runs as pods. It may be nil.
	ServeReference func(address, certs string, drain time.Duration) ([]string, error)

	// KnownFailingFile names the source of KnownFailing in messages. If it is empty, they name the origin in Config.
	KnownFailingFile string

	// Lenient allows requirements that are known to fail to pass.
	Lenient bool

	// CollectArtifacts is called if something failed on a cluster that has artifacts, with a function that writes them to a folder.
	// It may be nil.
	CollectArtifacts func(report *reports.Report, write func(dir string) error) error

	// HoldAdvice is added to the note that the program under test was stopped, such as "; use --hold to keep it running".
	HoldAdvice string

	// ObjectsAdvice is added to the note that the objects are those of the documents, such as "; give your own with --samples".
	ObjectsAdvice string

	// AfterJudged is called with the whole report when everything is judged and the webhook still runs. It may be nil.
	AfterJudged func(context.Context, *reports.Report)

	// First reports whether a requirement failed when a definition was checked the last time, so that it is judged before all others. It
	// may be nil.
	First func(definition string, id requirement.ID) bool

	// FailFast judges nothing more once a requirement has failed.
	FailFast bool

	// RerunCommand returns a command that checks one requirement again, for reports. A definition is named when there are
	// several. It may be nil.
	RerunCommand func(definition string, id requirement.ID) string
}
