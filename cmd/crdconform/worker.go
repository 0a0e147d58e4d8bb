package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/load/workers"
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
		Short:  "Send this worker's part of a load test",
		Hidden: true, // load starts it, by load.workers
		Long: `worker is started by "crdconform load" (load.workers), as a process or as a pod of a Job. It reads what to send, reports that it
is ready, starts when ordered, and writes its measurements as lines of JSON.

Exit codes:
  0    it sent its part, or an order stopped it after it began; there is a result
  2    usage: the spec cannot be read, or is of another release
  3    there is no result: the webhook cannot be reached, or the order to start came too late; or it stopped with a partial
       result because it received no message for too long
  130  stopped by a signal, or before it began; there is a partial result if it had begun`,
		Example: `  crdconform worker --spec spec.json --orders orders.json --index 0`,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&w.specs, "spec", nil, "file with what to send, or - for standard input, with the orders after it; several are read as one")
	flags.StringVar(&w.orders, "orders", "", "file in which orders appear one at a time, including the order to start")
	flags.IntVar(&w.index, "index", 0, "index of this worker, starting at 0")
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
		return workers.Input{}, errors.New("--orders: without orders it never starts; give the file in which orders appear")
	case files:
		return workers.FromFiles(ctx, w.specs, w.orders)
	}
	if len(w.specs) > 1 || w.orders != "" {
		return workers.Input{}, errors.New("--spec -: standard input contains the spec and the orders; give no other file")
	}
	return workers.FromStream(ctx, w.in)
}
