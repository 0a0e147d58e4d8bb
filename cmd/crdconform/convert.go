package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
)

// converter is the command convert.
type converter struct {
	checker

	input string // file
	to    string // version
}

func newConvert(s streams) *cobra.Command {
	c := &converter{checker: checker{streams: s, name: "convert"}}
	cmd := &cobra.Command{
		Use:   "convert FILE --to VERSION [URL] [-- PROGRAM ARGUMENT...]",
		Short: "Show what a conversion webhook makes of an object",
		Long: `convert has a webhook convert the objects of a file to another version, and prints the results as YAML, each with the
differences in comments: what the object had before, and what it has now. The result can be piped to kubectl.

The webhook is specified as for "crdconform check": by its URL, by spec.conversion of the definition (--from-crd), as a PROGRAM to
start, or in crdconform.yaml. With --crd, the versions are checked, and values that mean the same are no difference.

Exit codes:
  0    converted
  1    the webhook did not convert an object, or answered what API servers reject
  2    usage: bad flags or files, or an unknown version
  3    no webhook
  130  interrupted`,
		Example: `  crdconform convert widget.yaml --to v1 -- ./bin/manager --webhook-port={port} --webhook-cert-path={certs}
  crdconform convert widget.yaml --to v1 https://localhost:9443/convert --ca-file ca.crt
  kubectl get widget example -o yaml | crdconform convert - --to v1beta1 --crd config/crd/bases --from-crd --address localhost:9443`,
		Args: fileAndWebhook,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.take(cmd, args)
			c.input, c.args = orInput(c.args[0]), c.args[1:]
			return c.run(cmd.Context())
		},
	}
	c.bindOptions(cmd)
	cmd.Flags().StringVar(&c.to, "to", "", "version to convert to, such as v1; required")
	return cmd
}

// fileAndWebhook wants a file, and after it a URL or a program.
func fileAndWebhook(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash == 0 {
		return errors.New("convert requires a file with an object, before the URL or the program")
	}
	before := args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		before = args[:dash]
		if dash == len(args) {
			return errors.New("no program after --")
		}
	}
	if len(before) > 2 || len(before) == 2 && len(before) != len(args) {
		return errors.New("give convert one file, and one of a URL, a program after --, and --from-crd")
	}
	return nil
}

func (c *converter) run(ctx context.Context) error {
	if c.to == "" {
		return errors.New("--to is required: the version to convert to, such as v1")
	}
	description, err := c.check()
	if err == nil {
		err = requireWebhook(description.Webhook)
	}
	if err != nil {
		return err
	}
	// The requirements, the samples and the load of the file are for other commands.
	description.Filter, description.Skip, description.KnownFailing, description.Samples, description.Old, description.Expected = nil, nil, nil, nil, nil, nil
	description.Redact, description.Load, description.Lossy = nil, config.Default().Load, nil
	data, err := manifest.Read(c.input)
	if err != nil {
		return err
	}
	objects, err := manifest.Objects(c.input, data)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("there is no object in %s", c.input)
	}
	plan, err := description.Prepare() //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return err
	}
	conversions, err := plan.Convertible(objects, c.to)
	if err != nil {
		return err
	}
	c.act()
	err = plan.Convert(ctx, nil, nil, conversions)
	if errors.Is(err, engine.ErrRefused) && ctx.Err() == nil {
		return &exitError{code: exitViolates, err: err}
	}
	if err != nil {
		return unfinished(ctx, err)
	}
	for i, one := range conversions {
		if i > 0 {
			fmt.Fprintln(c.out, "---")
		}
		c.show(one)
	}
	return nil
}

// show prints a converted object, and how it differs from what it was.
func (c *converter) show(one engine.Conversion) {
	fmt.Fprint(c.out, visible.Text(string(corpus.YAML(one.Output))))
	removed, added := changes(one)
	if len(removed)+len(added) == 0 {
		fmt.Fprintf(c.out, "# Nothing but the version differs from %s.\n", visible.Text(one.Input.From))
		return
	}
	fmt.Fprintf(c.out, "# Differences from %s:\n", visible.Text(one.Input.From))
	for _, line := range removed {
		fmt.Fprintln(c.out, c.screen().Paint(reporter.Red, "# - "+visible.Text(line)))
	}
	for _, line := range added {
		fmt.Fprintln(c.out, c.screen().Paint(reporter.Green, "# + "+visible.Text(line)))
	}
}

// changes returns the fields that an object has no more or has otherwise, with the values of before, and those that it has now.
func changes(one engine.Conversion) (removed, added []string) {
	before, after := fieldsOf(one.Input.Unstructured), fieldsOf(one.Output)
	lines := func(of, other *unstructured.Unstructured) []string {
		var found []string
		for _, path := range leaves(of) {
			value, _ := corpus.Value(of.Object, path)
			old, there := corpus.Value(other.Object, path)
			if there && one.Schema.Equal(path, value, old) {
				continue
			}
			text, err := corpus.Encode(value)
			if err != nil {
				text = fmt.Append(nil, value)
			}
			found = append(found, path+": "+string(text))
		}
		return found
	}
	return lines(before, after), lines(after, before)
}

// fieldsOf returns the fields of an object that conversions may change.
func fieldsOf(object *unstructured.Unstructured) *unstructured.Unstructured {
	fields := object.DeepCopy()
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields.Object, field)
	}
	meta := &unstructured.Unstructured{Object: map[string]any{}}
	meta.SetLabels(object.GetLabels())
	meta.SetAnnotations(object.GetAnnotations())
	fields.Object["metadata"] = meta.Object["metadata"]
	return fields
}

// leaves are those of the fields, with the labels and annotations.
func leaves(object *unstructured.Unstructured) []string {
	paths := corpus.Leaves(object)
	for _, of := range []string{"annotations", "labels"} {
		values, _, _ := unstructured.NestedStringMap(object.Object, "metadata", of)
		for key := range values {
			paths = append(paths, fieldpath.Child("metadata."+of, key))
		}
	}
	slices.SortFunc(paths, strings.Compare)
	return paths
}

// recordExpected writes what the webhook answers now.
func (c *checker) recordExpected(ctx context.Context, p *progress, plan *engine.Plan) error {
	files, left, err := plan.Record(ctx, p, io.Discard, c.record)
	p.wipe()
	if err == nil && files == 0 {
		err = fmt.Errorf("the webhook converts nothing that could be recorded: %s", strings.Join(left, "; "))
	}
	if err != nil {
		return unfinished(ctx, fmt.Errorf("--record-expected: %w", err))
	}
	for _, one := range left {
		c.screen().Line("", "not recorded: ", one)
	}
	fmt.Fprintf(c.out, "Recorded %d files in %s. Review them, and give --expect %s to later checks.\n", files, c.record, c.record)
	return nil
}
