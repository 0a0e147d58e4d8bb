// Package corpus holds the objects that a conversion webhook is given to convert: the documented CronTabs, or samples
// that a user brings.
package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/loadgen"
)

// Corpus is a set of custom resources of one kind, with at least one at each version.
type Corpus struct {
	Group    string
	Kind     string
	Versions []string // in the order in which they were met, at least two; those of Unserved last

	// Unserved are the versions that are neither served nor stored, at which objects may be stored all the same. API servers convert
	// from these, and not to them.
	Unserved []string

	// Documented says that these are the CronTabs of the documents, whose conversions are known.
	Documented bool

	// Definition is nil when only samples are known.
	Definition *Definition

	// Earlier are the definitions of earlier releases, the oldest first: objects that these allowed may be in storage.
	Earlier []*Definition

	// Expected are objects with what they are to become at other versions.
	Expected []Expectation

	samples map[string][]*unstructured.Unstructured // by version
	files   map[string]string                       // that samples come from, by sampleName
}

// CronTabs returns the documented CronTabs, and one like them, at each of the versions. They are known at v1alpha1,
// v1beta1 and v1; any other panics.
func CronTabs(versions ...string) Corpus {
	c := Corpus{
		Group: "example.com", Kind: "CronTab", Versions: versions, Documented: true,
		Definition: documented(fixtures.Reference.New(), versions), Earlier: []*Definition{documented(fixtures.EarlierReference(), versions)},
		samples: map[string][]*unstructured.Unstructured{},
	}
	for _, version := range versions {
		shape := shapeOf(version)
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

// shapeOf returns the documents' version whose schema a version of the CronTabs has.
func shapeOf(version string) string {
	return map[string]string{"v1alpha1": "v1beta1", "v1beta1": "v1beta1", "v1": "v1"}[version]
}

// documented returns a definition of what the reference webhook converts, with some of its versions, of which the first is
// stored.
func documented(crd *apiextensionsv1.CustomResourceDefinition, versions []string) *Definition {
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return !slices.Contains(versions, v.Name)
	})
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = i == 0
	}
	d, err := NewDefinition(crd)
	if err != nil {
		panic(fmt.Sprintf("corpus: %v", err)) // it is part of the program
	}
	return d
}

// New returns the corpus of a definition with a user's samples, of which there may be none. Every sample must be at one of the
// definition's versions and valid there, and there must be something to convert, see Definition.Converts. Objects that only the
// schemas describe come from Definition.Generator.
func New(d *Definition, samples []*unstructured.Unstructured) (Corpus, error) {
	spec := d.CRD.Spec
	c := Corpus{
		Group: spec.Group, Kind: spec.Names.Kind, Versions: append(d.Versions(), d.Unserved()...), Unserved: d.Unserved(),
		Definition: d, samples: map[string][]*unstructured.Unstructured{}, files: map[string]string{},
	}
	if !d.Converts() {
		return Corpus{}, fmt.Errorf("definition %s serves or stores only the version %s, and a conversion needs two", d.Name(), c.Versions[0])
	}
	for _, sample := range samples {
		if err := c.Add(sample); err != nil {
			return Corpus{}, err
		}
	}
	return c, nil
}

// Add adds a sample to the corpus of a definition. It fails where New would.
func (c Corpus) Add(sample *unstructured.Unstructured) error {
	if err := c.Definition.judge(sample); err != nil {
		return fmt.Errorf("sample %s: %w", sampleName(sample), err)
	}
	version := sample.GroupVersionKind().Version
	c.samples[version] = append(c.samples[version], complete(sample.DeepCopy(), len(c.samples[version])))
	return nil
}

// sampleName is the version and the name of a sample, for messages.
func sampleName(sample *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q", sample.GetAPIVersion(), sample.GetName())
}

// Trace notes the file that a sample comes from, for messages.
func (c Corpus) Trace(sample *unstructured.Unstructured, file string) {
	name := sampleName(sample)
	if before, twice := c.files[name]; twice && before != file {
		file = before + " or " + file
	}
	c.files[name] = file
}

// Called is what messages call an object: its name, and the file where it is a sample that comes from one.
func (c Corpus) Called(object *unstructured.Unstructured) string {
	if file, known := c.files[sampleName(object)]; known {
		return fmt.Sprintf("sample %q (%s)", object.GetName(), file)
	}
	return fmt.Sprintf("object %q", object.GetName())
}

// judge returns what is wrong with a sample.
func (d *Definition) judge(sample *unstructured.Unstructured) error {
	if err := customResource(sample); err != nil {
		return err
	}
	gvk := sample.GroupVersionKind()
	if gvk.Group != d.CRD.Spec.Group || gvk.Kind != d.CRD.Spec.Names.Kind {
		return fmt.Errorf("it is a %s of %s, and definition %s is for %s of %s; check one kind at a time", gvk.Kind, gvk.Group, d.Name(), d.CRD.Spec.Names.Kind, d.CRD.Spec.Group)
	}
	if !d.has(gvk.Version) && !slices.Contains(d.Unserved(), gvk.Version) {
		return fmt.Errorf("definition %s does not serve or store the version %s, only %s; change its apiVersion", d.Name(), gvk.Version, strings.Join(d.Versions(), ", "))
	}
	problems := d.Schema(gvk.Version).Problems(sample.Object)
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return fmt.Errorf("it does not match the schema of %s: %s%s", gvk.Version, problems[0], andMore(len(problems)-1))
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
type Pair = loadgen.Pair

// Pairs returns every ordered pair of versions that API servers convert between; those of OneWay are last.
func (c Corpus) Pairs() []Pair {
	var pairs []Pair
	for _, from := range c.Versions {
		for _, to := range c.Mutual() {
			if pair := (Pair{From: from, To: to}); from != to && (!c.OneWay(pair) || c.Definition.serves(to)) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// OneWay reports whether API servers convert from the first version of a pair only, because it is one of Unserved.
func (c Corpus) OneWay(pair Pair) bool { return slices.Contains(c.Unserved, pair.From) }

// IsMadeUp reports whether what objects at the first of some versions have at a path was made up: neither the schemas of the versions nor a
// known type says what is there, but the first keeps it, and no sample has anything there. The index of an item may be *.
func (c Corpus) IsMadeUp(path string, versions ...string) bool {
	if c.Definition == nil || !c.Definition.Schema(versions[0]).Has(path) {
		return false
	}
	if slices.ContainsFunc(versions, func(version string) bool { return c.Definition.Schema(version).Describes(path) }) {
		return false
	}
	return !slices.ContainsFunc(c.samples[versions[0]], func(sample *unstructured.Unstructured) bool {
		return c.Definition.Schema(versions[0]).anyAt(path, sample.Object, func(any) bool { return true })
	})
}

// Mutual returns the versions that API servers convert from and to.
func (c Corpus) Mutual() []string {
	return slices.DeleteFunc(slices.Clone(c.Versions), func(version string) bool { return slices.Contains(c.Unserved, version) })
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
	return Multiply(c.samples[version], n)
}

// JSON renders objects for a request.
func JSON(objects ...*unstructured.Unstructured) []json.RawMessage {
	raw := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		raw = append(raw, appendJSON(nil, object.Object))
	}
	return raw
}
