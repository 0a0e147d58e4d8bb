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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/internal/wire"
)

// differ is the command diff.
type differ struct {
	streams
	flags         *pflag.FlagSet
	urls          []string
	recording     string
	options       optionFlags
	given         config.Config // what the flags say that crdconform.yaml could say
	crds, samples []string
	output        string

	definitions []*corpus.Definition
	questions   []recording.Question
	redaction   recording.Redaction // of the recording
}

func newDiff(s streams) *cobra.Command {
	d := &differ{streams: s}
	cmd := &cobra.Command{
		Use:   "diff URL_A [URL_B]",
		Short: "Show where two builds of a conversion webhook answer differently",
		Long: `diff sends the same conversion requests to two webhooks and shows where the answers differ: fields of the converted objects,
with the number of objects and the first example, verdicts on the responses, and messages of failed conversions. With one URL
and --recording, it compares that webhook with the recorded answers.

The requests come from a recording of "crdconform record", or else from samples and from objects that are generated from the
schemas of CustomResourceDefinitions, for all pairs of versions. For each version, --generate sets how many objects are
generated; unless it is 0, there is one more for each field, each member of an enum and so on, as in "crdconform check". With
--crd, values are compared as the schemas define.

Objects are compared by meaning: 1.0 equals 1, null equals a missing value, and the order of keys is ignored. Differences
between two answers of the first webhook to the same request are shown but not counted. The same applies to differences that
are due to redacted values, which have the same form but other letters and digits. Requests that fail in the same way on both
sides are not a difference; their number and messages are shown.

Exit codes:
  0    all answers agree, and some are conversions
  1    some differ
  2    usage: bad flags or files, or no requests
  3    could not compare: no webhook, requests without an answer, requests that may be rejected because they were redacted,
       or no request that both convert
  130  interrupted; the differences found so far and the number of requests left are shown`,
		Example: `  crdconform diff https://localhost:9443/convert https://localhost:9444/convert --ca-file ca.crt --recording widgets.jsonl.gz
  crdconform diff https://localhost:9443/convert https://localhost:9444/convert \
    --set diff.caFileA=old.crt --set diff.caFileB=new.crt --crd config/crd/bases
  crdconform diff https://localhost:9443/convert --ca-file ca.crt --recording widgets.jsonl.gz`,
		Args: oneURLOrTwo,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.urls, d.flags, d.given = args, cmd.Flags(), d.options.given
			d.crds, d.samples = d.given.CRDs, d.given.Samples
			return d.run(cmd.Context())
		},
	}
	d.bindFlags(cmd)
	return cmd
}

func oneURLOrTwo(_ *cobra.Command, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return fmt.Errorf("diff requires the URLs of two webhooks, or of one and --recording, but got %d arguments", len(args))
	}
	return nil
}

func (d *differ) bindFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&d.recording, "recording", "", "file written by \"crdconform record\", with the requests to send and, for one URL, the answers to compare with")
	d.options.bind(flags, "diff")
	flags.StringVarP(&d.output, "output", "o", "text", "format: text or json")
}

func (d *differ) run(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	d.act()
	var clients []*wire.Client
	for i := range d.urls {
		client, err := d.connect(i)
		if err != nil {
			return err
		}
		defer client.Close()
		clients = append(clients, client)
	}
	for _, client := range clients {
		if err := client.Reach(ctx); err != nil {
			return unjudged(err)
		}
	}
	options := recording.Sides{B: clients[len(clients)-1], Schema: d.schema, Redaction: d.redaction}
	if len(clients) == 2 {
		options.A = clients[0]
	}
	result := recording.Compare(ctx, d.questions, options)
	if err := d.write(result); err != nil {
		return err
	}
	return d.finish(result)
}

// check says what is wrong with the flags by themselves.
func (d *differ) check() error {
	switch {
	case len(d.urls) == 1 && d.recording == "":
		return errors.New("diff requires a second URL, or --recording with the answers to compare with")
	case d.recording == "" && len(d.crds)+len(d.samples) == 0:
		return errors.New("diff requires objects: give --recording, --crd or --samples")
	case d.recording != "" && len(d.samples) > 0:
		return errors.New("--samples: a recording has the objects to convert; leave one of them out")
	case d.recording != "" && (d.flags.Changed("generate") || d.flags.Changed("seed")):
		return errors.New("--generate and --seed: nothing is generated where a recording has the objects to convert; leave them out, or --recording")
	}
	if err := knownFormat(d.output, "text", "json"); err != nil {
		return err
	}
	c := config.Default()
	if err := d.options.apply(&d.given); err != nil {
		return err
	}
	if err := d.options.over(&c); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if len(d.urls) == 1 {
		for _, side := range []struct{ key, both string }{{"caFileA", "--ca-file"}, {"caFileB", "--ca-file"}, {"serverNameA", serverNameKey}, {"serverNameB", serverNameKey}} {
			if d.options.says("diff." + side.key) {
				return fmt.Errorf("--set diff.%s: there is one URL only; give %s", side.key, side.both)
			}
		}
	}
	return nil
}

// connect prepares a client for one of the URLs. All of its errors are about usage.
func (d *differ) connect(i int) (*wire.Client, error) {
	w := d.given.Webhook
	of := d.given.Diff
	file, name, side := []string{of.CAFileA, of.CAFileB}[i], []string{of.ServerNameA, of.ServerNameB}[i], []string{"A", "B"}[i]
	byFile, byName := "--ca-file", serverNameKey
	if len(d.urls) == 2 {
		byFile, byName = "--set diff.caFile"+side, "--set diff.serverName"+side
	}
	option := byFile
	if file == "" {
		option, file = "--ca-file", w.CAFile
	}
	ca, err := authority(option, file)
	if err != nil {
		return nil, err
	}
	return wire.Connect(wire.Endpoint{
		URL: d.urls[i], CA: ca, ServerName: cmp.Or(name, w.ServerName), HTTP2: w.HTTP2, Timeout: w.Timeout.Duration,
		CAOption: byFile, ServerNameOption: byName,
	})
}

// read reads what to ask. All of its errors are about usage, but for that it was interrupted.
func (d *differ) read(ctx context.Context) error {
	if err := eachFile("crd", d.crds, func(file string, data []byte) error { //nolint:contextcheck // definitions are validated without waiting for anything
		definitions, _, err := corpus.ReadDefinitions(file, data)
		d.definitions = append(d.definitions, definitions...)
		return err
	}); err != nil {
		return err
	}
	if len(d.crds) > 0 && len(d.definitions) == 0 {
		return fmt.Errorf("--crd: no CustomResourceDefinition in %s", strings.Join(d.crds, ", "))
	}
	if d.recording != "" {
		return d.readRecording()
	}
	var samples []*unstructured.Unstructured
	if err := eachFile("samples", d.samples, func(file string, data []byte) error {
		objects, err := corpus.ReadSamples(file, data)
		samples = append(samples, objects...)
		return err
	}); err != nil {
		return err
	}
	kinds, err := d.kinds(samples)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		questions, err := recording.About(ctx, kind, options.Or(d.given.Load.ReviewVersion, "load.reviewVersion"), d.given.Generate.Objects, d.given.Generate.Seed)
		if ctx.Err() != nil {
			return &exitError{code: exitInterrupted}
		}
		if err != nil {
			return err
		}
		d.questions = append(d.questions, questions...)
	}
	if len(d.questions) == 0 {
		return errors.New("no objects to convert; give --samples, or --generate greater than 0 for a --crd")
	}
	return nil
}

// eachFile calls read with the files that a flag names.
func eachFile(flag string, names []string, read func(file string, data []byte) error) error {
	var files []string
	for _, name := range names {
		more, err := manifest.Files(orInput(name))
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		files = append(files, more...)
	}
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		data, err := manifest.Read(name)
		if err == nil {
			err = read(name, data)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return nil
}

func (d *differ) readRecording() error {
	file, err := files.Open(d.recording)
	if err != nil {
		return fmt.Errorf("--recording: %w", err)
	}
	defer file.Close()
	read, err := recording.Read(file)
	if err != nil {
		return fmt.Errorf("--recording %s: %w", d.recording, err)
	}
	if len(read.Exchanges) == 0 {
		return fmt.Errorf("--recording %s: no exchange in it", d.recording)
	}
	if read.Cut {
		fmt.Fprintf(d.err, "crdconform: --recording %s: it is truncated after %s\n", d.recording, visible.Count(len(read.Exchanges), "whole exchange", ""))
	}
	if d.redaction, err = recording.ParseRedaction(read.Redacted); err != nil {
		return fmt.Errorf("--recording %s: line 1: %w", d.recording, err)
	}
	d.questions = recording.Recorded(read)
	return nil
}

// kinds sorts samples to the definitions. It leaves out those that belong to none with two versions, and says so.
func (d *differ) kinds(samples []*unstructured.Unstructured) ([]corpus.Corpus, error) {
	if len(d.definitions) == 0 {
		c, err := corpus.FromSamples(samples)
		if err != nil {
			return nil, fmt.Errorf("--samples: %w", err)
		}
		return []corpus.Corpus{c}, nil
	}
	var kinds []corpus.Corpus
	for _, definition := range d.definitions {
		if !definition.Converts() {
			continue // nothing is converted
		}
		c, err := corpus.New(definition, nil)
		if err != nil {
			return nil, fmt.Errorf("--crd: %w", err)
		}
		for _, sample := range samples {
			if sample.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: c.Group, Kind: c.Kind}) {
				continue
			}
			if err := c.Add(sample); err != nil {
				return nil, fmt.Errorf("--samples: %w", err)
			}
		}
		kinds = append(kinds, c)
	}
	if len(kinds) == 0 {
		return nil, errors.New("--crd: every definition has only one version, and a conversion needs two")
	}
	for _, sample := range samples {
		kind := sample.GroupVersionKind().GroupKind()
		if !slices.ContainsFunc(kinds, func(c corpus.Corpus) bool { return kind == (schema.GroupKind{Group: c.Group, Kind: c.Kind}) }) {
			fmt.Fprintf(d.err, "crdconform: --samples: %s %q is left out: no definition of --crd with two versions or more is of its kind\n",
				visible.Text(kind.String()), visible.Text(sample.GetName()))
		}
	}
	return kinds, nil
}

// schema returns the schema by which objects are compared; nil when no definition has it.
func (d *differ) schema(group, kind, version string) *corpus.Schema {
	for _, definition := range d.definitions {
		spec := definition.CRD.Spec
		if spec.Group == group && spec.Names.Kind == kind && slices.Contains(definition.Versions(), version) {
			return definition.Schema(version)
		}
	}
	return nil
}

// sides are what A and B are.
func (d *differ) sides() (a, b string) {
	if len(d.urls) == 1 {
		return d.recording, d.urls[0]
	}
	return d.urls[0], d.urls[1]
}

// differences is the outcome as JSON.
type differences struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Tool       string   `json:"tool"`
	A          string   `json:"a"`
	B          string   `json:"b"`
	Recording  string   `json:"recording,omitempty"`
	Redacted   []string `json:"redacted,omitempty"` // in the recording: there values differ from those that were recorded
	recording.Comparison
}

func (d *differ) write(r recording.Comparison) error {
	a, other := d.sides()
	if d.output == "text" {
		var b strings.Builder
		screen := d.screen()
		screen.Out, screen.More = &b, "--output json"
		r.Text(screen, a, other, d.redaction.Paths(), len(d.urls) > 1)
		return write(d.out, b.String())
	}
	return writeJSON(d.out, differences{config.APIVersion, "Differences", toolVersion(), a, other, d.recording, d.redaction.Paths(), r})
}

// finish returns the outcome as an exit code.
func (d *differ) finish(r recording.Comparison) error {
	switch {
	case r.Interrupted:
		return &exitError{code: exitInterrupted}
	case len(r.Differences) > 0:
		return &exitError{code: exitViolates}
	case r.Compared < r.Requests:
		return unjudged(fmt.Errorf("%s could not be compared", visible.Count(r.Requests-r.Compared, "request", "")))
	case r.Converted == 0:
		return unjudged(errors.New("no request was converted by both, so only failures were compared; see the messages of the webhooks above, and check the requests"))
	}
	return nil
}
