//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
)

// attack is what a generator is to do.
type attack struct {
	Endpoint    endpoint
	Requests    []contract.Request // to send in turn; the first only, but for loadgen
	Connections int                // at most
	Rate        float64            // requests a second; 0 for as many as the connections carry
	Duration    time.Duration      // how long requests become due
}

// outcome is what a generator found out.
type outcome struct {
	Began    time.Time // when the first request was due
	Elapsed  time.Duration
	Requests uint64
	Busy     time.Duration   // that processors worked for the generator, its start included
	Objects  uint64          // that were converted
	Trouble  string          // why the other numbers mean nothing, if so
	Void     string          // why loadgen calls the run void, if so
	Times    []time.Duration // of response, as the generator understands that, at each of percentiles
	Lag      time.Duration   // how late requests were sent, at the 99th percentile
	Resident []uint64        // bytes of memory of the generator, each second
	Peak     uint64          // the most that there were
}

// rate is the number of requests a second.
func (o outcome) rate() float64 { return float64(o.Requests) / o.Elapsed.Seconds() }

// each is how many microseconds processors worked for a request.
func (o outcome) each() float64 { return float64(o.Busy.Microseconds()) / float64(o.Requests) }

// percentiles are those that are reported.
func percentiles() []float64 { return []float64{50, 90, 95, 99, 99.9} }

// by has a program attack, and returns its outcome.
func (a attack) by(tb testing.TB, name string) outcome {
	tb.Helper()
	p := start(tb, name, a)
	var o outcome
	p.read(tb, &o)
	if o.Trouble != "" {
		tb.Fatalf("%s: %s", name, o.Trouble)
	}
	o.Busy = p.stop(tb)
	return o
}

// attackByLoadgen is the program that attacks as crdconform load does. Its job is an attack.
func attackByLoadgen(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	var a attack
	if err := job.Decode(&a); err != nil {
		return err
	}
	client, err := wire.Connect(wire.Endpoint{URL: a.Endpoint.URL, CA: a.Endpoint.CA})
	if err != nil {
		return err
	}
	var o outcome
	s, err := load.Run(ctx, client, a.Requests, a.workload(), load.Watch{Second: func(load.Snapshot) {
		o.Resident = append(o.Resident, memory("VmRSS"))
	}})
	if err != nil {
		return err
	}
	o.Began, o.Elapsed, o.Requests, o.Objects = s.Began, s.Elapsed, s.Requests, s.Accepted
	for _, p := range percentiles() {
		o.Times = append(o.Times, microseconds(s.Response, p))
	}
	o.Void = s.VoidReason()
	o.Lag, o.Peak = microseconds(s.Lag, 99), memory("VmHWM")
	switch {
	case s.Failed() > 0:
		o.Trouble = fmt.Sprintf("%d of %d requests failed, such as: %v", s.Failed(), s.Requests, s.Findings)
	case s.NotSent() > 0:
		o.Trouble = s.VoidReason()
	}
	return report(o)
}

// workload is the attack in loadgen's words.
func (a attack) workload() load.Workload {
	w := load.Workload{Batch: len(a.Requests[0].Objects), ReviewVersion: a.Requests[0].ReviewVersion}
	if a.Rate > 0 {
		w.Phases, w.InFlight = load.Constant(a.Rate, a.Duration), a.Connections
	} else {
		w.Clients, w.Duration = a.Connections, a.Duration
	}
	return w
}

func microseconds(h *hdrhistogram.Histogram, percentile float64) time.Duration {
	return time.Duration(h.ValueAtPercentile(percentile)) * time.Microsecond
}

// memory is a figure of this process in bytes, by the name that Linux gives it; 0 if there is no such.
func memory(name string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), name+":")
	var kib uint64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0
	}
	return kib << 10
}

// attackByVegeta is the program that attacks by vegeta's library, with its default client. Its job is an attack.
func attackByVegeta(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	var a attack
	if err := job.Decode(&a); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.Endpoint.CA) {
		return errors.New("no certificate to verify the server by")
	}
	body, err := a.Requests[0].Body()
	if err != nil {
		return err
	}
	workers := uint64(a.Connections)
	attacker := vegeta.NewAttacker(vegeta.Workers(workers), vegeta.MaxWorkers(workers), vegeta.TLSConfig(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	stop := context.AfterFunc(ctx, func() { attacker.Stop() })
	defer stop()
	targets := vegeta.NewStaticTargeter(vegeta.Target{
		Method: http.MethodPost, URL: a.Endpoint.URL, Body: body, Header: http.Header{"Content-Type": {"application/json"}},
	})
	pacer := vegeta.ConstantPacer{} // as fast as can be
	if a.Rate > 0 {
		pacer = vegeta.ConstantPacer{Freq: int(a.Rate), Per: time.Second}
	}
	times := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	o := outcome{Began: time.Now()}
	for result := range attacker.Attack(targets, pacer, a.Duration, "") {
		if result.Error != "" || result.Code != http.StatusOK {
			o.Trouble = fmt.Sprintf("status %d, %s", result.Code, result.Error)
		}
		o.Requests++
		if a.Rate > 0 { // at saturation its results are counted, no more
			if err := times.RecordValue(max(result.Latency.Microseconds(), 1)); err != nil {
				return err
			}
		}
	}
	o.Elapsed, o.Objects = time.Since(o.Began), o.Requests*uint64(len(a.Requests[0].Objects))
	for _, p := range percentiles() {
		o.Times = append(o.Times, microseconds(times, p))
	}
	return report(o)
}

// rounded writes a time with a precision that fits into a table.
func rounded(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return strings.ReplaceAll(d.String(), "µ", "u")
}
