package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// disrupter is the command disrupt.
type disrupter struct {
	checker
	judge string // a history, or a folder of some
	pods  bool   // whether pods of an existing cluster may be disrupted
}

func newDisrupt(s streams) *cobra.Command {
	d := &disrupter{checker: checker{streams: s, name: "disrupt"}}
	cmd := &cobra.Command{
		Use:   "disrupt [--crd FILE...] [--scenario ID...] [--webhook-image IMAGE | -- PROGRAM ARGUMENT...]",
		Short: "Restart, pause and cut off a webhook while clients use it",
		Long: `disrupt starts a program that serves a conversion webhook. Clients of the built-in API server read, patch, apply, update,
list and watch objects at every version. Meanwhile, disrupt causes faults that every webhook meets sooner or later:

  restart      SIGTERM and SIGKILL, after which the program is started again
  pause        no processor time for 1, 5 and 35 s
  replicas     replicas behind a service: a rollout of two and of one, from the old build with --old-program; one of two
               killed, hanging, or old
  network      between API server and webhook: latency below and above the timeout, black hole, reset, slow close,
               bandwidth, half-open
  certificate  the leaf and the authority replaced on disk, with the definition changed before, after and late; expiry
  definition   the storage version and the schema changed under writes
  server       etcd compacted during paged lists; the API server restarted with a cold cache

Each fault is a scenario, and a requirement with a verdict: "crdconform list --filter disruption" lists them. If clients do not
keep up a paced rate before the fault, the scenario is void (Errored). Each fault is undone, also on Ctrl-C. All scenarios
together take about four minutes.

Without any --objective, these fail a scenario: acknowledged writes that are lost, conversions that differ from those before
the fault, no recovery within disrupt.recoveryLimit, watches that do not come back, failures at the storage version (which
needs no conversion), accepted requests that are dropped after SIGTERM, certificates that are never picked up, and any failure
in a scenario that should not affect anybody. Other failures while the webhook is away are only reported, as figures.
Objectives limit these figures: SCENARIO.FIGURE=LIMIT, FIGURE=LIMIT for all scenarios, rolling for no error in a rollout, and
single for 10 s to recover from a restart.

In the arguments of programs, {port} is replaced by the port to listen on and {certs} by a folder with tls.crt, tls.key and
ca.crt. KUBECONFIG names the API server of the run, as does {kubeconfig}. The files in {certs} are replaced the way a kubelet
does it. Without a program, the reference webhook is disrupted.

With --api-server kind, the webhook runs as pods, from --webhook-image or --webhook-manifests: restart.graceful and restart.killed
delete a pod, replicas.rollout and replicas.single-rollout restart the Deployment or, with disrupt.oldImage, update it from
that image to --webhook-image, replicas.one-killed deletes one of two pods, certificate.leaf replaces the certificate in the
Secret, and definition.storage and definition.changed do the same as without pods. The other scenarios are NotApplicable. With
--api-server existing, --disrupt-pods is required, and nothing is touched that the run did not create.

The history of each scenario is in histories/ in the report folder; --judge FILE judges it again.

` + exitCodes,
		Example: `  crdconform disrupt --crd config/crd/bases -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}
  crdconform disrupt --crd config/crd/bases --scenario certificate --objective failed=0 -- ./bin/manager ...
  crdconform disrupt --crd config/crd/bases --scenario replicas.rollout --objective rolling \
    --old-program './manager-v1.4 --webhook-port={port} --webhook-cert-path={certs}' \
    -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}
  crdconform disrupt --crd config/crd/bases --api-server kind --webhook-image widgets:dev \
    --set disrupt.oldImage=widgets:v1.4 --rate 100 --objective rolling
  crdconform disrupt --judge crdconform-report/histories --objective restart.recovery=2s`,
		Args: programOnly,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.take(cmd, args)
			return d.run(cmd.Context())
		},
	}
	d.bindOptions(cmd)
	flags := cmd.Flags()
	d.api.kinds, d.api.without = []string{"embedded", "kind", "existing"}, []string{"kubernetes"}
	d.api.bind(s, flags, "disruption")
	d.api.complete(cmd)
	_ = cmd.RegisterFlagCompletionFunc("scenario", completeScenario)
	d.bindKnownFailing(flags)
	d.bindVerbosity(flags)
	flags.BoolVar(&d.pods, "disrupt-pods", false, "existing: restart, kill and replace the pods of the webhook that the run deploys there; no other pods are touched")
	flags.StringVar(&d.judge, "judge", "", "disrupt nothing; judge a history of an earlier run again, or all histories in a folder")
	return cmd
}

// programOnly wants nothing but a program after --.
func programOnly(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0 && len(args) > 0, dash > 0:
		return fmt.Errorf("unexpected argument %q: a webhook that is already running can't be disrupted; give the program that serves it after --", args[0])
	case dash == len(args) && dash == 0:
		return errors.New("no program after --")
	}
	return nil
}

// describe is what the configuration file and the flags say together.
func (d *disrupter) describe() (engine.Disruption, error) {
	d.api.options.WatchCache = true // as clusters have
	described, err := d.check()
	if err != nil {
		return engine.Disruption{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return engine.Disruption{}, err
	}
	if d.pods && d.api.sort != "existing" {
		return engine.Disruption{}, errors.New("--disrupt-pods: only valid with --api-server existing")
	}
	described.ServeReference, described.RerunCommand, described.ObjectsAdvice = serveReference, d.againScenario, ""
	return engine.Disruption{
		Description: described, Pods: d.pods, PodsAdvice: " (--disrupt-pods)",
		Reference: []string{self, "serve", "--listen=127.0.0.1:{port}", "--cert-dir={certs}", "--drain=500ms"},
	}, nil
}

// againScenario is the command that runs one scenario again in the same way.
func (d *disrupter) againScenario(_ string, id requirement.ID) string {
	return d.rerun("--scenario=" + strings.TrimPrefix(string(id), id.Area()+"."))
}

func (d *disrupter) run(ctx context.Context) error {
	defer process.LimitMemory(d.set)()
	if d.judge != "" {
		return d.rejudge()
	}
	described, err := d.describe()
	if err != nil {
		return err
	}
	plan, err := described.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return err
	}
	d.act()
	d.seed, d.dir = plan.Seed(), plan.ReportDir()
	if err = d.begin(); err != nil {
		return err
	}
	plan.Keep(d.folder.History)
	p := &progress{said: d.said, streams: d.streams, strict: described.Strict, patience: patience, seed: plan.Seed()}
	p.info("crdconform %s: %s, seed %d", toolVersion(), visible.Count(plan.Scenarios(), "scenario", ""), plan.Seed())
	log := &lateLog{path: filepath.Join(string(d.folder), reporter.LogFile)}
	report := plan.Run(ctx, p, log)
	return d.beside(d.finish(p, report), log.close())
}

func verdictColor(v requirement.Verdict) string {
	return map[requirement.Verdict]string{requirement.Failed: reporter.Red, requirement.Errored: reporter.Red, requirement.Tolerated: reporter.Yellow, requirement.NotApplicable: reporter.Yellow}[v]
}

// rejudge judges histories again.
func (d *disrupter) rejudge() error {
	described, err := d.describe()
	if err != nil {
		return err
	}
	if len(d.program) > 0 || d.flags.Changed("scenario") || d.flags.Changed("report-dir") {
		return errors.New("--judge: nothing is run and no report written, so give neither a program nor --scenario or --report-dir")
	}
	judged, err := described.Rejudge(d.judge)
	if err != nil {
		return err
	}
	failed, errored := 0, 0
	for _, one := range judged {
		d.screen().Line(verdictColor(one.Result.Verdict), fmt.Sprintf("%-13s", one.Result.Verdict), " "+engine.DisruptionSummary(one.Result, one.Figures))
		if one.Result.Reason != "" {
			fmt.Fprintf(d.out, "    %s\n", strings.ReplaceAll(visible.Text(one.Result.Reason), "\n", "\n    "))
		}
		switch one.Result.Verdict {
		case requirement.Failed:
			failed++
		case requirement.Errored:
			errored++
		default:
		}
	}
	switch {
	case failed > 0:
		return &exitError{code: exitViolates}
	case errored > 0:
		return unjudged(fmt.Errorf("%d of %s cannot be judged", errored, visible.Count(len(judged), "scenario", "")))
	}
	return nil
}
