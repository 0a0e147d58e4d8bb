package resource

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/requirement"
)

func creating(c *chapter) {
	Describe("creating and reading", func() {
		c.it(requirement.ResourceCreateEveryVersion,
			"creates the samples of each version", func(ctx SpecContext, r *round) {
				for _, version := range r.served() {
					r.create(ctx, version, mostWritten)
				}
			})

		c.it(requirement.ResourceReadEveryVersion,
			"reads the samples of each version at all versions, the one of their own for what was written", func(ctx SpecContext, r *round) {
				for _, version := range r.served() {
					for _, o := range r.create(ctx, version, mostWritten) {
						for _, other := range r.served() {
							got := r.read(ctx, o, other)
							if got != nil {
								r.env.Tried(1)
							}
							if other == version && got != nil {
								r.kept(ctx, o, got, "created and read at %s (stored at %s)", version, r.storage)
							}
						}
					}
				}
			})
	})
}
