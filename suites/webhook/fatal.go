package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
)

// mostFatal is over how many objects a program may end while one is made smaller. Each takes as long as the program takes to start.
const mostFatal = 12

// alike asks for the rest of a batch at once. If the program ends over it too, all of it is held for what it ends over.
func (p *prober) alike(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	x := p.ask(ctx, p.spoken(ctx), pair, objects...)
	if !suites.Ended(x.response) {
		defer func() { p.hasty = true }()
		p.hasty = false
		return p.answers(ctx, pair, objects)
	}
	outcomes := make([]outcome, len(objects))
	for i := range outcomes {
		outcomes[i].x = x
	}
	return outcomes
}
