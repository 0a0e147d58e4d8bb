package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// crossings are the pairs of versions between which specs convert objects: the routes but for versions that the webhook closes.
type crossings struct {
	env        *suites.Env
	definition *definition
	talk       *conversation
	routes     *routes
	stock      *stock

	closed *[]found // the versions that are closed to every object, nil before they are known
}

// pairs returns the pairs of versions to ask for: those of ways, but not from unserved versions that there are no objects of, or
// that the webhook does not convert, see unconverted. What else the webhook does is judged all the same.
func (c *crossings) pairs(ctx context.Context) []corpus.Pair {
	return slices.DeleteFunc(slices.Clone(c.routes.ways(ctx)), func(pair corpus.Pair) bool {
		return c.definition.oneWay(pair) && (len(c.stock.base(ctx, pair.From)) == 0 || c.isClosed(ctx, pair.From))
	})
}

// open skips the spec if there is nothing that the webhook converts.
func (c *crossings) open(ctx context.Context) {
	GinkgoHelper()
	if len(c.pairs(ctx)) == 0 {
		Skip(fmt.Sprintf("cannot be judged while %s fails: objects are only converted from %s, and the webhook converts none",
			requirement.WebhookFailureAvoided, strings.Join(c.env.Subject.Corpus.Unserved, ", ")))
	}
}

// isClosed reports whether a version is unserved, and the webhook converts no object of it.
func (c *crossings) isClosed(ctx context.Context, version string) bool {
	return slices.ContainsFunc(c.unconverted(ctx), func(f found) bool { return f.pair.From == version })
}

// unconverted returns an object of each unserved version of which the webhook converts none to any version.
func (c *crossings) unconverted(ctx context.Context) []found {
	if c.closed != nil {
		return *c.closed
	}
	closed := []found{}
	for _, version := range c.env.Subject.Corpus.Unserved {
		if f, isClosed := c.unconvertedAt(ctx, version); isClosed {
			closed = append(closed, f)
		}
	}
	if ctx.Err() == nil {
		c.closed = &closed
	}
	return closed
}

func (c *crossings) unconvertedAt(ctx context.Context, version string) (found, bool) {
	if f, is := c.routes.refusedFrom(ctx, version); is {
		return found{finding: c.closedTo(f.pair, f.x), pair: f.pair, subject: f.subject}, true
	}
	objects := c.stock.base(ctx, version)
	var all []found
	for _, pair := range c.routes.ways(ctx) {
		if pair.From != version {
			continue
		}
		for i, o := range c.talk.answers(ctx, pair, objects) {
			if o.raw != nil || !(refusal{x: o.x}).failed() {
				return found{}, false
			}
			all = append(all, found{finding: c.closedTo(pair, o.x), pair: pair, subject: objects[i]})
		}
	}
	if len(all) == 0 {
		return found{}, false
	}
	first := all[0]
	if c.definition.generates() && len(c.env.Subject.Corpus.Objects(version)) == 0 {
		if least := c.stock.pool(ctx, version).generator.Minimal(); least != nil {
			if o := c.talk.answers(ctx, first.pair, []*unstructured.Unstructured{least})[0]; o.raw == nil {
				first = found{finding: c.closedTo(first.pair, o.x), pair: first.pair, subject: least}
			}
		}
	}
	return first, true
}

// closedTo is that an object of an unserved version is not converted, nor is any other. Only the status of the definition shows
// whether any are stored; if it does not, a webhook that says that it does not know the version is put up with.
func (c *crossings) closedTo(pair corpus.Pair, x exchange) finding {
	part, stored := none, "objects are stored at it, by status.storedVersions"
	v := x.judgement.Rejected()
	words := v.Actual
	if x.response.Status >= 400 {
		words += string(x.response.Body)
	}
	if !c.env.Subject.Corpus.Definition.Stores(pair.From) {
		stored = "whether objects are stored at it is not in the file; if there are none, remove the version from the definition"
		if !crashed(&x) || x.response.Err == nil && strings.Contains(words, pair.From) {
			part = requirement.PartUnservedVersion
		}
	}
	message := fmt.Sprintf("no object at %s, which is not served, was converted (%s): %s", pair.From, stored, v)
	return finding{0, pair.String(), "", message, part, x, effect{sort: refused}}
}

// convertedOrClosed is the property of objects to be converted, which says of those at a version of which none is why.
func (p *prober) convertedOrClosed() property {
	what := p.converted(nil)
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := check(ctx, pair, objects)
		for i, f := range findings {
			switch {
			case p.crossings.isClosed(ctx, pair.From):
				findings[i] = p.crossings.closedTo(pair, f.x)
			case p.routes.isRefused(ctx, pair):
				findings[i] = refusedAltogether(pair, f.x)
			}
			findings[i].object = f.object
		}
		return findings
	}
	return what
}

const (
	// mostTried is how many objects are asked for whether a place is lost on the way there, whichever it is.
	mostTried = 3

	// mostProbed is how many places of an object are tried without a hint, if the webhook has no way back.
	mostProbed = 200
)

// forthOnly returns a function that returns what is lost on the way from an unserved version, which API servers do not convert to. What is
// missing after the way back, if the webhook has one, is lost on the way there only if the object converts to the same with what
// came back in its place, or with another value. Without a way back, each place is given another value, unless only hints count.
func (p *prober) forthOnly(pair corpus.Pair, objects []*unstructured.Unstructured, probes bool) func(ctx context.Context, i int, t trip) []corpus.Loss {
	lost, denied := map[string]int{}, map[string]int{}
	isLost := func(ctx context.Context, i int, t trip, l corpus.Loss) bool {
		place := fieldpath.Generalize(l.Path)
		if len(objects) > 1 && max(lost[place], denied[place]) == mostTried {
			return false // that one object loses its value says nothing about the values of others
		}
		is := p.isLostThere(ctx, pair, objects[i], t.there.object, l, objects)
		if is {
			lost[place]++
		} else {
			denied[place]++
		}
		return is
	}
	return func(ctx context.Context, i int, t trip) []corpus.Loss {
		var suspects []corpus.Loss
		switch {
		case t.back.object != nil:
			suspects = p.lost(pair, objects[i].Object, t.back.object)
		case probes:
			for _, path := range corpus.Leaves(objects[i]) {
				if value, found := corpus.Value(objects[i].Object, path); found && p.definition.schemaOf(pair.From).Notices(path, value) && !p.declared(pair, path) && len(suspects) < mostProbed {
					suspects = append(suspects, corpus.Loss{Path: path, Before: value})
				}
			}
		}
		return slices.DeleteFunc(suspects, func(l corpus.Loss) bool { return !isLost(ctx, i, t, l) })
	}
}

// isLostThere reports whether a value makes no difference to what an object is converted to, whichever other is in its place.
func (p *prober) isLostThere(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, converted map[string]any, l corpus.Loss, others []*unstructured.Unstructured) bool {
	var variants []*unstructured.Unstructured
	if l.After != nil {
		variants = append(variants, corpus.With(object, l.Path, l.After))
	} else {
		for _, other := range others {
			if variant, isOther := corpus.Exchange(object, other, l.Path); isOther && len(variants) < 2 {
				variants = append(variants, variant)
			}
		}
		variants = append(variants, corpus.Without(object, l.Path))
	}
	isKnown := false // unless nothing else is converted
	for _, variant := range variants {
		if o := p.talk.convert(ctx, pair, []*unstructured.Unstructured{variant})[0]; o.object != nil {
			if len(p.definition.schemaOf(pair.To).Differences(converted, o.object)) > 0 {
				return false
			}
			isKnown = true
		}
	}
	return isKnown
}
