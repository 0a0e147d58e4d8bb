package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/manifest"
)

// Kustomization is what kustomize makes of some files.
type Kustomization struct {
	Name      string // of its file, as findings are to show it
	Resources []File // that it is made of
	Patches   []File
	Built     []byte
	Err       error // why it cannot be built
}

// services returns the Services that the kustomization builds.
func (k *Kustomization) services() []service { return services(k.Name, k.Built) }

// has reports whether the kustomization puts a document of a file together with others.
func (k *Kustomization) has(file File, d *document) bool {
	isFile := func(other File) bool { return other.Name == file.Name }
	return slices.ContainsFunc(k.Resources, isFile) || isPatch(d.value) && slices.ContainsFunc(k.Patches, isFile)
}

// kustomized are the definitions that kustomizations put together.
type kustomized struct {
	definitions []*definition
	outputs     map[*Kustomization]map[string]map[string]any // definitions by name, less those that were added
	unlisted    []string                                     // patches, and what does not list them
}

// add adds the definition that a document of a file is a part of, as the kustomization of the file has it. It is false if the document is
// judged as it is.
func (k *kustomized) add(file File, d *document) (bool, error) {
	from := file.Kustomization
	patch := isPatch(d.value)
	switch {
	case from == nil:
		return false, nil
	case from.has(file, d) && from.Err != nil:
		return false, nil //nolint:nilerr // checkBuilt says so
	case from.has(file, d):
	case patch:
		k.unlisted = append(k.unlisted, fmt.Sprintf("%s: this is a patch that %s does not list, so it changes nothing; list it, or give the file of the definition", d.at(), from.Name))
		return true, nil
	default:
		return false, nil
	}
	output, err := k.output(from)
	if err != nil {
		return true, err
	}
	name := nameOf(d.value)
	whole, left := output[name]
	switch {
	case !left:
		return patch, nil // the kustomization removes it
	case whole == nil:
		return true, nil
	}
	if patch {
		var found bool
		if d, found, err = named(name, from.Resources...); err != nil || !found {
			return true, err
		}
	}
	one, err := decode(&document{value: whole, places: d.places, prefix: d.prefix, duplicate: d.duplicate})
	if err != nil {
		return true, err
	}
	one.built, one.services = from, from.services
	for _, file := range from.Patches {
		part, found, err := named(name, file)
		if err != nil {
			return true, err
		}
		if found {
			one.patches = append(one.patches, part)
		}
	}
	output[name] = nil
	k.definitions = append(k.definitions, one)
	return true, nil
}

// output returns the definitions that a kustomization builds.
func (k *kustomized) output(of *Kustomization) (map[string]map[string]any, error) {
	if known := k.outputs[of]; known != nil {
		return known, nil
	}
	all := map[string]map[string]any{}
	for _, d := range manifest.Documents(of.Name, of.Built) {
		inJSON, err := d.JSON()
		if err != nil {
			return nil, err
		}
		var value map[string]any
		if json.Unmarshal(inJSON, &value) == nil && isDefinition(value) {
			all[nameOf(value)] = value
		}
	}
	if k.outputs == nil {
		k.outputs = map[*Kustomization]map[string]map[string]any{}
	}
	k.outputs[of] = all
	return all, nil
}

// ignored says which patches are not listed, nil if there are none.
func (k *kustomized) ignored() error {
	if len(k.unlisted) == 0 {
		return nil
	}
	return errors.New(strings.Join(k.unlisted, "\n"))
}

// named returns the definition of a name in files, or a part of it.
func named(name string, files ...File) (*document, bool, error) {
	for _, file := range files {
		if !bytes.Contains(file.Data, []byte(name)) {
			continue
		}
		documents, err := split(file)
		if err != nil {
			return nil, false, err
		}
		for _, d := range documents {
			if nameOf(d.value) == name {
				return d, true, nil
			}
		}
	}
	return nil, false, nil
}

func nameOf(value map[string]any) string {
	metadata, _ := value["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// checkBuilt notes that the kustomization of the definition cannot be built.
func (c *checker) checkBuilt() {
	if c.unbuilt != nil {
		c.found(KustomizationUnbuilt, field.NewPath("metadata"), "this is judged without %s, which cannot be built: %s", c.unbuilt.Name, c.unbuilt.Err)
	}
}
