package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
)

// standards has the exchanges that most specs look at first: of the samples as they are, for each pair of versions.
type standards struct {
	asking
	stock     *stock
	crossings *crossings

	firsts map[string]exchange // the exchanges for the first pair, by version of ConversionReview
	plain  []exchange          // those for all pairs, nil before all are there
}

// first returns the exchange for the first pair of versions in a version of ConversionReview.
func (s *standards) first(ctx context.Context, reviewVersion string) exchange {
	GinkgoHelper()
	for _, version := range s.env.Subject.Corpus.Mutual() {
		s.needsObjects(ctx, version)
	}
	s.crossings.open(ctx)
	if s.firsts == nil {
		s.firsts = map[string]exchange{}
	}
	if _, known := s.firsts[reviewVersion]; !known {
		s.firsts[reviewVersion] = s.samples(ctx, reviewVersion, s.routes.ways(ctx)[0])
	}
	return s.firsts[reviewVersion]
}

// reviewVersions returns the versions of ConversionReview to use. It need not know both: v1beta1 is used where it works,
// and v1 unless it is refused outright and v1beta1 works.
func (s *standards) reviewVersions(ctx context.Context) []string {
	v1, v1beta1 := s.first(ctx, "v1"), s.first(ctx, "v1beta1")
	switch {
	case v1beta1.judgement.Rejected() != nil:
		return []string{"v1"}
	case v1.refused():
		return []string{"v1beta1"}
	}
	return []string{"v1", "v1beta1"}
}

// reviewVersion returns the first version of ConversionReview to use.
func (s *standards) reviewVersion(ctx context.Context) string { return s.reviewVersions(ctx)[0] }

// exchanges returns one exchange for each pair of versions and each version of ConversionReview, with all samples in it.
func (s *standards) exchanges(ctx context.Context) []exchange {
	if s.plain == nil {
		var plain []exchange
		for _, reviewVersion := range s.reviewVersions(ctx) {
			for _, pair := range s.crossings.pairs(ctx) {
				plain = append(plain, s.samples(ctx, reviewVersion, pair))
			}
		}
		s.plain = plain // all or nothing: the spec may be stopped in between
		if at := slices.IndexFunc(plain, func(x exchange) bool { return x.judgement.Rejected() == nil }); at >= 0 {
			s.connection.prove(plain[at].body)
		}
	}
	return s.plain
}

// convertsStill reports whether the webhook converts the first of the samples when it is asked once more, if it was asked before.
func (s *standards) convertsStill(ctx context.Context) bool {
	if len(s.plain) == 0 {
		return false
	}
	first := s.plain[0]
	again := s.connection.send(ctx, first.what, first.request, first.body)
	again.judgement = again.request.Judge(again.response)
	return again.judgement.Rejected() == nil
}

// samples asks for the basic objects of a pair as they are.
func (s *standards) samples(ctx context.Context, reviewVersion string, pair corpus.Pair) exchange {
	x := s.talk.ask(ctx, reviewVersion, pair, s.stock.base(ctx, pair.From)...)
	s.connection.notice(&x)
	s.connection.noticeLength(&x)
	return x
}

// needsObjects skips the running spec when there is nothing to convert at a version: an empty request proves nothing.
func (s *standards) needsObjects(ctx context.Context, version string) {
	GinkgoHelper()
	if len(s.stock.base(ctx, version)) == 0 {
		Skip(fmt.Sprintf("there are no samples at %s and no object could be generated; give samples", version))
	}
}

// sound skips the spec unless the webhook converts the samples as they are: otherwise other specs say what is wrong.
func (s *standards) sound(ctx context.Context) {
	GinkgoHelper()
	if x := s.unsound(ctx); x != nil {
		s.exhibits.skip(*x)
	}
}

// unsound returns the first exchange of samples that API servers would reject, nil if there is none.
func (s *standards) unsound(ctx context.Context) *exchange {
	for _, x := range s.exchanges(ctx) {
		if x.judgement.Rejected() != nil {
			return &x
		}
	}
	return nil
}

// expect returns the converted objects of an exchange. The spec fails when they are not there although the samples
// convert; see sound.
func (s *standards) expect(ctx context.Context, x exchange, what string) []json.RawMessage {
	GinkgoHelper()
	s.sound(ctx)
	if v := x.judgement.Rejected(); v != nil {
		s.exhibits.rejected(x, fmt.Sprintf("%s: conversion of %s failed: %s", x.what, what, v))
	}
	return x.judgement.Objects
}
