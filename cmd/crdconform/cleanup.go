package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/visible"
)

// cleaner is the command cleanup.
type cleaner struct {
	streams
	kubeconfig string
	context    string
	run        string
	olderThan  time.Duration
	dryRun     bool
	kind       bool
	temporary  bool

	// cluster connects to the cluster of the context.
	cluster func(ctx context.Context, kubeconfig, name string) (clusterCleaner, error)

	// What is done with kind clusters: kind.Left and kind.Delete.
	kinds  func(ctx context.Context, provider string) ([]kind.Leftover, error)
	delete func(ctx context.Context, provider, name string) error

	temps []string // where folders for temporary files are made
}

// clusterCleaner finds and removes what runs left in a cluster: an existing.Cleaner.
type clusterCleaner interface {
	Find(ctx context.Context, run string) ([]existing.Leftover, []existing.Unlisted, error)
	Remove(ctx context.Context, all []existing.Leftover, done func(existing.Leftover, error)) int
}

func newCleanup(s streams) *cobra.Command {
	connect := func(ctx context.Context, kubeconfig, name string) (clusterCleaner, error) {
		return existing.NewCleaner(ctx, existing.Options{Kubeconfig: kinds.Kubeconfigs(kubeconfig), Context: name})
	}
	return (&cleaner{streams: s, cluster: connect, kinds: kind.Left, delete: kind.Delete, temps: []string{os.TempDir(), "/tmp"}}).command()
}

func (c *cleaner) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what killed runs left behind",
		Long: `cleanup removes what killed runs left behind: definitions with their objects, services, namespaces, and everything else with
the label crdconform.dev/run. Nothing without that label is touched. The webhooks of such definitions no longer exist, so
their conversion is switched off first.

Without --run, objects younger than an hour are kept, because they may belong to a run in progress.

With --kind, cleanup removes the kind clusters of runs that were killed, used cluster.keep, or are in progress, and the
kubeconfigs that such runs left behind. Other clusters named crdconform-... are not touched. It looks for clusters with the
same container engine as run: the first one found, or the one that $KIND_EXPERIMENTAL_PROVIDER names.

With --temporary, cleanup removes the temporary folders that killed runs left behind: data of embedded API servers,
certificates, kubeconfigs. It removes a folder only if its process is known to have ended, whatever the age of the folder.
Folders of another machine or container, or from before this machine was started, are kept.

Exit codes:
  0    everything found was removed, or nothing was found
  2    usage: bad flags, or unknown context
  3    something could not be removed or listed
  130  interrupted; run the same command again to remove the rest`,
		Example: `  crdconform cleanup --context staging --dry-run
  crdconform cleanup --context staging --run k3n5x2abcd
  crdconform cleanup --kind --temporary`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (c.run != "" || c.temporary) && !cmd.Flags().Changed("older-than") {
				c.olderThan = 0
			}
			return c.clean(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig; the current one is never used by default")
	flags.StringVar(&c.run, "run", "", "ID of the run to clean up after; default: all runs")
	flags.DurationVar(&c.olderThan, "older-than", time.Hour, "remove only what is older than this; default with --run or --temporary: 0s")
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	flags.BoolVar(&c.kind, "kind", false, "remove kind clusters that crdconform made")
	flags.BoolVar(&c.temporary, "temporary", false, "remove temporary folders whose run has ended")
	return cmd
}

func (c *cleaner) clean(ctx context.Context) error {
	if c.context == "" && !c.kind && !c.temporary {
		return errors.New("nothing to clean up specified; give --context NAME for a cluster, --kind for kind clusters, or --temporary for files")
	}
	if c.run != "" && c.temporary {
		return errors.New("--run and --temporary cannot be combined; temporary files do not name their run")
	}
	if c.olderThan < 0 {
		return fmt.Errorf("--older-than %s: must be at least 0s", c.olderThan)
	}
	if c.run != "" && len(validation.IsDNS1123Label(strings.ToLower(c.run))) > 0 {
		return fmt.Errorf("--run %q: not the ID of a run, such as k3n5x2abcd", c.run)
	}
	var errs []error
	if c.context != "" {
		errs = append(errs, c.cleanCluster(ctx))
	}
	if c.kind {
		errs = append(errs, c.cleanKind(ctx))
	}
	if c.temporary {
		errs = append(errs, c.cleanTemporary())
	}
	var misused *existing.UsageError
	switch err := errors.Join(errs...); {
	case err == nil, errors.As(err, &misused):
		return err
	default:
		return unfinished(ctx, err)
	}
}

// cleanCluster removes what runs left in the cluster of the context.
func (c *cleaner) cleanCluster(ctx context.Context) error {
	remover, err := c.cluster(ctx, c.kubeconfig, c.context)
	if wrong, is := errors.AsType[*existing.UsageError](err); is && wrong.Option != "" {
		return fmt.Errorf("--%w", wrong)
	}
	if err != nil {
		return err
	}
	found, unlisted, err := remover.Find(ctx, c.run)
	if err != nil {
		return err
	}
	var errs []error
	var others []string
	for _, u := range unlisted {
		if u.Ours() {
			errs = append(errs, fmt.Errorf("%s could not be listed: %w", u.Resource, u.Err))
			continue
		}
		if apierrors.IsForbidden(u.Err) {
			others = append(others, u.Resource.String())
			continue
		}
		fmt.Fprintf(c.err, "crdconform: %s could not be listed: %s\n", u.Resource, oneLine(u.Err.Error()))
	}
	if len(others) > 0 {
		fmt.Fprintf(c.err, "crdconform: the user may not list %s; any of these that --webhook-image or --webhook-manifests created must be removed by hand\n", strings.Join(others, ", "))
	}
	old, young := c.split(found)
	if len(found) == 0 && len(errs) == 0 {
		fmt.Fprintf(c.out, "Nothing is left of %s in the cluster of the context %s.\n", c.runs(), c.context)
	}
	c.spare(young)
	if c.dryRun {
		for _, l := range old {
			fmt.Fprintf(c.out, "%s: would be removed\n", aged(l))
		}
		return errors.Join(errs...)
	}
	left := remover.Remove(ctx, old, func(l existing.Leftover, err error) {
		if err != nil {
			fmt.Fprintf(c.out, "%s: NOT removed: %s\n", aged(l), oneLine(err.Error()))
			return
		}
		fmt.Fprintf(c.out, "%s: removed\n", aged(l))
	})
	if left > 0 {
		errs = append(errs, fmt.Errorf("%d of %d could not be removed", left, len(old)))
	}
	return errors.Join(errs...)
}

func (c *cleaner) runs() string {
	if c.run == "" {
		return "any run"
	}
	return "the run " + c.run
}

// spare says how much is too young to be removed.
func (c *cleaner) spare(young int) {
	if young > 0 {
		fmt.Fprintf(c.out, "Not removed because a run may still need what is younger than %s: %d; --older-than 0s removes these too.\n", c.olderThan, young)
	}
}

// split returns what is old enough to be removed, and how much is not.
func (c *cleaner) split(found []existing.Leftover) ([]existing.Leftover, int) {
	var old []existing.Leftover
	for _, l := range found {
		if time.Since(l.Created) >= c.olderThan {
			old = append(old, l)
		}
	}
	return old, len(found) - len(old)
}

// aged names what is left, with its age.
func aged(l existing.Leftover) string {
	return fmt.Sprintf("%s, %s old", l, duration.HumanDuration(max(0, time.Since(l.Created))))
}

// cleanKind removes the kind clusters of runs.
func (c *cleaner) cleanKind(ctx context.Context) error {
	provider := kinds.KindProvider(kinds.Options{Variable: c.variable})
	left, err := c.kinds(ctx, provider)
	if err != nil {
		return err
	}
	if c.run != "" {
		left = slices.DeleteFunc(left, func(l kind.Leftover) bool { return l.Name != kind.Prefix+strings.ToLower(c.run) })
	}
	if len(left) == 0 {
		fmt.Fprintf(c.out, "No kind cluster of %s was found.\n", c.runs())
	}
	all := len(left)
	left = slices.DeleteFunc(left, func(l kind.Leftover) bool { return time.Since(l.Created) < c.olderThan })
	c.spare(all - len(left))
	var errs []error
	for _, l := range left {
		if c.dryRun {
			fmt.Fprintf(c.out, "%s: would be removed\n", agedKind(l))
			continue
		}
		if err := c.delete(ctx, provider, l.Name); err != nil {
			fmt.Fprintf(c.out, "%s: NOT removed\n", agedKind(l))
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(c.out, "%s: removed\n", agedKind(l))
	}
	return errors.Join(errs...)
}

// cleanTemporary removes folders for temporary files.
func (c *cleaner) cleanTemporary() error {
	var left []files.Leftover
	var errs []error
	var seen []string
	for _, in := range c.temps {
		if in = filepath.Clean(in); slices.Contains(seen, in) {
			continue
		}
		seen = append(seen, in)
		more, err := files.Left(in)
		left, errs = append(left, more...), append(errs, err)
	}
	if len(left) == 0 {
		fmt.Fprintf(c.out, "There are no temporary files of runs that have ended.\n")
	}
	all := len(left)
	left = slices.DeleteFunc(left, func(l files.Leftover) bool { return time.Since(l.Created) < c.olderThan })
	c.spare(all - len(left))
	for _, l := range left {
		what := fmt.Sprintf("%s, %s old", visible.Graphic(l.Path), duration.HumanDuration(max(0, time.Since(l.Created))))
		if c.dryRun {
			fmt.Fprintf(c.out, "%s: would be removed\n", what)
			continue
		}
		if err := l.Remove(); err != nil {
			fmt.Fprintf(c.out, "%s: NOT removed: %s\n", what, oneLine(err.Error()))
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(c.out, "%s: removed\n", what)
	}
	return errors.Join(errs...)
}

// agedKind names what is left of a kind cluster, with its age.
func agedKind(l kind.Leftover) string {
	age := duration.HumanDuration(max(0, time.Since(l.Created)))
	if l.Gone {
		return fmt.Sprintf("kubeconfig of the kind cluster %s, which %s does not have, %s old", l.Name, l.Engine, age)
	}
	return fmt.Sprintf("kind cluster %s, %s old", l.Name, age)
}
