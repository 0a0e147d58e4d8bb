package deployed

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/manifest"
)

// document is an object to apply, and where it was read.
type document = manifest.Object

// title is what errors and notes call an object.
func title(object *unstructured.Unstructured) string {
	name := object.GetKind() + " " + object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
	}
	return name
}

// load reads manifests: YAML files, patterns, folders, and folders with a kustomization, which is built. A folder is read without those
// in it. It returns the objects in the order in which they were found, and fails for what is no object with a name.
func load(paths []string) ([]document, error) {
	if len(paths) == 0 {
		return nil, errors.New("none given; give files, folders or a kustomization")
	}
	var all []document
	for _, path := range paths {
		found, err := loadPath(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s contains no objects", path)
		}
		all = append(all, found...)
	}
	return all, nil
}

func loadPath(path string) ([]document, error) {
	found, err := manifest.Files(path)
	if err != nil {
		return nil, err
	}
	var all []document
	for _, file := range found {
		data, err := manifest.Read(file)
		if err != nil {
			return nil, err
		}
		objects, err := parse(data, file)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// parse reads the objects of a file.
func parse(data []byte, name string) ([]document, error) {
	all, err := manifest.Objects(name, data)
	if err != nil {
		return nil, err
	}
	for _, object := range all {
		if object.GetName() == "" {
			return nil, fmt.Errorf("%s: the %s has no metadata.name; give it one", object.From, object.GetKind())
		}
	}
	return all, nil
}
