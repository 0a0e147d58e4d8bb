package webhook

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func conversion(env *suites.Env, ch *chapter) {
	Describe("conversion", func() {
		env.It(requirement.WebhookConversionDocumentedExample, "sends the requests of the documents and compares the responses", ch.expectations.documentedExample)

		env.It(requirement.WebhookConversionExpected, "converts the objects of the author's files and compares the results with those in the files", ch.expectations.expected)

		env.It(requirement.WebhookConversionRoundTrip, "converts objects to every other version and back", ch.results.comesBack)

		env.It(requirement.WebhookConversionAdditions, "looks for values that were not there before the way to another version and back", ch.results.additions)

		env.It(requirement.WebhookConversionEqualFields, "compares the fields that two versions have in common, one by one", ch.comparison.equalFields)

		env.It(requirement.WebhookConversionPath, "converts objects to each version directly and by way of each other", func(ctx SpecContext) {
			ch.routes.needsThree(ctx, "needs three versions")
			ch.trials.hold(ctx, ch.roundTrips.path())
			ch.trials.someCame()
		})

		env.It(requirement.WebhookConversionIdentity, "asks for objects at their own version, also among others", ch.batches.ownVersion)

		env.It(requirement.WebhookConversionPure, "asks for the same again, and many times at once", ch.repetition.pure, suites.Slow)

		env.It(requirement.WebhookConversionGrowth, "converts objects there and back many times", func(ctx SpecContext) {
			ch.trials.hold(ctx, ch.roundTrips.growth())
		})

		env.It(requirement.WebhookConversionEdits, "changes a field at the other version and converts back and forth", func(ctx SpecContext) {
			ch.definition.needsGenerated("which values a field may have")
			ch.standard.sound(ctx)
			ch.dependence.independently(ctx)
			ch.trials.hold(ctx, ch.editing.edits())
		})

		env.It(requirement.WebhookConversionSchema, "looks for types and fields that the schemas do not have in converted objects", func(ctx SpecContext) {
			ch.definition.needsSchemas("what a version allows")
			ch.trials.hold(ctx, ch.results.valid(corpus.WrongType, corpus.Unknown))
		})

		env.It(requirement.WebhookConversionValidation, "validates converted objects by the schemas", func(ctx SpecContext) {
			ch.definition.needsSchemas("what a version allows")
			ch.trials.hold(ctx, ch.results.valid(corpus.Invalid, corpus.Rule))
		})

		env.It(requirement.WebhookConversionStrings, "puts all kinds of text into objects and looks for it afterwards", ch.styles.strings)
		env.It(requirement.WebhookConversionIntegers, "puts large integers into objects and looks for them after", ch.styles.integers)
		env.It(requirement.WebhookConversionZeroValues, "sets fields to false, 0 and the empty string and looks for them after", ch.styles.zeroValues)
		env.It(requirement.WebhookConversionNulls, "sets fields to null where the schemas allow it", ch.styles.nulls)
		env.It(requirement.WebhookConversionEarlierSchemas, "converts objects that earlier schemas allowed to every other version and back", ch.past.earlierKept)
		env.It(requirement.WebhookConversionHuge, "converts objects of up to a megabyte", ch.sizes.huge)
	})
}
