package webhook

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// trait is what may be special about the metadata of an object.
type trait struct {
	field string // of metadata
	words string // what it is where it is special; the circumstances of what shows there alone
	plain func(object *unstructured.Unstructured)
}

// longName is from how many characters on a name does not fit into the value of a label.
const longName = 63

// isSpecial reports whether a name may be treated otherwise than others: it is long or has dots.
func isSpecial(name string) bool { return len(name) >= longName || strings.Contains(name, ".") }

// traits returns what is special about the metadata of an object.
func (x *examiner) traits(object *unstructured.Unstructured) []trait {
	var all []trait
	for _, field := range []string{"deletionTimestamp", "finalizers", "generateName", "managedFields", "ownerReferences", "labels", "annotations"} {
		if _, has, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field); has {
			words := "is set"
			if strings.HasSuffix(field, "s") {
				words = "are set"
			}
			all = append(all, trait{field, words, func(object *unstructured.Unstructured) {
				unstructured.RemoveNestedField(object.Object, "metadata", field)
				if field == "deletionTimestamp" {
					unstructured.RemoveNestedField(object.Object, "metadata", "deletionGracePeriodSeconds")
				}
			}})
		}
	}
	if n := object.GetGeneration(); n > 1 {
		all = append(all, trait{"generation", fmt.Sprintf("is %d", n), func(object *unstructured.Unstructured) { object.SetGeneration(1) }})
	}
	if name := object.GetName(); isSpecial(name) {
		words := fmt.Sprintf("is %q", name)
		if len(name) >= longName {
			words = fmt.Sprintf("has %d characters", len(name))
		}
		all = append(all, trait{"name", words, func(object *unstructured.Unstructured) { object.SetName(x.talk.unheard("alone")) }})
	}
	if namespace := object.GetNamespace(); len(namespace) >= longName {
		all = append(all, trait{"namespace", fmt.Sprintf("has %d characters", len(namespace)), func(object *unstructured.Unstructured) { object.SetNamespace("default") }})
	}
	return all
}

// unset returns what an object does not have in its metadata, though webhooks may take it for there. As others have it, it is not special.
func unset(object *unstructured.Unstructured) []trait {
	var all []trait
	for field, set := range map[string]func(*unstructured.Unstructured, map[string]string){
		"annotations": (*unstructured.Unstructured).SetAnnotations, "labels": (*unstructured.Unstructured).SetLabels,
	} {
		if _, has, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field); !has {
			all = append(all, trait{field, "are not set", func(object *unstructured.Unstructured) { set(object, map[string]string{"example.com/other": "yes"}) }})
		}
	}
	return all
}

// plainer returns a finding for its object without what is special about its metadata, as far as that has it.
func (x *examiner) plainer(ctx context.Context, what property, f found) found {
	for _, t := range x.traits(f.subject) {
		if again, is, _ := x.without(ctx, what, f, t); is {
			f = again
		}
	}
	return f
}

// without returns the same finding for its object without what is special about that, whether that has it, and whether it was tried: an object
// that is not valid is not.
func (x *examiner) without(ctx context.Context, what property, f found, traits ...trait) (again found, is, tried bool) {
	plain := f.subject.DeepCopy()
	for _, t := range traits {
		t.plain(plain)
	}
	if len(x.definition.schemaOf(f.pair.From).Problems(plain.Object)) > 0 {
		return f, false, false
	}
	again, is = x.alone(ctx, what, f, plain)
	return again, is, true
}

// circumstances notes of the first of some places what it takes in the metadata of its object, which is as plain as can be, and of the others
// whether they take that, too.
func (x *examiner) circumstances(ctx context.Context, what property, places []found) {
	if places[0].when != "" {
		return // it is explained
	}
	var takes []trait
	var words []string
	for _, t := range append(x.traits(places[0].subject), unset(places[0].subject)...) {
		path := "metadata." + t.field
		if places[0].isAbout(path) {
			continue
		}
		if _, is, tried := x.without(ctx, what, places[0], t); tried && !is && x.decides(ctx, what, places[0], t) {
			takes, words = append(takes, t), append(words, path+" "+t.words)
		}
	}
	if len(takes) == 0 || x.talk.isLateHere() {
		return
	}
	confirming, pairs := x.talk.atMost(mostConfirming), map[corpus.Pair]sharing{}
	for _, i := range fewOfEachPair(places) {
		f := places[i]
		of := pairs[f.pair]
		if i > 0 {
			if confirming.isReached() || x.talk.isLateHere() || x.budget.spent() || ctx.Err() != nil {
				if !of.isOfAll() || !isAll(f.subject, takes) {
					continue
				}
			} else if _, is, tried := x.without(ctx, what, f, takes...); is || !tried {
				if tried {
					of.asked++
					pairs[f.pair] = of
				}
				continue
			} else {
				of.asked, of.taking = of.asked+1, of.taking+1
				pairs[f.pair] = of
			}
		}
		places[i].when = "where " + strings.Join(words, " and ")
		for _, t := range takes {
			places[i].takes = append(places[i].takes, t.field)
		}
	}
}

// isAll reports whether all of some traits are those of an object.
func isAll(object *unstructured.Unstructured, traits []trait) bool {
	return !slices.ContainsFunc(traits, func(t trait) bool {
		plain := object.DeepCopy()
		t.plain(plain)
		return reflect.DeepEqual(plain.Object, object.Object)
	})
}

// fewOfEachPair returns the indexes of places, those of a few of each pair of versions first.
func fewOfEachPair(places []found) []int {
	number, first, then := map[corpus.Pair]int{}, []int{}, []int{}
	for i, f := range places {
		if number[f.pair]++; number[f.pair] <= fewSharing {
			first = append(first, i)
		} else {
			then = append(then, i)
		}
	}
	return append(first, then...)
}

// sharing counts the places of a pair that were asked for, and those that take the same.
type sharing struct{ asked, taking int }

// isOfAll reports whether all that were asked for take the same, and are enough to say so of the others of the pair.
func (s sharing) isOfAll() bool { return s.asked >= fewSharing && s.taking == s.asked }

// decides reports whether a finding is never there for its object without what is special about that, and always with it: one that comes and goes, as
// that of a random order does, takes nothing.
func (x *examiner) decides(ctx context.Context, what property, f found, t trait) bool {
	for range repeated {
		if _, still := x.alone(ctx, what, f, f.subject); !still {
			return false
		}
		if _, is, _ := x.without(ctx, what, f, t); is {
			return false
		}
	}
	return true
}

// isAbout reports whether a finding is in, or around, a place.
func (f found) isAbout(path string) bool {
	for _, at := range []string{f.path, f.effect.at} {
		if at != "" && (fieldpath.Within(at, path) || fieldpath.Within(path, at)) {
			return true
		}
	}
	return false
}
