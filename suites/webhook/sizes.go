package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// sizes has the specs about large objects.
type sizes struct {
	judging
}

const (
	// mostAnnotations is how many bytes the keys and values of all annotations of an object may have. API servers refuse what a conversion
	// returns with more, and with that every list that the object is in.
	mostAnnotations = 256 << 10

	// probed is by how many bytes a text is made longer to see how much of that goes into annotations.
	probed = 2000

	// mostMeasured is how many fields are measured on a way, and mostOverflows how many of them are shown to be too large.
	mostMeasured, mostOverflows = 60, 3
)

// overflows returns the fields that a conversion keeps in annotations and that may be too long for these. How much each text adds to the
// annotations is measured, and the length at which they are too large is computed from that and tried.
func (sz *sizes) overflows(ctx context.Context) []found {
	var all []found
	for _, pair := range sz.crossings.pairs(ctx) {
		schema, measured, over := sz.definition.schemaOf(pair.From), map[string]bool{}, 0
		objects := sz.stock.each(ctx, pair.From)
		for i, o := range sz.journeys.forth(ctx, pair, objects) {
			if o.object == nil || annotated(o.object) <= annotated(objects[i].Object) {
				continue
			}
			for _, path := range corpus.Leaves(objects[i]) {
				place := schema.Place(path)
				if schema.Room(path) <= probed || measured[place] || len(measured) == mostMeasured || over == mostOverflows || sz.budget.spent() || sz.connection.isSilent() {
					continue
				}
				measured[place] = true
				if f, is := sz.overflow(ctx, pair, objects[i], path, annotated(o.object)); is {
					all, over = append(all, sz.findings.newFound(f.finding, pair, f.subject)), over+1
				}
			}
		}
	}
	return all
}

// annotated is how many bytes the annotations of an object have.
func annotated(object map[string]any) int {
	total := 0
	for key, value := range (&unstructured.Unstructured{Object: object}).GetAnnotations() {
		total += len(key) + len(value)
	}
	return total
}

// overflow reports whether an object with a long text at a path is not converted because of what goes into annotations, of which there
// are so many bytes now.
func (sz *sizes) overflow(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, path string, now int) (sized, bool) {
	schema := sz.definition.schemaOf(pair.From)
	probe := corpus.With(object, path, unpacked(probed))
	if len(schema.Problems(probe.Object)) > 0 {
		return sized{}, false
	}
	o := sz.talk.convert(ctx, pair, []*unstructured.Unstructured{probe})[0]
	before, _ := corpus.Value(object.Object, path)
	grown := probed - len(fmt.Sprint(before))
	if o.object == nil || annotated(o.object)-now < grown/4 {
		return sized{}, false
	}
	// Some more is tried than it takes, since text may be packed.
	each := float64(annotated(o.object)-now) / float64(grown)
	length := int(1.02*float64(mostAnnotations-now)/each) + probed
	if int64(length) > schema.Room(path) || length > mostStored || size(object)+length > mostStored {
		return sized{}, false
	}
	large := corpus.With(object, path, unpacked(length))
	x := sz.talk.answers(ctx, pair, []*unstructured.Unstructured{large})[0]
	if x.raw != nil || len(schema.Problems(large.Object)) > 0 {
		return sized{}, false
	}
	message := fmt.Sprintf("%s: expected a text of %d bytes to be converted (an object of %d bytes, which API servers store), got %s; each byte adds %.2g to the annotations",
		path, length, size(large), x.x.judgement.Rejected(), each)
	return sized{finding{0, pair.String(), schema.Place(path), message, none, x.x, effect{sort: refused, kept: true}}, large}, true
}

// sized is a finding about an object that was made larger.
type sized struct {
	finding

	subject *unstructured.Unstructured
}

// unpacked is a text that does not get much smaller when it is compressed. A longer one begins with a shorter one.
func unpacked(length int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it is to be the same each time
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

// huge is about being converted at all, too. One that says that it can't is put up with: few objects are so big.
func (sz *sizes) huge(ctx SpecContext) {
	sz.definition.needsGenerated("how objects can be made big")
	what := sz.keeping.converted(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return sz.stock.styled(ctx, version, corpus.Huge, 1)
	})
	what.large = true
	check := what.check
	type way struct {
		pair  corpus.Pair
		cause string
	}
	sizes := map[way]bool{} // on which the size was found to be why, so that nothing is left to ask for the smaller objects that are tried next
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		for _, f := range check(ctx, pair, objects) {
			if crashed(&f.x) {
				f.part = requirement.PartCrash
			}
			on := way{pair, cause(&f.x)}
			if size(objects[f.object]) >= small && (sizes[on] || sz.forItsSize(ctx, pair, objects[f.object], &f.x)) {
				sizes[on] = true
				findings = append(findings, f)
			}
		}
		return findings
	}
	sz.standard.sound(ctx)
	sz.effort.tried = 0
	all, tried := sz.trials.against(ctx, what)
	all = append(all, sz.overflows(ctx)...)
	sz.env.Tried(sz.effort.tried)
	sz.trials.report(ctx, what, all)
	sz.definition.needsFields(tried, "so much")
}

// small is below how many bytes the size of an object is not why it is not converted.
const small = 64 << 10

// forItsSize reports whether a big object is not converted because it is big: one like it with short texts and lists is.
func (sz *sizes) forItsSize(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, x *exchange) bool {
	if isLate(x) {
		return true // a small one was converted in time, or there would be nothing to ask
	}
	lessened := sz.definition.schemaOf(pair.From).Lessened(object)
	if lessened == nil || size(lessened) >= small {
		return true
	}
	o := sz.talk.answers(ctx, pair, []*unstructured.Unstructured{lessened})[0]
	return o.raw != nil || cause(&o.x) != cause(x)
}
