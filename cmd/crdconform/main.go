// Command crdconform checks Kubernetes API servers and conversion webhooks against the documents on versions of
// CustomResourceDefinitions, and loads webhooks with conversions.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// atOnce is how long after the first signal another one is taken for the same.
const atOnce = 300 * time.Millisecond

func main() {
	log.SetOutput(io.Discard) // net/http writes a line there for each frame of a webhook that it does not know
	// What an API server logs while it runs is captured. Goroutines of it outlive it for a moment.
	if err := embedded.LogTo(io.Discard); err != nil {
		fmt.Fprintln(os.Stderr, "crdconform:", err)
		os.Exit(exitUnjudged)
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup lets a run go on when the terminal is closed
		signal.Notify(signals, syscall.SIGHUP)
	}
	// The report is what counts: a reader of the output may go before it ends, as head does.
	signal.Ignore(syscall.SIGPIPE)
	var acts atomic.Bool
	go func() {
		<-signals
		if !acts.Load() { // it reads what it was given, which cannot be interrupted otherwise
			fmt.Fprintln(os.Stderr, "crdconform: interrupted")
			os.Exit(exitInterrupted)
		}
		cancel()
		if term.IsTerminal(int(os.Stderr.Fd())) {
			fmt.Fprintln(os.Stderr, "crdconform: stopping; interrupt again to stop at once, without a report and without cleanup")
		}
		// Some send the same signal to the process and to its group. The shell and the system both say that a terminal is closed,
		// and nobody is there then who would be out of patience.
		first := time.Now()
		for again := range signals {
			if again != syscall.SIGHUP && time.Since(first) >= atOnce {
				break
			}
		}
		fmt.Fprintln(os.Stderr, "crdconform: interrupted twice: no report, no cleanup. Remove leftovers on kind with "+
			`"crdconform cleanup --kind", in an existing cluster with "crdconform cleanup --context NAME", and temporary files with `+
			`"crdconform cleanup --temporary", within the next hour with --older-than 0s`)
		os.Exit(exitInterrupted)
	}()
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	terminal := err == nil && term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb"
	s := streams{
		out:      os.Stdout,
		err:      os.Stderr,
		terminal: terminal,
		width:    cmp.Or(width, 80), // a terminal may not know
		color:    terminal && os.Getenv("NO_COLOR") == "",
		variable: os.LookupEnv,
		plugin:   isPlugin(os.Args[0]),
		acts:     func() { acts.Store(true) },
	}
	os.Exit(execute(ctx, os.Args[1:], s))
}
