package lint

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/manifest"
)

// definition is a CustomResourceDefinition with where its fields are.
type definition struct {
	crd       *apiextensionsv1.CustomResourceDefinition // as written, without defaults
	places    places
	prefix    string           // of its paths in places: not empty for an item of a list
	patches   []*document      // what changes the definition
	services  func() []service // beside the definition
	inChart   bool             // as its file
	built     *Kustomization   // what put it together, nil if nothing did
	unbuilt   *Kustomization   // what was to put it together and cannot be built
	strict    []error          // fields that do not exist
	duplicate []duplicate
	badBundle string // the caBundle, if it is not base64
	inJSON    []byte
}

// place returns where a field is, or else the nearest field above it: in the file of the definition, or in a patch.
func (d *definition) place(path string) place {
	at, known := d.places.nearest(d.prefix, path)
	for _, patch := range d.patches {
		if there, more := patch.places.nearest(patch.prefix, path); more > known {
			at, known = there, more
		}
	}
	return at
}

// isWritten reports whether the file of the definition has a field, so that no patch brought it.
func (d *definition) isWritten(path string) bool {
	_, known := d.places.nearest(d.prefix, path)
	return known == len(steps(path))
}

// document is a mapping of a file: a whole document, or an item of a list.
type document struct {
	value     map[string]any
	places    places
	prefix    string
	duplicate []duplicate
}

// at names the place of the document in errors.
func (d *document) at() string {
	p := d.places.find(d.prefix, "")
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// readAll reads the definitions of the files. What a kustomization puts together is read as that has it. Patches among other files are
// applied as far as conversion goes.
func readAll(files []File) ([]*definition, error) {
	var all []*definition
	var patches []*document
	var errs []error
	built := kustomized{}
	for _, file := range files {
		documents, err := split(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		beside := sync.OnceValue(func() []service { return services(file.Name, file.Data) })
		for _, d := range documents {
			done, err := built.add(file, d)
			switch {
			case err != nil:
				errs = append(errs, err)
				continue
			case done:
				continue
			case isPatch(d.value):
				patches = append(patches, d)
				continue
			}
			definition, err := decode(d)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			definition.services, definition.inChart = beside, file.InChart
			if k := file.Kustomization; k != nil && k.Err != nil && k.has(file, d) {
				definition.unbuilt = k
			}
			all = append(all, definition)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all = append(all, built.definitions...); len(all) == 0 {
		return nil, cmp.Or(built.ignored(), none(files, patches))
	}
	return all, apply(patches, all)
}

func none(files []File, patches []*document) error {
	if len(patches) > 0 {
		return fmt.Errorf("%s: this is a patch of a definition, without its group, names and versions; give the file of the definition too, or the output of kustomize", patches[0].at())
	}
	if len(files) == 1 {
		return fmt.Errorf("%s: it contains no CustomResourceDefinition", files[0].Name)
	}
	return fmt.Errorf("none of the %d files contains a CustomResourceDefinition", len(files))
}

// readOld returns the old definitions by name.
func readOld(options Options, replacing []*definition) (map[string]*definition, error) {
	if len(options.Old) == 0 {
		return map[string]*definition{}, nil
	}
	old, err := readAll(earlier(options))
	if err != nil {
		return nil, fmt.Errorf("old definitions: %w", err)
	}
	byName := map[string]*definition{}
	for _, d := range old {
		byName[d.crd.Name] = d
	}
	if options.Partial || slices.ContainsFunc(replacing, func(d *definition) bool {
		return slices.ContainsFunc(old, func(other *definition) bool { return d.crd.Name == other.crd.Name || related(d, other) })
	}) {
		return byName, nil
	}
	return nil, fmt.Errorf("%s: no old definition has the name, the group or the kind of a new one, so there is nothing to compare; the first old one is %s", old[0].places.find("", "").file, old[0].crd.Name)
}

// related reports whether two definitions of different names are of one project.
func related(one, other *definition) bool {
	return one.crd.Spec.Group == other.crd.Spec.Group || one.crd.Spec.Names.Kind == other.crd.Spec.Names.Kind
}

// earlier returns the files with the old definitions. Those at v1beta1, from which they may have been installed, are converted to v1 as
// API servers did. Of a revision of git, patches are left out: which of them are listed there is not known.
func earlier(options Options) []File {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	all := slices.Clone(options.Old)
	for i, file := range all {
		documents, err := split(file)
		if err != nil {
			continue // reading it says so
		}
		var kept []string
		changed := false
		for _, d := range documents {
			beta := d.value["apiVersion"] == apiextensionsv1beta1.SchemeGroupVersion.String()
			if isPatch(d.value) && (beta || options.Partial) && file.Kustomization == nil {
				changed = true
				continue
			}
			var value any = d.value
			if beta {
				if now := converted(scheme, d.value); now != nil {
					value, changed = now, true
				}
			}
			if text, failed := json.Marshal(value); failed == nil {
				kept = append(kept, string(text))
			}
		}
		if changed {
			all[i].Data = []byte(strings.Join(kept, "\n---\n"))
		}
	}
	return all
}

// converted returns a definition at v1beta1 as one at v1, nil if it cannot be read.
func converted(scheme *runtime.Scheme, value map[string]any) *apiextensionsv1.CustomResourceDefinition {
	old, internal, now := &apiextensionsv1beta1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(value, old) != nil {
		return nil
	}
	scheme.Default(old)
	if scheme.Convert(old, internal, nil) != nil || scheme.Convert(internal, now, nil) != nil {
		return nil
	}
	now.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return now
}

// split returns the definitions among the documents of a file.
func split(file File) ([]*document, error) {
	var all []*document
	for _, d := range manifest.Documents(file.Name, file.Data) {
		documents, err := read(d)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

// read returns the definitions in a document: itself, or the items of a list.
func read(d manifest.Document) ([]*document, error) {
	inJSON, err := d.LastJSON()
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if json.Unmarshal(inJSON, &value) != nil || !mentionsDefinition(value) {
		return nil, nil //nolint:nilerr // a document that is no mapping is no definition
	}
	found, twice := placesOf(d)
	if isDefinition(value) {
		return []*document{{value: value, places: found, duplicate: twice}}, nil
	}
	var all []*document
	items, _ := value["items"].([]any)
	for i, item := range items {
		if value, ok := item.(map[string]any); ok && isDefinition(value) {
			prefix := join(join("", "items"), strconv.Itoa(i))
			all = append(all, &document{value: value, places: found, prefix: prefix, duplicate: twiceBelow(prefix, twice)})
		}
	}
	return all, nil
}

// twiceBelow returns the keys twice there that are below a prefix.
func twiceBelow(prefix string, all []duplicate) []duplicate {
	return slices.DeleteFunc(slices.Clone(all), func(d duplicate) bool { return !strings.HasPrefix(d.path, prefix+separator) })
}

func isDefinition(value map[string]any) bool {
	version, _ := value["apiVersion"].(string)
	return value["kind"] == "CustomResourceDefinition" && strings.HasPrefix(version, apiextensionsv1.GroupName+"/")
}

// mentionsDefinition reports whether a document is worth a closer look: a definition, or a list.
func mentionsDefinition(value map[string]any) bool {
	kind, _ := value["kind"].(string)
	_, items := value["items"].([]any)
	return isDefinition(value) || items && strings.HasSuffix(kind, "List")
}

// isPatch reports whether only a part of a definition is there, for kustomize to put into the whole.
func isPatch(value map[string]any) bool {
	spec, _ := value["spec"].(map[string]any)
	for _, key := range []string{"group", "names", "versions", "scope"} {
		if _, found := spec[key]; found {
			return false
		}
	}
	metadata, _ := value["metadata"].(map[string]any)
	return len(spec) > 0 || len(metadata) > 1 // than the name
}

// decode makes a definition of a document.
func decode(d *document) (*definition, error) {
	if version := d.value["apiVersion"]; version != apiextensionsv1.SchemeGroupVersion.String() && version != "apiextensions.k8s.io/v1beta1" {
		return nil, fmt.Errorf("%s: this definition has the apiVersion %v, which does not exist; write %s", d.at(), version, apiextensionsv1.SchemeGroupVersion)
	} else if version != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("%s: this definition has the apiVersion %v, which no API server since Kubernetes 1.22 accepts; rewrite it for %s", d.at(), version, apiextensionsv1.SchemeGroupVersion)
	}
	result := &definition{
		crd: &apiextensionsv1.CustomResourceDefinition{}, places: d.places, prefix: d.prefix,
		duplicate: d.duplicate, badBundle: takeBadBundle(d.value),
	}
	if wrong := fieldpath.Mismatches(d.value, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); len(wrong) > 0 {
		p := d.places.find(d.prefix, wrong[0].Path)
		return nil, fmt.Errorf("%s:%d: this definition cannot be read: %s", p.file, p.line, wrong[0])
	}
	var err error
	if result.inJSON, err = json.Marshal(d.value); err == nil {
		result.strict, err = kjson.UnmarshalStrict(result.inJSON, result.crd)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: this definition cannot be read: %s", d.at(), strings.TrimPrefix(err.Error(), "json: "))
	}
	return result, nil
}

// takeBadBundle takes a caBundle away that is not base64, without which the definition can be decoded.
func takeBadBundle(value map[string]any) string {
	inner := value
	for _, key := range []string{"spec", "conversion", "webhook", "clientConfig"} {
		next, ok := inner[key].(map[string]any)
		if !ok {
			return ""
		}
		inner = next
	}
	text, _ := inner["caBundle"].(string)
	if _, err := base64.StdEncoding.DecodeString(text); err == nil {
		return ""
	}
	delete(inner, "caBundle")
	return text
}

// apply puts the conversion and the annotations of patches into the definitions of the same name that have none.
func apply(patches []*document, all []*definition) error {
	var errs []error
	for _, patch := range patches {
		part, err := decode(patch)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, d := range all {
			if d.crd.Name == part.crd.Name && d.built == nil {
				d.apply(part, patch)
			}
		}
	}
	return errors.Join(errs...)
}

func (d *definition) apply(part *definition, patch *document) {
	d.patches = append(d.patches, patch)
	if part.crd.Spec.Conversion != nil && d.crd.Spec.Conversion == nil {
		d.crd.Spec.Conversion, d.badBundle = part.crd.Spec.Conversion, part.badBundle
	}
	for key, value := range part.crd.Annotations {
		if d.crd.Annotations == nil {
			d.crd.Annotations = map[string]string{}
		}
		d.crd.Annotations[key] = value
	}
}
