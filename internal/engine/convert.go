package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/wire"
)

// ErrRefused is that a webhook did not convert an object.
var ErrRefused = errors.New("conversion failed")

// Conversion is an object, and what the webhook made of it.
type Conversion struct {
	Input  manifest.Object
	Output *unstructured.Unstructured
	Schema *corpus.Schema // of the version of the output; nil if it is not known

	kind corpus.Corpus
	to   string
}

// Convertible returns what is to be converted to a version. It fails if that cannot be, and says where the object is.
func (p *Plan) Convertible(objects []manifest.Object, to string) ([]Conversion, error) {
	var all []Conversion
	for _, object := range objects {
		kind, err := p.convertible(object, to)
		if err != nil {
			return nil, err
		}
		c := Conversion{Input: object, kind: kind, to: to}
		if kind.Definition != nil {
			c.Schema = kind.Definition.Schema(to)
		}
		all = append(all, c)
	}
	return all, nil
}

// Convert starts the webhook, has it convert what is to be converted, and stops it. It fails with ErrRefused for the first object that is
// not converted.
func (p *Plan) Convert(ctx context.Context, progress Progress, log io.Writer, all []Conversion) error {
	s := p.begin(progress, log)
	return s.up(ctx, p.servedByCluster(), func() error {
		for i := range all {
			c := &all[i]
			err := s.with(ctx, c.kind, func(client *wire.Client) error {
				output, err := convertedBy(ctx, client, c.kind, c.Input.Unstructured, c.to)
				if err != nil {
					return fmt.Errorf("%s: %w", c.Input.From, err)
				}
				c.Output = output
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// convertible returns the kind of an object that is to be converted to a version. Without definitions it may be any.
func (p *Plan) convertible(object manifest.Object, to string) (corpus.Corpus, error) {
	gvk := object.GroupVersionKind()
	switch {
	case gvk.Group == apiextensionsv1.GroupName:
		return corpus.Corpus{}, fmt.Errorf("%s: it is a definition; give an object of its kind", object.From)
	case !strings.Contains(gvk.Group, "."): // API servers take no definition of such a group
		return corpus.Corpus{}, fmt.Errorf("%s: it is not a custom resource; it needs an apiVersion of the form group/version, such as example.com/v1", object.From)
	}
	if gvk.Version == to {
		return corpus.Corpus{}, fmt.Errorf("%s: it is at %s already; give another version", object.From, to)
	}
	if len(p.want.CRDs) == 0 {
		return corpus.Corpus{Group: gvk.Group, Kind: gvk.Kind}, nil
	}
	for _, kind := range p.kinds {
		if kind.Group != gvk.Group || kind.Kind != gvk.Kind {
			continue
		}
		for _, version := range []string{gvk.Version, to} {
			if !slices.Contains(kind.Versions, version) {
				return corpus.Corpus{}, fmt.Errorf("%s: %s has no version %s, only %s", object.From, kind.Kind, version, strings.Join(kind.Versions, ", "))
			}
		}
		if slices.Contains(kind.Unserved, to) {
			return corpus.Corpus{}, fmt.Errorf("%s: %s of %s is not served, so API servers convert nothing to it", object.From, to, kind.Kind)
		}
		return kind, nil
	}
	return corpus.Corpus{}, fmt.Errorf("%s: there is no definition of the kind %s", object.From, gvk.GroupKind())
}

// convertedBy has an object converted to a version, in ConversionReview v1 or, if the webhook rejects that, v1beta1.
func convertedBy(ctx context.Context, client *wire.Client, kind corpus.Corpus, object *unstructured.Unstructured, to string) (*unstructured.Unstructured, error) {
	var first error
	for _, reviewVersion := range []string{"v1", "v1beta1"} {
		_, judgement, err := asked(ctx, client, kind, reviewVersion, to, object)
		if err != nil {
			return nil, err
		}
		v := judgement.Rejected()
		if v == nil {
			output := &unstructured.Unstructured{}
			return output, output.UnmarshalJSON(judgement.Objects[0])
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if first == nil {
			first = fmt.Errorf("%w: %s", ErrRefused, v)
		}
	}
	return nil, first
}

// recordedSeed is the seed of all objects that are recorded, so that each time there are the same.
const recordedSeed = 1

// recordedHead begins a file of Record.
const recordedHead = "# The first object, and what the webhook made of it at other versions. Written by crdconform check --record-expected.\n"

// Record starts the webhook and writes what it makes of objects into files that check --expect reads: of the samples, and of an object for
// each field of each version and each member of an enum. It returns the number of files, and what could not be recorded.
func (p *Plan) Record(ctx context.Context, progress Progress, log io.Writer, dir string) (int, []string, error) {
	s := p.begin(progress, log)
	files := 0
	var left []string
	failed := s.up(ctx, p.servedByCluster(), func() error {
		s.say(p.notes...)
		for _, kind := range p.kinds {
			asked := s.with(ctx, kind, func(client *wire.Client) error {
				texts, refused, err := recordOf(ctx, client, kind)
				left = append(left, refused...)
				if err == nil && len(texts) > 0 {
					err = os.MkdirAll(dir, 0o755) //nolint:gosec // it is to be read
				}
				for _, name := range slices.Sorted(maps.Keys(texts)) {
					if err == nil {
						err = os.WriteFile(filepath.Join(dir, name), texts[name], 0o644) //nolint:gosec // it is to be read
						files++
					}
				}
				return err
			})
			if asked != nil {
				return asked
			}
		}
		return nil
	})
	return files, left, failed
}

// recordOf returns the files for a kind by name, and the objects that the webhook refused.
func recordOf(ctx context.Context, client *wire.Client, kind corpus.Corpus) (map[string][]byte, []string, error) {
	texts := map[string][]byte{}
	var refused []string
	for _, version := range kind.Versions {
		convert := func(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
			var outputs []*unstructured.Unstructured
			for _, to := range kind.Mutual() {
				if to == version {
					continue
				}
				output, err := convertedBy(ctx, client, kind, object, to)
				if err != nil {
					return nil, err
				}
				outputs = append(outputs, output)
			}
			return outputs, nil
		}
		for _, one := range recordable(ctx, kind, version, convert) {
			outputs, err := convert(one.Object)
			switch {
			case errors.Is(err, ErrRefused):
				refused = append(refused, fmt.Sprintf("%s at %s: %v", one.Path, version, err))
				continue
			case err != nil:
				return nil, nil, err
			}
			name := strings.ToLower(kind.Kind) + "-" + version + "-" + one.About
			texts[name+".yaml"] = recorded(append([]*unstructured.Unstructured{one.Object}, outputs...))
		}
	}
	return texts, refused, nil
}

// recordable returns the objects of a version to record: the samples, and one for each field and each member of an enum. About is the end of the name of the file.
func recordable(ctx context.Context, kind corpus.Corpus, version string, convert func(*unstructured.Unstructured) ([]*unstructured.Unstructured, error)) []corpus.Single {
	var all []corpus.Single
	names := map[string]int{}
	add := func(path, about string, object *unstructured.Unstructured) {
		about = slug(about)
		if names[about]++; names[about] > 1 {
			about = fmt.Sprintf("%s-%d", about, names[about])
		}
		object = stripped(object)
		all = append(all, corpus.Single{Path: path, About: about, Object: object})
	}
	for _, sample := range kind.Objects(version) {
		add("sample "+sample.GetName(), "sample-"+sample.GetName(), sample)
	}
	if kind.Definition == nil || kind.Documented {
		return all
	}
	const learned = 20
	generator := kind.Definition.Generator(version, recordedSeed, nil)
	generator.Learn(ctx, learned, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := make([]string, len(objects))
		for i, object := range objects {
			if _, err := convert(object); err != nil {
				causes[i] = "refused"
			}
		}
		return causes
	})
	known := map[string]bool{}
	for _, single := range generator.Singles() {
		what := single.Path
		if member, is := strings.CutPrefix(single.About, "the value "); is {
			what += " " + member
		}
		if single.Style != corpus.Plain || known[what] || single.About == "many items" || single.About == "a long value" || strings.HasPrefix(single.About, "fields together") {
			continue
		}
		known[what] = true
		object := single.Object.DeepCopy()
		object.SetName(slug(strings.ToLower(what)))
		object.SetLabels(nil)
		object.SetAnnotations(nil)
		add(single.Path, what, object)
	}
	return all
}

// stripped returns an object without the metadata that API servers give it.
func stripped(object *unstructured.Unstructured) *unstructured.Unstructured {
	less := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	delete(less.Object, "metadata")
	less.SetName(object.GetName())
	less.SetNamespace(object.GetNamespace())
	less.SetLabels(object.GetLabels())
	less.SetAnnotations(object.GetAnnotations())
	return less
}

// slug is text as a part of the name of a file and of an object.
func slug(text string) string {
	const most = 100
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	joined := strings.Join(words, "-")
	return strings.TrimRight(joined[:min(len(joined), most)], "-")
}

func recorded(objects []*unstructured.Unstructured) []byte {
	var b strings.Builder
	b.WriteString(recordedHead)
	for i, object := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(corpus.YAML(stripped(object)))
	}
	return []byte(b.String())
}
