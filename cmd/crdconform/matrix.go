package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/reports"
)

// matrix is the command matrix.
type matrix struct {
	streams
	selection
	embedded bool
	assets   []string
	images   []string
	config   string
	dir      string
	seed     int64
	strict   bool
}

func newMatrix(s streams) *cobra.Command {
	m := &matrix{streams: s}
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Check several versions of Kubernetes, and show what differs",
		Long: `matrix runs the checks of "crdconform run", load tests excluded, on one API server after another, and shows the requirements
that did not come to the same on all of them. Each has a report of its own in the folder; matrix.json and matrix.md are beside
them.

API servers are folders with kube-apiserver and etcd, as operators have them for their tests, node images of kind, and the one
that is built in. The exit code is that of the worst: 3 before 1.`,
		Example: `  crdconform matrix --assets ~/.local/share/kubebuilder-envtest/k8s/1.33.0-linux-amd64 --assets ~/.local/share/kubebuilder-envtest/k8s/1.36.0-linux-amd64
  crdconform matrix --embedded=false --kind-image kindest/node:v1.34.4,kindest/node:v1.36.3 --filter conversion`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&m.embedded, "embedded", true, "check the API server that is built in")
	flags.StringSliceVar(&m.assets, "assets", nil, "folders with kube-apiserver and etcd")
	flags.StringSliceVar(&m.images, "kind-image", nil, "node images of kind")
	flags.StringVar(&m.config, "kind-config", "", "file with a configuration of kind's, for all of the images")
	m.bind(flags)
	m.complete(cmd)
	flags.BoolVar(&m.strict, "strict", false, "count what API servers tolerate as failed")
	flags.Int64Var(&m.seed, "seed", 0, "seed of all random choices, to repeat a run; a new one when 0")
	flags.StringVar(&m.dir, "report-dir", "crdconform-matrix", "folder to write the reports to")
	return cmd
}

// column is an API server to check, by the flags that run would have.
type column struct {
	folder string
	flags  []string
}

func (m *matrix) columns() []column {
	var all []column
	add := func(name string, flags ...string) {
		all = append(all, column{fmt.Sprintf("%d-%s", len(all)+1, name), flags})
	}
	for _, assets := range m.assets {
		add(envtestCluster, "--cluster="+envtestCluster, "--assets="+assets)
	}
	for _, image := range m.images {
		flags := []string{"--cluster=" + kindCluster, "--kind-image=" + image}
		if m.config != "" {
			flags = append(flags, "--kind-config="+m.config)
		}
		add(kindCluster, flags...)
	}
	if m.embedded {
		add(embeddedCluster)
	}
	return all
}

func (m *matrix) run(ctx context.Context) error {
	columns := m.columns()
	if len(columns) < 2 {
		return errors.New("a matrix wants two API servers or more; give --assets or --kind-image")
	}
	if m.config != "" && len(m.images) == 0 {
		return errors.New("--kind-config is for --kind-image, and there is none")
	}
	if m.seed == 0 {
		m.seed = rand.Int64N(1<<31-1) + 1
	}
	var folders []string
	var all []*reports.Report
	var worst error
	for i, c := range columns {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(m.out, "%s== %d of %d: %s\n", strings.Repeat("\n", min(i, 1)), i+1, len(columns), strings.Join(append([]string{c.folder}, c.flags...), " "))
		report, err := m.column(ctx, c)
		if report == nil {
			return err
		}
		worst = worse(worst, err)
		folders, all = append(folders, c.folder), append(all, report)
	}
	if err := m.write(reports.NewMatrix(folders, all)); err != nil {
		return err
	}
	return worst
}

// column checks one API server. It returns no report when it did not get that far.
func (m *matrix) column(ctx context.Context, c column) (*reports.Report, error) {
	r := &runner{streams: m.streams, selection: m.selection, strict: m.strict, seed: m.seed}
	r.dir = filepath.Join(m.dir, c.folder)
	flags := pflag.NewFlagSet(c.folder, pflag.ContinueOnError)
	r.api.bind(m.streams, flags)
	if err := flags.Parse(c.flags); err != nil {
		return nil, err
	}
	r.command = append([]string{"run"}, c.flags...)
	err := r.run(ctx)
	return r.report, err
}

// worse is the worse of the outcomes of two runs.
func worse(a, b error) error {
	rank := func(err error) int {
		var exit *exitError
		switch {
		case err == nil:
			return 0
		case !errors.As(err, &exit):
			return exitUnjudged
		}
		return exit.code
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// write writes the matrix to the folder, and shows it.
func (m *matrix) write(x *reports.Matrix) error {
	data, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return unjudged(err)
	}
	for name, text := range map[string]string{"matrix.json": string(data) + "\n", "matrix.md": x.Markdown()} {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
			return unjudged(fmt.Errorf("report folder: %w; give another one by --report-dir", err))
		}
	}
	return write(m.out, "\n"+x.Text()+"Matrix: "+filepath.ToSlash(filepath.Join(m.dir, "matrix.md"))+"\n")
}
