package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/webhook"
)

// checker is the command check.
type checker struct {
	streams
	reporting
	selection
	target
	strict  bool
	seed    int64
	selects func(requirement.ID) bool
	known   map[requirement.ID]string
}

func newCheck(s streams) *cobra.Command {
	c := &checker{streams: s}
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Check a conversion webhook, without a cluster",
		Long: `check sends conversion requests to a webhook as API servers do and judges the responses, one spec for each requirement. It
needs no cluster.

Without --samples the objects are the documents' CronTabs, which have hostPort at v1beta1 and host and port at v1. A webhook
for any other kind needs samples: a file with objects of that kind at two versions or more.

A violation that API servers reject fails the check. One that they put up with is Tolerated, and fails it under --strict.

` + exitCodes,
		Example: `  crdconform serve --ca-out ca.crt &
  crdconform check https://localhost:9443/crdconvert --ca-file ca.crt

  kubectl port-forward -n NAMESPACE service/SERVICE 9443:443 &
  crdconform check https://localhost:9443/convert --ca-file ca.crt --server-name SERVICE.NAMESPACE.svc --samples widgets.yaml`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.url = args[0]
			c.command = append([]string{"check", quoted(c.url)}, givenFlags(cmd)...)
			return c.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	c.target.bind(cmd)
	c.selection.bind(flags)
	c.bindKnownFailing(flags)
	c.complete(cmd)
	flags.BoolVar(&c.strict, "strict", false, "count what API servers tolerate as failed")
	flags.Int64Var(&c.seed, "seed", 0, "seed of all random choices, to repeat a run; a new one when 0")
	flags.StringVar(&c.dir, "report-dir", "crdconform-report", "folder to write the reports to")
	return cmd
}

// oneURL wants exactly one argument and says which.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s wants the URL of a webhook, such as https://localhost:9443/convert, and got %d arguments", cmd.Name(), len(args))
	}
	return nil
}

func (c *checker) run(ctx context.Context) error {
	var err error
	if c.selects, err = c.resolve([]suites.Area{webhook.Area}); err != nil {
		return err
	}
	if c.known, err = c.readKnownFailing(); err != nil {
		return err
	}
	client, objects, err := c.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	if c.seed == 0 {
		c.seed = rand.Int64N(1<<31-1) + 1
	}
	if err := c.begin(); err != nil {
		return err
	}
	subject := &suites.Subject{Client: client, Corpus: objects}
	report := c.newReport()
	report.Seed, report.Strict, report.Webhook = c.seed, c.strict, describe(subject)
	if err := c.judge(ctx, report, subject); err != nil {
		report.Error = err.Error()
	}
	report.Interrupted = report.Interrupted || ctx.Err() != nil
	return c.end(c.streams, report)
}

func (c *checker) judge(ctx context.Context, report *reports.Report, subject *suites.Subject) error {
	if err := subject.Client.Reach(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	env, err := suites.NewEnv(ctx, suites.Options{Subject: subject, Seed: c.seed, Select: c.selects})
	if err != nil {
		return err
	}
	revise := func(r *suites.Result) { applyKnownFailing(r, c.known, c.knownFailing) }
	p := &progress{streams: c.streams, strict: c.strict, rerun: c.rerun, revise: revise}
	p.say("crdconform %s: %s, seed %d", toolVersion(), c.url, c.seed)
	outcome, err := suites.Run(ctx, env, []suites.Area{webhook.Area}, p)
	p.wipe()
	report.Results = resultsOf(outcome.Results, revise, c.rerun, func(dir string) string { return curl(subject.Client, dir) })
	report.Interrupted = outcome.Interrupted
	return err
}

// rerun is the command that runs one spec again in the same way.
func (c *checker) rerun(id requirement.ID) string {
	return fmt.Sprintf("crdconform check %s%s --filter %s --seed %d%s", quoted(c.url), c.target.again(), id, c.seed, c.selection.again(c.strict))
}
