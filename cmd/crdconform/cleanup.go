package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/cluster/existing"
	"github.com/crdconform/crdconform/cluster/kind"
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

	// What is done with kind clusters: kind.Left and kind.Delete.
	kinds  func(ctx context.Context, provider string) ([]kind.Leftover, error)
	delete func(ctx context.Context, provider, name string) error
}

func newCleanup(s streams) *cobra.Command {
	c := &cleaner{streams: s, kinds: kind.Left, delete: kind.Delete}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what killed runs left in a cluster",
		Long: `cleanup removes what runs left that were killed before they could do so themselves: definitions with their objects,
services, namespaces, and what else has the label crdconform.dev/run. Nothing without that label is touched. Webhooks of
such definitions have gone with the run, so their conversion is switched off first.

Without --run, what is younger than an hour is left alone: it may be of a run that goes on.

With --kind it removes the kind clusters that runs made and that are still there, since the run was killed, had --keep, or
goes on; and kubeconfigs that such runs left. Whatever else is called crdconform-... is left alone. Clusters are those of the
program that runs nodes for run too: the first that is found, or that of $KIND_EXPERIMENTAL_PROVIDER.

Exit codes:
  0    all that was found is removed, or nothing was found
  2    usage: bad flags, or no such context
  3    something could not be removed, or not be looked for
  130  interrupted; what is left can be removed by the same command`,
		Example: `  crdconform cleanup --context staging --dry-run
  crdconform cleanup --context staging --run k3n5x2abcd
  crdconform cleanup --kind`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.run != "" && !cmd.Flags().Changed("older-than") {
				c.olderThan = 0
			}
			return c.clean(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig; $KUBECONFIG or ~/.kube/config when missing")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig; never the current one by itself")
	flags.StringVar(&c.run, "run", "", "ID of the run whose remains to remove; those of all runs when missing")
	flags.DurationVar(&c.olderThan, "older-than", time.Hour, "remove only what is older; 0s when --run is given")
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	flags.BoolVar(&c.kind, "kind", false, "remove kind clusters that crdconform made")
	return cmd
}

func (c *cleaner) clean(ctx context.Context) error {
	if c.context == "" && !c.kind {
		return errors.New("it is not said what to clean up; give --context NAME for a cluster, or --kind for kind clusters")
	}
	if c.olderThan < 0 {
		return fmt.Errorf("--older-than %s: it has to be 0s or more", c.olderThan)
	}
	if c.run != "" && len(validation.IsDNS1123Label(strings.ToLower(c.run))) > 0 {
		return fmt.Errorf("--run %q: no run has such an ID; they are words such as k3n5x2abcd", c.run)
	}
	var errs []error
	if c.context != "" {
		errs = append(errs, c.cleanCluster(ctx))
	}
	if c.kind {
		errs = append(errs, c.cleanKind(ctx))
	}
	var misused *existing.UsageError
	switch err := errors.Join(errs...); {
	case err == nil, errors.As(err, &misused):
		return err
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	default:
		return unjudged(err)
	}
}

// cleanCluster removes what runs left in the cluster of the context.
func (c *cleaner) cleanCluster(ctx context.Context) error {
	remover, err := existing.NewCleaner(ctx, existing.Options{Kubeconfig: kubeconfigs(c.kubeconfig), Context: c.context})
	if err != nil {
		return err
	}
	found, unseen, err := remover.Find(ctx, c.run)
	if err != nil {
		return err
	}
	var errs []error
	var others []string
	for _, u := range unseen {
		if u.Ours() {
			errs = append(errs, fmt.Errorf("%s could not be looked for: %w", u.Resource, u.Err))
			continue
		}
		if apierrors.IsForbidden(u.Err) {
			others = append(others, u.Resource.String())
			continue
		}
		fmt.Fprintf(c.err, "crdconform: %s could not be looked for: %s\n", u.Resource, oneLine(u.Err.Error()))
	}
	if len(others) > 0 {
		fmt.Fprintf(c.err, "crdconform: the user may not list %s; what --webhook-image or --webhook-manifests made of them is to be removed by hand\n", strings.Join(others, ", "))
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
	left := remover.Remove(ctx, old, func(l existing.Left, err error) {
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

// spare tells how much is too young to be removed.
func (c *cleaner) spare(young int) {
	if young > 0 {
		fmt.Fprintf(c.out, "Left alone since a run may still need what is younger than %s: %d; --older-than 0s takes that too.\n", c.olderThan, young)
	}
}

// split returns what is old enough to be removed, and how much is not.
func (c *cleaner) split(found []existing.Left) ([]existing.Left, int) {
	var old []existing.Left
	for _, l := range found {
		if time.Since(l.Created) >= c.olderThan {
			old = append(old, l)
		}
	}
	return old, len(found) - len(old)
}

// aged names what is left, with its age.
func aged(l existing.Left) string {
	return fmt.Sprintf("%s, %s old", l, duration.HumanDuration(max(0, time.Since(l.Created))))
}

// cleanKind removes the kind clusters of runs.
func (c *cleaner) cleanKind(ctx context.Context) error {
	provider := kindProvider(c.variable)
	left, err := c.kinds(ctx, provider)
	if err != nil {
		return err
	}
	if c.run != "" {
		left = slices.DeleteFunc(left, func(l kind.Leftover) bool { return l.Name != kind.Prefix+strings.ToLower(c.run) })
	}
	if len(left) == 0 {
		fmt.Fprintf(c.out, "No kind cluster of %s is there.\n", c.runs())
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

// agedKind names what is left of a kind cluster, with its age.
func agedKind(l kind.Leftover) string {
	age := duration.HumanDuration(max(0, time.Since(l.Created)))
	if l.Gone {
		return fmt.Sprintf("kubeconfig of the kind cluster %s, which %s does not have, %s old", l.Name, l.Engine, age)
	}
	return fmt.Sprintf("kind cluster %s, %s old", l.Name, age)
}

// kubeconfigs returns the files that say how to reach clusters: the one of the flag, or those that kubectl reads.
func kubeconfigs(flag string) string {
	if flag != "" {
		return flag
	}
	return strings.Join(clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence(), string(os.PathListSeparator))
}
