package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/manifest"
)

// File is an input file of Init, with definitions.
type File struct {
	Name  string // for messages
	Entry string // name in the configuration, such as that of its folder; Name if empty
	Data  []byte // YAML or JSON, any number of documents; objects other than definitions are ignored
}

// Init returns a configuration file for definitions, with comments that describe what else can be set. It guesses the webhook from
// spec.conversion. Entries with custom resources of these definitions instead are samples. It fails if an entry contains neither, or a
// definition that cannot be read.
func Init(files []File) ([]byte, error) {
	if len(files) == 0 {
		return nil, errors.New("no files; give those with your CustomResourceDefinitions")
	}
	var all []definition
	var entries []string
	filled := map[string]bool{}
	for _, file := range files {
		found, err := definitionsIn(file)
		if err != nil {
			return nil, err
		}
		entry := cmp.Or(file.Entry, file.Name)
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
		filled[entry] = filled[entry] || len(found) > 0
		all = append(all, found...)
	}
	var samples []string
	for _, entry := range entries {
		if filled[entry] {
			continue
		}
		if !slices.ContainsFunc(files, func(f File) bool { return cmp.Or(f.Entry, f.Name) == entry && hasSamples(f, all) }) {
			return nil, fmt.Errorf("%s: it contains no CustomResourceDefinition", entry)
		}
		samples = append(samples, entry)
	}
	entries = slices.DeleteFunc(entries, func(entry string) bool { return !filled[entry] })
	return []byte(skeleton(entries, samples, all)), nil
}

// hasSamples reports whether a file has custom resources of definitions, all with content: what kubebuilder writes for authors to fill in
// has none, and would not be valid.
func hasSamples(file File, all []definition) bool {
	has := false
	for _, d := range manifest.Documents(file.Name, file.Data) {
		var kind metav1.TypeMeta
		var fields map[string]json.RawMessage
		object, err := d.JSON()
		if err != nil || json.Unmarshal(object, &kind) != nil || json.Unmarshal(object, &fields) != nil {
			return false
		}
		gvk := kind.GroupVersionKind()
		if !slices.ContainsFunc(all, func(d definition) bool { return d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind }) {
			continue
		}
		delete(fields, "apiVersion")
		delete(fields, "kind")
		delete(fields, "metadata")
		maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
		if len(fields) == 0 {
			return false
		}
		has = true
	}
	return has
}

// definition is the part of a CustomResourceDefinition that Init needs.
type definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions   []version                                 `json:"versions"`
		Conversion *apiextensionsv1.CustomResourceConversion `json:"conversion"`
	} `json:"spec"`

	Items []runtime.RawExtension `json:"items"` // of a list
}

type version struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
}

// definitionsIn returns the definitions in the documents of a file.
func definitionsIn(file File) ([]definition, error) {
	var all []definition
	for _, d := range manifest.Documents(file.Name, file.Data) {
		object, err := d.JSON()
		if err != nil {
			return nil, err
		}
		found, err := definitionsOf(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// definitionsOf returns the definitions in an object: the object itself, or the items of a list.
func definitionsOf(object []byte) ([]definition, error) {
	var kind struct {
		metav1.TypeMeta `json:",inline"`
	}
	if err := json.Unmarshal(object, &kind); err != nil {
		return nil, fmt.Errorf("it is not a Kubernetes object: %w", err)
	}
	isList := strings.HasSuffix(kind.Kind, "List")
	if kind.Kind != "CustomResourceDefinition" && !isList {
		return nil, nil
	}
	var d definition
	if err := json.Unmarshal(object, &d); err != nil {
		return nil, fmt.Errorf("it is not a %s that API servers would read: %w", kind.Kind, err)
	}
	if !isList {
		return []definition{d}, d.check()
	}
	var all []definition
	for i, one := range d.Items {
		if one.Raw == nil {
			continue // null
		}
		found, err := definitionsOf(one.Raw)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func (d definition) check() error {
	switch {
	case d.APIVersion != "apiextensions.k8s.io/v1":
		return fmt.Errorf("definition %q has the apiVersion %q; since 1.22, API servers accept only apiextensions.k8s.io/v1; convert it to that", d.Name, d.APIVersion)
	case d.Name == "" || len(d.Spec.Versions) == 0:
		return fmt.Errorf("definition %q has no name or no spec.versions; \"crdconform lint\" reports what else is missing", d.Name)
	}
	return nil
}

// versions describes the versions, such as "v1beta1, v1 (stored)".
func (d definition) versions() string {
	var names []string
	for _, v := range d.Spec.Versions {
		name := v.Name
		switch {
		case v.Storage && !v.Served:
			name += " (stored, not served)"
		case v.Storage:
			name += " (stored)"
		case !v.Served:
			name += " (not served)"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if len(names) == 1 {
		text += "; there is nothing to convert with one version"
	}
	return text
}

// client returns the webhook client configuration of the definition, or nil if it has none.
func (d definition) client() *apiextensionsv1.WebhookClientConfig {
	if c := d.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter && c.Webhook != nil {
		return c.Webhook.ClientConfig
	}
	return nil
}
