package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/internal/load"
)

// observers watch a load test, in addition to the screen.
type observers []func(load.Workload) load.Watch

// join has all of them watch what one does.
func (o observers) join(w load.Workload, one load.Watch) load.Watch {
	for _, observer := range o {
		before, another := one, observer(w)
		if another.Second != nil {
			one.Second = func(s load.Snapshot) {
				another.Second(s) // first, so that the figures of a second are there when the terminal shows it
				before.Second(s)
			}
		}
		if another.Result != nil {
			one.Result = another.Result
		}
	}
	return one
}

// exporter serves the figures of a load test to Prometheus while it runs.
type exporter struct {
	address  string
	profile  string // what stages without a name are called
	server   *http.Server
	served   chan error
	requests *prometheus.CounterVec
	failed   *prometheus.CounterVec
	objects  *prometheus.CounterVec
	response *prometheus.GaugeVec
}

// newExporter listens at an address, for the stages of a profile. Its errors are about the address.
func newExporter(ctx context.Context, address, profile string) (*exporter, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("load.metricsAddress %s: %w", address, err)
	}
	stage := []string{"stage"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "crdconform", Subsystem: "load", Name: name, Help: help}, stage)
	}
	e := &exporter{
		address:  listener.Addr().String(),
		profile:  profile,
		served:   make(chan error, 1),
		requests: counter("requests_total", "Conversion requests that were answered or given up."),
		failed:   counter("failed_requests_total", "Conversion requests whose response an API server would reject."),
		objects:  counter("objects_total", "Objects that were converted in a way that API servers accept."),
		response: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "crdconform", Subsystem: "load", Name: "response_seconds",
			Help: "Response time in the last second, from when a request was due, by quantile.",
		}, []string{"stage", "quantile"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(e.requests, e.failed, e.objects, e.response)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { e.served <- e.server.Serve(listener) }()
	return e, nil
}

// watch exports a stage.
func (e *exporter) watch(w load.Workload) load.Watch {
	stage := cmp.Or(w.Name, e.profile)
	return load.Watch{Second: func(s load.Snapshot) {
		e.requests.WithLabelValues(stage).Add(float64(s.Last.Requests))
		e.failed.WithLabelValues(stage).Add(float64(s.Last.Failed))
		e.objects.WithLabelValues(stage).Add(float64(s.Last.Objects))
		for quantile, value := range map[string]float64{"0.5": s.Last.P50, "0.9": s.Last.P90, "0.99": s.Last.P99, "1": s.Last.Max} {
			e.response.WithLabelValues(stage, quantile).Set(value / 1000)
		}
	}}
}

func (e *exporter) close() error {
	err := e.server.Close()
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// results writes the requests of a load test to a file that vegeta reads.
type results struct {
	file    *os.File
	buffer  *bufio.Writer
	made    bool // the file was not there before
	encoder vegeta.Encoder
	err     error // the first one; nothing is written after it
}

// newFile makes a file that a key names, and reports whether it was not there before. One that is there may be needed by somebody; what is
// no file, such as a pipe, is written to.
func newFile(key, path string) (file *os.File, made bool, err error) {
	flags := os.O_WRONLY
	if info, missing := os.Stat(path); missing != nil || info.Mode().IsRegular() {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err = os.OpenFile(path, flags, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, false, fmt.Errorf("%s %s: the file already exists; give another name, or remove it", key, path)
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w", key, err)
	}
	return file, flags&os.O_CREATE != 0, nil
}

func newResults(path string) (*results, error) {
	file, made, err := newFile("load.vegetaResults", path)
	if err != nil {
		return nil, err
	}
	r := &results{file: file, buffer: bufio.NewWriter(file), made: made}
	r.encoder = vegeta.NewEncoder(r.buffer)
	return r, nil
}

// forget removes the file again.
func (r *results) forget() error {
	if !r.made {
		return nil
	}
	return os.Remove(r.file.Name())
}

// watch writes vegeta's results of a stage, without the bodies of the responses.
func (r *results) watch(load.Workload) load.Watch {
	return load.Watch{Result: func(result *vegeta.Result) {
		result.Body = nil
		if r.err == nil {
			r.err = r.encoder.Encode(result)
		}
	}}
}

func (r *results) close() error {
	if err := errors.Join(r.err, r.buffer.Flush(), r.file.Close()); err != nil {
		return fmt.Errorf("load.vegetaResults: %w", err)
	}
	return nil
}
