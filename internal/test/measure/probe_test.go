//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
)

// measureOverheads measures what requests take beside the service of a server that does not stall, at a rate or, if that is 0,
// when each is sent as soon as the one before was answered. Neither loadgen nor net/http's client has a part in it.
func measureOverheads(b *testing.B, service time.Duration, rate float64) []time.Duration {
	b.Helper()
	request := stallRequest(b)
	server := start(b, stallingServer, stalled{stalls{Service: service}, request})
	a := attack{Requests: []contract.Request{request}, Connections: stallConnections, Rate: rate, Duration: 5 * time.Second}
	server.read(b, &a.Endpoint)
	generator := start(b, probe, a)
	var times []time.Duration
	generator.read(b, &times)
	generator.stop(b)
	_ = server.in.Close()
	var log answers
	server.read(b, &log)
	server.stop(b)
	for i := range times {
		times[i] -= service
	}
	return times
}

// probeServer is a program that sends at a rate, each request over the connection whose turn it is, and takes the time from
// the first byte out to the last byte in. Its job is an attack, on a server that is fast enough for its connections. It reports
// the times.
func probeServer(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	var a attack
	if err := job.Decode(&a); err != nil {
		return err
	}
	body, err := a.Requests[0].Body()
	if err != nil {
		return err
	}
	target, err := url.Parse(a.Endpoint.URL)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.Endpoint.CA) {
		return errors.New("no certificate to verify the server by")
	}
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target.Path, target.Host, len(body), body)
	each := time.Duration(0)
	if a.Rate > 0 {
		each = time.Duration(float64(a.Connections) / a.Rate * float64(time.Second))
	}
	times := make([][]time.Duration, a.Connections)
	failures := make([]error, a.Connections)
	var group sync.WaitGroup
	began := time.Now()
	for i := range a.Connections {
		group.Go(func() {
			due := began.Add(each * time.Duration(i) / time.Duration(a.Connections))
			times[i], failures[i] = ask(ctx, target.Host, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, request, due, each, a.Duration)
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return report(slices.Concat(times...))
}

// ask sends a request again and again over one connection, and returns how long each took. When no time is given for each, it
// asks as soon as it is answered.
func ask(ctx context.Context, address string, config *tls.Config, request []byte, due time.Time, each, duration time.Duration) ([]time.Duration, error) {
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	var times []time.Duration
	var exact timers
	for end := due.Add(duration); due.Before(end); due = due.Add(each) {
		if each == 0 {
			due = time.Now()
		}
		exact.wait(time.Until(due))
		sent := time.Now()
		if _, err := connection.Write(request); err != nil {
			return nil, err
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		times = append(times, time.Since(sent))
	}
	return times, nil
}
