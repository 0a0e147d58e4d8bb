package reporter

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Prometheus writes the figures of a run in Prometheus' text format, such as for the textfile collector of node_exporter or a
// push gateway. Times are seconds.
func Prometheus(r *reports.Report, w io.Writer) error {
	var f families
	began := float64(r.Started.UnixMilli()) / 1000
	f.add("crdconform_run_start_time_seconds", "When the run began, in seconds since 1970.", began)
	f.add("crdconform_run_duration_seconds", "How long the run took.", r.Seconds)
	info := []string{"version", r.Tool}
	if r.Cluster != nil {
		info = append(info, "cluster", r.Cluster.Name, "kubernetes", r.Cluster.Version)
	}
	f.add("crdconform_run_info", "What ran, and against what; always 1.", 1, info...)
	for _, outcome := range []reports.Outcome{reports.Conformant, reports.Partial, reports.NonConformant, reports.Unjudged, reports.Interrupted} {
		f.add("crdconform_run_outcome", "1 for the outcome of the run, 0 for the others.", truth(r.Outcome == outcome), "outcome", string(outcome))
	}
	for _, chapter := range Chapters(r) {
		for _, v := range []requirement.Verdict{
			requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing, requirement.Failed,
			requirement.Errored, requirement.Unknown,
		} {
			f.add("crdconform_requirements", "Requirements by verdict.", float64(chapter.Count(v)),
				"area", chapter.Area, "subject", chapter.Subject, "verdict", v.String())
		}
	}
	if r.Load != nil {
		f.load(r.Load)
	}
	for _, family := range f {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return nil
}

// families are metrics by name, in the order in which they came.
type families []*dto.MetricFamily

// add adds a gauge. Labels are names and values in turn.
func (f *families) add(name, help string, value float64, labels ...string) {
	at := slices.IndexFunc(*f, func(family *dto.MetricFamily) bool { return family.GetName() == name })
	if at < 0 {
		at = len(*f)
		*f = append(*f, &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum()})
	}
	metric := &dto.Metric{Gauge: &dto.Gauge{Value: &value}}
	for pair := range slices.Chunk(labels, 2) {
		text := visible.Text(pair[1])
		metric.Label = append(metric.Label, &dto.LabelPair{Name: &pair[0], Value: &text})
	}
	(*f)[at].Metric = append((*f)[at].Metric, metric)
}

// load adds what came of each run of each stage. Two of the same name have numbers behind it, as no two metrics are the same.
func (f *families) load(l *loadgen.Load) {
	before := map[[2]string]int{}
	for _, s := range l.Stages {
		stage, repeat := cmp.Or(s.Name, l.Profile, "load"), strconv.Itoa(max(s.Repeat, 1))
		key := [2]string{stage, repeat}
		if before[key]++; before[key] > 1 {
			stage = fmt.Sprintf("%s (%d)", stage, before[key])
		}
		labels := func(more ...string) []string { return append([]string{"stage", stage, "repeat", repeat}, more...) }
		f.add("crdconform_load_requests", "Requests that were due under load, whether sent or not.", float64(s.Requests), labels()...)
		f.add("crdconform_load_failed_requests", "Requests under load whose response API servers reject.", float64(s.Failed), labels()...)
		unsent := uint64(0)
		for _, n := range s.Unsent {
			unsent += n
		}
		for _, of := range []struct {
			reason string
			n      uint64
		}{{"webhook", s.Errors["overdue"]}, {"generator", unsent}} {
			f.add("crdconform_load_unsent_requests", "Requests that were due under load and never sent: the webhook was behind, or the generator lacked something.", float64(of.n), labels("reason", of.reason)...)
		}
		f.add("crdconform_load_requests_per_second", "Requests under load that were answered per second.", s.RequestsPerSecond, labels()...)
		f.add("crdconform_load_objects_per_second", "Objects under load that were converted per second.", s.ObjectsPerSecond, labels()...)
		if s.Memory != nil {
			f.add("crdconform_load_webhook_memory_bytes", "Most memory that the webhook used under load.", s.Memory.Max, labels()...)
			f.add("crdconform_load_webhook_leaks", "1 where the webhook was proved to leak memory.", truth(s.Memory.Leaks), labels()...)
		}
		f.add("crdconform_load_void", "1 where a stage of the load test says nothing about the webhook.", truth(s.VoidReason != ""), labels()...)
		for _, q := range []struct {
			percentile   string
			milliseconds float64
		}{{"p50", s.Response.P50}, {"p90", s.Response.P90}, {"p95", s.Response.P95}, {"p99", s.Response.P99}, {"p99.9", s.Response.P999}, {"max", s.Response.Max}} {
			f.add("crdconform_load_response_seconds", "Response times under load, from when a request was due.", q.milliseconds/1000, labels("percentile", q.percentile)...)
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
