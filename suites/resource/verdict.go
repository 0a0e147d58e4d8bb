package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// unconverted reports whether a request failed because the webhook did not convert, or because an API server that merges fields could
// not make anything of what it converted. The spec ends as Errored when the API server does not get through to a webhook that
// answers otherwise.
func (r *round) unconverted(ctx context.Context, err error) bool {
	GinkgoHelper()
	if err == nil {
		return false
	}
	late := apierrors.IsTimeout(err)
	if !late && !strings.Contains(err.Error(), "conversion webhook for") && !isUnmerged(err) {
		return false
	}
	if gone := r.env.Subject.Gone(); gone != nil && strings.Contains(err.Error(), "connection refused") { // another request ended it
		Skip(fmt.Sprintf("cannot be judged: %v", gone))
	}
	switch {
	case late, containsAny(err.Error(), "context deadline exceeded", "Client.Timeout exceeded"), containsAny(err.Error(), ": Post ") && !r.answers(ctx):
		r.silent = fmt.Sprintf("cannot be judged while %s fails: the webhook did not answer an API server, so nothing more was asked: %v", r.id, err)
	case containsAny(err.Error(), ": dial ", "x509: ", "tls: ", "no such host") && r.answers(ctx):
		r.require(err, "the webhook answers crdconform and cannot be reached by the API server")
	}
	return true
}

// isUnmerged reports whether server-side apply met values that are not as the schema says. What is sent is, so these come from a
// conversion.
func isUnmerged(err error) bool {
	return containsAny(err.Error(), ": field not declared in schema", ": duplicate entries for key", ": associative list ",
		": expected string, got ", ": expected boolean, got ", ": expected numeric (int or float), got ", ": expected map, got ", ": expected list, got ")
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// answers reports whether the webhook answers a request that does not come from the API server. A program that has just ended runs again.
func (r *round) answers(ctx context.Context) bool {
	_, response := r.ask(ctx, r.storage)
	return response.Err == nil || suites.Ended(response)
}

// blame fails the spec if it is the one of a requirement that was found broken. Another one notes that it cannot be judged, and continues: what it
// found is left to that one if it runs later, and is its own if that one did not fail. While the storage version is not the definition's own, no
// other spec sees the same; and none sends requests once the webhook did not respond. No other spec would report these.
func (r *round) blame(ctx context.Context, id requirement.ID, o *object, format string, arguments ...any) {
	GinkgoHelper()
	if other := r.blockerOfSample(ctx, o); other != "" {
		r.leave(other)
		return
	}
	failed, ran := r.ran[id]
	isFailure := r.severityOf(id, o, arguments) == requirement.Failed
	switch {
	case r.id == id, r.storage != r.initially, r.silent != "", isFailure && ran && !failed:
		r.fail(ctx, o, format, arguments...)
	case isFailure && !ran && r.trial == nil:
		if _, is := r.owed[id]; !is {
			r.owed[id] = violation{r, o, format, fmt.Sprintf(format, arguments...)}
		}
	}
	r.block(id, format, arguments...)
}

// severityOf is how bad it is to violate a requirement with an object. That an API server refuses what the webhook made of a generated object is a
// part of its own, see invalid.
func (r *round) severityOf(id requirement.ID, o *object, arguments []any) requirement.Verdict {
	isRefused := slices.ContainsFunc(arguments, func(argument any) bool {
		err, is := argument.(error)
		return is && refused(err)
	})
	if isRefused && r.isGenerated(o.version) {
		return requirement.SeverityOf(id, requirement.PartGenerated)
	}
	return requirement.SeverityOf(id, none)
}

// block notes that the spec cannot be judged while that of another requirement fails.
func (r *round) block(id requirement.ID, format string, arguments ...any) {
	if r.blocked == "" {
		r.blocked = fmt.Sprintf("cannot be judged while %s fails (%s)", id, fmt.Sprintf(format, arguments...))
	}
}

// fail fails the spec, with what is needed to do again what was done to the object.
func (r *round) fail(ctx context.Context, o *object, format string, arguments ...any) {
	GinkgoHelper()
	r.violated(ctx, none, o, format, arguments...)
}

// none stands for violations that are in no part of a requirement.
const none requirement.PartName = ""

// violated makes the verdict what a violation in a part of the requirement amounts to, with the same. Only the first that is
// Tolerated counts. One that is not is shown with a smaller object, if that shows it too.
func (r *round) violated(ctx context.Context, part requirement.PartName, o *object, format string, arguments ...any) {
	GinkgoHelper()
	severity := r.env.Severity(part)
	v := &violation{r, o, format, fmt.Sprintf(format, arguments...)}
	switch {
	case severity == requirement.Tolerated && (r.tolerated || r.trial != nil):
		return
	case severity == requirement.Tolerated:
		r.tolerated = true
	case r.trial != nil:
		panic(v)
	default:
		if smaller := r.smallest(ctx, *v); smaller != nil {
			v = smaller
		}
	}
	r.report(ctx, severity, *v)
}

// report makes the verdict what a violation amounts to, with the evidence for it.
func (r *round) report(ctx context.Context, severity requirement.Verdict, v violation) {
	GinkgoHelper()
	r.ran[r.id] = severity == requirement.Failed
	v.round.attach(ctx, v.object)
	r.env.Found(append(r.findings(ctx, v.object, v.round.lost), v.answered()...))
	r.env.Violated(severity, v.object.name+": "+v.message)
}

// failLosing fails the spec for what was lost between two reads at a version.
func (r *round) failLosing(ctx context.Context, o *object, version string, lost []corpus.Loss, format string, arguments ...any) {
	GinkgoHelper()
	for _, l := range lost {
		r.lost = append(r.lost, loss{version, l})
	}
	r.fail(ctx, o, format+":\n%s", append(arguments, lines(lost))...)
}

// kept fails the spec unless what was read at the object's version has what is expected. What is gone because it was
// empty is a part of its own. The text says what was done.
func (r *round) kept(ctx context.Context, o *object, got *unstructured.Unstructured, format string, arguments ...any) {
	GinkgoHelper()
	what := strings.ReplaceAll(fmt.Sprintf(format, arguments...), "%", "%%")
	lost, empty := r.losses(o.version, o.expected, got.Object)
	if len(lost) > 0 {
		r.failLosing(ctx, o, o.version, lost, what)
	}
	if len(empty) > 0 {
		r.violated(ctx, requirement.PartEmpty, o, what+": %s:\n%s", dropped(empty), lines(empty))
	}
}

// dropped says what kind of values were left out, or what else is put up with.
func dropped(losses []corpus.Loss) string {
	switch {
	case losses[0].Declared:
		return "a field that is declared lossy is another value"
	case losses[0].MadeUp:
		return "content was dropped that no user has"
	}
	return "empty values were dropped"
}

// losses compares two reads at a version, apart from what the user declared to be lossy. It returns what was lost, and what is put up with:
// what is another value instead of being lost as declared, what was left out because it was empty and, after that, what had been made up.
func (c *chapter) losses(version string, before, after map[string]any) (lost, empty []corpus.Loss) {
	var declared, madeUp []corpus.Loss
	definition := c.env.Subject.Corpus.Definition
	schema := definition.Schema(version)
	for _, loss := range schema.Losses(before, after) {
		loss.MadeUp = c.env.Subject.Corpus.IsMadeUp(loss.Path, append([]string{version}, definition.Versions()...)...)
		loss.Declared = c.lossy(version, loss.Path)
		switch {
		case loss.Declared && schema.Replaces(loss):
			declared = append(declared, loss)
		case loss.Declared:
		case loss.MadeUp:
			madeUp = append(madeUp, loss)
		case loss.Empty:
			empty = append(empty, loss)
		default:
			lost = append(lost, loss)
		}
	}
	return lost, slices.Concat(declared, empty, madeUp)
}

// lossy reports whether the user declared that a path at a version is lost by way of any other. All are on the way: API
// servers convert by way of the stored version and, for the record of who manages what, to that of each manager.
func (c *chapter) lossy(version, path string) bool {
	if c.env.Subject.Lossy == nil {
		return false
	}
	for _, through := range c.env.Subject.Corpus.Definition.Versions() {
		if through == version {
			continue
		}
		if _, declared := c.env.Subject.Lossy(version, through, path); declared {
			return true
		}
	}
	return false
}

// lines returns losses as the lines of a message, the first of them when there are many.
func lines(losses []corpus.Loss) string {
	const shown = 5
	return strings.Join(visible.Few(visible.Strings(losses), shown, " like this"), "\n")
}

// differing returns what differs between two reads at a version, or else what was added.
func (r *round) differing(version string, before, after *unstructured.Unstructured) []corpus.Loss {
	schema := r.definition.Schema(version)
	if lost := schema.Losses(before.Object, after.Object); len(lost) > 0 {
		return lost
	}
	added := schema.Losses(after.Object, before.Object)
	for i, loss := range added {
		added[i] = corpus.Loss{Path: loss.Path, After: loss.Before, Added: true}
	}
	return added
}

// difference shows what differs between two reads at a version, as the end of a message.
func (r *round) difference(version string, before, after *unstructured.Unstructured) string {
	if differing := r.differing(version, before, after); len(differing) > 0 {
		return ":\n" + lines(differing)
	}
	return fmt.Sprintf(", though nothing that is seen at %s differs", version)
}

// inStorage returns what is stored of an object, nil where storage cannot be looked into.
func (r *round) inStorage(ctx context.Context, o *object) *unstructured.Unstructured {
	if _, ok := r.env.Cluster.(cluster.Storage); !ok {
		return nil
	}
	return r.crd.Stored(ctx, o.name).Object
}

// reapplied shows what an apply at a version changed in storage, as the end of a message; nothing where that is not known.
func reapplied(version string, before, after *unstructured.Unstructured) string {
	changed := rewritten(before, after)
	if len(changed) == 0 {
		return ""
	}
	return "; in storage, applying at " + version + " changed:\n" + lines(changed)
}

// rewritten returns all that a write has changed, but what each write does; nothing where one of both is not known. The times of managers
// are not what makes API servers write.
func rewritten(before, after *unstructured.Unstructured) []corpus.Loss {
	if before == nil || after == nil {
		return nil
	}
	changed := otherwise(before, after)
	for _, field := range []string{"annotations", "finalizers", "generation", "labels", "managedFields", "ownerReferences"} {
		was, is := metadataOf(before, field), metadataOf(after, field)
		if !reflect.DeepEqual(was, is) {
			changed = append(changed, corpus.Loss{Path: "metadata." + field, Before: was, After: is, Added: was == nil})
		}
	}
	return changed
}

// metadataOf returns a field of the metadata of an object, of its managers without the times.
func metadataOf(object *unstructured.Unstructured, field string) any {
	value, _, _ := unstructured.NestedFieldCopy(object.Object, "metadata", field)
	if list, is := value.([]any); is && field == "managedFields" {
		for _, entry := range list {
			if fields, is := entry.(map[string]any); is {
				delete(fields, "time")
			}
		}
	}
	return value
}

// otherwise returns the fields, but metadata, that two objects have in another order or spelling. API servers distinguish these when they
// decide whether to write.
func otherwise(before, after *unstructured.Unstructured) []corpus.Loss {
	paths := append(corpus.Leaves(before), corpus.Leaves(after)...)
	slices.Sort(paths)
	var changed []corpus.Loss
	for _, path := range slices.Compact(paths) {
		was, _ := corpus.Value(before.Object, path)
		is, _ := corpus.Value(after.Object, path)
		if !reflect.DeepEqual(was, is) {
			changed = append(changed, corpus.Loss{Path: path, Before: was, After: is, Added: was == nil})
		}
	}
	return changed
}

// refused reports whether the API server itself refuses what it was sent, by its validation.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err))
}
