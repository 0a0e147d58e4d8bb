package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/visible"
)

// server is the command serve.
type server struct {
	streams
	address string
	caOut   string
	certs   string
	drain   time.Duration
	faults  []string
}

func newServe(s streams) *cobra.Command {
	v := &server{streams: s}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the reference webhook, optionally with faults",
		Long: `serve runs the reference conversion webhook until it is interrupted. It converts the CronTabs of the documentation, in any
API group, between v1alpha1 and v1beta1, which have hostPort, and v1, which has host and port. It creates a certificate, and
--ca-out writes the certificate of its authority to a file, for clients. Both are valid for 90 days. With --cert-dir, it
serves the certificate in that folder, as webhooks in a cluster do.

With --fault, it breaks a promise, to show the consequences. The faults:

` + faultTable(),
		Example: `  crdconform serve --ca-out ca.crt
  crdconform serve --ca-out ca.crt --fault wrong-uid`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.address, "listen", "localhost:9443", "host and port to listen on; port 0 for a free one")
	flags.StringVar(&v.caOut, "ca-out", "", "file to write the certificate of the authority to")
	flags.StringVar(&v.certs, "cert-dir", "", "folder with tls.crt and tls.key to serve, in PEM, instead of a new certificate")
	flags.DurationVar(&v.drain, "drain", 0, "how long to continue serving after SIGTERM, so that clients can switch to another webhook before it stops")
	flags.StringSliceVar(&v.faults, "fault", nil, "promise to break; can be repeated")
	_ = cmd.RegisterFlagCompletionFunc("fault", completing(webhook.Faults, func(f webhook.Fault) (string, string) { return f.Name, f.Summary }))
	return cmd
}

func faultTable() string {
	var t visible.Table
	for _, f := range webhook.Faults() {
		t.Add("", f.Name, f.Summary)
	}
	return t.Text()
}

func (v *server) run(ctx context.Context) error {
	var faults []webhook.Fault
	for _, name := range v.faults {
		fault, found := webhook.FaultNamed(name)
		if !found {
			return fmt.Errorf("--fault %s: unknown fault; \"crdconform serve --help\" lists all", name)
		}
		faults = append(faults, fault)
	}
	if err := listenAddress(ctx, v.address); err != nil {
		return err
	}
	switch {
	case v.certs != "" && v.caOut != "":
		return errors.New("--ca-out: cannot be combined with --cert-dir, whose certificate has its own authority")
	case v.drain < 0:
		return fmt.Errorf("--drain %s: must be at least 0", v.drain)
	}
	s, err := v.start(ctx, webhook.Handler(faults...))
	if err != nil {
		return err
	}
	if v.caOut != "" {
		if err := os.WriteFile(v.caOut, s.CA, 0o644); err != nil {
			return errors.Join(fmt.Errorf("--ca-out: %w", err), s.Close())
		}
	}
	fmt.Fprintf(v.out, "Serving %s\n", s.URL)
	for _, fault := range faults {
		fmt.Fprintf(v.out, "Fault %s: it %s\n", fault.Name, fault.Summary)
	}
	<-ctx.Done()
	if v.drain == 0 {
		return s.Close()
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.drain+finishTimeout)
	defer cancel()
	return s.Drain(within, v.drain)
}

// finishTimeout is how long requests may take that are under way when the webhook stops.
const finishTimeout = 10 * time.Second

// start serves the handler.
func (v *server) start(ctx context.Context, handler http.Handler) (*webhook.Server, error) {
	if v.certs != "" {
		s, err := webhook.StartWith(ctx, v.address, v.certs, handler)
		if err != nil {
			return nil, unjudged(err)
		}
		return s, nil
	}
	s, err := webhook.Start(ctx, v.address, handler)
	if err != nil {
		return nil, unjudged(fmt.Errorf("%w; give another host and port with --listen", err))
	}
	return s, nil
}
