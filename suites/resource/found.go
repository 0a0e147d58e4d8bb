package resource

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/reports"
)

// loss is what a comparison of two reads at a version found, and the spec fails for.
type loss struct {
	version string
	corpus.Loss
}

// findings returns what happened to fields. A loss that may be meant is as narrow as it is: it is the widest place of which nothing comes back
// by way of a version that has no field of that name.
func (r *round) findings(ctx context.Context, o *object, lost []loss) []reports.FieldFinding {
	var all []reports.FieldFinding
	for i, l := range lost {
		home := ""
		if i < mostHomes {
			home = r.homeOf(ctx, o, l)
		}
		for _, f := range r.finding(ctx, l) {
			f.Home = home
			all = append(all, f)
		}
	}
	return all
}

// mostHomes is of how many losses the field of the stored version is looked for.
const mostHomes = 3

// homeOf returns the field of the stored version that shows what is lost of an object. It is empty if clients do not send the field, if the object
// must have it, or if the webhook does not answer.
func (r *round) homeOf(ctx context.Context, o *object, l loss) string {
	schema := r.definition.Schema(r.initially)
	if l.version == r.initially {
		return schema.Pattern(l.Path)
	}
	sent := r.crd.Object(o.version, o.sent)
	if _, has := corpus.Value(sent.Object, l.Path); !has || l.version != o.version || r.silent != "" {
		return ""
	}
	without := corpus.Without(sent, l.Path)
	if of := r.definition.Schema(o.version); of != nil {
		if of.Prepare(without.Object); len(of.Problems(without.Object)) > 0 {
			return "" // no API server would ask for it
		}
	}
	whole, less := r.convert(ctx, r.initially, sent), r.convert(ctx, r.initially, without)
	if whole == nil || less == nil {
		return ""
	}
	var shown []string
	for _, differing := range schema.Differences(whole.Object, less.Object) {
		if !strings.HasPrefix(differing.Path, "metadata") {
			shown = append(shown, differing.Path)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return schema.Pattern(fieldpath.Around(shown...))
}

// finding is what happened to one field: if it is lost, by way of each version by which nothing of it comes back.
func (r *round) finding(ctx context.Context, l loss) []reports.FieldFinding {
	schema := r.definition.Schema(l.version)
	found := reports.FieldFinding{Field: schema.Pattern(l.Path), Effect: schema.Effect(l.Loss), From: l.version, To: r.storage, Message: l.String(), MadeUp: l.MadeUp}
	var findings []reports.FieldFinding
	for _, other := range r.definition.Versions() {
		if other == l.version {
			continue
		}
		if found.To == l.version {
			found.To = other
		}
		lacks := r.definition.Schema(other).Lacks(l.Path)
		if found.Effect == "lost" && found.To == other {
			found.Instead = r.definition.Schema(other).Instead(schema, l.Path)
		}
		if found.Effect != "lost" || lacks == "" {
			continue
		}
		place := r.survivors(ctx, corpus.Pair{From: l.version, To: other}).LostWhole(lacks, l.Path)
		if place == "" {
			found.Kept = true
			continue
		}
		lacking := found
		lacking.Instead = r.definition.Schema(other).Instead(schema, l.Path)
		lacking.Field, lacking.To, lacking.Lacking, lacking.Kept = schema.Pattern(place), other, true, false
		findings = append(findings, lacking)
	}
	if len(findings) > 0 {
		return findings
	}
	return []reports.FieldFinding{found}
}

// survivors returns the places from which a value comes back on the way to the second version of a pair and back.
func (c *chapter) survivors(ctx context.Context, pair corpus.Pair) *corpus.Survivors {
	if known := c.surviving[pair]; known != nil {
		return known
	}
	surviving := corpus.NewSurvivors(c.env.Subject.Corpus.Definition.Schema(pair.From))
	for _, object := range append(c.env.Subject.Corpus.Objects(pair.From), c.generate(ctx, pair.From)...) {
		if back := c.convert(ctx, pair.From, c.convert(ctx, pair.To, object)); back != nil {
			surviving.Add(object, back.Object)
		}
	}
	if ctx.Err() == nil {
		c.surviving[pair] = surviving
	}
	return surviving
}

// convert asks the webhook for an object at a version; nil if it does not convert it, or there is none.
func (c *chapter) convert(ctx context.Context, to string, object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	converted, _ := c.convertAll(ctx, to, []*unstructured.Unstructured{object})
	if converted == nil {
		return nil
	}
	return converted[0]
}
