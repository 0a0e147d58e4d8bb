package dump

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/storage"
)

// snapshot reads a snapshot of etcd.
func (c *collector) snapshot(ctx context.Context, file string, definitions []apiextensionsv1.CustomResourceDefinition) (err error) {
	source, err := storage.OpenSnapshot(ctx, file, c.options.Prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	wanted := map[string]bool{}
	for _, d := range definitions {
		wanted[schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}.String()] = true
	}
	if c.options.Definitions {
		wanted[schema.GroupResource{Group: c.also.Group, Resource: "customresourcedefinitions"}.String()] = true
	}
	c.stored = true
	return storage.EachKey(ctx, source, func(key, prefix string, value []byte) error {
		resource := resourceOf(strings.TrimPrefix(key, prefix))
		if !wanted[resource] {
			c.summary.Others[resource]++
			return nil
		}
		at := place{file: "key " + key + " of " + file}
		object, isCBOR, err := storage.JSON(value)
		if err != nil {
			return fmt.Errorf("%s: %w; take the objects by \"kubectl get -o json\"", at, err)
		}
		if isCBOR {
			c.summary.CBOR++
		}
		return c.take(object, at)
	})
}

// resourceOf is the resource that a key is of. Only those of some groups have the group before it, among them all custom resources.
func resourceOf(key string) string {
	group, rest, _ := strings.Cut(key, "/")
	if !strings.Contains(group, ".") {
		return group
	}
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}.String()
}
