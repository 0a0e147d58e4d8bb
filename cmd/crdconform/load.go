package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/minors"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/loadgen/workers"
	"github.com/crdconform/crdconform/loadgen/workers/job"
)

// loader is the command load.
type loader struct {
	checker
	load loadFlags
}

// loadFlags are what the flags of load say. One that is given takes the place of what the configuration file says.
type loadFlags struct {
	profile                            string
	rates                              []float64
	batches, bytes, clients            []int
	duration, warmUp                   time.Duration
	objects                            int
	from, to, reviewVersion            string
	inFlight, judgeEvery               int
	repeat                             int
	objectives                         []string
	metricsAddress, results            string
	baseline                           string
	recording                          string
	workers                            int
	workerImage, kubeconfig, namespace string
	throughAPIServer                   bool
	kubernetes                         string
	maxRegress                         []string
}

func newLoad(s streams) *cobra.Command {
	l := &loader{checker: checker{streams: s, name: "load"}}
	cmd := &cobra.Command{
		Use:   "load [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Load a conversion webhook and judge every response",
		Long: `load sends conversion requests to a webhook and judges every response: one that an API server would reject counts as
failed, whatever its HTTP status. Times are taken from when a request was due as well as from when it was sent. When the
load generator itself was too busy to send in time, or ran out of files or ports, the run is void.

The webhook and the objects are given as to "crdconform check". What is sent is a profile; flags change it, and several
values of --rate, --batch and --bytes make a stage for each combination:

` + profileList() + `
Stages of your own stand in crdconform.yaml under load.stages. An objective is a limit on a statistic of each stage, as in
p99=50ms, errors=1% or objects/s=1000, or one of the presets kep and trace. One that is missed fails the run.

` + exitCodes,
		Example: `  crdconform load https://localhost:9443/convert --ca-file ca.crt --crd widgets.yaml

  crdconform load --crd config/crd/bases --profile apiserver --objective kep -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}

  crdconform load https://localhost:9443/convert --ca-file ca.crt --samples widgets.yaml --from v1alpha1 --to v1 \
    --profile batch --batch 1,50,500 --rate 10,20 --objective p99=200ms`,
		Args: urlOrProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			l.take(cmd, args)
			return l.run(cmd.Context())
		},
	}
	l.bindSubject(cmd)
	flags, g := cmd.Flags(), &l.load
	flags.StringVar(&g.profile, "profile", loadgen.ConstantProfile, "what to send; see above")
	flags.Float64SliceVar(&g.rates, "rate", nil, "requests a second")
	flags.IntSliceVar(&g.batches, "batch", nil, "objects in a request; API servers were seen to send one")
	flags.IntSliceVar(&g.bytes, "bytes", nil, "bytes that an object is to have, at least; smaller ones get an annotation")
	flags.IntSliceVar(&g.clients, "clients", nil, "clients that ask as soon as they are answered, in the profiles apiserver and relist")
	flags.DurationVar(&g.duration, "duration", 0, "how long each stage sends")
	flags.IntVar(&g.objects, "relist-objects", 0, "objects of the profile relist, and those that the API server is to have with --through-api-server")
	flags.StringVar(&g.from, "from", "", "version of the objects to send, with --to; a version that there are objects of when missing")
	flags.StringVar(&g.to, "to", "", "version to ask for, with --from")
	flags.StringVar(&g.reviewVersion, "review-version", "v1", "version of ConversionReview: v1 or v1beta1")
	flags.IntVar(&g.inFlight, "in-flight", 0, fmt.Sprintf("requests that may wait at once; those beyond wait for others, which is response time; %d when 0", loadgen.DefaultInFlight))
	flags.IntVar(&g.judgeEvery, "judge-every", 1, "judge every n-th response only")
	flags.IntVar(&g.repeat, "repeat", 1, "how many times all stages run")
	flags.DurationVar(&g.warmUp, "warm-up", 0, "how long to send before, unmeasured")
	flags.StringArrayVar(&g.objectives, "objective", nil, "limit that every stage has to keep, such as p99=50ms, or a preset: kep, trace; can be repeated")
	flags.StringVar(&g.metricsAddress, "metrics-address", "", "host:port at which Prometheus finds the figures at /metrics while the load test runs; no password is asked for")
	flags.StringVar(&g.results, "vegeta-results", "", "file to write every request to, in the form that vegeta report, plot and encode read")
	flags.IntVar(&g.workers, "workers", 0, "processes that share the load; with --worker-image, pods of a Job in a cluster; none but this one when 0")
	flags.StringVar(&g.workerImage, "worker-image", "", "image with crdconform as its entry point, of this release, for workers in a cluster; --vegeta-results and --client-cert do not go with them")
	flags.StringVar(&g.kubeconfig, "kubeconfig", "", "cluster for --worker-image; $KUBECONFIG or ~/.kube/config when missing")
	flags.StringVar(&g.namespace, "namespace", "", "namespace for --worker-image; that of the kubeconfig's context when missing")
	flags.StringVar(&g.recording, "recording", "", "file that \"crdconform record\" wrote, to send again: the profile replay")
	flags.BoolVar(&g.throughAPIServer, "through-api-server", false, "measure clients of an API server of crdconform's own as well; needs --crd")
	flags.StringVar(&g.kubernetes, "kubernetes", "", "minor version of that API server, such as 1.34, of those of \"crdconform minors\"; the newest when missing")
	flags.StringVar(&g.baseline, "baseline", "", "report.json of an earlier run to compare with; both need --repeat 5 or more")
	bindRegress(cmd, &g.maxRegress)
	return cmd
}

// profileList describes the built-in profiles.
func profileList() string {
	var b strings.Builder
	for _, profile := range loadgen.Profiles() {
		fmt.Fprintf(&b, "  %-10s %s\n", profile[0], profile[1])
	}
	return b.String()
}

func (l *loader) run(ctx context.Context) error {
	check, err := l.check()
	if err != nil {
		return err
	}
	if err = l.overrideLoad(&check.Config); err != nil {
		return err
	}
	if check.Baseline, err = l.baseline(); err != nil {
		return err
	}
	if check.Fleet, err = l.fleet(check.Config); err != nil {
		return err
	}
	check.Workers = l.load.workers
	p := &progress{streams: l.streams}
	if check.Through, err = l.through(p, check.Load.ThroughAPIServer); err != nil {
		return err
	}
	if check.Fleet != nil && check.Load.Profile == loadgen.SearchProfile {
		return errors.New("--workers: a search is made by this process; leave --workers out")
	}
	plan, err := check.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return l.byFlags(err)
	}
	p.seed = plan.Seed()
	stop, forget, err := l.observed(ctx, p, cmp.Or(check.Load.Profile, "stages"))
	if err != nil {
		return err
	}
	l.given.seed, l.dir = plan.Seed(), plan.ReportDir()
	if err = l.begin(); err != nil {
		return errors.Join(err, stop(), forget())
	}
	log := &lateLog{path: filepath.Join(string(l.folder), "apiserver.log")}
	report := plan.Load(ctx, p, log)
	wrong := errors.Join(stop(), log.close())
	return l.beside(l.finish(p, report), wrong)
}

// through returns what brings up the API server whose clients are measured; nil for the built-in one.
func (l *loader) through(p *progress, wanted bool) (func(context.Context, io.Writer) (cluster.Cluster, error), error) {
	if !l.flags.Changed("kubernetes") {
		return nil, nil //nolint:nilnil // that is the built-in one
	}
	minor, older, err := olderMinor("--kubernetes", l.load.kubernetes)
	if err != nil {
		return nil, err
	}
	if !wanted {
		return nil, errors.New("--kubernetes: it is for the API server of --through-api-server; give that too, or leave it out")
	}
	if !older {
		return nil, nil //nolint:nilnil // that is the built-in one
	}
	programs := programsOf(l.variable)
	if _, err := programs.Find(minor); err != nil {
		return nil, fmt.Errorf("--kubernetes %s: %w", minor, err)
	}
	return func(ctx context.Context, log io.Writer) (cluster.Cluster, error) {
		p.Note("starting an API server of Kubernetes " + minor.String())
		return started(minors.Start(ctx, minors.Options{Minor: minor, Programs: programs, WatchCache: true, Log: log}))
	}, nil
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
func (l *loader) baseline() (*crdconform.Baseline, error) {
	limits, err := parseRegress(l.load.maxRegress)
	switch {
	case err != nil:
		return nil, err
	case l.load.baseline == "" && len(limits) > 0:
		return nil, errors.New("--max-regress: there is nothing to compare with; give the report.json of an earlier run by --baseline")
	case l.load.baseline == "":
		return nil, nil //nolint:nilnil // no file, no baseline
	}
	load, err := crdconform.ReadBaseline(l.load.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	if _, err := crdconform.Compared(load, load, limits); err != nil { // rather now than after all repeats
		return nil, fmt.Errorf("--baseline %s: %w", l.load.baseline, err)
	}
	return &crdconform.Baseline{File: l.load.baseline, Load: load, Limits: limits}, nil
}

// fleet is where workers run; nil when there are to be none. Its errors are about usage.
func (l *loader) fleet(c config.Config) (workers.Fleet, error) {
	g := l.load
	for _, name := range []string{"kubeconfig", "namespace"} {
		if l.flags.Changed(name) && g.workerImage == "" {
			return nil, fmt.Errorf("--%s: it goes with --worker-image; without one, workers are processes on this machine", name)
		}
	}
	switch {
	case g.workers < 0:
		return nil, fmt.Errorf("--workers %d: it has to be 1 or more, or 0 for none", g.workers)
	case g.workers == 0 && g.workerImage != "":
		return nil, errors.New("--worker-image: say how many by --workers")
	case g.workers == 0:
		return nil, nil
	case g.results != "":
		return nil, errors.New("--vegeta-results: workers measure each for itself; leave --workers out to have a list of all requests")
	case c.Webhook.ClientCertificate.CertFile != "" || c.Webhook.ClientCertificate.KeyFile != "":
		return nil, errors.New("--workers: they are given no private key, so they cannot show the certificate of --client-cert or webhook.clientCertificate; leave one of both out")
	case g.workerImage == "":
		path, err := os.Executable()
		return workers.Processes{Path: path, Args: []string{"worker"}}, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = g.kubeconfig
	given := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	cluster, err := given.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	namespace := g.namespace
	if namespace == "" {
		if namespace, _, err = given.Namespace(); err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	return job.New(cluster, job.Options{Namespace: namespace, Image: g.workerImage})
}

// observed has those watch that the flags name; a stage without a name is called as the profile. It returns what ends that, and
// what removes a file that was made for it and is not needed after all.
func (l *loader) observed(ctx context.Context, p *progress, profile string) (stop, forget func() error, err error) {
	var closers []func() error
	forget = func() error { return nil }
	stop = func() error {
		var errs []error
		for _, one := range closers {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	if l.load.metricsAddress != "" {
		e, err := newExporter(ctx, l.load.metricsAddress, profile)
		if err != nil {
			return nil, nil, err
		}
		p.say("metrics: http://%s/metrics", e.address)
		p.observers, closers = append(p.observers, e.watch), append(closers, e.close)
	}
	if l.load.results != "" {
		r, err := newResults(l.load.results)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		forget = r.forget
		p.observers, closers = append(p.observers, r.watch), append(closers, r.close)
	}
	return stop, forget, nil
}

// overrideLoad puts what flags say in the place of what the file says.
func (l *loader) overrideLoad(c *config.Config) error {
	g, changed := l.load, l.flags.Changed
	if changed("from") != changed("to") {
		return errors.New("--from and --to go together: give both versions, or neither")
	}
	if changed("duration") && g.duration <= 0 {
		return fmt.Errorf("--duration %s: it has to be more than 0", g.duration)
	}
	if g.judgeEvery < 1 {
		return fmt.Errorf("--judge-every %d: it has to be 1 or more; 1 judges all responses", g.judgeEvery)
	}
	for name, set := range map[string]func(){
		"profile":            func() { c.Load.Profile, c.Load.Stages = g.profile, nil },
		"rate":               func() { c.Load.Rates = g.rates },
		"batch":              func() { c.Load.Batches = g.batches },
		"bytes":              func() { c.Load.Bytes = g.bytes },
		"clients":            func() { c.Load.Clients = g.clients },
		"duration":           func() { c.Load.Duration.Duration = g.duration },
		"relist-objects":     func() { c.Load.Objects = g.objects },
		"from":               func() { c.Load.Pairs = []config.Pair{{From: g.from, To: g.to}} },
		"review-version":     func() { c.Load.ReviewVersion = g.reviewVersion },
		"in-flight":          func() { c.Load.InFlight = g.inFlight },
		"judge-every":        func() { c.Load.JudgeEvery = g.judgeEvery },
		"repeat":             func() { c.Load.Repeat = g.repeat },
		"recording":          func() { c.Load.Recording, c.Load.Stages = fromHere(c, []string{g.recording})[0], nil },
		"through-api-server": func() { c.Load.ThroughAPIServer = g.throughAPIServer },
		"warm-up":            func() { c.Load.WarmUp.Duration = g.warmUp },
	} {
		if changed(name) {
			set()
		}
	}
	switch {
	case changed("recording") && !changed("profile"):
		c.Load.Profile = loadgen.ReplayProfile
	case c.Load.Profile == "" && len(c.Load.Stages) == 0:
		c.Load.Profile = loadgen.ConstantProfile
	}
	if err := l.clashing(c.Load); err != nil {
		return err
	}
	if file := c.Webhook.ClientCertificate; (changed("client-cert") || changed("client-key")) && (file.CertFile == "") != (file.KeyFile == "") {
		return errors.New("--client-cert and --client-key go together: give both, or neither")
	}
	return l.setObjectives(c)
}

// clashing says which flags do not go together.
func (l *loader) clashing(load config.Load) error {
	changed := func(names ...string) string {
		at := slices.IndexFunc(names, l.flags.Changed)
		if at < 0 {
			return ""
		}
		return names[at]
	}
	replayed, through := load.Profile == loadgen.ReplayProfile, load.ThroughAPIServer
	switch {
	case len(load.Stages) > 0:
		if flag := changed("rate", "batch", "bytes", "clients", "duration", "relist-objects"); flag != "" {
			return fmt.Errorf("--%s: load.stages in the configuration file say all that is sent; leave the flag out, or give a --profile in their place", flag)
		}
	case replayed && load.Recording == "" && changed("profile") != "":
		return errors.New("--profile replay: there is nothing to send; give the file that \"crdconform record\" wrote by --recording")
	case !replayed && changed("recording") != "":
		return fmt.Errorf("--recording: the profile %s does not send it; leave --profile out", load.Profile)
	case replayed && changed("batch", "bytes", "from", "review-version") != "":
		return fmt.Errorf("--%s: what was recorded is sent as it is; leave the flag out", changed("batch", "bytes", "from", "review-version"))
	case replayed && !through && changed("duration") != "":
		return errors.New("--duration: each request of a recording is sent once; leave the flag out, or say how fast by --rate")
	case replayed && !through && changed("samples") != "":
		return errors.New("--samples: the objects are those of the recording; leave the flag out")
	case replayed && !through && changed("crd") != "" && changed("from-crd") == "":
		return errors.New("--crd: the objects are those of the recording; leave the flag out, or use the definition by --through-api-server or --from-crd")
	}
	return nil
}

// setObjectives adds the objectives that flags name, each once.
func (l *loader) setObjectives(c *config.Config) error {
	given := map[string]string{}
	percentile := ""
	for _, text := range l.load.objectives {
		wrong := func(format string, arguments ...any) error {
			return fmt.Errorf("--objective %s: %w", crdconform.Quoted(text), fmt.Errorf(format, arguments...))
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
			return wrong("there is %s already; give each statistic one limit", before)
		case reflect.ValueOf(alone).IsZero():
			return wrong("a limit of 0 is no objective; give more than 0, or leave it out")
		case c.Load.Profile == loadgen.SearchProfile && another != "" && percentile == text:
			return wrong("a search has one percentile as its goal, and there is %s too; leave one out", another)
		}
		if err := c.Objectives.Set(text); err != nil {
			return wrong("%w", err)
		}
	}
	return nil
}

// byFlags tells errors about flags in the words of flags.
func (l *loader) byFlags(err error) error {
	told := l.checker.byFlags(err)
	if told.Error() == err.Error() {
		return told
	}
	return errors.New(strings.NewReplacer("give crds", "give --crd", "by load.repeat", "by --repeat", "; batches has those in a request", "; --batch has those in a request").Replace(told.Error()))
}
