package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/visible"
)

// storageLook is what the commands have in common that look at a cluster and change nothing.
type storageLook struct {
	streams
	storageTarget
	etcd     etcdFlags
	snapshot string
	auditLog string
	skip     []string
	pageSize int64
	output   string
	paged    bool // it may be a page of HTML
}

func (l *storageLook) bind(flags *pflag.FlagSet) {
	l.storageTarget.bind(flags)
	l.etcd.bind(flags)
	flags.StringVar(&l.snapshot, "snapshot", "", "read the stored versions from a file written by \"etcdctl snapshot save\"")
	flags.StringVar(&l.auditLog, "audit-log", "", "audit log of the API servers: JSON lines, optionally compressed with gzip")
	flags.StringSliceVar(&l.skip, "skip", nil, "resources to leave out of the search for owner references, such as secrets or leases.coordination.k8s.io")
	flags.Int64Var(&l.pageSize, "page-size", 500, "objects to list at a time")
	flags.StringVarP(&l.output, "output", "o", "text", "format: "+l.formats())
}

// formats are those of the output.
func (l *storageLook) formats() string {
	if l.paged {
		return "text, json or html"
	}
	return "text or json"
}

// check says what is wrong with the flags.
func (l *storageLook) check() error {
	switch {
	case l.output != "text" && l.output != "json" && (l.output != "html" || !l.paged):
		return fmt.Errorf("--output %s: unknown format (want %s)", l.output, l.formats())
	case l.pageSize < 1 || l.pageSize > 10000:
		return fmt.Errorf("--page-size %d: must be from 1 to 10000", l.pageSize)
	case len(l.etcd.Endpoints) > 0 && l.snapshot != "":
		return errors.New("--etcd-endpoints and --snapshot cannot be combined")
	}
	return l.etcd.check()
}

// inspect looks at definitions. The caller closes the spool, which is nil unless all blockers are kept.
func (l *storageLook) inspect(ctx context.Context, names []string, options storage.Options) (*storage.Inventory, *storage.Spool, error) {
	cluster, err := l.connect(ctx, true)
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
	options.Source, options.PageSize, options.Skip, options.Flags = source, l.pageSize, l.skip, l.flags()
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
		return storage.OpenEtcd(ctx, l.etcd.EtcdOptions)
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
	if other, is := errors.AsType[*storage.ResumeError](err); is {
		return fmt.Errorf("--resume %w", other)
	}
	return unfinished(ctx, err)
}

func newStorageStatus(s streams) *cobra.Command {
	l := &storageLook{streams: s, storageTarget: storageTarget{current: s.plugin}, paged: true}
	cmd := &cobra.Command{
		Use:   "status CRD...",
		Short: "Show at which versions objects are stored, and who names or asks for each version",
		Long: `status shows for each version of a definition: whether it is served, is the storage version, and is in
status.storedVersions; how many objects are stored at it; how many objects have managed fields or owner references that
name it, over all resources in the cluster; and who still requests it. It sends only GET requests.

The API does not show at which version an object is stored. status reads this from etcd (--etcd-endpoints) or from an etcd
snapshot (--snapshot), or else derives it from how the definition changed, as far as the API server remembers it. The output
says which.

Requests for a version are read from an audit log (--audit-log), or else from the metrics of the API server, which cover
deprecated versions only.

Exit codes:
  0    everything could be read
  2    usage: bad flags, unknown context, or no such definition
  3    something could not be read; the rest is shown
  130  interrupted`,
		Example: `  crdconform storage status crontabs.stable.example.com --context staging
  crdconform storage status crontabs.stable.example.com --context staging --snapshot backup.db --audit-log audit.log.gz
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
	l.bind(cmd.Flags())
	return cmd
}

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
	text := ""
	switch l.output {
	case "json":
		text, err = listJSON(inventory)
	case "html":
		text, err = statusHTML(inventory)
	default:
		text = statusText(inventory)
	}
	if err != nil {
		return unjudged(err)
	}
	if err := write(l.out, text); err != nil {
		return err
	}
	gaps := len(inventory.Gaps)
	for _, d := range inventory.Definitions {
		gaps += len(d.Gaps)
	}
	if gaps > 0 {
		return unjudged(fmt.Errorf("not everything could be read; what is missing is listed above (%d)", gaps))
	}
	return nil
}

// statusText shows what was found.
func statusText(inventory *storage.Inventory) string {
	var b strings.Builder
	for n, d := range inventory.Definitions {
		if n > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", definitionTitle(d))
		b.WriteString(versionTable(d))
		b.WriteString(definitionNotes(d))
	}
	b.WriteString(inventoryNotes(inventory))
	return visible.Text(b.String())
}

// statusHTML shows what was found as a page.
func statusHTML(inventory *storage.Inventory) (string, error) {
	page := &reporter.Tables{Title: "stored versions", Notes: inventoryNotes(inventory)}
	for _, d := range inventory.Definitions {
		page.Tables = append(page.Tables, reporter.Table{
			Title: definitionTitle(d), Head: versionHead(), Rows: versionRows(d), Notes: definitionNotes(d),
		})
	}
	var b strings.Builder
	err := page.HTML(&b)
	return b.String(), err
}

// definitionTitle is a definition with the number of its objects.
func definitionTitle(d *storage.Definition) string {
	if d.Unseen {
		return d.Name + ": its objects could not be read"
	}
	return d.Name + ": " + storage.Counted(d.Objects, "object", "objects")
}

// definitionNotes says what there is to say of a definition beside the table.
func definitionNotes(d *storage.Definition) string {
	var b strings.Builder
	if ways := d.Told(); ways != "" {
		fmt.Fprintf(&b, "Stored versions: %s.\n", ways)
	}
	if d.Unknown > 0 {
		fmt.Fprintf(&b, "Stored versions of %d of the objects: not known; give --etcd-endpoints or --snapshot.\n", d.Unknown)
	}
	for _, v := range d.Versions {
		b.WriteString(versionNotes(v))
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	b.WriteString(gapsText(d.Gaps))
	return b.String()
}

// inventoryNotes says what was not looked at.
func inventoryNotes(inventory *storage.Inventory) string {
	text := gapsText(inventory.Gaps)
	if len(inventory.Skipped) > 0 {
		text += fmt.Sprintf("Not searched for owner references, as you asked: %s\n", strings.Join(inventory.Skipped, ", "))
	}
	return text
}

// versionTable shows the versions of a definition.
func versionTable(d *storage.Definition) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(versionHead(), "\t"))
	for _, row := range versionRows(d) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // it writes to memory
	return b.String()
}

func versionHead() []string {
	return []string{"VERSION", "SERVED", "STORAGE", "IN STOREDVERSIONS", "OBJECTS STORED", "MANAGED FIELDS", "OWNER REFERENCES", "REQUESTS"}
}

func versionRows(d *storage.Definition) [][]string {
	var rows [][]string
	for _, v := range d.Versions {
		served, name := yes(v.Served), v.Name
		if v.Deprecated {
			name += " (deprecated)"
		}
		if !v.Defined {
			served = "removed"
		}
		rows = append(rows, []string{
			name, served, yes(v.Storage), yes(v.Listed), ofObjects(d, atLeast(v.Stored, d.Unknown)),
			ofObjects(d, strconv.FormatInt(v.ManagedFields, 10)), strconv.FormatInt(v.OwnerReferences, 10), requestsText(v),
		})
	}
	return rows
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// ofObjects is a number of objects, if they could be read.
func ofObjects(d *storage.Definition, number string) string {
	if d.Unseen {
		return "not known"
	}
	return number
}

// atLeast is a number that may be too low.
func atLeast(n, unknown int64) string {
	if unknown > 0 {
		return fmt.Sprintf("%d or more", n)
	}
	return strconv.FormatInt(n, 10)
}

// requestsText says in a few words who asks for a version.
func requestsText(v *storage.Version) string {
	switch {
	case v.Requests.Total > 0:
		return fmt.Sprintf("%d, of %d clients", v.Requests.Total, len(v.Requests.Asked))
	case len(v.Requests.Asked) > 0:
		return "yes"
	case !v.Defined || !v.Served:
		return "none, not served"
	case v.Requests.Known:
		return "none"
	}
	return "not known"
}

// versionNotes says what there is to say of a version beside the table.
func versionNotes(v *storage.Version) string {
	var b strings.Builder
	if !v.Defined && v.ManagedFields > 0 {
		fmt.Fprintf(&b, "Already broken: managed fields name %s, which the definition no longer has, so server-side apply fails. Objects: %d.\n", v.Name, v.ManagedFields)
	}
	if !v.Defined && v.OwnerReferences > 0 {
		fmt.Fprintf(&b, "Already broken: owner references name %s, which the definition no longer has, so the objects that have them are never garbage-collected. Objects: %d.\n", v.Name, v.OwnerReferences)
	}
	if !v.Defined && v.Stored > 0 {
		fmt.Fprintf(&b, "Already broken: objects are stored at %s, which the definition no longer has, so they cannot be read: put it back into the definition, unserved, and migrate. Objects: %d.\n", v.Name, v.Stored)
	}
	for n, asked := range v.Requests.Asked {
		if n == storage.Shown {
			fmt.Fprintf(&b, "  and %d more clients\n", len(v.Requests.Asked)-n)
			break
		}
		if n == 0 {
			fmt.Fprintf(&b, "Asks for %s (%s):\n", v.Name, v.Requests.Basis)
		}
		fmt.Fprintf(&b, "  %s\n", askedText(asked))
	}
	if !v.Storage {
		for _, kind := range []storage.Kind{storage.StoredObject, storage.ManagedFields, storage.OwnerReference} {
			if first := v.First[kind]; len(first) > 0 {
				fmt.Fprintf(&b, "For example %s at %s: %s\n", kindText(kind), v.Name, first[0])
			}
		}
	}
	return b.String()
}

// askedText is a client with its requests.
func askedText(r storage.Request) string {
	if r.Count == 0 {
		return r.Resource
	}
	return fmt.Sprintf("%s with %s: %d requests for %s, the last at %s", r.User, r.UserAgent, r.Count, r.Resource, r.Last.Format("2006-01-02T15:04:05Z"))
}

func kindText(kind storage.Kind) string {
	switch kind {
	case storage.StoredObject:
		return "stored"
	case storage.ManagedFields:
		return "managed fields"
	case storage.OwnerReference:
		return "owner reference"
	}
	return string(kind)
}

// gapsText shows what could not be looked at.
func gapsText(gaps []storage.Gap) string {
	var b strings.Builder
	for _, gap := range gaps {
		fmt.Fprintf(&b, "Not looked at: %s: %s\n", gap.What, gap.Why)
		if gap.Mend != "" {
			fmt.Fprintf(&b, "  %s\n", gap.Mend)
		}
	}
	return b.String()
}
