package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// matrix is the command matrix.
type matrix struct {
	streams
	selection
	options  optionFlags
	settings config.Config
	values   map[string]*[]string // by the flag of the columns that have them
	parallel int
	dir      string
	seed     int64
	strict   bool
	failing  []config.KnownFailing // what is known to fail
	timeout  time.Duration         // of all API servers together; 0 for none
	deadline time.Time             // when it is over; zero without one
}

func newMatrix(s streams) *cobra.Command {
	m := &matrix{streams: s, values: map[string]*[]string{}}
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Check several versions of Kubernetes, and show what differs",
		Long: `matrix runs the checks of "crdconform run", without load tests, on several API servers, two at a time, and shows the
requirements whose verdicts differ. Each API server is checked in a separate process and has its own report in the folder,
next to matrix.json and matrix.md.

The API servers can be embedded ones of several minors, folders with kube-apiserver and etcd, such as operators use for their
tests, and node images of kind. The embedded API server of the newest minor is built in; "crdconform matrix minors" shows the
others and builds them. If a requirement does not hold for a minor, the table shows since or until which minor it does. The
exit code is the worst one: 130 before 3 before 1. An API server whose process ends without a report is shown as unjudged.

With --kind-image, one API server is checked at a time unless --parallel is given: a kind cluster needs about 2.5 GiB of memory
and two processors.

A requirement that is known to fail may pass on some of the API servers, but not on all.

runTimeout (--set) applies to all API servers together. When it expires, the checks in progress write reports of what they have
judged, the remaining API servers are not checked, and the table is written.`,
		Example: `  crdconform matrix --embedded 1.28,1.31,1.34,1.36,1.37
  crdconform matrix --embedded 1.28,1.31,1.34,1.36 --parallel 4
  crdconform matrix --assets ~/.local/share/kubebuilder-envtest/k8s/1.33.0-linux-amd64 --assets ~/.local/share/kubebuilder-envtest/k8s/1.36.0-linux-amd64
  crdconform matrix --embedded none --kind-image kindest/node:v1.34.4,kindest/node:v1.36.3 --filter conversion`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := m.options.given
			m.flags, m.filter, m.skip = cmd.Flags(), given.Filter, given.Skip
			m.strict, m.seed, m.dir = given.Strict, given.Generate.Seed, given.ReportDir
			m.settings = config.Default()
			if err := m.options.apply(&m.settings); err != nil {
				return err
			}
			m.timeout = m.settings.RunTimeout.Duration
			return m.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	for _, k := range columnKinds() {
		m.values[k.Columns.Flag] = flags.StringSlice(k.Columns.Flag, k.Columns.Default, k.Columns.Help)
	}
	flags.IntVar(&m.parallel, "parallel", 0, "number of API servers to check at a time; 0 means 2, or 1 with one processor or with --kind-image")
	m.options.bind(flags, cmd.Name())
	m.bindKnownFailing(flags)
	m.complete(cmd)
	cmd.AddCommand(newMinors(s))
	return cmd
}

// columnKinds are the kinds of clusters that can be columns.
func columnKinds() []kinds.Kind {
	return slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool { return k.Columns == nil })
}

func (m *matrix) columns() []column {
	var all []column
	for _, k := range columnKinds() {
		for _, value := range m.given(k.Columns) {
			name, flags := k.Name, []string{"--api-server=" + k.Name, given(k.Columns.Option, value)}
			if k.Columns.Named {
				name += "-" + value
			}
			for _, option := range k.Columns.Shared {
				if shared := m.shared(option); shared != "" {
					flags = append(flags, given(option, shared))
				}
			}
			all = append(all, column{fmt.Sprintf("%d-%s", len(all)+1, name), flags, k.Columns, value})
		}
	}
	return all
}

// given is an option of a column as run takes it.
func given(option, value string) string {
	if strings.HasPrefix(option, clusterKeys) {
		return "--set=" + option + "=" + value
	}
	return "--" + option + "=" + value
}

// shared is the value of an option for all columns of a kind.
func (m *matrix) shared(option string) string {
	return options.Value(reflect.ValueOf(m.settings), option).String()
}

// given returns the values of the flag for columns, of which each makes one.
func (m *matrix) given(c *kinds.Columns) []string {
	values := *m.values[c.Flag]
	if c.Default != nil && slices.Equal(values, []string{"none"}) {
		return nil
	}
	return values
}

// validate reports whether the flags go together, and whether there is all that they name.
func (m *matrix) validate() error {
	if m.parallel < 0 {
		return fmt.Errorf("--parallel %d: must be at least 1, or 0 to choose by the machine", m.parallel)
	}
	if m.timeout < 0 {
		return fmt.Errorf("--set runTimeout=%s: it is negative; leave it out for no limit", m.timeout)
	}
	var more []string
	for _, k := range columnKinds() {
		values, flag := m.given(k.Columns), "--"+k.Columns.Flag
		more = append(more, flag)
		if slices.Contains(values, "") {
			return fmt.Errorf("%s %q: one of them is empty", flag, strings.Join(values, ","))
		}
		if err := onlyOnce(flag, values); err != nil {
			return err
		}
		for _, option := range k.Columns.Shared {
			if m.shared(option) != "" && len(values) == 0 {
				return fmt.Errorf("--set %s is only valid with %s", option, flag)
			}
		}
	}
	known, err := m.known()
	if err != nil {
		return err
	}
	m.failing = known.failing
	columns := m.columns()
	if len(columns) < 2 {
		last := len(more) - 1
		return fmt.Errorf("a matrix requires at least two API servers, but there is %s; give more with %s or %s", described(columns), strings.Join(more[:last], ", "), more[last])
	}
	if _, err := m.resolve(areas()); err != nil {
		return err
	}
	return m.usable(columns)
}

// usable fails when there is not all that columns name. That is better known before the first API server is checked than after the
// last.
func (m *matrix) usable(columns []column) error {
	var unusable, missing []error
	for _, c := range columns {
		o := kinds.Options{Variable: m.variable}
		o.Set(c.of.Option, c.value)
		for _, option := range c.of.Shared {
			o.Set(option, m.shared(option))
		}
		err := c.of.Validate(o)
		if wrong, is := errors.AsType[*kinds.OptionError](err); is && wrong.Option == c.of.Option {
			wrong.Option = c.of.Flag
		}
		switch {
		case errors.Is(err, minors.ErrNotBuilt):
			missing = append(missing, err)
		case err != nil && !slices.ContainsFunc(unusable, func(other error) bool { return other.Error() == asFlag(err).Error() }): // shared by several
			unusable = append(unusable, asFlag(err))
		}
	}
	if err := errors.Join(unusable...); err != nil || len(missing) == 0 {
		return err
	}
	return unjudged(errors.Join(missing...))
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
	}
	x := reporter.NewMatrix(folders, all)
	x.Missing = missing
	switch {
	case ctx.Err() != nil && len(missing) > 0:
		worst = worse(worst, &exitError{code: exitInterrupted})
	case m.over():
		x.Cut = fmt.Sprintf("the run timeout of %s expired before everything was judged", m.timeout)
		worst = worse(worst, &exitError{code: exitUnjudged})
	}
	if err := m.write(x); err != nil {
		return err
	}
	return worse(worst, m.needless(all))
}

// needless fails when what is known to fail passes on all API servers that judged it.
func (m *matrix) needless(all []*reports.Report) error {
	var outcome error
	passing := reporter.Passing(all)
	for _, known := range m.failing {
		if passing[requirement.ID(known.ID)] {
			fmt.Fprintf(m.err, "crdconform: %s passes wherever it was judged, but %s says that it fails; remove it from the list\n", known.ID, m.knownFailing)
			outcome = &exitError{code: exitViolates}
		}
	}
	return outcome
}

// check checks columns, some at a time, and returns their folders and reports in the order of the columns, and the worst that they
// came to. When the context or the time of all ends, those that did not begin are left out.
func (m *matrix) check(ctx context.Context, columns []column) (folders []string, all []*reports.Report, worst error) {
	at := min(m.atATime(columns), len(columns))
	b := &matrixProgress{progress: progress{streams: m.streams}, several: at > 1, total: len(columns)}
	all, outcomes := make([]*reports.Report, len(columns)), make([]error, len(columns))
	slots := make(chan struct{}, at)
	beginning, cancel := context.WithCancel(ctx)
	if m.timeout > 0 {
		m.deadline = time.Now().Add(m.timeout)
		beginning, cancel = context.WithDeadline(ctx, m.deadline)
	}
	defer cancel()
	var running sync.WaitGroup
	for i, c := range columns {
		select {
		case slots <- struct{}{}:
		case <-beginning.Done():
		}
		if beginning.Err() != nil {
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

// over reports whether the time of all is.
func (m *matrix) over() bool { return !m.deadline.IsZero() && !time.Now().Before(m.deadline) }

// atATime is how many columns are checked at the same time.
func (m *matrix) atATime(columns []column) int {
	switch {
	case m.parallel > 0:
		return m.parallel
	case slices.ContainsFunc(columns, func(c column) bool { return c.of.Alone }):
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
