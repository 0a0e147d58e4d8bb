package suites

import (
	"context"

	"github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/requirement"
)

// Reading checks a requirement by looking at what is in the cluster, and changes nothing there. It takes the place of the
// requirement's spec in a run that only reads.
type Reading struct {
	Text  string // what it does
	Check func(ctx context.Context, env *Env)
}

// onlyReads is why most requirements are not applicable to a run that only reads.
const onlyReads = "requires writing to the cluster, and this run is read-only"

// reading returns what checks a requirement in a run that only reads, in place of a spec. It skips where there is nothing.
func (e *Env) reading(id requirement.ID, text string) (string, func(ctx ginkgo.SpecContext)) {
	reading, found := e.readings[id]
	if !found {
		return text, func(ginkgo.SpecContext) { ginkgo.Skip(onlyReads) }
	}
	return reading.Text, func(ctx ginkgo.SpecContext) { reading.Check(ctx, e) }
}
