package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// ReadSamples reads the objects of a stream of YAML or JSON documents; lists are opened. They may be of any kind: those who
// use them say which are samples. It fails when a document is no object, and says which. There may be none.
func ReadSamples(r io.Reader) ([]*unstructured.Unstructured, error) {
	var samples []*unstructured.Unstructured
	err := eachObject(r, func(object *unstructured.Unstructured) error {
		samples = append(samples, object)
		return nil
	})
	return samples, err
}

// Read reads samples from a stream of YAML or JSON documents: custom resources of one kind, at two versions or more, or
// lists of them. It fails when they are not, and says which document is to blame.
func Read(r io.Reader) (Corpus, error) {
	c := Corpus{samples: map[string][]*unstructured.Unstructured{}, files: map[string]string{}}
	err := eachObject(r, func(object *unstructured.Unstructured) error {
		if err := customResource(object); err != nil {
			return err
		}
		return add(&c, object)
	})
	if err != nil {
		return Corpus{}, err
	}
	return c, c.twoVersions()
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

// eachObject calls visit with each object of a stream, and says of an error which document it is of.
func eachObject(r io.Reader, visit func(*unstructured.Unstructured) error) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = eachOf(document, visit)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// eachOf calls visit with what a document has: an object, the objects of a list, or nothing.
func eachOf(document []byte, visit func(*unstructured.Unstructured) error) error {
	raw, err := yaml.YAMLToJSON(document)
	if err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	if string(raw) == "null" {
		return nil // it has comments only
	}
	if err := isObject(raw); err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("not a Kubernetes object, which has an apiVersion and a kind: %w", err)
	}
	if !object.IsList() {
		return visit(object)
	}
	return object.EachListItem(func(item runtime.Object) error {
		one, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an item of the list is a %T", item)
		}
		return visit(one)
	})
}

// isObject reports whether a document has the two fields that all objects of Kubernetes have.
func isObject(raw []byte) error {
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	wrong := fieldpath.Mismatches(document, reflect.TypeFor[metav1.TypeMeta]())
	fields, _ := document.(map[string]any)
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("not a Kubernetes object: %s", wrong[0])
	case fields["apiVersion"] == nil || fields["kind"] == nil:
		return errors.New("not a Kubernetes object, which has an apiVersion and a kind; add them, or leave the document out")
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
