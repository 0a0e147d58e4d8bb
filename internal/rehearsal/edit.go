package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/requirement"
)

// edited is an object with another value in one field.
type edited struct {
	*unstructured.Unstructured

	field string
}

// mostEdits is how many fields are tried, until one is found whose value can be changed.
const mostEdits = 12

// edits tries changes of objects that are not valid by the new schemas. API servers overlook what is invalid only in those parts of an object
// that a write leaves as they are, so writes that change nothing do not show it.
func (w *writer) edits(ctx context.Context, k *kind, version string, objects []*unstructured.Unstructured) error {
	then, now := k.old.schema(version), k.new.schema(version)
	if now == nil || !w.record.selects(requirement.UpgradeWriteCreate) {
		return nil
	}
	_, err := every(ctx, objects, keyOf, func(ctx context.Context, object *unstructured.Unstructured) (func() error, error) {
		if !w.record.brokenFor(requirement.UpgradeWriteCreate, k, keyOf(object)) {
			return nil, nil //nolint:nilnil // it is valid
		}
		at, _ := w.at(k, version, keyOf(object))
		options := metav1.UpdateOptions{DryRun: dryRun(), FieldManager: fieldManager}
		status, rest := statusApart(corpus.Leaves(object))
		for _, edit := range near(object, rest, then, now) {
			if _, err := at.Update(ctx, edit.Unstructured, options); isRefused(err) {
				return func() error { w.record.uneditable(k, version, edit, err); return nil }, nil
			}
		}
		if !k.new.status(version) {
			return nil, nil //nolint:nilnil // its users can change it
		}
		for _, edit := range near(object, status, then, now) {
			if _, err := at.UpdateStatus(ctx, edit.Unstructured, options); isRefused(err) {
				return func() error { w.record.stuck(k, version, edit, err); return nil }, nil
			}
		}
		return nil, nil //nolint:nilnil // its users and controllers can change it
	})
	return err
}

// stuck notes that a change of the status of an object is refused, for something else than what changes. A controller that writes the status
// anew may mend that.
func (r *record) stuck(k *kind, version string, edit edited, refused error) {
	r.find(finding{
		id: requirement.UpgradeWriteCreate, kind: k, object: keyOf(edit.Unstructured), version: version,
		message: fmt.Sprintf("controllers cannot change %s at %s any more, unless they mend the rest of the status, which the new schema makes invalid: %s; "+
			"have the new release write the status anew, or have its schema allow what old objects have, and require nothing that they lack",
			edit.field, version, said(refused)),
		commands: []string{k.kubectlReplace(version, keyOf(edit.Unstructured), "--subresource=status")},
	})
}

// uneditable notes that a change of an object is refused, for something else than what changes.
func (r *record) uneditable(k *kind, version string, edit edited, refused error) {
	value, _ := corpus.Value(edit.Object, edit.field)
	r.find(finding{
		id: requirement.UpgradeWriteCreate, part: requirement.PartRefusedValue, kind: k, object: keyOf(edit.Unstructured), version: version,
		message: fmt.Sprintf("its users cannot change %s at %s any more, since the new schema makes the rest of it invalid: %s; "+
			"API servers accept what is invalid only where a write changes nothing around it: give what is required a default, or loosen the rule, until the objects are mended",
			edit.field, version, said(refused)),
		commands: []string{k.kubectlPatch(version, keyOf(edit.Unstructured), edit.field, value)},
	})
}

// statusApart divides paths into those of the status and the others.
func statusApart(paths []string) (status, rest []string) {
	for _, path := range paths {
		if fieldpath.Within(path, "status") {
			status = append(status, path)
		} else {
			rest = append(rest, path)
		}
	}
	return status, rest
}

// near returns copies of an object with a change of one of the given fields that both schemas of a version allow, for each of its problems the one
// closest to it: what is overlooked otherwise is not if its surroundings change.
func near(object *unstructured.Unstructured, given []string, then, now *corpus.Schema) []edited {
	var edits []edited
	problems := invalid(object.Object, then, now)
	for _, p := range problems {
		fields := slices.DeleteFunc(slices.Clone(given), func(path string) bool {
			return p.Path != "" && p.Sort != corpus.Rule && fieldpath.Within(path, p.Path) // it is what is invalid
		})
		slices.SortStableFunc(fields, func(a, b string) int { return cmp.Compare(shared(b, p.Path), shared(a, p.Path)) })
		for _, path := range fields[:min(len(fields), mostEdits)] {
			i := slices.IndexFunc(now.Altered(object, path), func(changed *unstructured.Unstructured) bool {
				return slices.EqualFunc(invalid(changed.Object, then, now), problems, sameProblem) && (then == nil || len(then.Problems(changed.Object)) <= len(then.Problems(object.Object)))
			})
			if i >= 0 {
				edits = append(edits, edited{now.Altered(object, path)[i], path})
				break
			}
		}
	}
	return edits
}

// sameProblem reports whether two problems are of the same field; what is said of it may have its value.
func sameProblem(a, b corpus.Problem) bool { return a.Path == b.Path && a.Sort == b.Sort }

// shared is how many steps two paths have in common.
func shared(a, b string) int {
	one, other := fieldpath.Split(a), fieldpath.Split(b)
	for i := range min(len(one), len(other)) {
		if one[i] != other[i] {
			return i
		}
	}
	return min(len(one), len(other))
}
