package deployed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/kustomization"
)

// document is an object to apply, and where it was read.
type document struct {
	*unstructured.Unstructured

	from string // such as config/webhook.yaml, document 2
}

// title is what errors and notes call an object.
func title(object *unstructured.Unstructured) string {
	name := object.GetKind() + " " + object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
	}
	return name
}

// Load reads manifests: YAML files, folders of them, and folders with a kustomization, which is built. A folder is read
// without those in it. It returns the objects in the order in which they were found, and fails for what is no object with a
// name.
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
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file or folder", path)
	case err != nil:
		return nil, err
	case info.IsDir() && kustomization.In(path) != "":
		return build(path)
	case info.IsDir():
		return loadFolder(path)
	case kustomization.Is(path):
		return build(filepath.Dir(path))
	}
	return loadFile(path)
}

func build(folder string) ([]document, error) {
	data, err := kustomization.Build(folder)
	if err != nil {
		return nil, err
	}
	return parse(data, "the kustomization in "+folder)
}

func loadFolder(folder string) ([]document, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []document
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			continue
		}
		found, err := loadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func loadFile(file string) ([]document, error) {
	data, err := files.Read(file, files.Objects)
	if err != nil {
		return nil, err
	}
	return parse(data, file)
}

// parse reads the objects of a stream of YAML documents. Documents with nothing in them are passed over.
func parse(data []byte, name string) ([]document, error) {
	var all []document
	stream := kubeyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		text, err := stream.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		from := fmt.Sprintf("%s, document %d", name, number)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		found, err := parseDocument(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		for _, object := range found {
			if object.GetName() == "" {
				return nil, fmt.Errorf("%s: the %s has no metadata.name; give it one", from, object.GetKind())
			}
			all = append(all, document{object, from})
		}
	}
}

func parseDocument(text []byte) ([]*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	object := new(unstructured.Unstructured)
	if err = object.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if object.GetAPIVersion() == "" {
		return nil, fmt.Errorf("the %s has no apiVersion", object.GetKind())
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	var items []*unstructured.Unstructured
	err = object.EachListItem(func(item runtime.Object) error {
		single, is := item.(*unstructured.Unstructured)
		if !is {
			return fmt.Errorf("the list has an item that is not an object: %T", item)
		}
		items = append(items, single)
		return nil
	})
	return items, err
}
