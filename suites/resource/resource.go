// Package resource checks the user's own definition with the webhook under test on an API server: what clients see that
// create, read, change, watch and delete objects at all versions.
package resource

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Area is the chapter, ready for suites.Run.
var Area = suites.Area{Name: "resource", Register: register}

func register(env *suites.Env) {
	c := &chapter{env: env, generated: map[string][]*unstructured.Unstructured{}, refusals: map[string]string{}, surviving: map[corpus.Pair]map[string]bool{}}
	creating(c)
	updating(c)
	applying(c)
	subresources(c)
	watching(c)
	listing(c)
	deleting(c)
	writingBack(c)
}

// generate returns objects that the schema of a version allows and that the webhook converts, enough of them to have a status
// among them. Those that it rejects are reported elsewhere: no client could use them.
func (c *chapter) generate(ctx context.Context, version string) []*unstructured.Unstructured {
	const number = 16
	if known, found := c.generated[version]; found {
		return known
	}
	generator := c.env.Subject.Corpus.Definition.Generator(version, c.env.Seed(), nil)
	learning, enough := context.WithCancel(ctx)
	defer enough()
	adapted := generator.Learn(learning, number, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := c.refused(ctx, version, objects)
		if alike := slices.Compact(slices.Clone(causes)); len(objects) > 1 && len(alike) == 1 && alike[0] != "" && alike[0] != string(requirement.WebhookFailureAvoided) {
			enough() // it is not about values
		}
		if i := slices.IndexFunc(causes, func(cause string) bool { return cause != "" }); i >= 0 {
			c.refusals[version] = causes[i]
		}
		return causes
	})
	// One without a spec is not what clients create.
	if whole := slices.DeleteFunc(slices.Clone(adapted.Objects), func(o *unstructured.Unstructured) bool { return o.Object["spec"] == nil }); len(whole) > 0 {
		adapted.Objects = whole
	}
	if ctx.Err() == nil {
		c.generated[version] = adapted.Objects
	}
	return adapted.Objects
}

// refused says of objects at a version why the webhook does not convert them to some other version; empty if it does.
func (c *chapter) refused(ctx context.Context, version string, objects []*unstructured.Unstructured) []string {
	causes := make([]string, len(objects))
	for _, pair := range c.env.Subject.Corpus.Pairs() {
		if pair.From != version || c.refusal(ctx, pair, objects...) == "" {
			continue
		}
		for i, object := range objects {
			if causes[i] == "" {
				causes[i] = c.refusal(ctx, pair, object)
			}
		}
	}
	return causes
}

// ask asks the webhook for objects at a version, as API servers would.
func (c *chapter) ask(ctx context.Context, to string, objects ...*unstructured.Unstructured) (contract.Request, contract.Response) {
	request := contract.Request{
		ReviewVersion:     c.reviewVersion(),
		UID:               uuid.NewString(),
		DesiredAPIVersion: c.env.Subject.Corpus.APIVersion(to),
		Objects:           corpus.JSON(objects...),
	}
	body, err := request.Body()
	c.env.Require(err, "building a request")
	return request, c.env.Subject.Client.Send(ctx, body)
}

// refusal says why the webhook does not convert objects that it is asked for at once; empty if it does.
func (c *chapter) refusal(ctx context.Context, pair corpus.Pair, objects ...*unstructured.Unstructured) string {
	request, response := c.ask(ctx, pair.To, objects...)
	if response.Interrupted {
		c.env.Require(response.Err, "asking the webhook")
	}
	judgement := request.Judge(response)
	if v := judgement.Rejected(); v != nil {
		return string(v.Requirement)
	}
	return ""
}

// reviewVersion is the version of ConversionReview that API servers use for the definition.
func (c *chapter) reviewVersion() string {
	for _, version := range c.env.Subject.Corpus.Definition.CRD.Spec.Conversion.Webhook.ConversionReviewVersions {
		if version == "v1" || version == "v1beta1" {
			return version
		}
	}
	return "v1"
}
