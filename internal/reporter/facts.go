package reporter

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// Fact is a line about a run.
type Fact struct {
	Name, Value string
	More        []string // lines with the particulars
}

// Facts says what was judged, in a few lines.
func Facts(r *reports.Report) []Fact {
	var facts []Fact
	add := func(name, format string, arguments ...any) {
		facts = append(facts, Fact{Name: name, Value: fmt.Sprintf(format, arguments...)})
	}
	if r.Cluster != nil {
		cache := "without a watch cache"
		if r.Cluster.WatchCache {
			cache = "with a watch cache"
		}
		add("API server", "%s, Kubernetes %s, %s", r.Cluster.Name, r.Cluster.Version, cache)
	}
	facts = append(facts, upgradeFacts(r)...)
	if r.Webhook != nil {
		add("webhook", "%s", r.Webhook.URL)
		facts = append(facts, webhookFacts(r.Webhook)...)
	}
	add("took", "%.1f s", r.Seconds)
	if text := spentText(r); text != "" {
		add("spent on", "%s", text)
	}
	return facts
}

// runFacts says how to get the same again, in a few lines.
func runFacts(r *reports.Report) []Fact {
	facts := []Fact{
		{Name: "crdconform", Value: r.Tool},
		{Name: "command", Value: r.Command},
		{Name: "started", Value: r.Started.UTC().Format(time.RFC3339)},
	}
	if len(r.Results) > 0 {
		facts = append(facts, Fact{Name: "seed", Value: strconv.FormatInt(r.Seed, 10)})
	}
	return facts
}

// webhookFacts says what the webhook was judged with: the definition, or the number of definitions and each of them.
func webhookFacts(w *reports.Webhook) []Fact {
	switch len(w.Kinds) {
	case 0:
		return nil
	case 1:
		k := w.Kinds[0]
		return []Fact{{"definition", kindText(k), particulars(k)}}
	}
	all := Fact{Name: "definitions", Value: strconv.Itoa(len(w.Kinds))}
	for _, k := range w.Kinds {
		all.More = append(all.More, kindText(k))
		for _, line := range particulars(k) {
			all.More = append(all.More, k.Definition+", "+line)
		}
	}
	return []Fact{all}
}

// kindText describes a kind and the number of its objects.
func kindText(k reports.Kind) string {
	var text strings.Builder
	if k.Definition != "" {
		fmt.Fprintf(&text, "%s: ", k.Definition)
	}
	fmt.Fprintf(&text, "%s of %s at %s", k.Kind, k.Group, strings.Join(k.Versions, ", "))
	objects := []string{visible.Count(k.Samples, "sample", "")}
	if k.Generated > 0 {
		objects = append(objects, fmt.Sprintf("%d generated for each version", k.Generated))
	}
	fmt.Fprintf(&text, "; %s", strings.Join(objects, ", "))
	return text.String()
}

// particulars returns the limitations of the judgement of a kind, in lines.
func particulars(k reports.Kind) []string {
	lines := nonempty(coverageText(k))
	for _, path := range k.Lossy {
		lines = append(lines, "declared lossy: "+path)
	}
	for _, gap := range k.Gaps {
		lines = append(lines, "not tried: "+gap)
	}
	return lines
}
