package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/visible"
)

// shownLines is how many lines of a sort the text has; JSON has more.
const shownLines = 20

// migrator is the command storage migrate.
type migrator struct {
	streams
	storageTarget
	etcd       storage.EtcdOptions
	definition string
	options    migrate.Options
	steps      []string
	dryRun     bool
	prove      bool
	with       string
	command    []string
	output     string
}

// migrated is what the command writes as JSON.
type migrated struct {
	Outcome   string         `json:"outcome"` // migrated, dry-run, failed, unknown or interrupted
	Reason    string         `json:"reason,omitempty"`
	Migration migrate.Result `json:"migration"`
	Proof     *proof.Report  `json:"proof,omitempty"`
}

func newStorageMigrate(s streams) *cobra.Command {
	m := &migrator{streams: s}
	cmd := &cobra.Command{
		Use:   "migrate CRD [-- COMMAND ARG...]",
		Short: "Migrate stored objects to the storage version, with a proof",
		Long: `migrate rewrites all objects of a definition at its storage version, with unchanged content. It proves that none is missing
and that none has changed, unless another client changed it. Run it after you change the storage version and before you remove
the previous one. The steps:

  dry-run          makes the API server try each write, to find whatever it would refuse before anything is written
  objects          writes each object as it is, and finally those that other clients wrote meanwhile
  managed-fields   rewrites managed fields that name a version that is not served, or the version of --drop
  stored-versions  removes all versions but the storage version from status.storedVersions, if the definition has not changed

There is no confirmation prompt: naming the context is the consent. --dry-run writes nothing. After an interruption or a kill,
run the command again: it continues where it stopped. A lease prevents two migrations of one definition at the same time.

Other migrators are judged the same way. With --with in-tree, kube-controller-manager migrates by a StorageVersionMigration. A
command after -- runs with a KUBECONFIG that has only this context. Both run after the dry run and replace the other steps.

Exit codes:
  0    migrated, and proved unless --proof=false; with --dry-run, no object is refused
  1    not migrated: objects were refused, the definition changed, or the proof found a loss
  2    usage: bad flags, unknown context, or no such definition
  3    could not tell: permissions are missing, another migration is in progress, the cluster failed, nothing needed to be
       written and only etcd shows why (give storage.etcd.endpoints), or objects were changed or deleted while another migrator ran
  130  interrupted; run it again`,
		Example: `  crdconform storage migrate crontabs.stable.example.com --context staging --dry-run
  crdconform storage migrate crontabs.stable.example.com --context staging --drop v1beta1
  crdconform storage migrate crontabs.stable.example.com --context staging --set storage.qps=50 --set storage.maxLatency=2s
  crdconform storage migrate crontabs.stable.example.com --context staging \
    --set 'storage.etcd={endpoints: ["https://127.0.0.1:2379"], caFile: ca.crt}'
  crdconform storage migrate crontabs.stable.example.com --context staging --with in-tree
  crdconform storage migrate crontabs.stable.example.com --context staging -- cmctl upgrade migrate-api-version`,
		Args: m.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(); err != nil {
				return err
			}
			return m.migrate(cmd.Context())
		},
	}
	m.bind(cmd.Flags())
	return cmd
}

func (m *migrator) bind(flags *pflag.FlagSet) {
	m.storageTarget.bind(flags, "storage migrate")
	flags.StringSliceVar(&m.steps, "steps", nil, "steps to run: dry-run, objects, managed-fields, stored-versions; default: all")
	flags.BoolVar(&m.dryRun, "dry-run", false, "run only the step dry-run, which writes nothing")
	flags.StringVar(&m.options.Drop, "drop", "", "version that you will remove, and that managed fields must no longer name")
	flags.StringVar(&m.with, "with", "crdconform", "who migrates: crdconform or in-tree")
	flags.BoolVar(&m.prove, "proof", true, "read all objects before and after, and prove that nothing was lost")
	flags.StringVarP(&m.output, "output", "o", "text", "format: text or json")
}

// arguments wants a definition, and after -- a command if anything.
func (m *migrator) arguments(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return errors.New("there is no command after --; give one, such as -- kubectl storage-migrate")
		}
		args, m.command = args[:dash], args[dash:]
	}
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one definition, such as crontabs.stable.example.com, but got %d", cmd.Name(), len(args))
	}
	m.definition = args[0]
	return definitionName(m.definition)
}

// check says what is wrong with the flags.
func (m *migrator) check() error {
	for _, step := range m.steps {
		if !slices.Contains(migrate.Steps(), migrate.Step(step)) {
			return fmt.Errorf("--steps %s: unknown step (want dry-run, objects, managed-fields or stored-versions)", step)
		}
		m.options.Steps = append(m.options.Steps, migrate.Step(step))
	}
	if err := knownFormat(m.output, "text", "json"); err != nil {
		return err
	}
	o := &m.options
	switch {
	case m.with != "crdconform" && m.with != "in-tree":
		return fmt.Errorf("--with %s: unknown migrator (want crdconform or in-tree)", m.with)
	case m.dryRun && len(m.steps) > 0:
		return errors.New("--dry-run and --steps cannot be combined")
	case m.command != nil && m.with != "crdconform":
		return errors.New("--with and a command after -- cannot be combined")
	}
	if m.dryRun {
		o.Steps = []migrate.Step{migrate.DryRun}
	}
	if err := m.tune(); err != nil || m.command == nil {
		return err
	}
	if err := m.program().Check(); err != nil {
		return fmt.Errorf("%s: %w", shell.Quote(m.command[0]), err)
	}
	return nil
}

// tune takes what has no flags.
func (m *migrator) tune() error {
	c, err := m.configure()
	if err != nil {
		return err
	}
	s, o := c.Storage, &m.options
	o.PageSize, o.Concurrency, o.MaxSize = s.PageSize, s.Concurrency, s.MaxObjectSize
	o.QPS, o.MaxLatency, o.Settle, o.LeaseNamespace = s.QPS, s.MaxLatency.Duration, migrate.DefaultSettle, s.LeaseNamespace
	if s.Settle != nil {
		o.Settle = s.Settle.Duration
	}
	if s.State != "" {
		o.State = c.Path(s.State)
	}
	m.etcd, err = etcdOf(c)
	return err
}

// program is the command of the user.
func (m *migrator) program() migrate.Command {
	return migrate.Command{Args: m.command, Kubeconfig: kinds.Kubeconfigs(m.kubeconfig), Context: m.context, Out: m.err, Err: m.err}
}

func (m *migrator) migrate(ctx context.Context) error {
	cluster, err := m.writing(ctx)
	if err != nil {
		return err
	}
	config := cluster.Config()
	switch {
	case m.command != nil:
		m.options.By = m.program().Migrator()
	case m.with == "in-tree":
		if m.options.By, err = migrate.InTree(ctx, config, 0); err != nil {
			return unfinished(ctx, err)
		}
	}
	m.options.Progress = m.progress
	var proving *proof.Proof
	if m.prove {
		options := m.provable()
		done, wrong := m.stored(ctx, config, &options)
		if wrong != nil {
			return unfinished(ctx, wrong)
		}
		defer done()
		m.options.Before = func(ctx context.Context) error {
			proving, err = proof.Begin(ctx, config, m.definition, options)
			return err
		}
		m.options.Wrote = func(namespace, name, from, to string) { proving.Rewrote(namespace, name, from, to) }
	}
	did := migrated{}
	did.Migration, err = migrate.Run(ctx, config, m.definition, m.options)
	if proving != nil {
		err = m.judge(ctx, proving, &did, err)
	}
	if m.terminal {
		fmt.Fprint(m.err, erase)
	}
	return m.conclude(ctx, &did, err)
}

// stored finds out how the proof can determine what is stored at which version: by etcd, if that is given, or by what the API server
// remembers. Etcd of another cluster is an error.
func (m *migrator) stored(ctx context.Context, config *rest.Config, options *proof.Options) (done func(), err error) {
	done = func() {}
	definitions, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	crd, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, m.definition, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return done, nil // the migration says so
	case err != nil:
		return nil, err
	}
	if options.StoredAt, err = storage.StoredAt(ctx, config, crd); err != nil || len(m.etcd.Endpoints) == 0 {
		return done, err
	}
	source, err := storage.OpenEtcd(ctx, m.etcd)
	if err != nil {
		return nil, err
	}
	done = func() { _ = source.Close() } // it was only read
	if options.Storage, err = storage.ObjectsOf(ctx, source, crd); err != nil {
		done()
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(m.etcd.Endpoints, ", "), err)
	}
	return done, nil
}

// provable is what the proof is about.
func (m *migrator) provable() proof.Options {
	return proof.Options{
		Retired:      m.options.Drop,
		Unmended:     m.options.By == nil && !m.takes(migrate.ManagedFields),
		OtherClients: true,
		Reported:     m.options.By == nil,
		Foreign:      m.options.By != nil,
		Untrimmed:    m.options.By == nil && !m.takes(migrate.StoredVersions),
		PageSize:     m.options.PageSize,
	}
}

func (m *migrator) takes(step migrate.Step) bool {
	return len(m.options.Steps) == 0 || slices.Contains(m.options.Steps, step)
}

// judge has the proof say what came of the migration, also of one that failed.
func (m *migrator) judge(ctx context.Context, proving *proof.Proof, did *migrated, failed error) error {
	verdict, err := proving.End(ctx)
	if ctx.Err() != nil { // nothing is proved, also where the migration is complete
		return cmp.Or(failed, context.Cause(ctx))
	}
	did.Proof = &verdict
	switch {
	case failed != nil:
		return failed
	case !verdict.Proved():
		return &migrate.IncompleteError{Why: "the proof found that the migration is wrong; see above"}
	case err != nil:
		return fmt.Errorf("the migration is complete, but could not be proved: %w", err)
	case verdict.Undecided > 0:
		return fmt.Errorf("it is not known at which version %s stored; give storage.etcd.endpoints", visible.Count(verdict.Undecided, "object is", "objects are"))
	case m.options.By != nil && verdict.Gone+verdict.Changed > 0:
		return fmt.Errorf("meanwhile, objects were deleted (%d) or changed (%d), and whether by the migrator or by others is not known; "+
			"compare these, or migrate while nobody else writes", verdict.Gone, verdict.Changed)
	}
	return nil
}

// progress shows how far the migration is: on a terminal as a line that changes, elsewhere only what it waits for.
func (m *migrator) progress(p migrate.Progress) {
	text := p.Waiting
	if text == "" {
		text = fmt.Sprintf("%s: %s", p.Step, visible.Count(p.Objects, "object", "objects"))
		if p.Refused > 0 {
			text += fmt.Sprintf(", %d refused", p.Refused)
		}
	}
	switch {
	case m.terminal:
		fmt.Fprint(m.err, erase, visible.Text(text))
	case p.Waiting != "":
		fmt.Fprintf(m.err, "crdconform: %s\n", visible.Text(text))
	}
}

// conclude writes what was done, and returns the error with its exit code.
func (m *migrator) conclude(ctx context.Context, did *migrated, err error) error {
	if misuse, ok := errors.AsType[*migrate.UsageError](err); ok {
		return misuse
	}
	did.Outcome = "migrated"
	if m.dryRun {
		did.Outcome = "dry-run"
	}
	code := exitConforms
	var not *migrate.IncompleteError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		code, did.Outcome, err = exitInterrupted, "interrupted", errors.New("interrupted; run it again to complete the migration")
	case errors.As(err, &not):
		code, did.Outcome = exitViolates, "failed"
	default:
		code, did.Outcome = exitUnjudged, "unknown"
	}
	if err != nil {
		did.Reason = oneLine(err.Error())
	}
	show := func() error { return write(m.out, did.text(m)) }
	if m.output == "json" {
		show = func() error { return writeJSON(m.out, did) }
	}
	if wrong := show(); wrong != nil {
		return wrong
	}
	if err != nil {
		return &exitError{code, err}
	}
	return nil
}
