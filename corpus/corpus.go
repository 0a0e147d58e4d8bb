// Package corpus holds the objects that a conversion webhook is given to convert: the documented CronTabs, or samples
// that a user brings.
package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/fixtures"
)

// Corpus is a set of custom resources of one kind, with at least one at each version.
type Corpus struct {
	Group    string
	Kind     string
	Versions []string // in the order in which they were met, at least two

	// Documented tells that these are the CronTabs of the documents, of which it is known what they convert to.
	Documented bool

	samples map[string][]*unstructured.Unstructured // by version
}

// CronTabs returns the documented CronTabs, and one like them, at each of the versions. They are known at v1alpha1,
// v1beta1 and v1; any other panics.
func CronTabs(versions ...string) Corpus {
	c := Corpus{Group: "example.com", Kind: "CronTab", Versions: versions, Documented: true, samples: map[string][]*unstructured.Unstructured{}}
	for _, version := range versions {
		shape := map[string]string{"v1alpha1": "v1beta1", "v1beta1": "v1beta1", "v1": "v1"}[version]
		other := fixtures.RemoteCronTab.At(shape)
		other.SetName("other-crontab")
		if shape == "v1" {
			other.Object["host"], other.Object["port"] = "example.org", "3456"
		} else {
			other.Object["hostPort"] = "example.org:3456"
		}
		for _, object := range []*unstructured.Unstructured{fixtures.LocalCronTab.At(shape), fixtures.RemoteCronTab.At(shape), other} {
			object.SetAPIVersion(c.APIVersion(version))
			object.SetLabels(map[string]string{"app": "crontab"})
			object.SetAnnotations(map[string]string{"example.com/owner": "somebody"})
			object.SetFinalizers([]string{"example.com/finalizer"})
			c.samples[version] = append(c.samples[version], complete(object, len(c.samples[version])))
		}
	}
	return c
}

// Read reads samples from a stream of YAML or JSON documents: custom resources of one kind, at two versions or more, or
// lists of them. It fails when they are not, and says which document is to blame.
func Read(r io.Reader) (Corpus, error) {
	c := Corpus{samples: map[string][]*unstructured.Unstructured{}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Corpus{}, fmt.Errorf("document %d: %w", n, err)
		}
		if err := read(&c, document); err != nil {
			return Corpus{}, fmt.Errorf("document %d: %w", n, err)
		}
	}
	switch len(c.Versions) {
	case 0:
		return Corpus{}, errors.New("there are no objects; a conversion needs some at two versions")
	case 1:
		return Corpus{}, fmt.Errorf("all objects are at %s, and a conversion needs two versions; add an object at another version", c.Versions[0])
	}
	return c, nil
}

// read puts what a document has into a corpus: an object, a list of objects, or nothing.
func read(c *Corpus, document []byte) error {
	raw, err := yaml.YAMLToJSON(document)
	if err != nil {
		return fmt.Errorf("it is no YAML: %w", err)
	}
	if string(raw) == "null" {
		return nil // it has comments only
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("it is no Kubernetes object, which has an apiVersion and a kind: %w", err)
	}
	if !object.IsList() {
		return add(c, object)
	}
	return object.EachListItem(func(item runtime.Object) error {
		one, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an item of the list is a %T", item)
		}
		return add(c, one)
	})
}

// add puts an object into a corpus.
func add(c *Corpus, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	switch {
	case gvk.Group == "" || object.GetName() == "":
		return errors.New("it is not a custom resource; it needs an apiVersion of the form group/version and a metadata.name")
	case c.Kind == "":
		c.Group, c.Kind = gvk.Group, gvk.Kind
	case gvk.GroupKind() != schema.GroupKind{Group: c.Group, Kind: c.Kind}:
		return fmt.Errorf("it is a %s of %s, and the ones before are %s of %s; check one kind at a time", gvk.Kind, gvk.Group, c.Kind, c.Group)
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(object.Object, "metadata", field); err != nil {
			return fmt.Errorf("%s has %s that are not all strings; put the values into quotes: %w", object.GetName(), field, err)
		}
	}
	if !slices.Contains(c.Versions, gvk.Version) {
		c.Versions = append(c.Versions, gvk.Version)
	}
	c.samples[gvk.Version] = append(c.samples[gvk.Version], complete(object, len(c.samples[gvk.Version])))
	return nil
}

// complete gives an object the metadata that every object from an API server has.
func complete(object *unstructured.Unstructured, n int) *unstructured.Unstructured {
	missing := func(value any, path ...string) {
		if _, found, err := unstructured.NestedFieldNoCopy(object.Object, path...); err == nil && !found {
			_ = unstructured.SetNestedField(object.Object, value, path...) // metadata is a map, or it would not have been decoded
		}
	}
	missing(uid(object, n), "metadata", "uid")
	missing("2019-09-04T14:03:02Z", "metadata", "creationTimestamp")
	missing(int64(1), "metadata", "generation")
	missing(strconv.Itoa(143+n), "metadata", "resourceVersion")
	return object
}

// uid is the same in every run, so that requests are.
func uid(object *unstructured.Unstructured, n int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%s/%d", object.GetNamespace(), object.GetName(), n)).String()
}

// APIVersion is the group with a version.
func (c Corpus) APIVersion(version string) string {
	return schema.GroupVersion{Group: c.Group, Version: version}.String()
}

// Pair is a conversion from one version to another.
type Pair struct{ From, To string }

// String renders the pair as from -> to.
func (p Pair) String() string { return p.From + " -> " + p.To }

// Pairs returns every ordered pair of versions.
func (c Corpus) Pairs() []Pair {
	var pairs []Pair
	for _, from := range c.Versions {
		for _, to := range c.Versions {
			if from != to {
				pairs = append(pairs, Pair{from, to})
			}
		}
	}
	return pairs
}

// Objects returns copies of the samples at a version.
func (c Corpus) Objects(version string) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(c.samples[version]))
	for _, object := range c.samples[version] {
		objects = append(objects, object.DeepCopy())
	}
	return objects
}

// Batch returns n objects at a version: the samples over and over, each with a name and a UID of its own.
func (c Corpus) Batch(version string, n int) []*unstructured.Unstructured {
	batch := make([]*unstructured.Unstructured, 0, n)
	for i := range n {
		object := c.samples[version][i%len(c.samples[version])].DeepCopy()
		object.SetName(fmt.Sprintf("%s-%d", object.GetName(), i))
		_ = unstructured.SetNestedField(object.Object, uid(object, i), "metadata", "uid")
		batch = append(batch, object)
	}
	return batch
}

// JSON renders objects for a request.
func JSON(objects ...*unstructured.Unstructured) []json.RawMessage {
	raw := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		data, err := json.Marshal(object.Object)
		if err != nil {
			panic(fmt.Sprintf("corpus: %v", err)) // it came from JSON
		}
		raw = append(raw, data)
	}
	return raw
}
