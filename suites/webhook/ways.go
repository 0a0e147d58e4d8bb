package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// routes knows between which versions the webhook converts anything at all.
type routes struct {
	env        *suites.Env
	definition *definition
	connection *connection
	talk       *conversation

	refusals *[]found // the pairs on which every object is refused, nil before they are known
}

// ways returns the pairs of versions that are left if the webhook refuses to convert between others, see refusedWays: that a webhook does
// not know one version says nothing about the others. If it refuses all, they are all returned, and specs say why nothing can be judged.
func (r *routes) ways(ctx context.Context) []corpus.Pair {
	all := r.env.Subject.Corpus.Pairs()
	open := slices.DeleteFunc(slices.Clone(all), func(pair corpus.Pair) bool {
		return r.isRefused(ctx, pair) || !r.definition.oneWay(pair) && r.isRefused(ctx, reverse(pair)) // there is no way back
	})
	if !slices.ContainsFunc(open, func(pair corpus.Pair) bool { return !r.definition.oneWay(pair) }) {
		return all
	}
	return open
}

// isOpen reports whether ways has a pair.
func (r *routes) isOpen(ctx context.Context, pair corpus.Pair) bool {
	return slices.Contains(r.ways(ctx), pair)
}

// isRefused reports whether the webhook refuses every object on the way of a pair.
func (r *routes) isRefused(ctx context.Context, pair corpus.Pair) bool {
	return slices.ContainsFunc(r.refusedWays(ctx), func(f found) bool { return f.pair == pair })
}

// needsThree skips a spec that takes a third version unless the webhook converts between three.
func (r *routes) needsThree(ctx context.Context, why string) {
	GinkgoHelper()
	if n := len(r.env.Subject.Corpus.Mutual()); n < 3 {
		r.env.Inapplicable(fmt.Sprintf("%s; there are %d", why, n))
	}
	known := map[string]bool{}
	for _, pair := range r.ways(ctx) {
		if !r.definition.oneWay(pair) {
			known[pair.From] = true
		}
	}
	if len(known) < 3 {
		Skip(fmt.Sprintf("cannot be judged while %s fails: %s, and the webhook converts between %d", requirement.WebhookFailureAvoided, why, len(known)))
	}
}

// refusedWays returns an object for each pair of versions between which the webhook converts nothing. It is found out once, by a few
// objects, before it is learned which values the webhook takes: it takes none.
func (r *routes) refusedWays(ctx context.Context) []found {
	if r.refusals != nil {
		return *r.refusals
	}
	refused := []found{}
	for _, pair := range r.env.Subject.Corpus.Pairs() {
		if r.definition.oneWay(pair) {
			continue // see unconverted
		}
		if f, is := r.refusedWay(ctx, pair); is {
			refused = append(refused, f)
		}
	}
	if ctx.Err() == nil {
		r.refusals = &refused
	}
	return refused
}

// refusedFrom returns an object of a version from which the webhook refuses every object on each way.
func (r *routes) refusedFrom(ctx context.Context, version string) (found, bool) {
	var first *found
	for _, pair := range r.ways(ctx) {
		if pair.From != version {
			continue
		}
		f, is := r.refusedWay(ctx, pair)
		if !is {
			return found{}, false
		}
		first = cmp.Or(first, &f)
	}
	if first == nil {
		return found{}, false
	}
	return *first, true
}

// refusedWay asks for a few objects, and for the smallest one. The webhook refuses the way if it says the same of all, names no field in it,
// and says it of an object without any fields, too: then it is not about values.
func (r *routes) refusedWay(ctx context.Context, pair corpus.Pair) (found, bool) {
	objects := r.scouts(pair.From)
	if len(objects) == 0 {
		return found{}, false
	}
	least := objects[len(objects)-1]
	objects = append(objects, bare(least))
	words := ""
	outcomes := r.talk.answers(ctx, pair, objects)
	for i, o := range outcomes {
		if o.raw != nil || crashed(&o.x) || !(refusal{x: o.x}).failed() || r.connection.isSilent() {
			return found{}, false
		}
		said := strings.ReplaceAll(o.x.judgement.Rejected().Actual, objects[i].GetName(), "")
		if words == "" {
			words = said
		}
		if said != words || namesField(said, objects[i]) {
			return found{}, false
		}
	}
	return found{finding: refusedAltogether(pair, outcomes[len(objects)-2].x), pair: pair, subject: least}, true
}

// scouts are a few objects of a version, made without anything that was learned of the webhook: samples, or else the first generated ones.
// The last is the smallest.
func (r *routes) scouts(version string) []*unstructured.Unstructured {
	c := r.env.Subject.Corpus
	objects := c.Objects(version)
	objects = objects[:min(len(objects), few)]
	if !r.definition.generates() {
		return objects
	}
	generator := c.Definition.Generator(version, r.env.Seed(), nil)
	if len(objects) == 0 {
		objects = generator.Objects(corpus.Plain, few)
	}
	if least := generator.Minimal(); least != nil {
		objects = append(objects, least)
	}
	return objects
}

// bare is an object without any fields of its own.
func bare(object *unstructured.Unstructured) *unstructured.Unstructured {
	part := &unstructured.Unstructured{Object: map[string]any{}}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		part.Object[field] = object.Object[field]
	}
	return part.DeepCopy()
}

// ofTypes are names of fields that say nothing in a message, since those about versions have them, too.
var ofTypes = []string{"apiVersion", "group", "kind", "name", "version"}

// namesField reports whether a text has the name of a field of an object as a word.
func namesField(text string, object *unstructured.Unstructured) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' })
	for _, path := range corpus.Leaves(object) {
		for _, step := range fieldpath.Split(path) {
			if !step.List && slices.Contains(words, step.Key) && !slices.Contains(ofTypes, step.Key) {
				return true
			}
		}
	}
	return false
}

// refusedAltogether is that nothing is converted between two versions.
func refusedAltogether(pair corpus.Pair, x exchange) finding {
	message := fmt.Sprintf("every object is refused, whatever is in it: %s", x.judgement.Rejected())
	return finding{0, pair.String(), "", message, none, x, effect{sort: refused}}
}
