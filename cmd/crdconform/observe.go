package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/loadgen"
)

// observers are told how a load test goes on, besides whoever looks at the screen.
type observers []func(loadgen.Workload) loadgen.Watch

// join has all of them watch what one does.
func (o observers) join(w loadgen.Workload, one loadgen.Watch) loadgen.Watch {
	for _, observer := range o {
		before, another := one, observer(w)
		if another.Second != nil {
			one.Second = func(s loadgen.Snapshot) {
				before.Second(s)
				another.Second(s)
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
	server   *http.Server
	served   chan error
	requests *prometheus.CounterVec
	failed   *prometheus.CounterVec
	objects  *prometheus.CounterVec
	response *prometheus.GaugeVec
}

// newExporter listens at an address. Its errors are about that.
func newExporter(ctx context.Context, address string) (*exporter, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-address %s: %w", address, err)
	}
	stage := []string{"stage"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "crdconform", Subsystem: "load", Name: name, Help: help}, stage)
	}
	e := &exporter{
		address:  listener.Addr().String(),
		served:   make(chan error, 1),
		requests: counter("requests_total", "Conversion requests that were answered, or given up for lost."),
		failed:   counter("failed_requests_total", "Conversion requests whose response an API server would reject."),
		objects:  counter("objects_total", "Objects that were converted as API servers accept it."),
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
func (e *exporter) watch(w loadgen.Workload) loadgen.Watch {
	return loadgen.Watch{Second: func(s loadgen.Snapshot) {
		e.requests.WithLabelValues(w.Name).Add(float64(s.Last.Requests))
		e.failed.WithLabelValues(w.Name).Add(float64(s.Last.Failed))
		e.objects.WithLabelValues(w.Name).Add(float64(s.Last.Objects))
		for quantile, value := range map[string]time.Duration{"0.5": s.Last.P50, "0.9": s.Last.P90, "0.99": s.Last.P99, "1": s.Last.Max} {
			e.response.WithLabelValues(w.Name, quantile).Set(value.Seconds())
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
	encoder vegeta.Encoder
	err     error // the first one; nothing is written after it
}

// newResults opens the file, and leaves what is in it for the time being.
func newResults(path string) (*results, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--vegeta-results: %w", err)
	}
	r := &results{file: file, buffer: bufio.NewWriter(file)}
	r.encoder = vegeta.NewEncoder(r.buffer)
	return r, nil
}

// empty removes what an earlier run wrote to the file. What is no file, such as a pipe, has nothing in it.
func (r *results) empty() error {
	info, err := r.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = r.file.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("--vegeta-results: %w", err)
	}
	return nil
}

// watch writes the requests of a stage, under its name.
func (r *results) watch(w loadgen.Workload) loadgen.Watch {
	return loadgen.Watch{Result: func(result *vegeta.Result) {
		result.Attack = w.Name
		if r.err == nil {
			r.err = r.encoder.Encode(result)
		}
	}}
}

func (r *results) close() error {
	if err := errors.Join(r.err, r.buffer.Flush(), r.file.Close()); err != nil {
		return fmt.Errorf("--vegeta-results: %w", err)
	}
	return nil
}
