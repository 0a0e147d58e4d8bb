package dump

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/manifest"
)

// Definition is a CustomResourceDefinition that a user has.
type Definition struct {
	apiextensionsv1.CustomResourceDefinition

	// Manifest is the definition in JSON, also with what its type does not keep, such as fields that are false.
	Manifest []byte

	// Converted is the definition at v1beta1 as it was found, if it was at that version.
	Converted []byte

	// From is where it was found.
	From string
}

// Definitions returns the CustomResourceDefinitions in a source: a file of YAML or JSON, a folder, a kustomization or a pattern as
// for checks, - for standard input, or git://REF:PATH for a file or a folder in the repository of the current directory, such as
// git://v1.4.0:config/crd/bases. Those at v1beta1 are converted to v1 as API servers convert them. It fails if there is none.
func Definitions(ctx context.Context, source string, stdin io.Reader) ([]Definition, error) {
	var all []Definition
	c := newCollector(Options{Stdin: stdin}, func(o Object) error {
		d, err := definition(o)
		all = append(all, d)
		return err
	})
	c.wants(apiextensionsv1.GroupName, "CustomResourceDefinition")
	if err := c.definitions(ctx, source); err != nil {
		return nil, err
	}
	return all, c.found(source)
}

func (c *collector) definitions(ctx context.Context, source string) error {
	if source == "-" {
		return c.standardInput(ctx)
	}
	if at, is := strings.CutPrefix(source, gitScheme); is {
		return c.git(ctx, at)
	}
	files, err := manifest.Files(source)
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := manifest.Read(file)
		if err != nil {
			return err
		}
		if err := c.text(file, bufio.NewReader(bytes.NewReader(data))); err != nil {
			return err
		}
	}
	return nil
}

// definition returns an object as a definition at v1.
func definition(o Object) (d Definition, err error) {
	d.From, d.Manifest = o.From, o.JSON
	switch o.Version {
	case "v1":
		err = kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &d.CustomResourceDefinition)
	case "v1beta1":
		d.Converted = o.JSON
		if d.CustomResourceDefinition, err = converted(o.JSON); err == nil {
			d.Manifest, err = json.Marshal(&d.CustomResourceDefinition)
		}
	default:
		return d, fmt.Errorf("%s: definition %s is at %s, which is neither v1 nor v1beta1", o.From, o.Name, o.Version)
	}
	if err != nil {
		return d, fmt.Errorf("%s: definition %s cannot be read: %w", o.From, o.Name, err)
	}
	if d.Spec.Group == "" || d.Spec.Names.Kind == "" || d.Spec.Names.Plural == "" || len(d.Spec.Versions) == 0 {
		return d, fmt.Errorf("%s: definition %s has no group, names or versions, so it is a part of one, such as a patch; give the whole", o.From, o.Name)
	}
	return d, nil
}

// converted converts a definition from v1beta1, with its defaults, as an API server does that reads one from etcd.
func converted(raw []byte) (apiextensionsv1.CustomResourceDefinition, error) {
	var d apiextensionsv1.CustomResourceDefinition
	scheme := runtime.NewScheme()
	install.Install(scheme)
	old, internal := &apiextensionsv1beta1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, old); err != nil {
		return d, err
	}
	scheme.Default(old)
	if err := scheme.Convert(old, internal, nil); err != nil {
		return d, err
	}
	err := scheme.Convert(internal, &d, nil)
	d.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return d, err
}
