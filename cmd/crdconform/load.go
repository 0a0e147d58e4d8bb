package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/load/workers"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/visible"
)

// loader is the command load.
type loader struct {
	checker
	load loadFlags
}

// loadFlags are what the flags of load say that the configuration file cannot say.
type loadFlags struct {
	baseline   string
	maxRegress []string
}

func newLoad(s streams) *cobra.Command {
	l := &loader{checker: checker{streams: s, name: "load"}}
	cmd := &cobra.Command{
		Use:   "load [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Load a conversion webhook and judge every response",
		Long: `load sends conversion requests to a webhook and judges every response: one that an API server would reject counts as
failed, whatever its HTTP status. Times are measured from when a request was due and from when it was sent. If the load
generator was too busy to send in time, or ran out of files or ports, the run is void.

Specify the webhook and the objects as for "crdconform check". A profile defines what is sent. Flags change it, and several
values of --rate, --batch and --clients result in a stage for each combination:

` + profileList() + `
Custom stages can be defined in crdconform.yaml under load.stages. An objective is a limit on a statistic of each stage, such
as p99=50ms, errors=1% or objects/s=1000, or one of the presets kep and trace. A missed objective fails the run.

` + exitCodes,
		Example: `  crdconform load https://localhost:9443/convert --ca-file ca.crt --crd widgets.yaml

  crdconform load --crd config/crd/bases --profile apiserver --objective kep -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}

  crdconform load https://localhost:9443/convert --ca-file ca.crt --samples widgets.yaml \
    --set 'load.pairs=[{from: v1alpha1, to: v1}]' --profile batch --batch 1,50,500 --rate 10,20 --objective p99=200ms`,
		Args: urlOrProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			l.take(cmd, args)
			return l.run(cmd.Context())
		},
	}
	l.bindOptions(cmd)
	flags, g := cmd.Flags(), &l.load
	l.bindHistory(flags)
	l.bindVerbosity(flags)
	flags.StringVar(&g.baseline, "baseline", "", "report.json of an earlier run to compare with; both runs need --repeat 5 or more")
	bindRegress(cmd, &g.maxRegress)
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profiles.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// profileList describes the built-in profiles.
func profileList() string {
	var t visible.Table
	for _, p := range profiles.All() {
		t.Add("", p.Name, p.About)
	}
	return t.Text()
}

func (l *loader) run(ctx context.Context) error {
	check, err := l.check()
	if err != nil {
		return err
	}
	if err = l.setLoad(&check.Config); err != nil {
		return err
	}
	if err = requireWebhook(check.Webhook); err != nil {
		return err
	}
	if check.Baseline, err = l.baseline(); err != nil {
		return err
	}
	if check.Launcher, err = l.launcher(check.Config); err != nil {
		return err
	}
	check.Workers = check.Load.Workers
	p := &progress{said: l.said, streams: l.streams, patience: patience}
	if check.LoadSource, err = l.through(check.Config); err != nil {
		return err
	}
	if check.Launcher != nil && check.Load.Profile == profiles.Search {
		return errors.New("load.workers: a search runs only in this process; leave workers out")
	}
	plan, err := check.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return err
	}
	l.act()
	if targets := check.Load.WriteTargets; targets != "" {
		if check.Load.VegetaResults != "" {
			return check.At("load.writeTargets", "nothing is sent, so there is nothing to write for %s; leave one of them out", options.Key("load.vegetaResults"))
		}
		return l.writeTargets(plan, check.Path(targets))
	}
	p.seed = plan.Seed()
	stop, forget, err := l.observed(ctx, p, check.Config)
	if err != nil {
		return err
	}
	l.seed, l.dir = plan.Seed(), plan.ReportDir()
	if err = l.begin(); err != nil {
		return errors.Join(err, stop(), forget())
	}
	log := &lateLog{path: filepath.Join(string(l.folder), reporter.LogFile)}
	report := plan.Load(ctx, p, log)
	wrong := errors.Join(stop(), log.close())
	return l.beside(l.finish(p, report), wrong)
}

// writeTargets writes the requests to a file that vegeta attacks with.
func (l *loader) writeTargets(plan *engine.Plan, path string) error {
	targets, err := plan.Targets()
	if err != nil {
		return fmt.Errorf("load.writeTargets: %w", err)
	}
	file, _, err := newFile("load.writeTargets", path)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	encode := vegeta.NewJSONTargetEncoder(buffer)
	for i := range targets {
		err = errors.Join(err, encode(&targets[i]))
	}
	if err = errors.Join(err, buffer.Flush(), file.Close()); err != nil {
		return fmt.Errorf("load.writeTargets: %w", err)
	}
	return write(l.out, fmt.Sprintf("crdconform: wrote %s to %s; none was sent\n", visible.Count(len(targets), "request", ""), path))
}

// through returns where the API server comes from whose clients are measured; nil for the built-in one.
func (l *loader) through(c config.Config) (*source.Source, error) {
	const key = "load.kubernetes"
	o := kinds.Options{Variable: l.variable, Kubernetes: c.Load.Kubernetes, WatchCache: true}
	if o.Kubernetes == "" {
		return nil, nil //nolint:nilnil // that is the built-in one
	}
	minor, older, err := kinds.EmbeddedMinor(o.Kubernetes)
	if wrong, is := errors.AsType[*kinds.OptionError](err); is {
		return nil, c.At(key, "%w", wrong.Err)
	}
	if !c.Load.ThroughAPIServer {
		return nil, c.At(key, "only valid with %s", options.Key("load.throughAPIServer"))
	}
	if older {
		if _, err := kinds.Programs(o).Find(minor); err != nil {
			return nil, c.At(key, "%s: %w", minor, err)
		}
	}
	return kinds.EmbeddedSource(o), nil
}

// lateLog is the log of an API server, which there is when that writes to it.
type lateLog struct {
	path string

	mu     sync.Mutex
	file   *serverLog
	closed bool
}

func (l *lateLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // an API server that was stopped may have something to say still
		return 0, os.ErrClosed
	}
	if l.file == nil {
		file, err := openLog(l.path)
		if err != nil {
			return 0, err
		}
		l.file = file
	}
	return l.file.Write(text)
}

func (l *lateLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// baseline is the earlier run that the flags name; nil when they name none.
func (l *loader) baseline() (*engine.Baseline, error) {
	limits, err := parseRegress(l.load.maxRegress)
	switch {
	case err != nil:
		return nil, err
	case l.load.baseline == "" && len(limits) > 0:
		return nil, errors.New("--max-regress: nothing to compare with; give the report.json of an earlier run with --baseline")
	case l.load.baseline == "":
		return nil, nil //nolint:nilnil // no file, no baseline
	}
	load, err := engine.ReadBaseline(l.load.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	if _, err := engine.Compared(load, load, limits); err != nil { // rather now than after all repeats
		return nil, fmt.Errorf("--baseline %s: %w", l.load.baseline, err)
	}
	return &engine.Baseline{File: l.load.baseline, Load: load, Limits: limits}, nil
}

// launcher is where workers run; nil when there are to be none. Its errors are about usage.
func (l *loader) launcher(c config.Config) (workers.Launcher, error) {
	g := c.Load
	switch {
	case g.WorkerImage == "" && g.Kubeconfig != "":
		return nil, c.At("load.kubeconfig", "only valid with workerImage; without it, workers are processes on this machine")
	case g.WorkerImage == "" && g.Namespace != "":
		return nil, c.At("load.namespace", "only valid with workerImage; without it, workers are processes on this machine")
	case g.Workers == 0 && g.WorkerImage != "":
		return nil, c.At("load.workerImage", "give the number of workers with %s", options.Key("load.workers"))
	case g.Workers == 0:
		return nil, nil
	case g.VegetaResults != "":
		return nil, c.At("load.vegetaResults", "workers do not produce a list of all requests; leave %s out", options.Key("load.workers"))
	case c.Webhook.ClientCertificate.CertFile != "" || c.Webhook.ClientCertificate.KeyFile != "":
		return nil, c.At("load.workers", "workers never receive a private key, so they cannot use webhook.clientCertificate; leave one of them out")
	case g.WorkerImage == "":
		path, err := os.Executable()
		return workers.Processes{Path: path, Args: []string{"worker"}}, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if g.Kubeconfig != "" {
		rules.ExplicitPath = c.Path(g.Kubeconfig)
	}
	given := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	cluster, err := given.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load.kubeconfig: %w", err)
	}
	namespace := g.Namespace
	if namespace == "" {
		if namespace, _, err = given.Namespace(); err != nil {
			return nil, fmt.Errorf("load.kubeconfig: %w", err)
		}
	}
	return workers.NewJob(cluster, workers.JobOptions{Namespace: namespace, Image: g.WorkerImage})
}

// observed has those watch that the configuration names; a stage without a name is called as the profile. It returns what ends that, and
// what removes a file that was made for it and is not needed after all.
func (l *loader) observed(ctx context.Context, p *progress, c config.Config) (stop, forget func() error, err error) {
	var closers []func() error
	forget = func() error { return nil }
	stop = func() error {
		var errs []error
		for _, one := range closers {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	if c.Load.MetricsAddress != "" {
		e, err := newExporter(ctx, c.Load.MetricsAddress, cmp.Or(c.Load.Profile, "stages"))
		if err != nil {
			return nil, nil, err
		}
		p.info("metrics: http://%s/metrics", e.address)
		p.observers, closers = append(p.observers, e.watch), append(closers, e.close)
	}
	if c.Load.VegetaResults != "" {
		r, err := newResults(c.Path(c.Load.VegetaResults))
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		forget = r.forget
		p.observers, closers = append(p.observers, r.watch), append(closers, r.close)
	}
	return stop, forget, nil
}

// setLoad adds what flags of load say that is more than one value.
func (l *loader) setLoad(c *config.Config) error {
	changed := l.flags.Changed
	if changed("duration") && c.Load.Duration.Duration == 0 { // which is to say nothing in the file
		return errors.New("--duration 0s: must be greater than 0")
	}
	switch {
	case changed("recording") && !changed("profile"):
		c.Override("load.profile", config.Config{Load: config.Load{Profile: profiles.Replay}}, "--recording")
	case c.Load.Profile == "" && len(c.Load.Stages) == 0:
		c.Load.Profile = profiles.Constant
	}
	if changed("recording") || changed("profile") {
		c.Override("load.stages", config.Config{}, "")
	}
	if err := l.clashing(c.Load); err != nil {
		return err
	}
	return l.setObjectives(c)
}

// clashing says which flags do not go together.
func (l *loader) clashing(asked config.Load) error {
	changed := func(names ...string) string {
		at := slices.IndexFunc(names, l.flags.Changed)
		if at < 0 {
			return ""
		}
		return names[at]
	}
	replayed, through := asked.Profile == profiles.Replay, asked.ThroughAPIServer
	switch {
	case len(asked.Stages) > 0:
		if flag := changed("rate", "batch", "clients", "duration"); flag != "" {
			return fmt.Errorf("--%s: it cannot be combined with load.stages in the configuration file; leave the flag out, or give a --profile instead", flag)
		}
	case replayed && asked.Recording == "" && changed("profile") != "":
		return errors.New("--profile replay: no recording; give the file that \"crdconform record\" wrote with --recording")
	case !replayed && changed("recording") != "":
		return fmt.Errorf("--recording: the profile %s does not use it; leave --profile out", asked.Profile)
	case replayed && changed("batch") != "":
		return errors.New("--batch: the recording is sent unchanged; leave the flag out")
	case replayed && l.options.says("load.pairs"):
		return errors.New("--set load.pairs: the recording is sent unchanged; leave it out")
	case replayed && !through && changed("duration") != "":
		return errors.New("--duration: each request of a recording is sent once; leave the flag out, or set the speed with --rate")
	case replayed && !through && changed("samples") != "":
		return errors.New("--samples: the objects are those of the recording; leave the flag out")
	case replayed && !through && changed("crd") != "" && changed("from-crd") == "":
		return errors.New("--crd: the objects are those of the recording; leave the flag out, or use the definition with --through-api-server or --from-crd")
	}
	return nil
}

// setObjectives adds the objectives that flags name, each once.
func (l *loader) setObjectives(c *config.Config) error {
	given := map[string]string{}
	percentile := ""
	texts, err := l.flags.GetStringArray("objective")
	if err != nil {
		return err
	}
	for _, text := range texts {
		wrong := func(format string, arguments ...any) error {
			return fmt.Errorf("--objective %s: %w", shell.Quote(text), fmt.Errorf(format, arguments...))
		}
		alone := config.Objectives{}
		if err := alone.Set(text); err != nil {
			return wrong("%w", err)
		}
		name, _, _ := strings.Cut(text, "=")
		before := given[name]
		given[name] = text
		another := percentile
		if strings.HasPrefix(name, "p") {
			percentile = text
		}
		switch {
		case before != "":
			return wrong("%s is already given; give each statistic only one limit", before)
		case reflect.ValueOf(alone).IsZero():
			return wrong("a limit of 0 is not an objective; must be greater than 0")
		case c.Load.Profile == profiles.Search && another != "" && percentile == text:
			return wrong("the goal of a search is one percentile, but %s is also given; leave one out", another)
		}
		if err := c.Objectives.Set(text); err != nil {
			return wrong("%w", err)
		}
	}
	if slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(text, "=") }) { // a preset
		c.Override("objectives.presets", *c, "--objective")
	}
	return nil
}
