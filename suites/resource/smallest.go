package resource

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// mostTried is how many smaller objects are tried in place of one for which a spec fails. It is a count, so that the example is the same
// on any machine.
const mostTried = 30

// trial is what a round does for one object alone, without failing the spec.
type trial struct {
	version string
	sample  *unstructured.Unstructured
	made    []string // the names of what was created
}

// violation is what a spec would fail for.
type violation struct {
	round           *round
	object          *object
	format, message string
}

// unfit says that an object cannot be tried.
type unfit struct{}

// smallest does what the spec does for smaller objects than the one that it fails for. It returns the failure of the smallest one that
// fails in the same way, nil if the object does not when it is alone.
func (r *round) smallest(ctx context.Context, failed violation) *violation {
	if r.storage != r.initially || r.silent != "" || r.id == requirement.ResourceListMixedStorage {
		return nil // it takes the storage version that there is now, or changes of it for each
	}
	var found *violation
	tried := 0
	fails := func(_ context.Context, candidate *unstructured.Unstructured) bool {
		if tried == mostTried || ctx.Err() != nil {
			return false
		}
		tried++
		t := r.round(r.id, r.crd, r.initially, r.spec, r.body) // which the storage version is still, see above
		t.generated = r.generated
		t.trial, t.turn = &trial{version: failed.object.version, sample: candidate}, tried*mostWritten*1000
		v := t.try()
		if v == nil || v.format != failed.format {
			r.clear(ctx, t)
			return false
		}
		if found != nil {
			r.clear(ctx, found.round)
		}
		found = v
		return true
	}
	defer r.env.Spending(suites.SpentShrinking)()
	whole := r.crd.Object(failed.object.version, failed.object.sent)
	if fails(ctx, whole) {
		r.definition.Schema(failed.object.version).Shrink(ctx, whole, fails)
	}
	if found != nil {
		for _, name := range found.round.trial.made {
			r.removeAfter(name)
		}
	}
	return found
}

// try runs the spec for one object, and returns what it would fail for.
func (r *round) try() (found *violation) {
	defer func() {
		switch ended := recover().(type) {
		case nil, unfit:
		case *violation:
			found = ended
		default:
			panic(ended)
		}
	}()
	r.body(r.spec, r)
	return nil
}

// clear removes what a trial has created. What cannot be removed now is removed after the spec.
func (r *round) clear(ctx context.Context, tried *round) {
	for _, name := range tried.trial.made {
		if err := r.remove(ctx, r.home(), name); err != nil {
			r.removeAfter(name)
		}
	}
}

// require ends the spec as Errored when what it needs could not be had; a trial just ends.
func (r *round) require(err error, format string, arguments ...any) {
	GinkgoHelper()
	if err != nil && r.trial != nil {
		panic(unfit{})
	}
	r.env.Require(explained(err), format, arguments...)
}

// explained is an error with what it takes to mend it, if that is known: managers of controller-runtime have controllers beside their webhook, which
// write the objects of specs.
func explained(err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w (something else writes this object, such as a controller in the webhook's program: start that without its controllers, or leave the chapter resource out)", err)
	}
	return err
}
