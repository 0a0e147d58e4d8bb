package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

const (
	// crowd and mostTogether are how many objects large batches have, the second on one way only, of so many bytes at most.
	crowd, mostTogether, mostCrowded = 520, 1500, 2 << 20

	// page is how many objects API servers read from storage at once, large of so many bytes each.
	page, large = 500, 16 << 10
)

// crowded looks in a batch of so many objects for one that is converted otherwise than in a small one, and then alone. That a large one is
// not converted at all is up to webhook.batch.sizes.
func (dp *dependence) crowded(ctx context.Context, pair corpus.Pair, number int) (dependency, bool) {
	different, expected := dp.manyConverted(ctx, pair, number)
	if len(different) < 2 || dp.connection.isSilent() {
		return dependency{}, false
	}
	objects := corpus.Multiply(different, number)
	x := dp.talk.ask(ctx, dp.standard.reviewVersion(ctx), pair, objects...)
	if x.judgement.Rejected() != nil {
		return dependency{}, false
	}
	for i, raw := range x.judgement.Objects {
		if len(apart(dp.definition.schemaOf(pair.To), expected[i%len(expected)], dp.exhibits.decode(raw))) == 0 {
			continue
		}
		alone := dp.byItself(ctx, pair, objects[i])
		d := dependency{pair: pair, at: i, x: x, apart: dp.apart(pair, alone, raw)}
		if len(d.apart) == 0 || alone == nil {
			continue
		}
		d.unsteady = dp.otherwise(ctx, d, objects[i], alone)
		return d, true
	}
	return dependency{}, false
}

// manyConverted returns objects that differ from each other, and what they are converted to on the way of a pair: at most so many, those with
// many fields first, and few enough bytes for a batch of the number. If they are fewer, batches repeat them. Then their number shares no
// factor with 10, or objects would be the same that are 10, 100 or 500 apart.
func (dp *dependence) manyConverted(ctx context.Context, pair corpus.Pair, number int) (objects []*unstructured.Unstructured, converted []map[string]any) {
	bytes := 0
	all := dp.stock.each(ctx, pair.From)
	written := dp.talk.json(all)
	for i, o := range dp.journeys.forth(ctx, pair, all) {
		if n := len(written[i]); o.object != nil && len(objects) < number && (bytes+n)*number <= mostCrowded*(len(objects)+1) {
			objects, converted, bytes = append(objects, all[i]), append(converted, o.object), bytes+n
		}
	}
	n := len(objects)
	for n < number && n > 1 && (n%2 == 0 || n%5 == 0) {
		n--
	}
	if n > 1 {
		objects, converted = objects[:n], converted[:n]
	}
	return objects, converted
}

// sizes asks for batches of the smallest object, each for another pair of versions: it is the number that matters. The last batch is
// of objects that a long annotation makes large, as many as API servers read at once.
func (bs *batches) sizes(ctx SpecContext) {
	bs.standard.sound(ctx)
	pairs := bs.crossings.pairs(ctx)
	for i, n := range []int{1, 2, page, mostTogether} {
		pair := pairs[i%len(pairs)]
		x := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair, bs.padded(ctx, pair.From, n, 0)...)
		if x.judgement.Rejected() == nil {
			continue
		}
		bs.dependence.together(ctx)
		bs.standard.expect(ctx, x, fmt.Sprintf("%d objects in one request", n))
	}
	pair := pairs[0]
	var refusing exchange
	taken, bytes := 0, large
	for ; bytes >= large/16; bytes /= 2 { // the smallest request that is refused says most
		x := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair, bs.padded(ctx, pair.From, page, bytes)...)
		if x.judgement.Rejected() == nil {
			taken = len(x.body)
			break
		}
		refusing = x
	}
	if refusing.body == nil {
		return
	}
	bs.dependence.together(ctx)
	bs.exhibits.rejected(refusing, fmt.Sprintf("%s: conversion of %d objects in a request of %d bytes failed, though a request of %d bytes with as many was converted: %s",
		refusing.what, page, len(refusing.body), taken, refusing.judgement.Rejected()))
}

// padded returns so many copies of the smallest object of a version, with an annotation of so many bytes.
func (bs *batches) padded(ctx context.Context, version string, n, bytes int) []*unstructured.Unstructured {
	smallest := slices.MinFunc(bs.stock.all(ctx, version), func(a, b *unstructured.Unstructured) int { return size(a) - size(b) }).DeepCopy()
	if bytes > 0 {
		annotations := map[string]string{"example.org/note": strings.Repeat("much ", bytes/len("much "))}
		maps.Copy(annotations, smallest.GetAnnotations())
		smallest.SetAnnotations(annotations)
	}
	return corpus.Multiply([]*unstructured.Unstructured{smallest}, n)
}
