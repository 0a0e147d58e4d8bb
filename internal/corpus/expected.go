package corpus

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/manifest"
)

// Expectation is an object, and what it is to become at other versions.
type Expectation struct {
	Input   manifest.Object
	Outputs []manifest.Object // each at another version
}

// Expectations makes expectations of the objects of files. The first object of a file with several is the input. Files with one object each
// belong together if they are in one folder and their objects have one name: the first of them, by the names of the files, has the input.
func Expectations(files map[string][]manifest.Object) ([]Expectation, error) {
	var all []Expectation
	alone := map[string]int{} // into all, by folder and name of the object
	for _, file := range slices.Sorted(maps.Keys(files)) {
		objects := files[file]
		switch len(objects) {
		case 0:
			return nil, fmt.Errorf("%s:1: there is no object; write the input, and after --- what it becomes at another version", file)
		case 1:
			key := strings.Join([]string{filepath.Dir(file), objects[0].GroupVersionKind().GroupKind().String(), objects[0].GetNamespace(), objects[0].GetName()}, "\x00")
			if at, known := alone[key]; known {
				all[at].Outputs = append(all[at].Outputs, objects[0])
				continue
			}
			alone[key] = len(all)
			all = append(all, Expectation{Input: objects[0]})
		default:
			all = append(all, Expectation{objects[0], objects[1:]})
		}
	}
	for _, e := range all {
		if err := e.check(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// GroupKind returns the kind of the objects.
func (e Expectation) GroupKind() schema.GroupKind { return e.Input.GroupVersionKind().GroupKind() }

// check fails unless there is a pair of versions of one object.
func (e Expectation) check() error {
	if len(e.Outputs) == 0 {
		return fmt.Errorf("%s: no pair: there is only one object; add what it becomes at another version after ---, or in another file of the folder under the same name", e.Input.From)
	}
	seen := map[string]string{e.Input.GetAPIVersion(): e.Input.From}
	for _, output := range e.Outputs {
		before, twice := seen[output.GetAPIVersion()]
		switch {
		case output.GroupVersionKind().GroupKind() != e.GroupKind():
			return fmt.Errorf("%s: no pair: it is a %s, and %s is a %s", output.From, output.GroupVersionKind().GroupKind(), e.Input.From, e.GroupKind())
		case twice:
			return fmt.Errorf("%s: no pair: it is at %s, and so is %s", output.From, output.GetAPIVersion(), before)
		}
		seen[output.GetAPIVersion()] = output.From
	}
	for _, object := range append([]manifest.Object{e.Input}, e.Outputs...) {
		if err := customResource(object.Unstructured); err != nil {
			return fmt.Errorf("%s: %w", object.From, err)
		}
	}
	return nil
}

// Expect returns the corpus with an expectation of the kind added. It fails if a version is unknown, or none that API servers convert to.
func (c Corpus) Expect(e Expectation) (Corpus, error) {
	for i, object := range append([]manifest.Object{e.Input}, e.Outputs...) {
		version := object.GroupVersionKind().Version
		switch {
		case !slices.Contains(c.Versions, version):
			return Corpus{}, fmt.Errorf("%s: %s has no version %s, only %s", object.From, c.Kind, version, strings.Join(c.Versions, ", "))
		case i > 0 && slices.Contains(c.Unserved, version):
			return Corpus{}, fmt.Errorf("%s: %s of %s is not served, so API servers convert nothing to it; remove what is expected there", object.From, version, c.Kind)
		}
	}
	c.Expected = append(slices.Clone(c.Expected), e)
	return c, nil
}

// Unexpected returns how an object differs from what was expected: what it lacks or has otherwise, and what it has besides. Of the
// metadata, labels and annotations are compared, the latter if some are expected.
func (s *Schema) Unexpected(expected, got map[string]any) []Loss {
	all := s.Apart(expected, got)
	if _, found, _ := unstructured.NestedMap(expected, "metadata", "annotations"); !found {
		all = slices.DeleteFunc(all, func(l Loss) bool { return l.Added && strings.HasPrefix(l.Path, "metadata.annotations") })
	}
	return all
}
