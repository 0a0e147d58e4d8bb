package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/doctor"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// doctoring is the command doctor.
type doctoring struct {
	streams
	storageTarget
	reporting
	namespace, output string
	contexts          []string
	strict, forward   bool
	all               bool
}

func newDoctor(s streams) *cobra.Command {
	d := &doctoring{streams: s, storageTarget: storageTarget{current: s.plugin}}
	cmd := &cobra.Command{
		Use:   "doctor [CRD...]",
		Short: "Inspect the definitions in a cluster, and their webhooks",
		Long: `doctor inspects all definitions in an existing cluster, or only those that you name, and reports what is wrong or will go
wrong: webhooks whose namespace, service or endpoints are gone, certificates that the caBundle does not verify or that expire,
objects that cannot be read at a version, conversions that lose fields or that nobody needs, stored versions that are no longer
needed, and deprecated versions that are still requested. It also lints each definition. Its checks are the requirements
doctor.*.

It sends only GET requests. For each definition with a webhook, it reads up to ten objects at each version, except at deprecated
versions, where API servers would count it as a client. With --port-forward, it also connects to the webhooks through the API
server, as "kubectl port-forward" does, and inspects their certificates; this requires permission to create pods/portforward.

Exit codes:
  0    no requirement is violated, except for Tolerated violations
  1    a requirement is violated; with --strict, Tolerated violations count too
  2    usage: bad flags, an unknown context, or no such definition
  3    cannot tell: the cluster cannot be reached, or a permission is missing; the rest is shown
  130  interrupted`,
		Example: `  crdconform doctor --context staging
  crdconform doctor crontabs.stable.example.com --context staging --port-forward
  crdconform doctor --contexts staging,production
  crdconform doctor --context staging --namespace capi-system --output json
  crdconform doctor --context staging --output sarif > doctor.sarif`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if err := definitionName(name); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d.command = append([]string{"doctor"}, args...)
			return d.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	d.bind(flags, "doctor")
	flags.StringSliceVar(&d.contexts, "contexts", nil, "contexts of several clusters, which are inspected one after another, with a table at the end")
	flags.StringVarP(&d.namespace, "namespace", "n", "", "inspect only definitions whose webhook is in this namespace")
	flags.BoolVarP(&d.all, "all-namespaces", "A", false, "inspect definitions with webhooks in any namespace, which is the default")
	flags.BoolVar(&d.forward, "port-forward", false, "connect to the webhooks through the API server, to see their certificates")
	flags.BoolVar(&d.strict, "strict", false, "treat Tolerated as Failed")
	flags.StringVarP(&d.output, "output", "o", "text", "format: "+listOf(doctorForms()))
	flags.StringVar(&d.dir, "report-dir", "", "folder to write a report to, as a run does")
	// It fails for flags that do not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(doctorForms(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func doctorForms() []string { return []string{"text", "html", "json", "junit", "markdown", "sarif"} }

func (d *doctoring) run(ctx context.Context, names []string) error {
	if err := knownFormat(d.output, doctorForms()...); err != nil {
		return err
	}
	if _, err := d.configure(); err != nil {
		return err
	}
	switch {
	case d.all && d.namespace != "":
		return errors.New("--namespace and --all-namespaces cannot be combined")
	case len(d.contexts) == 0:
		report, err := d.inspect(ctx, names)
		if report == nil || err != nil {
			return err
		}
		return finish(report)
	case d.context != "":
		return errors.New("--context and --contexts cannot be combined")
	case d.output != "text":
		return fmt.Errorf("--contexts has no --output %s; --report-dir writes a report for each context", d.output)
	}
	return d.several(ctx, names)
}

// several inspects a cluster after another. One that cannot be inspected does not keep the others from it.
func (d *doctoring) several(ctx context.Context, names []string) error {
	t := visible.Table{Head: []string{"CONTEXT", "VERDICT", "FAILED", "TOLERATED", "PASSED"}}
	if err := onlyOnce("--contexts", d.contexts); err != nil {
		return err
	}
	for _, name := range d.contexts { // a name that is wrong is no finding
		target := d.storageTarget
		target.context = name
		_, err := target.reading(ctx)
		if _, is := errors.AsType[*exitError](err); err != nil && !is {
			return err
		}
	}
	code := 0
	for i, name := range d.contexts {
		if i > 0 {
			fmt.Fprintln(d.out)
		}
		one := *d
		one.context, one.contexts = name, nil
		if d.dir != "" {
			one.dir = filepath.Join(d.dir, url.PathEscape(name))
		}
		report, err := one.inspect(ctx, names)
		failed, is := errors.AsType[*exitError](err)
		switch {
		case is && failed.code != exitInterrupted:
			t.Add(name, failed.Error())
			code = cmp.Or(code, exitUnjudged)
		case err != nil:
			return err
		case report == nil:
			t.Add(name, "no definitions")
		default:
			t.Add(name, report.Outcome, report.Counts[requirement.Failed], report.Counts[requirement.Tolerated], report.Counts[requirement.Passed])
			if end, is := errors.AsType[*exitError](finish(report)); is {
				code = min(cmp.Or(code, end.code), end.code) // what is wrong weighs more than what could not be judged
			}
		}
	}
	if err := write(d.out, "\n"+visible.Text(t.Text())); err != nil || code == 0 {
		return err
	}
	return &exitError{code: code}
}

// inspect inspects the cluster of a context, and says what there is to do. Without definitions, there is no report.
func (d *doctoring) inspect(ctx context.Context, names []string) (*reports.Report, error) {
	d.began = time.Now()
	cluster, err := d.reading(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := d.look(ctx, cluster, names)
	if err != nil {
		return nil, err
	}
	report := d.newReport()
	report.Strict, report.Cluster = d.strict, &reports.Cluster{Name: "existing", Version: seen.Version, WatchCache: true}
	report.Results, report.Notes = doctor.Judge(seen, d.began, "--context "+shell.Quote(d.context)), doctor.Notes(seen)
	report.Seconds = time.Since(d.began).Seconds()
	reporter.Conclude(report)
	if len(seen.Definitions) == 0 {
		return nil, write(d.out, visible.Text(fmt.Sprintf("The cluster of the context %s has no definitions.\n", d.context)))
	}
	return report, d.write(seen, report)
}

// look looks at the cluster.
func (d *doctoring) look(ctx context.Context, cluster *existing.Cluster, names []string) (*doctor.Cluster, error) {
	options := doctor.Options{Names: names, Namespace: d.namespace}
	if d.forward {
		// What only reads lets no connection to a pod through.
		reached, err := d.writing(ctx)
		if err != nil {
			return nil, err
		}
		options.Dial = func(ctx context.Context, namespace, name string, port int32) (net.Conn, error) {
			return deployed.Dial(ctx, reached.Config(), deployed.Service{Namespace: namespace, Name: name, Port: port})
		}
	}
	if d.terminal {
		options.Progress = func(what string) { fmt.Fprint(d.err, erase, what, " …") }
		defer fmt.Fprint(d.err, erase)
	}
	seen, err := doctor.Look(ctx, cluster.Config(), options)
	if ctx.Err() != nil {
		return nil, &exitError{exitInterrupted, errors.New("interrupted")}
	}
	if missing, is := errors.AsType[*storage.NoDefinitionError](err); is {
		return nil, missing
	}
	if empty, is := errors.AsType[*doctor.EmptyError](err); is {
		return nil, empty
	}
	if err != nil {
		return nil, unjudged(fmt.Errorf("the cluster of the context %s: %w", d.context, err))
	}
	seen.Context = d.context
	return seen, nil
}

// write writes what was found, and the report folder if there is to be one.
func (d *doctoring) write(seen *doctor.Cluster, report *reports.Report) error {
	if d.dir != "" {
		folder, err := openFolder(d.dir)
		if err != nil {
			return err
		}
		if err := folder.Write(report); err != nil {
			return unjudged(err)
		}
	}
	var b bytes.Buffer
	switch d.output {
	case "text":
		b.WriteString(doctor.Text(seen, report.Results))
		fmt.Fprintf(&b, "%s, in %.1f s\n", visible.Text(reporter.Headline(report)), report.Seconds)
	case "sarif":
		if err := doctor.SARIF(&b, toolVersion(), report.Results); err != nil {
			return unjudged(err)
		}
	default:
		format, _ := reporter.Named(reporter.Formats(nil), d.output)
		if err := format.Write(report, &b); err != nil {
			return unjudged(err)
		}
	}
	return write(d.out, b.String())
}
