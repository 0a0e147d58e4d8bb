// Command operator is an operator in two releases, for rehearsals of upgrades. It converts Servers of hosting.example.org between v1beta1,
// which has a size such as 2x4Gi, and v1, which has cpus and memory. Given a kubeconfig, it lists the Servers at v1, as the caches of
// operators do: behind the start of its webhook or, with --lists-first, before that, in which case it waits for itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// options are what the flags say.
type options struct {
	port              int
	certs, kubeconfig string
	listsFirst        bool
	drops             bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o := options{}
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	flags.IntVar(&o.port, "port", 0, "port of 127.0.0.1 to listen on; 0 for a free one")
	flags.StringVar(&o.certs, "certs", "", "directory with tls.crt and tls.key")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster whose Servers it works on; none if empty")
	flags.BoolVar(&o.listsFirst, "lists-first", false, "list the Servers before it serves")
	flags.BoolVar(&o.drops, "drops-memory", false, "forget the memory when it converts to v1beta1")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.certs == "" {
		return errors.New("no certificate to serve with; give the directory of tls.crt and tls.key by --certs")
	}
	if o.listsFirst {
		if err := o.list(ctx); err != nil {
			return err
		}
	}
	return program.Plain(ctx, program.Settings{Handler: handler(o.drops), Certs: o.certs, Port: o.port, Ready: func(port int) {
		fmt.Fprintf(out, "listening on port %d\n", port)
		if !o.listsFirst {
			go o.list(ctx) //nolint:errcheck // it ends with the program
		}
	}})
}

// list lists the Servers until that succeeds.
func (o options) list(ctx context.Context) error {
	if o.kubeconfig == "" {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	servers := client.Resource(schema.GroupVersionResource{Group: "hosting.example.org", Version: "v1", Resource: "servers"})
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := servers.List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}
