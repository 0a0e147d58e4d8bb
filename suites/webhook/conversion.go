package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func conversion(env *suites.Env, ch *chapter) {
	Describe("conversion", func() {
		env.It(requirement.WebhookConversionDocumentedExample, "sends the requests of the documents and compares the responses", ch.fields.documentedExample)

		env.It(requirement.WebhookConversionExpected, "converts the objects of the author's files and compares the results with those in the files", ch.fields.expected)

		env.It(requirement.WebhookConversionRoundTrip, "converts objects to every other version and back", ch.fields.comesBack)

		env.It(requirement.WebhookConversionAdditions, "looks for values that were not there before the way to another version and back", ch.fields.additions)

		env.It(requirement.WebhookConversionEqualFields, "compares the fields that two versions have in common, one by one", ch.fields.equalFields)

		env.It(requirement.WebhookConversionPath, "converts objects to each version directly and by way of each other", func(ctx SpecContext) {
			ch.routes.needsThree(ctx, "needs three versions")
			ch.trials.hold(ctx, ch.roundTrips.path())
			ch.trials.someCame(ctx)
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
			ch.trials.hold(ctx, ch.fields.valid(corpus.WrongType, corpus.Unknown))
		})

		env.It(requirement.WebhookConversionValidation, "validates converted objects by the schemas", func(ctx SpecContext) {
			ch.definition.needsSchemas("what a version allows")
			ch.trials.hold(ctx, ch.fields.valid(corpus.Invalid, corpus.Rule))
		})

		env.It(requirement.WebhookConversionStrings, "puts all kinds of text into objects and looks for it afterwards", ch.fields.strings)
		env.It(requirement.WebhookConversionIntegers, "puts large integers into objects and looks for them after", ch.fields.integers)
		env.It(requirement.WebhookConversionZeroValues, "sets fields to false, 0 and the empty string and looks for them after", ch.fields.zeroValues)
		env.It(requirement.WebhookConversionNulls, "sets fields to null where the schemas allow it", ch.fields.nulls)
		env.It(requirement.WebhookConversionEarlierSchemas, "converts objects that earlier schemas allowed to every other version and back", ch.past.earlierKept)
		env.It(requirement.WebhookConversionHuge, "converts objects of up to a megabyte", ch.fields.huge)
	})
}

func (fd *fields) documentedExample(ctx SpecContext) {
	fd.definition.onlyDocumented("what objects convert to")
	version := fd.standard.reviewVersion(ctx)
	body := fixtures.ReviewRequest(version)
	request, err := contract.ParseRequest(body)
	fd.env.Require(err, "reading the documents' request")
	var documented struct {
		Response struct {
			ConvertedObjects []json.RawMessage `json:"convertedObjects"`
		} `json:"response"`
	}
	fd.env.Require(json.Unmarshal(fixtures.ReviewSuccess(version), &documented), "reading the documents' response")
	x := fd.connection.send(ctx, "the documents' example in ConversionReview "+version, request, body)
	x.judgement = request.Judge(x.response)
	var schema *corpus.Schema // the documents' example says more than the schema
	for i, got := range fd.standard.expect(ctx, x, "the documents' request") {
		fd.env.Tried(1)
		want := documented.Response.ConvertedObjects[i]
		wanted, converted := fd.exhibits.decode(want), fd.exhibits.decode(got)
		if lost := schema.Losses(wanted, converted); len(lost) > 0 {
			fd.exhibits.fail(x, fmt.Sprintf("%s: object %d: %s", x.what, i, lossLines(lost)))
		}
		delete(converted, "metadata") // which may have got labels and annotations
		if surplus := schema.Losses(converted, wanted); len(surplus) > 0 {
			fd.exhibits.fail(x, fmt.Sprintf("%s: object %d: expected nothing in %s, got %v", x.what, i, surplus[0].Path, surplus[0].Before))
		}
	}
}

// lossLines returns losses as the lines of a message.
func lossLines(losses []corpus.Loss) string {
	texts := make([]string, 0, len(losses))
	for _, l := range losses {
		texts = append(texts, l.String())
	}
	return strings.Join(texts, "\n")
}
