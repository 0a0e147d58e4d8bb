package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// checker is the command check, and what it has in common with load.
type checker struct {
	streams
	name string // of the command
	reporting
	selection
	file     string
	args     []string
	program  []string
	options  optionFlags
	flags    *pflag.FlagSet
	hold     bool
	fast     bool // ends at the first failure
	watching watchMode
	lossy    string // file for the losses to declare; empty for none
	record   string // folder for what the webhook answers now; empty for none
	seed     int64  // of the check, once it is known

	api       clusterFlags
	inCluster inClusterFlags
}

func newCheck(s streams) *cobra.Command {
	c := &checker{streams: s, name: "check"}
	cmd := &cobra.Command{
		Use:   "check [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Check a conversion webhook",
		Long: `check sends conversion requests to a webhook as API servers do, judges the responses, and follows objects through all
versions. Then it sets up its own API server to call the webhook, and uses that API server as clients do.

Objects are generated from the schemas of the CustomResourceDefinition, and taken from samples. Without either, the CronTabs
of the documentation are used. With samples only (of one kind, at two or more versions), less can be checked.

Specify the webhook by its URL, by spec.conversion of the definition (--from-crd), or as a PROGRAM to start. In its arguments,
{certs} is replaced by a folder with tls.crt, tls.key and ca.crt, and {port} by the port to listen on; without it, that is
9443. KUBECONFIG names the API server of the run, never a cluster of yours, as does {kubeconfig}.

In a kind or existing cluster, the webhook can be deployed as pods, from an image (--webhook-image) or manifests
(--webhook-manifests). All settings can also be written in crdconform.yaml, which "crdconform init" creates; flags override it.

Values in samples at the paths of redact (--set) are masked when the samples are read, so neither the reports nor the webhook
receive them. A path at which no sample has a value is an error.

A violation that API servers reject fails the check. One that they accept is Tolerated, and fails the check only with --strict.

` + exitCodes,
		Example: `  crdconform check https://localhost:9443/convert --ca-file ca.crt --crd config/crd/bases/example.com_widgets.yaml

  crdconform check --crd config/crd/bases -- ./bin/manager --webhook-cert-path={certs}

  kustomize build config/default | crdconform check --crd - -- ./bin/manager --webhook-cert-path={certs}

  crdconform check --crd config/crd/bases --api-server kind --webhook-image widgets:dev
  crdconform check --crd config/crd/bases --api-server existing --context staging \
    --webhook-manifests config/default --set webhook.inCluster.secret=webhook-server-cert

  kubectl get crd widgets.example.com -o yaml > widgets.yaml
  kubectl port-forward -n NAMESPACE service/SERVICE 9443:443 &
  crdconform check --crd widgets.yaml --from-crd --address localhost:9443

  crdconform check --crd config/crd/bases --record-expected testdata/conversions -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}
  crdconform check --crd config/crd/bases --expect testdata/conversions -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}

  crdconform init config/crd/bases && crdconform check -- ./bin/manager --webhook-cert-path={certs}`,
		Args: urlOrProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.take(cmd, args)
			return c.run(cmd.Context())
		},
	}
	c.bindOptions(cmd)
	c.bindSpecs(cmd)
	return cmd
}

// take takes the arguments of the command, of which those after -- are a program.
func (c *checker) take(cmd *cobra.Command, args []string) {
	c.args, c.flags = args, cmd.Flags()
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		c.args, c.program = args[:dash], args[dash:]
	}
	c.command = append([]string{c.name}, c.repeated(nil)...)
}

// bindOptions binds the flags for options that the configuration file has as well.
func (c *checker) bindOptions(cmd *cobra.Command) {
	bindConfig(cmd, &c.file)
	c.options.bind(cmd.Flags(), c.name)
	c.inCluster.optionFlags = &c.options
}

// bindSpecs binds the other flags that say what is judged, and how.
func (c *checker) bindSpecs(cmd *cobra.Command) {
	flags := cmd.Flags()
	c.api.none = true
	c.api.bind(c.streams, flags, c.name)
	c.api.complete(cmd)
	c.bindKnownFailing(flags)
	c.complete(cmd)
	c.bindHistory(flags)
	bindFailFast(flags, &c.fast)
	c.watching.bind(flags)
	c.bindVerbosity(flags)
	flags.BoolVar(&c.hold, "hold", false, "keep the PROGRAM running after the check until Ctrl-C, so that the scripts in the report work")
	flags.StringVar(&c.lossy, "write-lossy", "", "file to write the fields that the webhook loses to, as lossy entries for crdconform.yaml; must not exist yet")
	flags.StringVar(&c.record, "record-expected", "", "check nothing, and write to this folder what the webhook makes of the samples and of an object for each field, for --expect")
}

// urlOrProgram wants a URL at most, and nothing else before a program.
func urlOrProgram(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	before := args
	if dash >= 0 {
		before = args[:dash]
	}
	for _, arg := range before {
		if err := notFile(arg); err != nil {
			return err
		}
	}
	switch {
	case len(before) > 1:
		return fmt.Errorf("%s requires one URL, such as https://localhost:9443/convert, but got %d arguments", cmd.Name(), len(before))
	case dash >= 0 && len(before) == 1:
		return fmt.Errorf("give %s either a URL or a program, not both", cmd.Name())
	case dash == len(args):
		return errors.New("no program after --")
	}
	return nil
}

// check is what the configuration file and the flags say together.
func (c *checker) check() (engine.Description, error) {
	read, err := readConfig(c.file)
	if err != nil {
		return engine.Description{}, err
	}
	known, err := c.known()
	if err != nil {
		return engine.Description{}, err
	}
	if err := c.webhook(&read); err != nil {
		return engine.Description{}, err
	}
	known.addTo(&read)
	for _, names := range [][]string{c.options.given.CRDs, c.options.given.Old, c.options.given.Samples} {
		for i, name := range names {
			names[i] = orInput(name)
		}
	}
	if err := c.options.over(&read); err != nil {
		return engine.Description{}, err
	}
	if c.flags.Lookup("api-server") == nil {
		return engine.Description{Config: read, RerunCommand: c.again, ObjectsAdvice: ownObjects}, nil
	}
	if err := read.Validate(); err != nil {
		return engine.Description{}, err
	}
	if err := errors.Join(c.api.take(&read), c.api.validate()); err != nil {
		return engine.Description{}, err
	}
	return engine.Description{
		Config: read, Source: c.api.source(), RerunCommand: c.again, CollectArtifacts: c.gather, HoldAdvice: "; use --hold to keep it running",
		ObjectsAdvice: ownObjects,
	}, nil
}

// ownObjects ends the note that the objects are not the user's.
const ownObjects = "; give your own with --crd or --samples"

// orInput is a file, or the standard input where - stands for it.
func orInput(name string) string {
	if name == standardInput {
		return "/dev/stdin"
	}
	return name
}

// webhook puts the one that arguments and flags name in the place of the one in the file.
func (c *checker) webhook(read *config.Config) error {
	source, flag, err := c.source(read.Webhook)
	if err != nil {
		return err
	}
	given := config.Config{}
	switch source {
	case "":
		return c.inCluster.check(read.Webhook.InCluster != nil)
	case "url":
		given.Webhook.URL = c.args[0]
	case "command":
		options.Option{Key: "webhook.command.path"}.In(&given)
		given.Webhook.Command.Args, given.Webhook.Command.Dir = c.program, ""
	case "fromCRD":
		given.Webhook.FromCRD = &config.FromCRD{}
	case "inCluster":
		given.Webhook.InCluster = &config.InCluster{}
	}
	inPlaceOf(read, given, source, flag)
	return c.inCluster.check(source == "inCluster")
}

// source is the key below webhook of the one that arguments and flags name, with what names it; nothing when they leave that to
// the file, which has a webhook as well.
func (c *checker) source(read config.Webhook) (key, flag string, err error) {
	fromCRD, _ := c.flags.GetBool("from-crd") // every command that has a webhook has the flag
	switch {
	case c.inCluster.any() && (fromCRD || len(c.args)+len(c.program) > 0):
		return "", "", fmt.Errorf("%s deploys a webhook, but a URL, a program or --from-crd is also given; give only one of them", c.inCluster.first())
	case c.inCluster.any():
		return "inCluster", c.inCluster.first(), nil
	case fromCRD && len(c.args)+len(c.program) > 0:
		return "", "", fmt.Errorf("give %s only one of a URL, a program after --, and --from-crd", c.name)
	case c.options.says("webhook.command") && len(c.program) == 0 && (read.Command == nil || len(c.args) > 0 || fromCRD):
		return "", "", errors.New("--set webhook.command: only valid with a program; a URL contains its path")
	case c.options.says("webhook.fromCRD.address") && len(c.args)+len(c.program) > 0:
		return "", "", fmt.Errorf("%s: only valid with --from-crd; a URL and a program have their own", c.options.name("webhook.fromCRD.address"))
	case len(c.args) == 1:
		return "url", "webhook URL", nil
	case len(c.program) > 0:
		return "command", "program", nil
	case fromCRD:
		return "fromCRD", "--from-crd", nil
	}
	return "", "", nil
}

// inPlaceOf puts a webhook in the place of the one in the file. Where both run already, what the file says of certificates
// holds on.
func inPlaceOf(c *config.Config, given config.Config, source, flag string) {
	running := func(w config.Webhook) bool { return w.Command == nil && w.InCluster == nil && w.Reference == nil }
	keys := []string{"url", "fromCRD", "command", "inCluster", "reference"}
	if !running(c.Webhook) || !running(given.Webhook) {
		keys = append(keys, "caFile", "serverName", "clientCertificate", "http2")
	}
	for _, key := range keys {
		by := ""
		if key == source {
			by = flag
		}
		c.Override("webhook."+key, given, by)
	}
}

// requireWebhook fails if neither the flags nor the configuration file specify a webhook.
func requireWebhook(w config.Webhook) error {
	if w.Source() == "" {
		return errors.New("no webhook specified; give its URL, --from-crd, or a program with its arguments after --, or specify it under webhook in crdconform.yaml")
	}
	return nil
}

func (c *checker) run(ctx context.Context) error {
	defer process.FollowMemory(c.set)()
	check, err := c.describe()
	if err != nil {
		return err
	}
	switch {
	case c.watching.on:
		return c.watch(ctx, check)
	case c.watching.build != "":
		return errors.New("--build: only valid with --watch")
	}
	return c.judge(ctx, check)
}

// describe is what is to be checked. It fails if the flags and the file do not go together.
func (c *checker) describe() (engine.Description, error) {
	c.selection.flags, c.filter, c.skip = c.flags, c.options.given.Filter, c.options.given.Skip
	if c.flags.Changed("filter") || c.flags.Changed("skip") {
		if _, err := c.resolve(checked()); err != nil {
			return engine.Description{}, err
		}
	}
	check, err := c.check()
	if err == nil {
		err = requireWebhook(check.Webhook)
	}
	if err != nil {
		return check, err
	}
	if w := check.Webhook; c.hold && (w.URL != "" || w.FromCRD != nil) {
		return check, errors.New("--hold: only valid with a program; a URL keeps serving anyway")
	}
	if check.Generate.Objects == 0 && len(check.Samples) == 0 && len(check.CRDs) > 0 {
		return check, check.At("generate.objects", "with 0 only samples are used, and there are none; give %s, or omit it", options.Key("samples"))
	}
	check.FailFast, check.First = c.fast, failedBefore(check.Path(check.ReportDir))
	return check, nil
}

// judge checks what is described, and writes the report.
func (c *checker) judge(ctx context.Context, check engine.Description) error {
	p := &progress{said: c.said, streams: c.streams, strict: check.Strict, rerun: c.again, patience: patience}
	var held *reports.Report
	var ended error
	if c.hold {
		check.AfterJudged = func(ctx context.Context, report *reports.Report) {
			held, ended = report, c.finish(p, report)
			p.say("The webhook keeps running, so that the scripts of the report work, until Ctrl-C.")
			<-ctx.Done()
		}
	}
	plan, err := check.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return err
	}
	if err = c.reserve(); err != nil {
		return err
	}
	c.act()
	if c.record != "" {
		return c.recordExpected(ctx, p, plan)
	}
	c.seed, c.dir = plan.Seed(), plan.ReportDir()
	if err = c.begin(); err != nil {
		return err
	}
	log := &lateLog{path: filepath.Join(string(c.folder), reporter.LogFile)}
	p.seed, p.revise, p.several = plan.Seed(), plan.Revise, len(plan.Definitions()) > 1
	report := plan.Run(ctx, p, log)
	switch {
	case held == nil:
		ended = c.finish(p, report)
	case held.Error != "" && ended == nil: // something could not be stopped
		ended = unjudged(errors.New(held.Error))
	}
	return c.beside(ended, log.close())
}

// finish writes the report and shows what it came to.
func (c *checker) finish(p *progress, report *reports.Report) error {
	p.wipe()
	report.Tool, report.Command = toolVersion(), c.newReport().Command
	c.watching.last = report
	return c.beside(c.end(c.streams, report), c.declare(report))
}

// reserve fails if the file for the losses cannot be created.
func (c *checker) reserve() error {
	if c.lossy == "" {
		return nil
	}
	if err := c.write(""); err != nil {
		return fmt.Errorf("--write-lossy: %w; give the name of a new file", err)
	}
	return os.Remove(c.lossy)
}

// declare writes the losses to their file, if there are any.
func (c *checker) declare(report *reports.Report) error {
	if c.lossy == "" {
		return nil
	}
	if len(reporter.Losses(report)) == 0 {
		fmt.Fprintf(c.out, "Nothing is lost that could be declared, so %s was not written.\n", c.lossy)
		return nil
	}
	text, err := written(func(w io.Writer) error { return reporter.Lossy(report, w) })
	if err == nil {
		err = c.write(text)
	}
	if err == nil {
		fmt.Fprintf(c.out, "Losses: %s\n", c.lossy)
	}
	return err
}

// write creates the file for the losses.
func (c *checker) write(text string) error {
	file, err := os.OpenFile(c.lossy, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// again is the command that checks one requirement again in the same way.
func (c *checker) again(_ string, id requirement.ID) string { return c.rerun("--filter=" + string(id)) }

// rerun is the command that judges again, in the same way, what a flag selects. It is no night of a history.
func (c *checker) rerun(selects string) string {
	words := append([]string{"crdconform", c.name}, c.repeated([]string{"filter", "skip", "scenario", "seed", "report-dir", "history", "write-lossy", "record-expected", "fail-fast", "watch", "build"})...)
	return strings.Join(slices.Insert(words, 2, selects, fmt.Sprintf("--seed=%d", c.seed), "--report-dir="+shell.Quote(c.againDir())), " ")
}

// repeated returns the arguments and flags as they were given, but for some flags.
func (c *checker) repeated(without []string) []string {
	words := shell.QuoteAll(c.args)
	for _, flag := range givenFlags(c.flags) {
		if name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "="); !slices.Contains(without, name) {
			words = append(words, flag)
		}
	}
	if len(c.program) > 0 {
		words = append(append(words, "--"), shell.QuoteAll(c.program)...)
	}
	return words
}
