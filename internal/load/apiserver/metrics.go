package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/loadgen"
)

// The metrics of API servers that are read.
const (
	metricRequest    = "apiserver_request_duration_seconds"
	metricConversion = "apiserver_crd_conversion_webhook_duration_seconds"
	metricCall       = "apiserver_conversion_webhook_duration_seconds"
)

// metrics are those of the API server at one time. All of them only grow.
type metrics struct {
	families map[string]*dto.MetricFamily
	err      error // why they could not be read
}

// metricsTimeout is how long API servers may take to show their metrics, which they do within milliseconds. One that runs in this
// process, beside another that was started later and is stopped already, waits for the other's storage in vain.
const metricsTimeout = 5 * time.Second

// metrics reads the metrics of the API server, unless that failed before.
func (r *run) metrics(ctx context.Context) metrics {
	if r.unreadable == nil {
		m := r.readMetrics(ctx)
		if ctx.Err() == nil {
			r.unreadable = m.err
		}
		return m
	}
	return metrics{err: r.unreadable}
}

func (r *run) readMetrics(ctx context.Context) metrics {
	ctx, cancel := context.WithTimeoutCause(ctx, metricsTimeout, fmt.Errorf("no response within %s", metricsTimeout))
	defer cancel()
	body, err := r.clients.Do(ctx, kube.Request{Path: "/metrics", Accept: "text/plain;version=0.0.4"})
	if err != nil {
		return metrics{err: fmt.Errorf("GET /metrics: %w", err)}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return metrics{err: fmt.Errorf("GET /metrics: %w", err)}
	}
	return metrics{families: families}
}

// histogram adds up the histograms of a name whose labels have given values.
func (m metrics) histogram(name string, labels map[string]string) (count uint64, sum float64) {
	for _, metric := range m.families[name].GetMetric() {
		if matches(metric, labels) {
			count += metric.GetHistogram().GetSampleCount()
			sum += metric.GetHistogram().GetSampleSum()
		}
	}
	return count, sum
}

func matches(metric *dto.Metric, labels map[string]string) bool {
	found := 0
	for _, pair := range metric.GetLabel() {
		if want, asked := labels[pair.GetName()]; asked && want == pair.GetValue() {
			found++
		}
	}
	return found == len(labels)
}

// since is what was added to a histogram since earlier metrics.
func (m metrics) since(before metrics, name string, labels map[string]string) (count uint64, sum float64) {
	count, sum = m.histogram(name, labels)
	countBefore, sumBefore := before.histogram(name, labels)
	if count < countBefore { // the API server was restarted
		return count, sum
	}
	return count - countBefore, sum - sumBefore
}

// share is what part of requests at a version is the webhook's by the metrics before them, when they were answered and when
// what they caused was over. The verb is as the metrics spell it.
func (r *run) share(before, answered, after metrics, verb, version string, seen loadgen.Calls) loadgen.Share {
	s := loadgen.Share{WebhookSeconds: seen.Seconds}
	for _, m := range []metrics{before, answered, after} {
		if m.err != nil {
			s.Missing = []string{m.err.Error()}
			return s
		}
	}
	s.Requests, s.RequestSeconds = answered.since(before, metricRequest, map[string]string{
		"verb": verb, "group": r.clients.Group, "version": version, "resource": r.clients.Plural,
	})
	s.Conversions, s.ConversionSeconds = after.since(before, metricConversion, map[string]string{"crd_name": r.definition.Name})
	_, s.CallSeconds = after.since(before, metricCall, nil)
	// A metric shows when it first has something to show.
	for _, name := range []string{metricConversion, metricCall, metricRequest} {
		if after.families[name] == nil && (seen.Calls > 0 || name == metricRequest) {
			s.Missing = append(s.Missing, name)
		}
	}
	if s.RequestSeconds > 0 {
		s.OfServer = s.ConversionSeconds / s.RequestSeconds
	}
	return s
}
