package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// crossings are the pairs of versions between which specs convert objects: the routes but for versions that the webhook closes.
type crossings struct {
	asking
	stock *stock

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
