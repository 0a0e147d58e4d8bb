package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/reporter"
)

// rehearser is the command rehearse.
type rehearser struct {
	checker
	in         io.Reader
	kubeconfig string
}

func newRehearse(s streams, in io.Reader) *cobra.Command {
	r := &rehearser{checker: checker{streams: s, name: "rehearse"}, in: in}
	cmd := &cobra.Command{
		Use:   "rehearse --old CRDS --crd CRDS [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Rehearse an upgrade with your definitions, objects and webhook",
		Long: `rehearse creates a cluster with your objects in it, upgrades it from one release of your software to the next, and inspects
every object after each step:

  ways         the new definitions over the old ones, by kubectl apply, apply --server-side and replace
  objects      the old release, with the objects as they were: versions, managed fields, owner references, finalizers, UIDs
  drop         whether versions that the new definitions lack are still needed
  new webhook  the new webhook under the old definitions, as with Helm, which leaves crds/ alone
  definitions  the new definitions, with status.storedVersions as in your cluster
  old webhook  the old webhook under the new definitions, as in the middle of a rollout
  start        the new program, while nothing else converts
  read         get, list and watch at every version, compared with before
  write        writes that change nothing: to the object, to its status, and by two managers; none is kept
  back         the old release again, before anything was written
  create       new objects at each version
  migrate      all objects to the new storage version, with a proof; then the new program is started again
  use          read, apply, delete
  back again   the old release again, after the objects were written

The new webhook is the PROGRAM or the URL; specify those of the old releases with --old-program. In the arguments of programs,
{port} is replaced by the port to listen on and {certs} by a folder with tls.crt, tls.key and ca.crt. KUBECONFIG names the
cluster of the run, as does {kubeconfig}. If you repeat --old, oldest release first, each upgrade to the next release is
rehearsed, and also the upgrade from the oldest to the newest.

Objects leave the machine only if the URL of the webhook points to another machine. Values at the paths of --redact are masked
when objects are read.

A violation in the upgrade fails the rehearsal. A violation on the way back to the old release is Tolerated, and fails it only
with --strict.

` + exitCodes,
		Example: `  kubectl get widgets -A -o yaml --show-managed-fields > dump.yaml
  crdconform rehearse --old v1.4/crds --crd config/crd/bases --objects dump.yaml \
    --old-program './manager-v1.4 --webhook-port={port} --webhook-cert-path={certs}' \
    -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}

  crdconform rehearse --old git://v1.4.0:config/crd/bases --crd config/crd/bases -- ./bin/manager ...
  crdconform rehearse --old context://staging --from-context staging --crd config/crd/bases -- ./bin/manager ...
  crdconform rehearse --old v1.3/crds --old v1.4/crds --crd v1.5/crds --objects snapshot.db -- ./bin/manager ...`,
		Args: urlOrProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.take(cmd, args)
			return r.run(cmd.Context())
		},
	}
	r.bindOptions(cmd)
	flags := cmd.Flags()
	r.api.kinds = []string{"embedded", "kind", "envtest"}
	r.api.bind(s, flags, "run")
	r.api.complete(cmd)
	r.bindKnownFailing(flags)
	r.bindVerbosity(flags)
	r.complete(cmd)
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "with --from-context and context://NAME: kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	return cmd
}

// describe is what the configuration file and the flags say together.
func (r *rehearser) describe() (engine.Rehearsal, error) {
	if err := r.resolveSteps(); err != nil {
		return engine.Rehearsal{}, err
	}
	d, err := r.check()
	if err != nil {
		return engine.Rehearsal{}, err
	}
	switch {
	case len(d.Old) == 0:
		return engine.Rehearsal{}, errors.New("no definitions of the old release specified; give --old, or old in crdconform.yaml")
	case len(d.CRDs) == 0:
		return engine.Rehearsal{}, errors.New("no definitions of the new release specified; give --crd, or crds in crdconform.yaml")
	}
	if r.kubeconfig != "" && d.Rehearse.FromContext == "" && !slices.ContainsFunc(d.Old, func(name string) bool { return strings.HasPrefix(name, "context://") }) {
		return engine.Rehearsal{}, errors.New("--kubeconfig: only valid with --from-context, or with --old context://NAME")
	}
	d.KnownFailingFile = r.knownFailing
	return engine.Rehearsal{Description: d, Stdin: r.in, Connect: r.connect}, nil
}

// resolveSteps fails for --filter and --skip that match no requirement of upgrades.
func (r *rehearser) resolveSteps() error {
	for _, one := range []struct {
		flag     string
		patterns []string
	}{{"--filter", r.options.given.Filter}, {"--skip", r.options.given.Skip}} {
		if _, err := expand(one.flag, one.patterns, rehearsal.IDs()); err != nil {
			return err
		}
	}
	return nil
}

// connect connects to a cluster to read from.
func (r *rehearser) connect(ctx context.Context, name string) (dynamic.Interface, error) {
	target := storageTarget{kubeconfig: r.kubeconfig, context: name}
	c, err := target.reading(ctx)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(c.Config())
}

func (r *rehearser) run(ctx context.Context) error {
	defer process.LimitMemory(r.set)()
	described, err := r.describe()
	if err != nil {
		return err
	}
	r.act() // temporary files are made from here on
	p := &progress{said: r.said, streams: r.streams, strict: described.Strict, patience: patience}
	p.show("reading the definitions and the objects")
	plan, err := described.Prepare(ctx)
	p.wipe()
	if err != nil && ctx.Err() != nil {
		return r.interrupted(described)
	}
	if err != nil {
		return err
	}
	defer func() { _ = plan.Close() }() // what remains is found by crdconform cleanup --temporary
	r.seed, r.dir, p.seed, p.objects = plan.Seed(), plan.ReportDir(), plan.Seed(), plan.Objects()
	if err = r.begin(); err != nil {
		return err
	}
	log := &lateLog{path: filepath.Join(string(r.folder), reporter.LogFile)}
	report := plan.Run(ctx, p, log)
	return r.beside(r.finish(p, report), errors.Join(log.close(), plan.Close()))
}

// interrupted writes the report of a rehearsal that was interrupted before it began.
func (r *rehearser) interrupted(d engine.Rehearsal) error {
	r.seed, r.dir = d.Generate.Seed, d.Path(d.ReportDir)
	if err := r.begin(); err != nil {
		return err
	}
	report := r.newReport()
	report.Seed, report.Strict, report.Interrupted = r.seed, d.Strict, true
	return r.end(r.streams, report)
}
