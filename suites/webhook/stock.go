package webhook

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// stock has the objects that the specs of the chapter convert, by version. They are made once, from what the webhook is found to take.
type stock struct {
	asking

	pools      map[string]*pool                                         // what is generated, by version
	unwanted   map[string][]refusal                                     // the samples that the webhook does not convert, by version
	everything map[string][]*unstructured.Unstructured                  // what each returns, by version
	mixed      map[string]int                                           // how many of everything are those that all returns, by version
	special    map[string]map[corpus.Style][]*unstructured.Unstructured // objects with one field each, whose value is of the style, by version
}

// few is how many generated objects replace samples if there are none.
const few = 3

// base returns the objects of a version that everything else builds on: the samples that the webhook converts or, where there are none, a
// few that were generated and that it converts. If it converts none at all, they are the samples.
func (s *stock) base(ctx context.Context, version string) []*unstructured.Unstructured {
	c := s.env.Subject.Corpus
	samples, refusals := c.Objects(version), s.refusedSamples(ctx, version)
	if len(samples) > 0 && (len(refusals) == 0 || len(refusals) == len(samples) && len(s.pool(ctx, version).objects) == 0) {
		return samples
	}
	if len(refusals) < len(samples) {
		return slices.DeleteFunc(samples, func(sample *unstructured.Unstructured) bool {
			return slices.ContainsFunc(refusals, func(r refusal) bool { return r.object.GetUID() == sample.GetUID() })
		})
	}
	one := s.pool(ctx, version)
	if len(one.objects) == 0 { // the webhook converts none, and what was learned from that may have left nothing to generate
		return c.Definition.Generator(version, s.env.Seed(), nil).Objects(corpus.Plain, few)
	}
	return copies(one.objects[:min(len(one.objects), few)])
}

// refusedSamples returns the samples of a version that the webhook does not convert. They are reported, and take nothing away from what can be
// generated. What does not come in time is left in place: each other object might take as long. So is what violates requirements for responses,
// whose specs name the sample, but not where the version is not served: then nothing else might be left.
func (s *stock) refusedSamples(ctx context.Context, version string) []refusal {
	samples := s.env.Subject.Corpus.Objects(version)
	if known, is := s.unwanted[version]; is || len(samples) == 0 || !s.definition.generates() {
		return known
	}
	speaks := s.talk.spoken(ctx)
	var refusals []refusal
	for _, sample := range samples {
		for _, pair := range s.routes.ways(ctx) {
			if pair.From != version || s.connection.isSilent() || s.routes.isRefused(ctx, pair) {
				continue
			}
			x := s.talk.ask(ctx, speaks, pair, sample)
			if r := (refusal{version: version, object: sample, x: x}); r.failed() && !isLate(&x) && (x.judgement.Stopped == requirement.WebhookFailureAvoided || s.definition.oneWay(pair) && crashed(&x)) {
				refusals = append(refusals, r)
				break
			}
		}
	}
	if ctx.Err() == nil {
		s.unwanted[version] = refusals
	}
	return refusals
}

// some returns the objects of base and, if these are samples, a few that were generated besides: samples add to what is tried.
func (s *stock) some(ctx context.Context, version string) []*unstructured.Unstructured {
	objects := s.base(ctx, version)
	if len(s.env.Subject.Corpus.Objects(version)) == len(s.refusedSamples(ctx, version)) || !s.definition.generates() {
		return objects
	}
	generated := s.pool(ctx, version).objects
	return append(objects, copies(generated[:min(len(generated), few)])...)
}

// all returns the objects of base and those that were generated with many fields each. They are the same ones each time, and not to
// be changed.
func (s *stock) all(ctx context.Context, version string) []*unstructured.Unstructured {
	each := s.each(ctx, version)
	if n, known := s.mixed[version]; known {
		return each[:n:n]
	}
	return each // the spec was stopped
}

// each returns the objects of all, and after them those that were generated with one field each, whose value is plain. They are
// the same ones each time, and not to be changed.
func (s *stock) each(ctx context.Context, version string) []*unstructured.Unstructured {
	if known := s.everything[version]; known != nil {
		return known
	}
	objects := s.base(ctx, version)
	if !s.definition.generates() {
		s.know(ctx, version, objects, len(objects))
		return objects
	}
	one := s.pool(ctx, version)
	objects = append(objects, copies(one.objects)...)
	mixed := len(objects)
	special := map[corpus.Style][]*unstructured.Unstructured{}
	generated := s.env.Spending(suites.SpentGenerating)
	singles := one.generator.Singles()
	generated()
	for _, single := range singles {
		if single.Style == corpus.Plain {
			objects = append(objects, single.Object)
		} else {
			special[single.Style] = append(special[single.Style], single.Object)
		}
	}
	s.special[version] = special
	s.know(ctx, version, objects, mixed)
	return objects
}

// singles returns the generated objects with one field each, whose value is of a style other than plain.
func (s *stock) singles(ctx context.Context, version string, style corpus.Style) []*unstructured.Unstructured {
	s.each(ctx, version)
	return s.special[version][style]
}

// styled returns generated objects of a style, with values that the webhook is known to take; none where the schemas are
// not known.
func (s *stock) styled(ctx context.Context, version string, style corpus.Style, n int) []*unstructured.Unstructured {
	if !s.definition.generates() {
		return nil
	}
	one := s.pool(ctx, version)
	generated := s.env.Spending(suites.SpentGenerating)
	objects := one.generator.Objects(style, min(n, one.size))
	generated()
	if style != corpus.Plain {
		objects = append(objects, s.singles(ctx, version, style)...)
	}
	return objects
}

// owned returns objects that have one field each, or one item of a list or an atomic map with all that is in it, which is there for all of its fields. A
// field with an enum has each member: a sample has only one, and webhooks take other ways for the others.
func (s *stock) owned(ctx context.Context, version string) []*unstructured.Unstructured {
	schema, seen := s.definition.schemaOf(version), map[string]bool{}
	var owned []*unstructured.Unstructured
	for _, object := range s.all(ctx, version) {
		for _, path := range corpus.Leaves(object) {
			if seen[fieldpath.Generalize(path)] {
				continue
			}
			part := corpus.Only(object, schema.Owned(path))
			owned = append(owned, part)
			leaves := corpus.Leaves(part)
			for _, path := range leaves {
				seen[fieldpath.Generalize(path)] = true
			}
			if len(leaves) > 1 || schema == nil {
				continue
			}
			value, _ := corpus.Value(part.Object, path)
			for _, other := range schema.All(path) {
				if _, isSwitch := other.(bool); !isSwitch && !reflect.DeepEqual(other, value) { // false is for webhook.conversion.zero-values
					owned = append(owned, corpus.With(part, path, other))
				}
			}
		}
	}
	return owned
}

// know remembers the objects of a version, unless the spec was stopped while they were made.
func (s *stock) know(ctx context.Context, version string, objects []*unstructured.Unstructured, mixed int) {
	if ctx.Err() != nil {
		return
	}
	s.everything[version], s.mixed[version] = objects, mixed
	s.talk.remember(objects)
}

// isSingle reports whether an object of each, by its index, is one with one field.
func (s *stock) isSingle(version string, object int) bool { return object >= s.mixed[version] }

// areKnown reports whether objects are those that all or each returns for a version.
func (s *stock) areKnown(version string, objects []*unstructured.Unstructured) bool {
	return len(objects) > 0 && s.knownOf(version, objects) == len(objects)
}

// knownOf returns how many objects are those that each or all returns for a version, before any others.
func (s *stock) knownOf(version string, objects []*unstructured.Unstructured) int {
	each := s.everything[version]
	for _, n := range []int{len(each), s.mixed[version]} {
		if n > 0 && n <= len(objects) && objects[0] == each[0] && objects[n-1] == each[n-1] {
			return n
		}
	}
	return 0
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		all = append(all, object.DeepCopy())
	}
	return all
}
