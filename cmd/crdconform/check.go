package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// checker is the command check, and what it has in common with load.
type checker struct {
	streams
	name string // of the command
	reporting
	selection
	file  string
	args  []string
	flags *pflag.FlagSet
	given checkFlags

	api       clusterFlags
	inCluster inClusterFlags
}

// checkFlags are what the flags of check say. One that is given takes the place of what the configuration file says.
type checkFlags struct {
	crds, samples []string
	redact        []string
	fromCRD       bool
	address       string
	caFile        string
	serverName    string
	clientCert    string
	clientKey     string
	http2         bool
	timeout       time.Duration
	objects       int
	strict        bool
	seed          int64
	reportDir     string
	hold          bool
	program       []string
	path          string
}

func newCheck(s streams) *cobra.Command {
	c := &checker{streams: s, name: "check"}
	cmd := &cobra.Command{
		Use:   "check [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Check a conversion webhook",
		Long: `check sends conversion requests to a webhook as API servers do, judges the responses, and follows what becomes of objects on
their way through all versions. Then it has an API server of its own call the webhook, and uses it as clients do.

What is converted comes from the CustomResourceDefinition, by whose schemas objects are generated, and from samples. Without
either the objects are the CronTabs of the documents. With samples alone, objects of one kind at two versions or more, less
can be checked.

The webhook is at a URL, or where the definition's own spec.conversion says (--from-crd), or a PROGRAM to start: in its
arguments {port} and {certs} stand for the port to serve at and for a folder with tls.crt, tls.key and ca.crt, and
{kubeconfig} for a file that leads to the API server. In a kind cluster or an existing one it can be deployed as pods, from an
image (--webhook-image) or by manifests (--webhook-manifests). All that flags say can stand in crdconform.yaml too, which
"crdconform init" writes; flags win.

What samples have at the paths of --redact is masked when they are read, so neither reports nor the webhook have it. A path at
which no sample has anything is an error.

A violation that API servers reject fails the check. One that they put up with is Tolerated, and fails it under --strict.

` + exitCodes,
		Example: `  crdconform check https://localhost:9443/convert --ca-file ca.crt --crd config/crd/bases/example.com_widgets.yaml

  crdconform check --crd config/crd/bases -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}

  crdconform check --crd config/crd/bases --cluster kind --webhook-image widgets:dev
  crdconform check --crd config/crd/bases --cluster existing --context staging \
    --webhook-manifests config/default --webhook-secret webhook-server-cert

  kubectl get crd widgets.example.com -o yaml > widgets.yaml
  kubectl port-forward -n NAMESPACE service/SERVICE 9443:443 &
  crdconform check --crd widgets.yaml --from-crd --address localhost:9443

  crdconform init config/crd/bases && crdconform check`,
		Args: urlOrProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.take(cmd, args)
			return c.run(cmd.Context())
		},
	}
	c.bindSubject(cmd)
	c.bindSpecs(cmd)
	return cmd
}

// take takes the arguments of the command, of which those after -- are a program.
func (c *checker) take(cmd *cobra.Command, args []string) {
	c.args, c.flags = args, cmd.Flags()
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		c.args, c.given.program = args[:dash], args[dash:]
	}
	c.command = append([]string{c.name}, c.repeated(nil)...)
}

// bindSubject binds the flags that say which webhook it is, and what it converts.
func (c *checker) bindSubject(cmd *cobra.Command) {
	flags := cmd.Flags()
	g := &c.given
	bindConfig(cmd, &c.file)
	flags.StringSliceVar(&g.crds, "crd", nil, "files with CustomResourceDefinitions, patterns such as '*.yaml', or folders")
	flags.StringSliceVar(&g.samples, "samples", nil, "files with custom resources to convert, written like --crd")
	flags.StringArrayVar(&g.redact, "redact", nil, "path into samples at which letters and digits are masked before anything is done with them, such as spec.password, spec.users[*].token or spec.tokens.*; may be given several times")
	flags.BoolVar(&g.fromCRD, "from-crd", false, "take the webhook and its certificates from spec.conversion of each definition")
	flags.StringVar(&g.address, "address", "", "with --from-crd: where the service is reached from here, host:port, as by kubectl port-forward")
	flags.StringVar(&g.caFile, "ca-file", "", "certificates to verify the webhook by, in PEM; those of the system when missing")
	flags.StringVar(&g.serverName, "server-name", "", "name to verify the webhook's certificate against, such as SERVICE.NAMESPACE.svc; the host of the URL when missing")
	flags.StringVar(&g.clientCert, "client-cert", "", "certificate to show to a webhook that asks for one, in PEM")
	flags.StringVar(&g.clientKey, "client-key", "", "private key of --client-cert, in PEM")
	flags.BoolVar(&g.http2, "http2", false, "use HTTP/2, as API servers do for URLs on localhost; HTTP/1.1 otherwise")
	flags.DurationVar(&g.timeout, "timeout", wire.APIServerTimeout, "how long to wait for an answer; API servers wait for 30s")
	flags.StringVar(&g.path, "path", "/convert", "path of the URL that a PROGRAM serves")
	flags.Int64Var(&g.seed, "seed", 0, "seed of all random choices, to repeat a run; a new one when 0")
	flags.StringVar(&g.reportDir, "report-dir", "crdconform-report", "folder to write the reports to")
}

// bindSpecs binds the flags that say what is judged, and how.
func (c *checker) bindSpecs(cmd *cobra.Command) {
	flags := cmd.Flags()
	g := &c.given
	flags.IntVar(&g.objects, "objects", config.Default().Generate.Objects, "objects to generate for each version; 0 for samples only")
	c.api.none = true
	c.api.bind(c.streams, flags)
	flags.Lookup("cluster").Usage = "API server for the checks that need one: embedded, one that runs in this process; kind, a cluster made for the check; envtest, kube-apiserver and etcd as programs; existing; or none to leave them out"
	c.inCluster.bind(flags)
	c.bind(flags)
	c.bindKnownFailing(flags)
	c.complete(cmd)
	flags.BoolVar(&g.hold, "hold", false, "when all is judged, leave the PROGRAM running until Ctrl-C, so that the curl lines of the report work")
	flags.BoolVar(&g.strict, "strict", false, "count what API servers tolerate as failed")
}

// urlOrProgram wants a URL at most, and nothing else before a program.
func urlOrProgram(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	before := args
	if dash >= 0 {
		before = args[:dash]
	}
	switch {
	case len(before) > 1:
		return fmt.Errorf("%s wants one URL, such as https://localhost:9443/convert, and got %d arguments", cmd.Name(), len(before))
	case dash >= 0 && len(before) == 1:
		return fmt.Errorf("%s wants a URL or a program after --, and got both", cmd.Name())
	case dash == len(args):
		return errors.New("there is no program after --")
	}
	return nil
}

// check is what the configuration file and the flags say together.
func (c *checker) check() (crdconform.Check, error) {
	read, err := readConfig(c.file)
	if err != nil {
		return crdconform.Check{}, err
	}
	known, err := c.readKnownFailing()
	if err != nil {
		return crdconform.Check{}, err
	}
	given, err := c.webhook()
	if err != nil {
		return crdconform.Check{}, err
	}
	if given != nil {
		read = detached(read)
		read.Webhook = inPlaceOf(read.Webhook, *given)
	}
	if c.inCluster.flags != nil {
		if err := c.deployed(&read); err != nil {
			return crdconform.Check{}, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		read.KnownFailing = append(read.KnownFailing, config.KnownFailing{ID: string(id), Reason: known[id]})
	}
	c.override(&read)
	if c.inCluster.flags == nil {
		return crdconform.Check{Config: read, Again: c.again}, nil
	}
	c.api.sort = string(read.Cluster)
	return crdconform.Check{Config: read, Again: c.again}, c.api.validate()
}

// deployed puts what flags say of a webhook in the cluster in the place of what the file says.
func (c *checker) deployed(read *config.Config) error {
	if read.Webhook.InCluster == nil {
		return c.inCluster.stray()
	}
	var err error
	read.Webhook.InCluster, err = c.inCluster.over(*read.Webhook.InCluster, func(names ...string) []string { return fromHere(read, names) })
	return err
}

// override puts what flags say in the place of what the file says.
func (c *checker) override(read *config.Config) {
	g := c.given
	here := func(names ...string) []string { return fromHere(read, names) }
	for name, set := range map[string]func(){
		"crd":         func() { read.CRDs = here(g.crds...) },
		"samples":     func() { read.Samples = here(g.samples...) },
		"redact":      func() { read.Redact = g.redact },
		"ca-file":     func() { read.Webhook.CAFile = here(g.caFile)[0] },
		"server-name": func() { read.Webhook.ServerName = g.serverName },
		"client-cert": func() { read.Webhook.ClientCertificate.CertFile = here(g.clientCert)[0] },
		"client-key":  func() { read.Webhook.ClientCertificate.KeyFile = here(g.clientKey)[0] },
		"http2":       func() { read.Webhook.HTTP2 = g.http2 },
		"timeout":     func() { read.Webhook.Timeout.Duration = g.timeout },
		"objects":     func() { read.Generate.Objects = g.objects },
		"seed":        func() { read.Generate.Seed = g.seed },
		"cluster":     func() { read.Cluster = config.Cluster(c.api.sort) },
		"strict":      func() { read.Strict = g.strict },
		"filter":      func() { read.Filter = c.filter },
		"skip":        func() { read.Skip = c.skip },
		"report-dir":  func() { read.ReportDir = here(g.reportDir)[0] },
		"address":     func() { addressed(&read.Webhook, g.address) },
	} {
		if c.flags.Changed(name) {
			set()
		}
	}
}

// addressed has the service of a webhook that definitions name be reached at an address.
func addressed(w *config.Webhook, address string) {
	if w.FromCRD != nil {
		w.FromCRD = &config.FromCRD{Address: address}
	}
}

// webhook is the one that arguments and flags name; nil when they leave that to the file.
func (c *checker) webhook() (*config.Webhook, error) {
	switch {
	case c.inCluster.any() && (c.given.fromCRD || len(c.args)+len(c.given.program) > 0):
		return nil, fmt.Errorf("--%s deploys a webhook, and there is a URL, a program or --from-crd too; give one of them", c.inCluster.first())
	case c.inCluster.any():
		return &config.Webhook{InCluster: &config.InCluster{}}, nil
	case c.given.fromCRD && len(c.args)+len(c.given.program) > 0:
		return nil, fmt.Errorf("%s wants a URL, a program after -- or --from-crd, and got two of them", c.name)
	case c.flags.Changed("path") && len(c.given.program) == 0:
		return nil, errors.New("--path: it goes with a program after --; a URL has its path in it")
	case c.flags.Changed("address") && len(c.args)+len(c.given.program) > 0:
		return nil, errors.New("--address: it goes with --from-crd; a URL and a program have theirs")
	case len(c.args) == 1:
		return &config.Webhook{URL: c.args[0]}, nil
	case len(c.given.program) > 0:
		ready := config.Duration{Duration: time.Minute}
		return &config.Webhook{Command: &config.Command{Args: c.given.program, Path: c.given.path, ReadyTimeout: ready}}, nil
	case c.given.fromCRD:
		return &config.Webhook{FromCRD: &config.FromCRD{}}, nil
	}
	return nil, nil //nolint:nilnil // no arguments, no webhook
}

// inPlaceOf puts a webhook in the place of the one in the file. Where both run already, what the file says of certificates
// holds on.
func inPlaceOf(w, given config.Webhook) config.Webhook {
	given.Timeout = w.Timeout
	if given.Command == nil && given.InCluster == nil && w.Command == nil && w.InCluster == nil && w.Reference == nil {
		given.CAFile, given.ServerName, given.ClientCertificate, given.HTTP2 = w.CAFile, w.ServerName, w.ClientCertificate, w.HTTP2
	}
	return given
}

// detached is a configuration that says the same without its file, of which a part does not hold any more.
func detached(c config.Config) config.Config {
	paths := func(names []string) []string {
		var all []string
		for _, name := range names {
			all = append(all, c.Path(name))
		}
		return all
	}
	w := c.Webhook
	w.CAFile = c.Path(w.CAFile)
	w.ClientCertificate.CertFile, w.ClientCertificate.KeyFile = c.Path(w.ClientCertificate.CertFile), c.Path(w.ClientCertificate.KeyFile)
	return config.Config{
		APIVersion: c.APIVersion, Kind: c.Kind, CRDs: paths(c.CRDs), Samples: paths(c.Samples), Redact: c.Redact, Webhook: w,
		Lossy: c.Lossy, KnownFailing: c.KnownFailing, Filter: c.Filter, Skip: c.Skip, Strict: c.Strict,
		Cluster: c.Cluster, Generate: c.Generate, ReportDir: c.Path(c.ReportDir), Load: c.Load, Objectives: c.Objectives,
	}
}

// fromHere makes names of files mean the same in a configuration as on the command line.
func fromHere(c *config.Config, names []string) []string {
	var all []string
	for _, name := range names {
		if whole, err := filepath.Abs(name); err == nil && c.Path(name) != name {
			name = whole
		}
		all = append(all, name)
	}
	return all
}

// byFlags tells errors about flags by the flags: users do not see the keys of the configuration that they stand for.
func (c *checker) byFlags(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range several.Unwrap() {
			all = append(all, c.byFlags(one))
		}
		return errors.Join(all...)
	}
	if flagged := c.inCluster.byFlags(err); flagged != nil {
		return flagged
	}
	text := problemText(err)
	key, rest, _ := strings.Cut(text, ": ")
	key, _, _ = strings.Cut(key, "[")
	if key == "webhook.clientCertificate" && strings.HasPrefix(rest, "it needs") && c.flags.Changed("client-cert") != c.flags.Changed("client-key") {
		return errors.New("--client-cert and --client-key go together: a certificate and its private key; give both")
	}
	if key == "webhook.url" && len(c.args) == 1 {
		return fmt.Errorf("webhook URL: %s", rest)
	}
	flag, found := map[string]string{
		"crds": "crd", "samples": "samples", "redact": "redact", "filter": "filter", "skip": "skip", "cluster": "cluster", "reportDir": "report-dir",
		"generate.objects": "objects", "webhook.timeout": "timeout", "webhook.caFile": "ca-file", "webhook.serverName": "server-name",
		"webhook.clientCertificate": "client-cert", "webhook.fromCRD": "from-crd", "webhook.fromCRD.address": "address",
		"webhook.command.path": "path", "webhook.command.args": "",
		"load.profile": "profile", "load.rates": "rate", "load.batches": "batch", "load.bytes": "bytes", "load.clients": "clients",
		"load.duration": "duration", "load.objects": "relist-objects", "load.pairs": "from", "load.reviewVersion": "review-version",
		"load.inFlight": "in-flight", "load.judgeEvery": "judge-every", "load.repeat": "repeat", "load.baseline": "baseline", "objectives.presets": "objective", "load.recording": "recording", "load.throughAPIServer": "through-api-server", "load.warmUp": "warm-up",
	}[key]
	switch {
	case !found || flag != "" && !c.flags.Changed(flag):
		return err
	case flag == "":
		return fmt.Errorf("program: %s", rest)
	}
	return fmt.Errorf("--%s: %s", flag, rest)
}

func (c *checker) run(ctx context.Context) error {
	if c.flags.Changed("filter") || c.flags.Changed("skip") {
		if _, err := c.resolve(checked()); err != nil {
			return err
		}
	}
	check, err := c.check()
	if err != nil {
		return err
	}
	if w := check.Webhook; c.given.hold && (w.URL != "" || w.FromCRD != nil) {
		return errors.New("--hold: it goes with a program after --, which ends with the check; what serves at a URL goes on anyway, so leave it out")
	}
	p := &progress{streams: c.streams, strict: check.Strict, rerun: c.again}
	var held *reports.Report
	var ended error
	if c.given.hold {
		check.Hold = func(ctx context.Context, report *reports.Report) {
			held, ended = report, c.finish(p, report)
			p.say("The webhook goes on, and the curl lines of the report work, until Ctrl-C.")
			<-ctx.Done()
		}
	}
	check.Start = c.starting(p)
	check.Explain = func(report *reports.Report, write func(string) error) error { return c.folder.Gather(report, write) }
	plan, err := check.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return c.byFlags(err)
	}
	c.given.seed, c.dir, c.api.definitions = plan.Seed(), plan.ReportDir(), plan.CRDs()
	if err = c.begin(); err != nil {
		return err
	}
	log := &lateLog{path: filepath.Join(string(c.folder), "apiserver.log")}
	p.seed, p.revise = plan.Seed(), plan.Revise
	report := plan.Run(ctx, p, log)
	switch {
	case held == nil:
		ended = c.finish(p, report)
	case held.Error != "" && ended == nil: // something could not be stopped
		ended = unjudged(errors.New(held.Error))
	}
	return c.beside(ended, log.close())
}

// starting returns what brings the API server up that the flags say.
func (c *checker) starting(p *progress) func(context.Context, string, io.Writer) (cluster.Cluster, error) {
	return func(ctx context.Context, run string, log io.Writer) (cluster.Cluster, error) {
		if err := embedded.LogTo(log); err != nil {
			return nil, err
		}
		return c.api.bringUp(ctx, p, run, log)
	}
}

// finish writes the report and shows what it came to.
func (c *checker) finish(p *progress, report *reports.Report) error {
	p.wipe()
	report.Tool, report.Command = toolVersion(), c.newReport().Command
	return c.end(c.streams, report)
}

// again is the command that checks one requirement again in the same way.
func (c *checker) again(_ string, id requirement.ID) string {
	words := append([]string{"crdconform", c.name}, c.repeated([]string{"filter", "skip", "seed"})...)
	words = slices.Insert(words, 2, fmt.Sprintf("--filter=%s", id), fmt.Sprintf("--seed=%d", c.given.seed))
	return strings.Join(words, " ")
}

// repeated returns the arguments and flags as they were given, but for some flags.
func (c *checker) repeated(without []string) []string {
	var words []string
	for _, arg := range c.args {
		words = append(words, crdconform.Quoted(arg))
	}
	for _, flag := range givenFlags(c.flags) {
		if name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "="); !slices.Contains(without, name) {
			words = append(words, flag)
		}
	}
	if len(c.given.program) > 0 {
		words = append(words, "--")
		for _, arg := range c.given.program {
			words = append(words, crdconform.Quoted(arg))
		}
	}
	return words
}
