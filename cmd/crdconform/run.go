package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/cluster/redact"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/fixtures/webhook"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/control"
)

// runner is the command run.
type runner struct {
	streams
	reporting
	selection
	api     clusterFlags
	webhook inCluster
	strict  bool
	seed    int64
	load    workloadFlags
	selects func(requirement.ID) bool
	known   map[requirement.ID]string
	lenient bool // what is known to fail may pass
}

func newRun(s streams) *cobra.Command {
	r := &runner{streams: s}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Check an API server, and load the reference webhook",
		Long: `run brings up an API server, installs the definitions of the documents, and checks what the documents say of versions,
conversion, storage and deletion, one spec for each requirement. Then it loads the reference conversion webhook and judges
every response. The results are written to a folder: report.html, junit.xml, summary.md, report.json, and latency.json and
latency.hgrm of the load.

On a kind cluster the reference webhook is deployed as pods too, from an image that is made of this program, to see that the API
server reaches it by its service, and that no request fails when one of two pods is deleted. With --webhook-image or
--webhook-manifests it is a webhook of yours, in a kind cluster or an existing one; it has to convert the CronTabs of the
documents, as the reference webhook does, and the load is sent to it too. For other kinds use "crdconform check".

The load test is left out when --filter or --skip choose requirements, unless one of its own flags is given.

` + exitCodes,
		Example: `  crdconform run
  crdconform run --filter storage.update,storage.read --seed 42
  crdconform run --watch-cache --load-duration 0 --report-dir build/crdconform`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.load.given = cmd.Flags().Changed("load-rate") || cmd.Flags().Changed("load-duration") || cmd.Flags().Changed("load-batch")
			r.command = append([]string{"run"}, givenFlags(cmd.Flags())...)
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	r.api.bind(s, flags)
	r.api.bindReadOnly(flags)
	r.webhook.flags.bind(flags)
	r.bind(flags)
	r.bindKnownFailing(flags)
	r.complete(cmd)
	flags.BoolVar(&r.strict, "strict", false, "count what API servers tolerate as failed")
	flags.Int64Var(&r.seed, "seed", 0, "seed of all random choices, to repeat a run; a new one when 0")
	flags.StringVar(&r.dir, "report-dir", "crdconform-report", "folder to write the reports to")
	flags.Float64Var(&r.load.rate, "load-rate", 100, "requests a second of the load test")
	flags.DurationVar(&r.load.duration, "load-duration", 5*time.Second, "how long the load test takes; 0 leaves it out")
	flags.IntVar(&r.load.batch, "load-batch", 10, "objects in a request of the load test")
	return cmd
}

// workloadFlags are the flags of the load test that is a part of run.
type workloadFlags struct {
	rate     float64
	duration time.Duration
	batch    int
	given    bool
}

func (r *runner) run(ctx context.Context) error {
	report, err := r.check(ctx)
	if err != nil {
		return err
	}
	return r.end(r.streams, report)
}

// check judges the API server, and returns the report, which is yet to be written. It fails when the flags are wrong.
func (r *runner) check(ctx context.Context) (*reports.Report, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if r.seed == 0 {
		r.seed = rand.Int64N(1<<31-1) + 1
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	report := r.newReport()
	report.Seed, report.Strict = r.seed, r.strict
	if err := r.judge(ctx, report); err != nil {
		report.Error = err.Error()
	}
	report.Interrupted = report.Interrupted || ctx.Err() != nil
	return report, nil
}

// validate tells whether the flags go together, and reads what they name.
func (r *runner) validate() error {
	if err := r.api.validate(); err != nil {
		return err
	}
	if err := r.webhook.validate(r.api.sort); err != nil {
		return err
	}
	var err error
	if r.selects, err = r.resolve(areas()); err != nil {
		return err
	}
	if r.known, err = r.readKnownFailing(); err != nil {
		return err
	}
	if err = r.looks(); err != nil {
		return err
	}
	if r.load.duration < 0 {
		return fmt.Errorf("--load-duration %s: it has to be 0 or more", r.load.duration)
	}
	if r.wantsLoad() {
		_, err = r.profile()
	}
	return err
}

func (r *runner) wantsLoad() bool {
	chosen := len(r.filter) > 0 || len(r.skip) > 0
	return r.load.duration > 0 && (!chosen || r.load.given) && !r.looksOn()
}

// looksOn tells whether the cluster is only looked at, and there is no webhook in it to judge. The reference webhook, in this process, is
// nothing of the cluster's.
func (r *runner) looksOn() bool { return r.api.readOnly && !r.webhook.users() }

// looks tells whether there is something to look at, where the cluster is only looked at.
func (r *runner) looks() error {
	switch {
	case !r.looksOn():
		return nil
	case r.load.given && r.load.duration > 0:
		return errors.New("--read-only: no load is sent; leave --load-rate, --load-duration and --load-batch out")
	case !slices.ContainsFunc(suites.Preview(r.chapters()), func(spec suites.Spec) bool { return r.selects(spec.Requirement) }):
		return errors.New("--read-only: what is selected is about webhooks, and the cluster is only looked at; select something else, or leave --read-only out")
	}
	return nil
}

// profile is the load test that is a part of the run.
func (r *runner) profile() (loadgen.Profile, error) {
	return loadgen.Settings{
		Rates: []float64{r.load.rate}, Duration: r.load.duration, Batches: []int{r.load.batch},
		Pairs: []corpus.Pair{{From: "v1beta1", To: "v1"}},
	}.Profile(loadgen.ConstantProfile)
}

// objectsOfRun is how many objects are generated for each version: fewer than for a webhook of the user's, since it is the
// API server that is checked.
const objectsOfRun = 15

// judge fills the report in. It returns why it could not judge all that it was to.
func (r *runner) judge(ctx context.Context, report *reports.Report) (err error) {
	log, closeLog, err := logTo(filepath.Join(string(r.folder), "apiserver.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()

	server, err := webhook.Start(ctx, "127.0.0.1:0", webhook.Handler())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		return err
	}
	defer client.Close()
	subject := &suites.Subject{Client: client, Corpus: corpus.CronTabs("v1alpha1", "v1beta1", "v1"), Objects: objectsOfRun} //nolint:contextcheck // definitions are validated without waiting for anything
	if r.wantsLoad() || r.selectsChapter("webhook") && !r.looksOn() {
		report.Webhook = describe(subject)
	}

	if err := r.conformance(ctx, report, subject, log); err != nil || ctx.Err() != nil {
		return err
	}
	if r.wantsLoad() && !r.webhook.users() {
		return r.loadTest(ctx, report, subject)
	}
	return nil
}

// stopTimeout is how long the API server has to stop, which takes a second. The report is written whatever comes of it.
const stopTimeout = time.Minute

// conformance runs the specs on the cluster.
func (r *runner) conformance(ctx context.Context, report *reports.Report, subject *suites.Subject, log io.Writer) (err error) {
	revise := func(s *suites.Result) {
		if !r.lenient || s.Verdict != requirement.Passed {
			crdconform.Revise(s, r.known, r.knownFailing)
		}
	}
	p := &progress{streams: r.streams, strict: r.strict, rerun: r.rerun, revise: revise}
	id := newRunID()
	c, err := r.api.bringUp(ctx, p, id, log)
	if err != nil {
		return err
	}
	defer func() {
		p.show("stopping " + r.api.what())
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, c.Stop(within))
		p.wipe()
	}()
	if ctx.Err() != nil {
		return nil
	}
	return r.specs(ctx, p, c, id, subject, report)
}

// specs runs the specs on a cluster that is up.
func (r *runner) specs(ctx context.Context, p *progress, c cluster.Cluster, id string, subject *suites.Subject, report *reports.Report) (err error) {
	stop, err := r.deploy(ctx, p, c, id, subject, report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	subject.Fewer = func(_ int, why string) { report.Notes = append(report.Notes, why) }
	env, err := suites.NewEnv(ctx, r.api.options(suites.Options{Subject: subject, Seed: r.seed, Select: r.selects}, c, id))
	if err != nil {
		r.explain(ctx, c, "", report)
		return err
	}
	defer func() { err = errors.Join(err, env.Close(context.WithoutCancel(ctx))) }()
	report.Cluster = &reports.Cluster{Name: c.Name(), Version: env.Version(), WatchCache: c.WatchCache()}
	p.say("crdconform %s: Kubernetes %s (%s), seed %d", toolVersion(), env.Version(), c.Name(), r.seed)

	outcome, err := suites.Run(ctx, env, r.areas(), p) //nolint:contextcheck // specs are declared without waiting for anything
	p.wipe()
	report.Results = crdconform.Results(outcome.Results, crdconform.Translation{
		Dir: "exchanges", Revise: p.revise, Client: subject.Client,
		Again: func(id requirement.ID) string { return r.rerun("", id) },
	})
	report.Interrupted = outcome.Interrupted
	if len(report.With(requirement.Failed, requirement.Errored)) > 0 {
		r.explain(context.WithoutCancel(ctx), c, "", report)
	}
	if err == nil && ctx.Err() == nil && r.wantsLoad() && r.webhook.users() {
		err = r.loadTest(ctx, report, subject)
	}
	return err
}

// areas are the chapters, of which one gets to know the webhook in the cluster.
func (r *runner) areas() []suites.Area {
	all := r.chapters()
	i := slices.IndexFunc(all, func(a suites.Area) bool { return a.Name == control.Area.Name })
	all[i] = control.New(control.Options{Webhook: r.webhook.hook, NoWebhook: r.webhook.reason, Undeployed: r.webhook.failed})
	return all
}

// chapters are those that there is something to judge for: not that about webhooks where the cluster is only looked at.
func (r *runner) chapters() []suites.Area {
	return slices.DeleteFunc(areas(), func(a suites.Area) bool { return a.Name == "webhook" && r.looksOn() })
}

// deploy deploys a webhook in the cluster, if one is wanted, and returns what takes it away. One of the user's is then the one
// under test.
func (r *runner) deploy(ctx context.Context, p *progress, c cluster.Cluster, id string, subject *suites.Subject, report *reports.Report) (func(context.Context) error, error) {
	wanted := r.selects(requirement.ControlWebhookService) || r.selects(requirement.ControlWebhookReplacedPod)
	if !r.webhook.users() && (!wanted || r.api.readOnly) {
		return r.webhook.stop, nil
	}
	said, err := os.MkdirTemp("", "crdconform-webhook-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(said) }() // that it stays must not cost the webhook
	err = r.webhook.deploy(ctx, c, id, said, p.show)
	p.wipe()
	if err != nil || r.webhook.failed != nil {
		r.explain(ctx, c, said, report)
	}
	if err != nil || !r.webhook.users() {
		return r.webhook.stop, err
	}
	client, err := wire.Connect(r.webhook.hook.Endpoint())
	if err != nil {
		return nil, errors.Join(err, r.webhook.stop(context.WithoutCancel(ctx)))
	}
	reference := r.webhook.hook.ClientConfig()
	subject.Client, subject.Reference = client, &reference
	if report.Webhook != nil {
		report.Webhook = describe(subject)
	}
	return func(ctx context.Context) error {
		client.Close()
		return r.webhook.stop(ctx)
	}, nil
}

// artifactsTimeout is how long a cluster may take to tell what went on in it.
const artifactsTimeout = time.Minute

// explain keeps what the cluster tells, unless the run was stopped: when specs failed, or there could be none. The folder said has
// what a webhook said that did not come up; it may be empty.
func (r *runner) explain(ctx context.Context, c cluster.Cluster, said string, report *reports.Report) {
	_, able := c.(cluster.Witness)
	if !able && r.webhook.hook == nil && said == "" || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, artifactsTimeout)
	defer cancel()
	if err := r.folder.Gather(report, func(dir string) error { return crdconform.Explains(within, c, r.webhook.hook, said, dir) }); err != nil {
		report.Notes = append(report.Notes, "not all that the cluster knows is in the folder cluster: "+err.Error())
	}
}

// rerun is the command that runs one spec again in the same way.
func (r *runner) rerun(_ string, id requirement.ID) string {
	return fmt.Sprintf("crdconform run --filter %s --seed %d", id, r.seed) + r.api.again() + r.again(r.strict)
}

// selectsChapter tells whether any requirement of a chapter is selected.
func (r *runner) selectsChapter(name string) bool {
	return slices.ContainsFunc(requirement.All(), func(one requirement.Requirement) bool { return one.ID.Area() == name && r.selects(one.ID) })
}

// loadTest loads the webhook and adds what came of it to the report.
func (r *runner) loadTest(ctx context.Context, report *reports.Report, subject *suites.Subject) error {
	profile, err := r.profile()
	if err != nil {
		return err
	}
	p := &progress{streams: r.streams}
	test := crdconform.LoadTest{Profile: profile, Bodies: func(w loadgen.Workload) ([]contract.Request, error) { return loadgen.Bodies(subject.Corpus, w) }}
	report.Load, err = test.Run(ctx, subject.Client, p)
	p.wipe()
	return err
}

func describe(subject *suites.Subject) *reports.Webhook {
	c := subject.Corpus
	kind := reports.Kind{Group: c.Group, Kind: c.Kind, Versions: c.Versions}
	for _, version := range c.Versions {
		kind.Samples += len(c.Objects(version))
	}
	return &reports.Webhook{URL: subject.Client.Endpoint().URL, Kinds: []reports.Kind{kind}}
}

// logTo opens a file for the log of the API server, and sends what those in this process log there, so that it does not spoil the
// screen. It returns the file and what ends that.
func logTo(path string) (io.Writer, func() error, error) {
	file, err := openLog(path)
	if err != nil {
		return nil, nil, err
	}
	if err := embedded.LogTo(file); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, func() error {
		return errors.Join(embedded.LogTo(io.Discard), file.Close())
	}, nil
}

// openLog makes a new file for the log of the API server.
func openLog(path string) (*serverLog, error) {
	// What has the name goes, rather than what it may point to.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the log of the API server: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the log of the API server: %w", err)
	}
	l := &serverLog{file: file}
	l.text.tell = func(line string) {
		_, _ = fmt.Fprintln(file, redact.Text(line)) // a log that cannot be written must not stop what is logged
	}
	return l, nil
}

// serverLog is the log of an API server. It gets into a file line by line, without what looks like a secret: API servers quote what
// clients ask and webhooks answer.
type serverLog struct {
	file *os.File

	mu   sync.Mutex
	text lines
}

func (l *serverLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// Close closes the file, when no more is written.
func (l *serverLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.flush()
	return l.file.Close()
}

// givenFlags returns the flags that were given, as they would be given again.
func givenFlags(flags *pflag.FlagSet) []string {
	var given []string
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = []string{strings.Join(list.GetSlice(), ",")}
			switch f.Value.Type() {
			case "stringArray": // a comma is a part of a value there
				values = list.GetSlice()
			case "float64Slice": // they come with six digits after the point
				var numbers []string
				for _, number := range list.GetSlice() {
					numbers = append(numbers, strings.TrimRight(strings.TrimRight(number, "0"), "."))
				}
				values = []string{strings.Join(numbers, ",")}
			}
		}
		for _, value := range values {
			given = append(given, "--"+f.Name+"="+crdconform.Quoted(value))
		}
	})
	return given
}
