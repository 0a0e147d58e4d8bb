// Command apiserver is upstream's API server for custom resources as a program of its own, so that the one of an older
// Kubernetes minor can be run: package minors builds it with the Go modules of that minor, starts it and talks to it.
// What is said is in the documentation of package minors. Nobody else is expected to start it.
//
// The files are the same for all minors, but for those with a build constraint: these are what upstream changed. A minor is built
// with the tag before_1_34 if it is older than 1.34, and so on. Without a tag the files are for the modules that crdconform itself
// is built with; the names of those that are for older minors only begin with _.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// protocol is the version of what is said. Package minors has the same number.
const protocol = 1

// order is the first line of the input: how to run.
type order struct {
	Protocol   int    `json:"protocol"`
	Dir        string `json:"dir"`  // with ca.crt, tls.crt and tls.key; removed when the input ends
	Etcd       string `json:"etcd"` // URL
	WatchCache bool   `json:"watchCache"`
}

// greeting is the first line of the output.
type greeting struct {
	Protocol int    `json:"protocol"`
	URL      string `json:"url"`
}

// route is each further line of the input: where calls to a service go. An empty address removes the route.
type route struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      int32  `json:"port"`
	Address   string `json:"address"`
}

// routed answers a route.
type routed struct {
	Error string `json:"error,omitempty"`
}

func main() {
	// The log goes to what started this. If that no longer exists, leftovers must still be removed.
	signal.Ignore(syscall.SIGPIPE)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdconform's API server:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// run serves until the input ends, which it does with the process at its other end.
func run(in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	answers := json.NewEncoder(out)
	var o order
	if err := lines.Decode(&o); err != nil {
		return fmt.Errorf("the first line must say how to run: %w", err)
	}
	if o.Protocol != protocol {
		return fmt.Errorf("this is protocol %d, but the first line asks for %d; build the program again with \"crdconform matrix minors build\"", protocol, o.Protocol)
	}
	services := newServices()
	url, failed, err := serve(o, services)
	if err != nil {
		return err
	}
	if err := answers.Encode(greeting{protocol, url}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- obey(lines, answers, services) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the API server ended: %w", err)
	case err := <-ended:
		// The process that started this no longer exists, and no other knows of the files.
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
}

// obey routes services until the input ends.
func obey(lines *json.Decoder, answers *json.Encoder, services *services) error {
	for {
		var r route
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var answer routed
		if r.Namespace == "" || r.Name == "" {
			answer.Error = "a route needs a namespace and a name"
		} else {
			services.route(r)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
