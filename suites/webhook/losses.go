package webhook

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// losses says what a conversion lost, but for what the user declares lossy and what API servers put back.
type losses struct {
	asking

	declarations map[string]bool // what the user declares lossy and was reported, by spec and place
}

// lost returns what an object lost on the way through the second version of a pair, but for what is declared to be lost, and for what API
// servers put back: they fill in the defaults of the version at which objects are stored whenever they read one from storage.
func (ls *losses) lost(pair corpus.Pair, before, after map[string]any) []corpus.Loss {
	schema := ls.definition.schemaOf(pair.From)
	lost := ls.undeclared(pair, schema.Losses(before, after))
	if len(lost) == 0 || !ls.definition.isStored(pair.From) {
		return lost
	}
	read := (&unstructured.Unstructured{Object: after}).DeepCopy().Object
	schema.Prepare(read)
	left := schema.Losses(before, read)
	return slices.DeleteFunc(lost, func(l corpus.Loss) bool {
		return l.After == nil && !slices.ContainsFunc(left, func(still corpus.Loss) bool { return still.Path == l.Path })
	})
}

// undeclared returns losses but those that are declared. Where another value comes instead, the declaration is noted: nobody said that.
func (ls *losses) undeclared(pair corpus.Pair, lost []corpus.Loss) []corpus.Loss {
	var left []corpus.Loss
	for _, l := range lost {
		if l.Declared = ls.declared(pair, l.Path); !l.Declared || ls.definition.schemaOf(pair.From).Replaces(l) {
			left = append(left, l)
		}
	}
	return left
}

// declared reports whether the user said that a conversion loses what is at a path.
func (ls *losses) declared(pair corpus.Pair, path string) bool {
	if ls.env.Subject.Lossy == nil {
		return false
	}
	reason, declared := ls.env.Subject.Lossy(pair.From, pair.To, path)
	if place := pair.String() + fieldpath.Generalize(path) + CurrentSpecReport().LeafNodeText; declared && !ls.declarations[place] {
		ls.declarations[place] = true
		fmt.Fprintf(GinkgoWriter, "%s -> %s: %s is declared lossy: %s\n", pair, pair.From, path, reason)
	}
	return declared
}

// lacks says that the second version of a pair has no field for what is lost, which may be meant then, or has one of another type; empty if it has
// the same. Then it says of what the webhook writes in place of another value whether that is the default.
func (ls *losses) lacks(pair corpus.Pair, l corpus.Loss) string {
	schema := ls.definition.schemaOf(pair.To)
	if instead := schema.Instead(ls.definition.schemaOf(pair.From), l.Path); instead != "" {
		return fmt.Sprintf(" (%s has %s)", pair.To, instead)
	}
	switch {
	case schema == nil:
		return ""
	case !schema.Has(l.Path) && ls.definition.schemaOf(pair.From).Effect(l) == "lost": // a value that is changed has been somewhere
		return fmt.Sprintf(" (%s has no field of that name)", pair.To)
	case ls.intoDefault(pair, l):
		return ", the default at " + pair.From
	}
	return ""
}

// intoDefault reports whether a webhook writes the default in place of another value. Where the other version has no field for that, it is lost.
func (ls *losses) intoDefault(pair corpus.Pair, l corpus.Loss) bool {
	schema := ls.definition.schemaOf(pair.To)
	return l.After != nil && schema != nil && schema.Has(l.Path) && ls.definition.schemaOf(pair.From).Effect(l) == "lost"
}

// effectOf returns the effect that a loss at a version is.
func (ls *losses) effectOf(version string, l corpus.Loss) effect {
	return effect{sort: ls.definition.schemaOf(version).Effect(l), dull: l.Dull(), at: l.Path}
}

// effectBy is the same for a loss on the way through the second version of a pair, after which an object is another one.
func (ls *losses) effectBy(pair corpus.Pair, l corpus.Loss, after map[string]any) effect {
	e := ls.effectOf(pair.From, l)
	if ls.isRetold(pair, l, after) {
		e.when = "where text names a version of the API"
	}
	if ls.intoDefault(pair, l) {
		e.sort = "changed"
	}
	if schema := ls.definition.schemaOf(pair.To); schema != nil && e.sort == "lost" {
		e.lacks = schema.Lacks(l.Path)
	}
	return e
}

// isRetold reports whether a value, an item of a list or a key is what it is once one version's name is replaced by the other's wherever it stands, and
// the other way round on the way back. Webhooks do that which replace it in the text of an object.
func (ls *losses) isRetold(pair corpus.Pair, l corpus.Loss, after map[string]any) bool {
	before, err := corpus.Encode(l.Before)
	if err != nil {
		return false
	}
	for _, prefix := range []string{ls.env.Subject.Corpus.Group + "/", "/", ""} {
		from, to := prefix+pair.From, prefix+pair.To
		retold := func(text string) string { return strings.ReplaceAll(strings.ReplaceAll(text, from, to), to, from) }
		is := func(value any) bool {
			now, err := corpus.Encode(value)
			return err == nil && string(now) == retold(string(before)) && !bytes.Equal(now, before)
		}
		if l.After != nil && is(l.After) {
			return true
		}
		if list, _ := corpus.Value(after, around(l.Path)); l.After == nil {
			items, _ := list.([]any)
			value, has := corpus.Value(after, retold(l.Path))
			if slices.ContainsFunc(items, is) || retold(l.Path) != l.Path && has && reflect.DeepEqual(value, l.Before) {
				return true
			}
		}
	}
	return false
}

const (
	// mostTried is how many objects are asked for whether a place is lost on the way there, whichever it is.
	mostTried = 3

	// mostProbed is how many places of an object are tried without a hint, if the webhook has no way back.
	mostProbed = 200
)

// search says where losses are looked for if nothing hints at them.
type search int

const (
	hinted  search = iota // nowhere
	probing               // in each place that has a value
)

// forthOnly returns a function that returns what is lost on the way from an unserved version, which API servers do not convert to. What is
// missing after the way back, if the webhook has one, is lost on the way there only if the object converts to the same with what
// came back in its place, or with another value. Without a way back nothing hints at a loss: then each place is given another value if that is
// the search.
func (ls *losses) forthOnly(pair corpus.Pair, objects []*unstructured.Unstructured, by search) func(ctx context.Context, i int, t trip) []corpus.Loss {
	lost, denied := map[string]int{}, map[string]int{}
	isLost := func(ctx context.Context, i int, t trip, l corpus.Loss) bool {
		place := fieldpath.Generalize(l.Path)
		if len(objects) > 1 && max(lost[place], denied[place]) == mostTried {
			return false // that one object loses its value says nothing about the values of others
		}
		is := ls.isLostThere(ctx, pair, objects[i], t.there.object, l, objects)
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
			suspects = ls.lost(pair, objects[i].Object, t.back.object)
		case by == probing:
			for _, path := range corpus.Leaves(objects[i]) {
				if value, found := corpus.Value(objects[i].Object, path); found && ls.definition.schemaOf(pair.From).Notices(path, value) && !ls.declared(pair, path) && len(suspects) < mostProbed {
					suspects = append(suspects, corpus.Loss{Path: path, Before: value})
				}
			}
		}
		return slices.DeleteFunc(suspects, func(l corpus.Loss) bool { return !isLost(ctx, i, t, l) })
	}
}

// isLostThere reports whether a value makes no difference to what an object is converted to, whichever other is in its place.
func (ls *losses) isLostThere(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, converted map[string]any, l corpus.Loss, others []*unstructured.Unstructured) bool {
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
		if o := ls.talk.convert(ctx, pair, []*unstructured.Unstructured{variant})[0]; o.object != nil {
			if len(ls.definition.schemaOf(pair.To).Differences(converted, o.object)) > 0 {
				return false
			}
			isKnown = true
		}
	}
	return isKnown
}
