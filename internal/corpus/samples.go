package corpus

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/manifest"
)

// ReadSamples reads the objects of a file; lists are opened. They may be of any kind: those who use them say which are samples. It
// fails when a document is no object, and says which. There may be none.
func ReadSamples(file string, data []byte) ([]*unstructured.Unstructured, error) {
	var samples []*unstructured.Unstructured
	err := eachObject(file, data, func(object *unstructured.Unstructured) error {
		samples = append(samples, object)
		return nil
	})
	return samples, err
}

// FromSamples returns a corpus of which only samples are known: custom resources of one kind, at two versions or more. It
// fails when they are not.
func FromSamples(samples []*unstructured.Unstructured) (Corpus, error) {
	c := Corpus{samples: map[string][]*unstructured.Unstructured{}, files: map[string]string{}}
	var errs []error
	for _, sample := range samples {
		if err := errors.Join(customResource(sample), add(&c, sample.DeepCopy())); err != nil {
			errs = append(errs, fmt.Errorf("sample %s: %w", sampleName(sample), err))
		}
	}
	if len(errs) > 0 {
		return Corpus{}, errors.Join(errs...)
	}
	return c, c.twoVersions()
}

// twoVersions fails unless there are samples at two versions.
func (c Corpus) twoVersions() error {
	switch len(c.Versions) {
	case 0:
		return errors.New("there are no objects; a conversion needs objects at two versions")
	case 1:
		return fmt.Errorf("all objects are at %s, and a conversion needs two versions; add an object at another version, or give the CustomResourceDefinition", c.Versions[0])
	}
	return nil
}

// eachObject calls visit with each object of a file, and says of an error which document it is of.
func eachObject(file string, data []byte, visit func(*unstructured.Unstructured) error) error {
	objects, err := manifest.Objects(file, data)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := visit(object.Unstructured); err != nil {
			return fmt.Errorf("%s: %w", object.From, err)
		}
	}
	return nil
}

// customResource reports whether an object is one, with metadata that can be used.
func customResource(object *unstructured.Unstructured) error {
	if object.GroupVersionKind().Group == "" || object.GetName() == "" {
		return errors.New("it is not a custom resource; it needs an apiVersion of the form group/version and a metadata.name")
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(object.Object, "metadata", field); err != nil {
			return fmt.Errorf("%s has %s that are not all strings; quote the values: %w", object.GetName(), field, err)
		}
	}
	return nil
}

// add puts an object into a corpus.
func add(c *Corpus, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	if c.Kind == "" {
		c.Group, c.Kind = gvk.Group, gvk.Kind
	}
	if gvk.GroupKind() != (schema.GroupKind{Group: c.Group, Kind: c.Kind}) {
		return fmt.Errorf("it is a %s of %s, and the ones before are %s of %s; check one kind at a time", gvk.Kind, gvk.Group, c.Kind, c.Group)
	}
	if !slices.Contains(c.Versions, gvk.Version) {
		c.Versions = append(c.Versions, gvk.Version)
	}
	c.samples[gvk.Version] = append(c.samples[gvk.Version], complete(object, len(c.samples[gvk.Version])))
	return nil
}
