package storage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/kube"
)

// secrets are where Helm keeps releases, if not in ConfigMaps.
const secrets = "secrets"

// deployedReleases selects what Helm keeps its deployed releases in. Those that were replaced are not upgraded any more.
const deployedReleases = "owner=helm,status=deployed"

// mostRelease is how many bytes a release may have. Compressed, it fits into a Secret.
const mostRelease = 64 << 20

// release is what matters of a release of Helm.
type release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Manifest  string `json:"manifest"` // everything that it installed
}

// helm enters which versions the deployed releases of Helm name. Of their Secrets, or ConfigMaps, nothing is kept but the names of objects.
func (i *inspector) helm(ctx context.Context) error {
	for _, store := range []string{secrets, "configmaps"} {
		at := schema.GroupVersionResource{Version: "v1", Resource: store}
		if i.isSkipped(at) {
			continue
		}
		if err := i.book.mark(); err != nil {
			return err
		}
		err := i.releases(ctx, at)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil, apierrors.IsNotFound(err): // some API servers have nothing but definitions
			i.book.keep()
			continue
		case isInternal(err):
			return err
		}
		gap := Gap{What: store, Why: "the releases of Helm cannot be listed: " + line(err.Error())}
		if apierrors.IsForbidden(err) {
			gap.Why, gap.Mend = "the user may not list the releases of Helm in all namespaces", i.right("list", store, err)
		}
		i.inventory.HelmGaps = append(i.inventory.HelmGaps, gap)
		if err := i.book.back(); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) releases(ctx context.Context, at schema.GroupVersionResource) error {
	all := kube.Pager[*unstructured.UnstructuredList]{List: i.objects.Resource(at).List, Options: metav1.ListOptions{Limit: i.options.PageSize, LabelSelector: deployedReleases}}
	gaps := len(i.inventory.HelmGaps)
	all.Anew = func() error {
		i.inventory.HelmGaps = i.inventory.HelmGaps[:gaps]
		if err := i.book.back(); err != nil {
			return internalError{err}
		}
		return nil
	}
	return all.Each(ctx, func(page *unstructured.UnstructuredList) error {
		for n := range page.Items {
			if err := i.release(at, &page.Items[n]); err != nil {
				return internalError{err}
			}
		}
		return nil
	})
}

// release enters what a release names.
func (i *inspector) release(at schema.GroupVersionResource, o *unstructured.Unstructured) error {
	text, _, _ := unstructured.NestedString(o.Object, "data", "release")
	layers := 1
	if at.Resource == secrets {
		layers = 2
	}
	r, err := parseRelease(text, layers)
	if err != nil {
		i.inventory.HelmGaps = append(i.inventory.HelmGaps, Gap{What: fmt.Sprintf("%s %s/%s", at.Resource, o.GetNamespace(), o.GetName()), Why: fmt.Sprintf("what it has of a release of Helm cannot be read: %v", err)})
		return nil
	}
	var m Manifests
	m.read("release", []byte(r.Manifest))
	for _, d := range i.inventory.Definitions {
		found, gaps := m.of(d)
		i.inventory.HelmGaps = append(i.inventory.HelmGaps, gaps...)
		for version, objects := range found {
			for _, n := range objects {
				by := fmt.Sprintf("release %s in namespace %s", r.Name, r.Namespace)
				if err := i.book.enter(place{d, version}, HelmRelease, n.blocker(HelmRelease, d, by)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// parseRelease decodes a release: JSON, compressed by gzip, in layers of base64: one, and one more in a Secret.
func parseRelease(text string, layers int) (r release, err error) {
	data := []byte(text)
	for range layers {
		if data, err = base64.StdEncoding.DecodeString(string(data)); err != nil {
			return r, err
		}
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return r, err
	}
	if data, err = io.ReadAll(io.LimitReader(reader, mostRelease)); err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}
