// Command wide is a fast conversion webhook for a definition of 200 fields a version, which go by another name in each of
// three versions. It shows how fast a webhook can be, and how a check copes with many fields.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := webhook().Run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wide:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
