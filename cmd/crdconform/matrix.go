package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// matrix is the command matrix.
type matrix struct {
	streams
	selection
	embedded []string
	assets   []string
	images   []string
	config   string
	parallel int
	dir      string
	seed     int64
	strict   bool
	known    map[requirement.ID]string
}

func newMatrix(s streams) *cobra.Command {
	m := &matrix{streams: s}
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Check several versions of Kubernetes, and show what differs",
		Long: `matrix runs the checks of "crdconform run", without load tests, on several API servers, two at a time, and shows the
requirements whose verdicts differ. Each API server is checked in a separate process and has its own report in the folder,
next to matrix.json and matrix.md.

API servers are embedded ones of several minors, folders with kube-apiserver and etcd, as operators have them for their tests,
and node images of kind. The embedded one of the newest minor is built in; "crdconform minors" shows the others and builds
them. If a requirement does not hold for a minor, the table shows since or until which minor it does. The exit code is the
worst one: 130 before 3 before 1. An API server whose process ends without a report is shown as unjudged.

With --kind-image, one API server is checked at a time unless --parallel is given: a kind cluster needs about 2.5 GiB of memory
and two processors.

A requirement that is known to fail may pass on some of the API servers, but not on all.`,
		Example: `  crdconform matrix --embedded 1.28,1.31,1.34,1.36,1.37
  crdconform matrix --embedded 1.28,1.31,1.34,1.36 --parallel 4
  crdconform matrix --assets ~/.local/share/kubebuilder-envtest/k8s/1.33.0-linux-amd64 --assets ~/.local/share/kubebuilder-envtest/k8s/1.36.0-linux-amd64
  crdconform matrix --embedded none --kind-image kindest/node:v1.34.4,kindest/node:v1.36.3 --filter conversion`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&m.embedded, "embedded", []string{kinds.BuiltInMinor().String()}, "minors of embedded API servers, or none")
	flags.StringSliceVar(&m.assets, "assets", nil, "folders with kube-apiserver and etcd")
	flags.StringSliceVar(&m.images, "kind-image", nil, "node images of kind")
	flags.StringVar(&m.config, "kind-config", "", "file with a kind configuration, for all images")
	flags.IntVar(&m.parallel, "parallel", 0, "API servers to check at a time; 0 means 2, or 1 with one processor or with --kind-image")
	m.bind(flags)
	m.bindKnownFailing(flags)
	m.complete(cmd)
	flags.BoolVar(&m.strict, "strict", false, "treat Tolerated as Failed")
	flags.Int64Var(&m.seed, "seed", 0, "seed of all random choices, to repeat a run; 0 picks a new one")
	flags.StringVar(&m.dir, "report-dir", "crdconform-matrix", "folder for the reports")
	return cmd
}

func (m *matrix) columns() []column {
	var all []column
	add := func(name string, flags ...string) {
		all = append(all, column{fmt.Sprintf("%d-%s", len(all)+1, name), flags})
	}
	for _, minor := range m.minors() {
		add("embedded-"+minor, "--cluster=embedded", "--kubernetes="+minor)
	}
	for _, assets := range m.assets {
		add("envtest", "--cluster=envtest", "--assets="+assets)
	}
	for _, image := range m.images {
		flags := []string{"--cluster=kind", "--kind-image=" + image}
		if m.config != "" {
			flags = append(flags, "--kind-config="+m.config)
		}
		add("kind", flags...)
	}
	return all
}

// minors returns the minors of the embedded API servers.
func (m *matrix) minors() []string {
	if slices.Equal(m.embedded, []string{"none"}) {
		return nil
	}
	return m.embedded
}

// validate reports whether the flags go together, and whether there is all that they name.
func (m *matrix) validate() error {
	if m.parallel < 0 {
		return fmt.Errorf("--parallel %d: must be at least 1, or 0 to choose by the machine", m.parallel)
	}
	if m.config != "" && len(m.images) == 0 {
		return fmt.Errorf("--kind-config %s is only valid with --kind-image", m.config)
	}
	var err error
	if m.known, err = m.readKnownFailing(); err != nil {
		return err
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"embedded", m.minors()}, {"assets", m.assets}, {"kind-image", m.images}} {
		for i, value := range list.values {
			if value == "" {
				return fmt.Errorf("--%s %q: one of them is empty", list.flag, strings.Join(list.values, ","))
			}
			if slices.Contains(list.values[:i], value) {
				return fmt.Errorf("--%s %s: given twice", list.flag, value)
			}
		}
	}
	var missing []error
	for _, value := range m.minors() {
		minor, older, err := minorNamed("--embedded", value)
		if err != nil {
			return err
		}
		if older {
			_, err := programsOf(m.streams).Find(minor)
			missing = append(missing, err)
		}
	}
	if all := m.columns(); len(all) < 2 {
		return fmt.Errorf("a matrix requires at least two API servers, but there is %s; give more with --embedded, --assets or --kind-image", described(all))
	}
	if _, err := m.resolve(areas()); err != nil {
		return err
	}
	if err := m.unusable(); err != nil {
		return err
	}
	if err := errors.Join(missing...); err != nil {
		return unjudged(err)
	}
	return nil
}

// unusable tells of folders without programs and of a configuration of kind's that cannot be read. That is better known before
// the first API server is checked than after the last.
func (m *matrix) unusable() error {
	var errs []error
	for _, assets := range m.assets {
		if err := (envtest.Options{Assets: assets}).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("--assets %s: %w", assets, err))
		}
	}
	for _, image := range m.images {
		if err := (kind.Options{Image: image, ConfigFile: m.config}).Validate(); err != nil {
			return errors.Join(append(errs, fmt.Errorf("--kind-config: %w", err))...) // and it is the same for the others
		}
	}
	return errors.Join(errs...)
}

// described says what the columns are.
func described(all []column) string {
	if len(all) == 0 {
		return "none"
	}
	return "only " + strings.Join(all[0].flags, " ")
}

func (m *matrix) run(ctx context.Context) error {
	if err := m.validate(); err != nil {
		return err
	}
	columns := m.columns()
	if m.seed == 0 {
		m.seed = engine.NewSeed()
	}
	for _, c := range columns {
		if _, err := openFolder(filepath.Join(m.dir, c.folder)); err != nil {
			return err
		}
	}
	folders, all, worst := m.check(ctx, columns)
	var missing []string
	for _, c := range columns[len(all):] {
		missing = append(missing, c.folder)
		worst = worse(worst, &exitError{code: exitInterrupted})
	}
	x := reporter.NewMatrix(folders, all)
	x.Missing = missing
	if err := m.write(x); err != nil {
		return err
	}
	return worse(worst, m.needless(all))
}

// needless fails when what is known to fail passes on all API servers that judged it.
func (m *matrix) needless(all []*reports.Report) error {
	fails, passes := map[requirement.ID]bool{}, map[requirement.ID]bool{}
	for _, report := range all {
		for _, result := range report.Results {
			fails[result.ID] = fails[result.ID] || result.Verdict == requirement.KnownFailing
			passes[result.ID] = passes[result.ID] || result.Verdict == requirement.Passed
		}
	}
	var outcome error
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		if passes[id] && !fails[id] {
			fmt.Fprintf(m.err, "crdconform: %s passes wherever it was judged, but %s says that it fails; remove it from the list\n", id, m.knownFailing)
			outcome = &exitError{code: exitViolates}
		}
	}
	return outcome
}

// check checks columns, some at a time, and returns their folders and reports in the order of the columns, and the worst that they
// came to. When the context ends, those that did not begin are left out.
func (m *matrix) check(ctx context.Context, columns []column) (folders []string, all []*reports.Report, worst error) {
	at := min(m.atATime(), len(columns))
	b := &board{progress: progress{streams: m.streams}, several: at > 1, total: len(columns)}
	all, outcomes := make([]*reports.Report, len(columns)), make([]error, len(columns))
	slots := make(chan struct{}, at)
	var running sync.WaitGroup
	for i, c := range columns {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		l := b.begin(c)
		folders = append(folders, c.folder)
		running.Go(func() {
			defer func() { <-slots }()
			all[i], outcomes[i] = m.column(ctx, c, l)
		})
	}
	running.Wait()
	for _, outcome := range outcomes {
		worst = worse(worst, outcome)
	}
	return folders, all[:len(folders)], worst
}

// atATime is how many columns are checked at the same time.
func (m *matrix) atATime() int {
	switch {
	case m.parallel > 0:
		return m.parallel
	case len(m.images) > 0: // a kind cluster has enough to do with itself
		return 1
	}
	return min(2, runtime.GOMAXPROCS(0))
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
func (m *matrix) write(x *reporter.Matrix) error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return unjudged(fmt.Errorf("report folder: %w; give another one with --report-dir", err))
	}
	for _, f := range reporter.Filed(reporter.MatrixFormats()) {
		text, err := written(func(w io.Writer) error { return f.Write(x, w) })
		if err != nil {
			return unjudged(err)
		}
		if err := os.WriteFile(filepath.Join(m.dir, f.File), []byte(text), 0o644); err != nil {
			return unjudged(fmt.Errorf("report folder: %w; give another one with --report-dir", err))
		}
	}
	text, err := written(x.Text)
	if err != nil {
		return unjudged(err)
	}
	return write(m.out, "\n"+text+"Matrix: "+filepath.ToSlash(filepath.Join(m.dir, "matrix.md"))+"\n")
}
