// Command frail is a conversion webhook that does well as long as nothing happens to it: with a bug planted it does one thing wrong when it
// is ended, restarted, rolled out or paused, or when its certificate, its connections, its peers, the definition or the API server are
// replaced. Without a bug it does as controller-runtime's
// server does: it watches its certificate, and answers what it has accepted before it ends. It converts Pumps of the group
// water.example.org.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := webhook(delays()).Run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "frail:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
