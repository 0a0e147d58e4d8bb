package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/redact"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/reading"
	"github.com/crdconform/crdconform/suites/webhook"
)

// runner is the command run.
type runner struct {
	streams
	reporting
	selection
	options optionFlags
	api     clusterFlags
	webhook inCluster
	strict  bool
	seed    int64
	load    workloadFlags
	selects func(requirement.ID) bool
	lenient bool // what is known to fail may pass
	fast    bool // ends at the first failure
}

func newRun(s streams) *cobra.Command {
	r := &runner{streams: s}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Check an API server, and load the reference webhook",
		Long: `run starts an API server, installs the definitions in the Kubernetes documentation, and checks what the documentation says
about versions, conversion, storage and deletion, with one spec for each requirement. Then it sends load to the reference
conversion webhook and judges every response. The results are written to a folder: report.html, junit.xml, summary.md,
report.json, and latency.json and latency.hgrm for the load.

On a kind cluster, the reference webhook also runs as pods, in an image built from this program. This checks that the API
server reaches it through its service, and that no request fails when one of two pods is deleted. With --webhook-image or
--webhook-manifests, your own webhook takes its place, on a kind or existing cluster. It must convert the CronTabs of the
documentation, as the reference webhook does, and receives the load too. For other objects, use "crdconform check".

The load test is skipped if --filter or --skip is given, unless one of its own flags is given too.

` + exitCodes,
		Example: `  crdconform run
  crdconform run --filter storage.update,storage.read --seed 42
  crdconform run --set cluster.watchCache=true --load-duration 0 --report-dir build/crdconform`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.take()
			return r.run(cmd.Context())
		},
	}
	r.api.looks = true
	r.bind(cmd)
	r.bindHistory(cmd.Flags())
	bindFailFast(cmd.Flags(), &r.fast)
	r.bindVerbosity(cmd.Flags())
	cmd.Flags().StringSliceVar(&r.load.profiles, "load-profile", nil, "profiles of \"crdconform load\" to send one after another, instead of the constant load; each is sent unchanged unless other --load flags change it")
	return cmd
}

// bind binds the flags of run, or those of column.
func (r *runner) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	r.options.bind(flags, cmd.Name())
	r.api.bind(r.streams, flags, "run")
	r.api.complete(cmd)
	r.webhook.flags.optionFlags = &r.options
	r.bindKnownFailing(flags)
	r.complete(cmd)
}

// take takes what the flags say.
func (r *runner) take() {
	given, flags := r.options.given, r.options.flags
	r.flags, r.filter, r.skip = flags, given.Filter, given.Skip
	r.strict, r.seed, r.dir = given.Strict, given.Generate.Seed, given.ReportDir
	r.command = append([]string{"run"}, givenFlags(flags)...)
	r.load.duration = given.Load.Duration.Duration
	r.load.given = r.options.says("load.judgeContent") || len(r.load.profiles) > 0 ||
		slices.ContainsFunc([]string{"load-rate", "load-duration", "load-batch"}, flags.Changed)
}

// workloadFlags are what the flags say of whether there is to be a load test.
type workloadFlags struct {
	duration time.Duration
	profiles []string // in place of the constant load
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
	defer process.LimitMemory(r.set)()
	described, err := r.describe() //nolint:contextcheck // specs are declared without waiting for anything
	if err != nil {
		return nil, err
	}
	plan, err := described.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return nil, err
	}
	r.seed = plan.Seed()
	if err = r.begin(); err != nil {
		return nil, err
	}
	log, err := openLog(filepath.Join(string(r.folder), reporter.LogFile))
	if err != nil {
		report := r.newReport()
		report.Seed, report.Strict, report.Error = r.seed, r.strict, err.Error()
		return report, nil
	}
	p := &progress{said: r.said, streams: r.streams, strict: r.strict, rerun: r.rerun, revise: plan.Revise, seed: r.seed, patience: patience}
	report := plan.Run(ctx, p, log)
	p.wipe()
	report.Tool, report.Command, report.Started = toolVersion(), r.newReport().Command, r.began.UTC()
	if wrong := log.Close(); wrong != nil && report.Error == "" {
		report.Error = wrong.Error()
	}
	return report, nil
}

// objectsOfRun is how many objects are generated for each version: fewer than for a webhook of the user's, since it is the
// API server that is checked.
const objectsOfRun = 15

// describe reports whether the flags go together, reads what they name, and says what is to be done.
func (r *runner) describe() (engine.Description, error) {
	d := engine.Description{
		JudgesServer: true, Chapters: r.chapters, RerunCommand: r.rerun, ServeReference: serveReference,
		KnownFailingFile: r.knownFailing, Lenient: r.lenient, CollectArtifacts: r.gather, FailFast: r.fast,
	}
	c := config.Default()
	c.Override("apiServer", r.options.given, "--api-server")
	if err := c.Validate(); err != nil {
		return d, err
	}
	err := r.options.applyBelow(&c, clusterKeys)
	if err != nil {
		return d, err
	}
	if err = errors.Join(r.api.take(&c), r.api.validate()); err != nil {
		return d, err
	}
	d.Source = r.api.source()
	if err = r.webhook.validate(c, d.Source); err != nil {
		return d, err
	}
	c = r.webhook.checked
	c.Strict, c.Filter, c.Skip = r.strict, r.filter, r.skip
	c.Generate = config.Generate{Objects: objectsOfRun, Seed: r.seed}
	if !r.webhook.users() {
		c.Webhook.Reference = &config.Reference{}
	}
	if r.selects, err = r.resolve(areas()); err != nil {
		return d, err
	}
	known, err := r.known()
	if err != nil {
		return d, err
	}
	known.addTo(&c)
	if r.api.options.ReadOnly {
		d.Readings = reading.Checks()
	}
	if err = r.looks(); err != nil {
		return d, err
	}
	err = r.describeLoad(&d, &c)
	d.Config = c
	return d, err
}

// describeLoad reports whether the flags of the load test go together, and says what is sent.
func (r *runner) describeLoad(d *engine.Description, c *config.Config) error {
	if r.load.duration < 0 {
		return fmt.Errorf("--load-duration %s: must be at least 0", r.load.duration)
	}
	sent := r.options.given.Load
	sent.JudgeContent = c.Load.JudgeContent
	if err := r.load.clashing(sent); err != nil {
		return err
	}
	c.Load = config.Default().Load
	if !r.wantsLoad() {
		return nil
	}
	c.Load = r.sends(sent)
	if d.LoadProfiles = r.load.profiles; len(d.LoadProfiles) > 0 {
		c.Override("load.profile", *c, "--load-profile")
	}
	return nil
}

// clashing says which flags of the load test do not go together.
func (w workloadFlags) clashing(sent config.Load) error {
	switch {
	case sent.JudgeContent && w.duration == 0:
		return errors.New("--set load.judgeContent: no load is sent with --load-duration 0; leave one of them out")
	case len(w.profiles) > 0 && w.duration == 0:
		return errors.New("--load-profile: no load is sent with --load-duration 0; leave one of them out")
	case slices.Contains(w.profiles, profiles.Replay):
		return errors.New("--load-profile replay: run has no recording to send; use crdconform load --recording FILE")
	}
	return nil
}

// sends returns what the flags say of the load test. Profiles have rates, batches and durations of their own, so the defaults of those
// flags only count without any.
func (r *runner) sends(sent config.Load) config.Load {
	l := config.Default().Load
	l.Profile, l.Pairs, l.JudgeContent = profiles.Constant, []config.Pair{{From: "v1beta1", To: "v1"}}, sent.JudgeContent
	usual := len(r.load.profiles) == 0
	if usual || r.flags.Changed("load-rate") {
		l.Rates = sent.Rates
	}
	if usual || r.flags.Changed("load-batch") {
		l.Batches = sent.Batches
	}
	if usual || r.flags.Changed("load-duration") {
		l.Duration = sent.Duration
	}
	return l
}

// serveReference is the command of this program that serves the reference webhook.
func serveReference(address, certs string, drain time.Duration) ([]string, error) {
	program, err := os.Executable()
	return []string{program, "serve", "--listen=" + address, "--cert-dir=" + certs, "--drain=" + drain.String()}, err
}

func (r *runner) wantsLoad() bool {
	chosen := len(r.filter) > 0 || len(r.skip) > 0
	return r.load.duration > 0 && (!chosen || r.load.given) && !r.looksOn()
}

// looksOn reports whether the cluster is only looked at, and there is no webhook in it to judge. The reference webhook, in this process, is
// nothing of the cluster's.
func (r *runner) looksOn() bool { return r.api.options.ReadOnly && !r.webhook.users() }

// looks reports whether there is something to look at, where the cluster is only looked at.
func (r *runner) looks() error {
	switch {
	case !r.looksOn():
		return nil
	case r.load.given && r.load.duration > 0:
		return errors.New("--read-only: no load is sent; leave --load-profile, --load-rate, --load-duration, --load-batch and load.judgeContent out")
	case !slices.ContainsFunc(suites.Preview(r.chapters(engine.Pods{})), func(spec suites.Spec) bool { return r.selects(spec.Requirement) }):
		return errors.New("--read-only: the selected requirements are about webhooks, which a read-only run does not check; select others, or leave --read-only out")
	}
	return nil
}

// chapters are those that there is something to judge for: not that about webhooks where the cluster is only looked at.
func (r *runner) chapters(pods engine.Pods) []suites.Area {
	all := slices.DeleteFunc(areas(), func(a suites.Area) bool { return a.Name == webhook.Area.Name && r.looksOn() })
	i := slices.IndexFunc(all, func(a suites.Area) bool { return a.Name == control.Area.Name })
	missing := pods.Missing
	if from := r.api.source(); pods.NoImages && from != nil && from.Pods {
		missing += "; give one with --webhook-image"
	}
	all[i] = control.New(control.Options{Webhook: pods.Webhook, NoWebhook: missing, Undeployed: pods.Failed})
	return all
}

// rerun is the command that runs one spec again in the same way.
func (r *runner) rerun(_ string, id requirement.ID) string {
	return fmt.Sprintf("crdconform run --filter %s --seed %d --report-dir %s", id, r.seed, shell.Quote(r.againDir())) + r.api.again() + r.again(r.strict)
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
	if _, err := fmt.Fprintln(file, reporter.LogTitle); err != nil {
		return nil, errors.Join(fmt.Errorf("the log of the API server: %w", err), file.Close())
	}
	l := &serverLog{file: file}
	l.text.Say = func(line string) {
		_, _ = fmt.Fprintln(file, redact.Text(line)) // a log that cannot be written must not stop what is logged
	}
	return l, nil
}

// serverLog is the log of an API server. It gets into a file line by line, without what looks like a secret: API servers quote what
// clients ask and webhooks answer.
type serverLog struct {
	file *os.File

	mu   sync.Mutex
	text process.Lines
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
	l.text.Flush()
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
			given = append(given, "--"+f.Name+"="+shell.Quote(value))
		}
	})
	return given
}
