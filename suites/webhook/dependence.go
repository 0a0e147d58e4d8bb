package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/visible"
)

// dependence inquires whether an object is converted otherwise among others than alone.
type dependence struct {
	material

	known  *[]dependency                                // nil before they are known
	lonely map[corpus.Pair][]*unstructured.Unstructured // the objects of batches that were converted, and are not alone
}

// dependency is an object that was converted otherwise together with others than it was alone.
type dependency struct {
	pair     corpus.Pair
	apart    []corpus.Loss // the difference from the same object alone
	unsteady []corpus.Loss // the difference between two conversions of the object alone: then it is not a dependency
	refused  bool          // the objects convert alone, and not together
	at       int           // in the request
	x        exchange
	when     string // what of the request matters, see because
}

// words say which object of several versions is converted otherwise than alone.
func (d dependency) words(to string) string {
	return fmt.Sprintf("%s: object %d of %d, which is at %s: expected the same as alone at %s: %s%s", d.x.what, d.at, len(d.x.request.Objects), d.pair.From, to, fewLines(d.apart), d.only())
}

// independently skips the spec if what becomes of an object depends on others: what is found then need not show for the object alone.
func (dp *dependence) independently(ctx context.Context) {
	GinkgoHelper()
	if dp.dependent(ctx) {
		Skip("cannot be judged while webhook.batch.independent fails: the result for an object depends on others")
	}
}

// dependent reports whether what becomes of an object depends on the others in the request.
func (dp *dependence) dependent(ctx context.Context) bool {
	return slices.ContainsFunc(dp.all(ctx), func(d dependency) bool { return len(d.unsteady) == 0 })
}

// together skips the spec if objects are refused together that are converted alone: then how many there are, or of how many versions, is not why.
func (dp *dependence) together(ctx context.Context) {
	GinkgoHelper()
	if dp.refuses(ctx) {
		Skip("cannot be judged while webhook.batch.independent fails: objects are refused for the others in the request")
	}
}

// refuses reports whether objects are refused together that are converted alone.
func (dp *dependence) refuses(ctx context.Context) bool {
	return slices.ContainsFunc(dp.all(ctx), func(d dependency) bool { return d.refused })
}

// all returns the first dependency of each pair of versions. They are found out once for all specs.
func (dp *dependence) all(ctx context.Context) []dependency {
	if dp.known != nil {
		return *dp.known
	}
	found := []dependency{}
	for _, pair := range dp.crossings.pairs(ctx) {
		if d, ok := dp.dependency(ctx, pair); ok {
			found = append(found, d)
		}
	}
	if ctx.Err() == nil {
		dp.known = &found
	}
	return found
}

func (dp *dependence) dependency(ctx context.Context, pair corpus.Pair) (dependency, bool) {
	objects := namesakes(dp.batch(ctx, pair.From, max(batched, min(len(dp.stock.all(ctx, pair.From)), mostBatched))))
	backwards := slices.Clone(objects)
	slices.Reverse(backwards)
	together, reversed := dp.talk.ask(ctx, dp.standard.reviewVersion(ctx), pair, objects...), dp.talk.ask(ctx, dp.standard.reviewVersion(ctx), pair, backwards...)
	for _, x := range []*exchange{&together, &reversed} {
		for again := 0; x.judgement.Rejected() != nil && again < repeated; again++ {
			*x = dp.talk.ask(ctx, x.request.ReviewVersion, pair, dp.exhibits.sent(x)...)
		}
		if x.judgement.Rejected() != nil {
			return dependency{pair: pair, x: *x, refused: true}, dp.refusedTogether(ctx, pair, objects)
		}
	}
	last := len(objects) - 1
	singly := make([]json.RawMessage, len(objects))
	for i, object := range objects {
		alone := dp.byItself(ctx, pair, object)
		singly[i] = alone
		if alone == nil {
			dp.lonely[pair] = append(dp.lonely[pair], object)
			continue
		}
		for _, d := range []dependency{{at: i, x: together}, {at: last - i, x: reversed}} {
			if d.apart = dp.apart(pair, alone, d.x.judgement.Objects[d.at]); len(d.apart) > 0 {
				d.pair = pair
				d.unsteady = dp.otherwise(ctx, d, object, alone)
				return d, true
			}
		}
	}
	number := crowd
	if pair == dp.crossings.pairs(ctx)[0] {
		number = mostTogether // once is enough for what takes so many
	}
	if d, is := dp.crowded(ctx, pair, number); is {
		return d, true
	}
	return dp.traces(ctx, pair, objects, singly)
}

// namesakes gives every second object the name of the one before, in another namespace.
func namesakes(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for i, object := range objects {
		if i%2 == 1 && object.GetNamespace() != "" && objects[i-1].GetNamespace() == object.GetNamespace() {
			object.SetName(objects[i-1].GetName())
			object.SetNamespace("other")
		}
	}
	return objects
}

// traces looks in objects for what the webhook keeps of others: each is asked for again after one that has labels, annotations and entries
// of maps that no other has. What they were converted to before is given. Objects that the webhook met before show nothing new.
func (dp *dependence) traces(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, singly []json.RawMessage) (dependency, bool) {
	word := dp.talk.unheard("trace")
	most := largest(objects)
	marked := dp.talk.answers(ctx, pair, []*unstructured.Unstructured{dp.definition.schemaOf(pair.From).Marked(most, word)})[0]
	if marked.raw == nil {
		return dependency{}, false
	}
	for i, o := range dp.talk.answers(ctx, pair, objects) {
		if !bytes.Contains(o.raw, []byte(word)) {
			continue
		}
		d := dependency{pair: pair, at: i, x: dp.talk.ask(ctx, dp.talk.spoken(ctx), pair, objects[i])}
		if d.at = 0; d.x.judgement.Rejected() == nil {
			d.apart, d.x.before = dp.apart(pair, singly[i], d.x.judgement.Objects[0]), &marked.x
		}
		if len(d.apart) > 0 {
			return d, true
		}
	}
	return dependency{}, false
}

// refusedTogether reports whether objects that are not converted together are converted alone, and whether it is them rather than
// their number: as many copies of one are converted, in the order of their names, since some webhooks sort by these.
func (dp *dependence) refusedTogether(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) bool {
	many := corpus.Multiply(objects[:1], len(objects))
	slices.SortFunc(many, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	copies := dp.talk.ask(ctx, dp.standard.reviewVersion(ctx), pair, many...)
	return copies.judgement.Rejected() == nil && !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return dp.byItself(ctx, pair, o) == nil })
}

// severalVersions asks for objects at several versions, and returns the first that is converted otherwise than alone.
func (dp *dependence) severalVersions(ctx context.Context, to string, from []string) (exchange, dependency, bool) {
	GinkgoHelper()
	var mixed []*unstructured.Unstructured
	for _, version := range from {
		mixed = append(mixed, dp.batch(ctx, version, 2)...)
	}
	mixed = corpus.Multiply(shuffled(mixed), len(mixed)) // each has a name of its own, or nobody could say which is which
	x := dp.talk.ask(ctx, dp.standard.reviewVersion(ctx), corpus.Pair{From: strings.Join(from, " and "), To: to}, mixed...)
	if x.judgement.Rejected() != nil {
		return x, dependency{}, false
	}
	for i, object := range mixed {
		pair := corpus.Pair{From: object.GroupVersionKind().Version, To: to}
		alone := dp.byItself(ctx, pair, object)
		if lost := dp.apart(pair, alone, x.judgement.Objects[i]); alone != nil && len(lost) > 0 && len(dp.unsteady(ctx, pair, object, alone)) == 0 {
			return x, dependency{pair: pair, apart: lost, at: i, x: x}, true
		}
	}
	return x, dependency{}, false
}

// shuffled returns objects in an order in which those of one version are not next to each other, and the versions are not sorted.
func shuffled(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var others []*unstructured.Unstructured
	for start := range 2 {
		for i := len(objects) - 1 - start; i >= 0; i -= 2 {
			others = append(others, objects[i])
		}
	}
	return others
}

// byItself is what an object converts to when it is asked for alone, nil when it is not converted.
func (dp *dependence) byItself(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) json.RawMessage {
	return dp.talk.answers(ctx, pair, []*unstructured.Unstructured{object})[0].raw
}

// unsteady returns how an object is converted otherwise when it is asked for alone once more, and again. It is nil if it never is.
func (dp *dependence) unsteady(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, alone json.RawMessage) []corpus.Loss {
	for range steadiness {
		if lost := dp.apart(pair, alone, dp.byItself(ctx, pair, object)); len(lost) > 0 {
			return lost
		}
	}
	return nil
}

// otherwise is what unsteady returns of an object that is converted otherwise among others. The batch is asked for again, too. It was the time, or
// what was asked before, and not the others, if the object alone differs before and after that, or is converted in it as it is alone; then
// otherwise returns the difference.
func (dp *dependence) otherwise(ctx context.Context, d dependency, object *unstructured.Unstructured, alone json.RawMessage) []corpus.Loss {
	if lost := dp.unsteady(ctx, d.pair, object, alone); len(lost) > 0 {
		return lost
	}
	for range repeated {
		before := dp.byItself(ctx, d.pair, object)
		again := dp.talk.ask(ctx, d.x.request.ReviewVersion, d.pair, dp.exhibits.sent(&d.x)...)
		after := dp.byItself(ctx, d.pair, object)
		if lost := dp.apart(d.pair, before, after); len(lost) > 0 {
			return lost
		}
		if again.judgement.Rejected() != nil || len(dp.apart(d.pair, after, again.judgement.Objects[d.at])) > 0 {
			return nil
		}
	}
	return d.apart
}

// apart returns the differences between two conversions of an object. Nil is one that failed.
func (dp *dependence) apart(pair corpus.Pair, a, b json.RawMessage) []corpus.Loss {
	if bytes.Equal(a, b) {
		return nil
	}
	return dp.definition.schemaOf(pair.To).Differences(dp.exhibits.decode(a), dp.exhibits.decode(b))
}

// batch returns a number of objects of a version with names of their own.
func (dp *dependence) batch(ctx context.Context, version string, n int) []*unstructured.Unstructured {
	return corpus.Multiply(dp.stock.all(ctx, version), n)
}

// fewLines returns the first losses as the lines of a message.
func fewLines(losses []corpus.Loss) string {
	return strings.Join(visible.Few(visible.Strings(losses), mostTold, " places like this"), "\n")
}
