package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/visible"
)

// storageLook is what the commands have in common that look at a cluster and change nothing.
type storageLook struct {
	streams
	storageTarget
	etcd     storage.EtcdOptions
	snapshot string
	auditLog string
	manifest []string
	skip     []string
	pageSize int64
	output   string
	paged    bool // it may be a page of HTML
}

func (l *storageLook) bind(flags *pflag.FlagSet, command string) {
	l.storageTarget.bind(flags, command)
	flags.StringVar(&l.snapshot, "snapshot", "", "read the stored versions from a file written by \"etcdctl snapshot save\"")
	flags.StringVar(&l.auditLog, "audit-log", "", "audit log of the API servers: JSON lines, optionally compressed with gzip")
	flags.StringSliceVar(&l.manifest, "manifests", nil, "files, or folders of any depth, with manifests that may name a version, such as a checkout of git")
	flags.StringVarP(&l.output, "output", "o", "text", "format: "+listOf(l.formats()))
}

// formats are those of the output.
func (l *storageLook) formats() []string {
	if l.paged {
		return []string{"text", "json", "html"}
	}
	return []string{"text", "json"}
}

// check says what is wrong with the flags.
func (l *storageLook) check() error {
	if err := knownFormat(l.output, l.formats()...); err != nil {
		return err
	}
	c, err := l.configure()
	if err != nil {
		return err
	}
	l.skip, l.pageSize = c.Storage.SkipResources, cmp.Or(c.Storage.PageSize, migrate.DefaultPageSize)
	if l.etcd, err = etcdOf(c); err == nil && len(l.etcd.Endpoints) > 0 && l.snapshot != "" {
		return errors.New("storage.etcd.endpoints and --snapshot cannot be combined")
	}
	return err
}

// inspect looks at definitions. The caller closes the spool, which is nil unless all blockers are kept.
func (l *storageLook) inspect(ctx context.Context, names []string, options storage.Options) (*storage.Inventory, *storage.Spool, error) {
	cluster, err := l.reading(ctx)
	if err != nil {
		return nil, nil, err
	}
	source, err := l.source(ctx)
	if err != nil {
		return nil, nil, l.unlooked(ctx, err)
	}
	if source != nil {
		defer func() { _ = source.Close() }() // it was only read
	}
	if l.auditLog != "" {
		if options.AuditLog, err = storage.ReadAuditLog(ctx, l.auditLog, names); err != nil {
			return nil, nil, l.unlooked(ctx, err)
		}
	}
	if len(l.manifest) > 0 {
		if options.Manifests, err = storage.ReadManifests(l.manifest); err != nil {
			return nil, nil, l.unlooked(ctx, err)
		}
	}
	options.Source, options.PageSize, options.Skip, options.Flags = source, l.pageSize, l.skip, l.flags()
	if len(l.manifest) > 0 {
		options.Looked = "--manifests " + shell.Quote(strings.Join(l.manifest, ","))
	}
	if l.terminal {
		options.Progress = func(resource string, objects int64) {
			fmt.Fprint(l.err, erase, visible.Text(fmt.Sprintf("%s: %d objects", resource, objects)))
		}
		defer fmt.Fprint(l.err, erase)
	}
	inventory, spool, err := storage.Inspect(ctx, cluster.Config(), names, options)
	if err != nil {
		return nil, nil, l.unlooked(ctx, err)
	}
	return inventory, spool, nil
}

// flags are those that say which cluster it is.
func (l *storageLook) flags() string {
	flags := "--context " + shell.Quote(l.context)
	if l.kubeconfig != "" {
		flags += " --kubeconfig " + shell.Quote(l.kubeconfig)
	}
	return flags
}

// source returns where stored bytes can be read, or nil.
func (l *storageLook) source(ctx context.Context) (storage.Source, error) {
	switch {
	case len(l.etcd.Endpoints) > 0:
		return storage.OpenEtcd(ctx, l.etcd)
	case l.snapshot != "":
		return storage.OpenSnapshot(ctx, l.snapshot, l.etcd.Prefix)
	}
	return nil, nil //nolint:nilnil // there is none
}

// unlooked is the error of what could not be looked at, with its exit code.
func (l *storageLook) unlooked(ctx context.Context, err error) error {
	if missing, is := errors.AsType[*storage.NoDefinitionError](err); is {
		return missing
	}
	return unfinished(ctx, err)
}

func newStorageStatus(s streams) *cobra.Command {
	l := &storageLook{streams: s, storageTarget: storageTarget{current: s.plugin}, paged: true}
	cmd := &cobra.Command{
		Use:   "status CRD...",
		Short: "Show at which versions objects are stored, and who names them",
		Long: `status shows for each version of a definition: whether it is served, is the storage version, and is in
status.storedVersions; how many objects are stored at it; how many objects have managed fields or owner references that
name it, over all resources in the cluster; and who still requests it. It sends only GET requests.

The API does not show at which version an object is stored. status reads this from etcd (the key storage.etcd.endpoints) or
from an etcd snapshot (--snapshot), or else derives it from how the definition changed, as far as the API server remembers it.
The output says which.

Requests for a version are read from an audit log (--audit-log), or else from the metrics of the API server, which cover
deprecated versions only. Deployed releases of Helm are read from its Secrets, and manifests from --manifests.

The last lines are the steps to a definition without each old version, with what is done already, the command for the rest,
and how to undo it.

Exit codes:
  0    everything could be read
  2    usage: bad flags, unknown context, or no such definition
  3    something could not be read; the rest is shown
  130  interrupted`,
		Example: `  crdconform storage status crontabs.stable.example.com --context staging
  crdconform storage status crontabs.stable.example.com --context staging --snapshot backup.db --audit-log audit.log.gz
  crdconform storage status crontabs.stable.example.com --context staging --manifests ../deployments
  crdconform storage status crontabs.stable.example.com --context staging --output json
  crdconform storage status crontabs.stable.example.com --context staging --output html > stored.html`,
		Args: definitionNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.check(); err != nil {
				return err
			}
			return l.status(cmd.Context(), args)
		},
	}
	l.bind(cmd.Flags(), "storage status")
	return cmd
}

// storedSources are the key and the flag by which stored bytes can be read.
const storedSources = "storage.etcd.endpoints or --snapshot"

// definitionNames wants names of definitions.
func definitionNames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s takes names of definitions, such as crontabs.stable.example.com", cmd.Name())
	}
	for _, arg := range args {
		if err := definitionName(arg); err != nil {
			return err
		}
	}
	return nil
}

func definitionName(name string) error {
	if plural, group, found := strings.Cut(name, "."); !found || plural == "" || group == "" || strings.ContainsAny(name, "/ ") {
		return fmt.Errorf("%q is not the name of a definition, such as crontabs.stable.example.com", name)
	}
	return nil
}

func (l *storageLook) status(ctx context.Context, names []string) error {
	inventory, _, err := l.inspect(ctx, names, storage.Options{})
	if err != nil {
		return err
	}
	switch l.output {
	case "json":
		err = writeJSON(l.out, inventory)
	case "html":
		err = l.writeHTML(inventory)
	default:
		err = write(l.out, visible.Text(inventory.Text(storedSources)))
	}
	if err != nil {
		return err
	}
	gaps := len(inventory.Gaps) + len(inventory.HelmGaps)
	for _, d := range inventory.Definitions {
		gaps += len(d.Gaps) + len(d.ManifestGaps)
	}
	if gaps > 0 {
		return unjudged(fmt.Errorf("not everything could be read; what is missing is listed above (%d)", gaps))
	}
	return nil
}

// writeHTML shows what was found as a page.
func (l *storageLook) writeHTML(inventory *storage.Inventory) error {
	page := &reporter.Tables{Title: "stored versions", Notes: inventory.NotesText()}
	for _, d := range inventory.Definitions {
		page.Tables = append(page.Tables, reporter.Table{
			Title: d.Title(), Table: d.VersionTable(), Notes: d.NotesText(storedSources) + d.PlanText(),
		})
	}
	text, err := written(page.HTML)
	if err != nil {
		return unjudged(err)
	}
	return write(l.out, text)
}
