package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fact is a line about a run.
type Fact struct{ Name, Value string }

// Facts says what was run, in a few lines.
func (r *Report) Facts() []Fact {
	var facts []Fact
	add := func(name, format string, arguments ...any) {
		facts = append(facts, Fact{name, fmt.Sprintf(format, arguments...)})
	}
	if r.Cluster != nil {
		cache := "without a watch cache"
		if r.Cluster.WatchCache {
			cache = "with a watch cache"
		}
		add("API server", "%s, Kubernetes %s, %s", r.Cluster.Name, r.Cluster.Version, cache)
	}
	if r.Webhook != nil {
		add("webhook", "%s, %s of %s at %s", r.Webhook.URL, r.Webhook.Kind, r.Webhook.Group, strings.Join(r.Webhook.Versions, ", "))
	}
	add("crdconform", "%s", r.Tool)
	add("command", "%s", r.Command)
	add("started", "%s", r.Started.UTC().Format(time.RFC3339))
	add("took", "%.1f s", r.Seconds)
	if len(r.Results) > 0 {
		add("seed", "%d", r.Seed)
	}
	return facts
}

// Row is a line of a table of times.
type Row struct {
	Name string
	Times
}

// Rows returns the times of a load test for a table.
func (l *Load) Rows() []Row {
	return []Row{
		{"response, from when it was due", l.Response},
		{"service, from when it was sent", l.Service},
		{"lag of the generator", l.Lag},
	}
}

// Headline says in one sentence what the load was and how much of it was answered well.
func (l *Load) Headline() string {
	text := fmt.Sprintf("%g requests a second of %d objects for %g s, %s to %s in ConversionReview %s over %s: %d requests, %.0f objects a second",
		l.Rate, l.Batch, l.Duration, l.From, l.To, l.ReviewVersion, l.HTTP, l.Requests, l.ObjectsPerSecond)
	if l.Failed == 0 {
		text += ", none failed"
	} else {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(l.Errors)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", l.Errors[kind], kind))
		}
		text += fmt.Sprintf(", %d failed (%s)", l.Failed, strings.Join(kinds, ", "))
	}
	if l.Partial {
		text += "; stopped before its end"
	}
	if l.Unanswered > 0 {
		text += fmt.Sprintf(", with %d waiting for a response", l.Unanswered)
	}
	if l.VoidReason != "" {
		text += "; void: " + l.VoidReason
	}
	return text
}
