// Command measure measures what is too slow for tests, or says what benchmarks measured:
//
//	measure scoreboard CRDCONFORM FOLDER [NAME]...           # what holds for public operators
//	measure self-comparison CRDCONFORM REPEAT SAME SLOWER    # how often load --baseline is wrong
//	measure table FILE                                       # the claims that benchmarks wrote
//
// The benchmarks beside it measure what the project claims about load. They want an idle machine with Linux and take many minutes: make
// bench runs them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "measure: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	what := ""
	if len(args) > 0 {
		what, args = args[0], args[1:]
	}
	switch what {
	case "scoreboard":
		return scoreboard(ctx, args)
	case "self-comparison":
		return selfComparison(ctx, args, os.Stdin, os.Stdout)
	case "table":
		return table(args)
	}
	return errors.New("it requires scoreboard, self-comparison or table")
}
