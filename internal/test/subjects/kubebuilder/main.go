// Command kubebuilder is a conversion webhook as kubebuilder lays it out: a hub, two spokes, and controller-runtime's
// webhook server. It converts Widgets of the group factory.example.org.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

func main() {
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := webhook().Run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubebuilder:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func webhook() program.Webhook {
	w := program.Webhook{Name: "kubebuilder", Handler: handler, Serve: serve}
	for _, b := range bugs() {
		w.Bugs = append(w.Bugs, b.Bug)
	}
	return w
}
