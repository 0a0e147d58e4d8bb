package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/suites"
)

// loader is the command load.
type loader struct {
	streams
	reporting
	target
	workload loadgen.Workload
}

func newLoad(s streams) *cobra.Command {
	l := &loader{streams: s}
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Load a conversion webhook and judge every response",
		Long: `load sends conversion requests to a webhook at a constant rate. Every response is judged: one that an API server would
reject counts as failed, whatever its HTTP status. Times are taken from when a request was due as well as from when it was
sent. When the generator itself was too busy to send in time, or ran out of files or ports, the run is void. At most 4096
requests wait at once; the time for which others wait behind them is response time.

` + exitCodes,
		Example: `  crdconform load https://localhost:9443/crdconvert --ca-file ca.crt
  crdconform load https://localhost:9443/convert --ca-file ca.crt --samples widgets.yaml --from v1alpha1 --to v1 --rate 500 --duration 1m --batch 50`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			l.url = args[0]
			l.command = append([]string{"load", crdconform.Quoted(l.url)}, givenFlags(cmd.Flags())...)
			return l.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	l.bind(cmd)
	flags.Float64Var(&l.workload.Rate, "rate", 100, "requests a second")
	flags.DurationVar(&l.workload.Duration, "duration", 10*time.Second, "how long to send")
	flags.IntVar(&l.workload.Batch, "batch", 1, "objects in a request; API servers were seen to send one")
	flags.StringVar(&l.workload.ReviewVersion, "review-version", "v1", "version of ConversionReview: v1 or v1beta1")
	flags.StringVar(&l.workload.Pair.From, "from", "", "version of the objects to send; the first of the samples when missing, other than --to")
	flags.StringVar(&l.workload.Pair.To, "to", "", "version to ask for; the first of the samples when missing, other than --from")
	flags.StringVar(&l.dir, "report-dir", "crdconform-report", "folder to write the reports to")
	return cmd
}

func (l *loader) run(ctx context.Context) error {
	client, objects, err := l.connect() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return err
	}
	defer client.Close()
	w := &l.workload
	w.Pair = completed(w.Pair, objects.Versions)
	if err = w.ValidateFor(objects); err != nil {
		return err
	}
	if err = l.begin(); err != nil {
		return err
	}
	subject := &suites.Subject{Client: client, Corpus: objects}
	report := l.newReport()
	report.Webhook = describe(subject)
	if err = l.judge(ctx, report, subject); err != nil {
		report.Error = err.Error()
	}
	report.Interrupted = ctx.Err() != nil
	return l.end(l.streams, report)
}

func (l *loader) judge(ctx context.Context, report *reports.Report, subject *suites.Subject) error {
	if err := subject.Client.Reach(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	fmt.Fprintf(l.out, "crdconform %s: %s\n", toolVersion(), l.url)
	return loadTest(ctx, l.streams, report, subject, l.workload)
}

// completed puts the first versions that fit in the place of those that are missing.
func completed(pair corpus.Pair, versions []string) corpus.Pair {
	for _, version := range versions {
		switch {
		case pair.From == "" && version != pair.To:
			pair.From = version
		case pair.To == "" && version != pair.From:
			pair.To = version
		}
	}
	return pair
}
