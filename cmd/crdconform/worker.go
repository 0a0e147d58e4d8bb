package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/loadgen/workers"
)

// loadWorker is the command worker.
type loadWorker struct {
	streams
	in     io.Reader
	specs  []string
	orders string
	index  int
}

// fromInput is what stands for standard input in place of a file.
const fromInput = "-"

func newWorker(s streams, in io.Reader) *cobra.Command {
	w := &loadWorker{streams: s, in: in}
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Send the part of a load test that is this worker's",
		Hidden: true, // "load --workers" starts it
		Long: `worker is what "crdconform load --workers" starts, as processes or as pods of a Job. It reads what to send, says that it
is ready, starts when it is told to, and writes what it measures as lines of JSON.

Exit codes:
  0    it sent its part, or was told to stop by an order after it began; there is a result
  2    usage: the spec cannot be read, or is of another release
  3    there is no result: the webhook cannot be reached, or the order to start came too late; or nothing was heard of
       whoever started it for so long that it stopped, with a partial result
  130  told to stop by a signal, or before it began; there is a partial result if it had`,
		Example: `  crdconform worker --spec spec.json --orders orders.json --index 0`,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&w.specs, "spec", nil, "file with what to send, or - for standard input, with the orders after it; several are read as one")
	flags.StringVar(&w.orders, "orders", "", "file in which orders appear, one at a time, the one to start among them")
	flags.IntVar(&w.index, "index", 0, "which of the workers this is, from 0")
	_ = cmd.MarkFlagRequired("spec")
	_ = cmd.MarkFlagRequired("index")
	return cmd
}

func (w *loadWorker) run(ctx context.Context) error {
	in, err := w.input(ctx)
	if err != nil {
		return err
	}
	err = workers.Work(ctx, w.index, in, w.out)
	switch {
	case errors.Is(err, workers.ErrStopped) || err == nil && ctx.Err() != nil:
		return &exitError{code: exitInterrupted}
	case err != nil:
		return unjudged(err)
	}
	return nil
}

func (w *loadWorker) input(ctx context.Context) (workers.Input, error) {
	switch files := !slices.Contains(w.specs, fromInput); {
	case files && w.orders == "":
		return workers.Input{}, errors.New("--orders: nobody could tell it to start; give the file in which orders appear")
	case files:
		return workers.FromFiles(ctx, w.specs, w.orders)
	}
	if len(w.specs) > 1 || w.orders != "" {
		return workers.Input{}, errors.New("--spec -: standard input holds the whole spec and the orders; give no file beside it")
	}
	return workers.FromStream(ctx, w.in)
}
