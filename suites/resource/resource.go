// Package resource checks the user's own definition with the webhook under test on an API server: what clients see that
// create, read, change, watch and delete objects at all versions.
package resource

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Area is the chapter, ready for suites.Run.
var Area = suites.Area{Name: "resource", Register: register}

func register(env *suites.Env) {
	c := &chapter{env: env, generated: map[string][]*unstructured.Unstructured{}, enough: map[string]int{}, refusals: map[string]string{}, surviving: map[corpus.Pair]*corpus.Survivors{}, written: map[write]*corpus.Coverage{}, proved: map[string]bool{}, patched: map[pass]formed{}, ran: map[requirement.ID]bool{}, owed: map[requirement.ID]violation{}}
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
// among them. Those that it rejects are reported elsewhere: no client could use them. If it converts none to all versions, those are taken that
// it converts to the storage version or, at last, to any other: a version that is refused doesn't keep the others from being judged.
func (c *chapter) generate(ctx context.Context, version string) []*unstructured.Unstructured {
	if known, found := c.generated[version]; found {
		return known
	}
	var from []corpus.Pair
	stored := kube.StorageVersion(c.env.Subject.Corpus.Definition.CRD)
	for _, pair := range c.env.Subject.Corpus.Pairs() {
		switch {
		case pair.From != version:
		case pair.To == stored:
			from = slices.Insert(from, 0, pair)
		default:
			from = append(from, pair)
		}
	}
	anew := func() *corpus.Generator {
		return c.env.Subject.Corpus.Definition.Generator(version, c.env.Seed(), c.env.Subject.Corpus.Objects(version))
	}
	generator := anew()
	objects := c.learn(ctx, generator, version, from)
	for i := 0; len(objects) == 0 && i < len(from) && len(from) > 1 && ctx.Err() == nil; i++ {
		generator = anew()
		objects = c.learn(ctx, generator, version, from[i:i+1])
	}
	objects, enough := ordered(c.env.Subject.Corpus.Definition.Schema(version), objects)
	if enough > 0 {
		losing := c.losing(ctx, generator, version, from, objects[:enough])
		objects, enough = slices.Insert(objects, enough, losing...), enough+len(losing)
	}
	if ctx.Err() == nil {
		c.generated[version], c.enough[version] = objects, enough
	}
	return objects
}

// learn returns objects that the schema of a version allows and that the webhook converts on the way of each of some pairs.
func (c *chapter) learn(ctx context.Context, generator *corpus.Generator, version string, pairs []corpus.Pair) []*unstructured.Unstructured {
	const number = 16
	learning, enough := context.WithCancel(ctx)
	defer enough()
	defer c.env.Spending(suites.SpentGenerating)()
	adapted := generator.Learn(learning, number, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := c.refused(ctx, pairs, objects)
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
	return adapted.Objects
}

// ordered puts the objects first that are used where not all are, and returns how many: the one with most fields, then each that has most of
// what those before it lack, and the one with least. Some bugs show where there is something, and some where there is nothing, whatever the seed.
func ordered(schema *corpus.Schema, objects []*unstructured.Unstructured) (all []*unstructured.Unstructured, enough int) {
	fields := map[*unstructured.Unstructured]map[string]bool{}
	for _, object := range objects {
		fields[object] = map[string]bool{}
		for _, path := range corpus.Leaves(object) {
			fields[object][schema.Pattern(path)] = true
		}
	}
	rest := slices.SortedStableFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int {
		return len(corpus.Leaves(b)) - len(corpus.Leaves(a))
	})
	had := map[string]bool{}
	for len(rest) > 1 && len(all) < mostGenerated-1 {
		best, gain := 0, 0
		for i, object := range rest {
			lacking := 0
			for field := range fields[object] {
				if !had[field] {
					lacking++
				}
			}
			if lacking > gain {
				best, gain = i, lacking
			}
		}
		if gain == 0 && len(all) >= most-1 {
			break
		}
		maps.Copy(had, fields[rest[best]])
		all, rest = append(all, rest[best]), slices.Delete(rest, best, best+1)
	}
	if last := len(rest) - 1; last >= 0 {
		all, rest = append(all, rest[last]), rest[:last]
	}
	return append(all, rest...), len(all)
}

// refused says of objects at a version why the webhook does not convert them on the way of some pair; empty if it does.
func (c *chapter) refused(ctx context.Context, pairs []corpus.Pair, objects []*unstructured.Unstructured) []string {
	causes := make([]string, len(objects))
	for _, pair := range pairs {
		if c.refusal(ctx, pair, objects...) == "" {
			continue
		}
		before := c.env.Subject.Ends()
		for i, object := range objects {
			switch few := c.env.Subject.Ends()-before >= suites.FewEnds; {
			case causes[i] != "":
			case few && i > 0:
				causes[i] = c.refusal(ctx, pair, objects[i:]...) // the same for each
			default:
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
	if fatal := c.env.Subject.Fatal(to, objects); fatal != nil {
		return request, *fatal
	}
	response := c.env.Subject.Ask(ctx, func(ctx context.Context) contract.Response { return c.env.Subject.Client.Send(ctx, body) })
	c.env.Subject.Note(to, objects, response)
	return request, response
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
