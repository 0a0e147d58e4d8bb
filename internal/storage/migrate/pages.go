package migrate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/crdconform/crdconform/internal/kube"
)

// shrink is by how much a page becomes smaller when it can't be read.
const shrink = 8

// pages lists the metadata of all objects, some at a time. An object that can't be converted makes a list fail with all that is in
// it. Such a page is read at another version, where other objects are converted, and as smaller pages: one object alone can be read
// at the version that it is stored at, if that is served.
//
// The API server may have forgotten the revision of the first page, and offer to go on with the present one: what was written meanwhile is
// patched at the end, wherever it stands. Otherwise all is listed anew.
type pages struct {
	kube.Pager[*metav1.PartialObjectMetadataList]

	client   metadata.Interface
	resource schema.GroupResource
	versions []string // to read at, the one that worked last first
	full     int64    // objects of a page
}

func (m *migration) pages(step Step) *pages {
	p := &pages{
		client:   m.metadata,
		resource: schema.GroupResource{Group: m.crd.Spec.Group, Resource: m.crd.Spec.Names.Plural},
		versions: m.readAt(step),
		full:     m.options.PageSize,
	}
	p.List, p.Options.Limit, p.Repeat = p.list, p.full, true
	return p
}

// readAt returns the served versions, that one first at which most objects are stored, as far as the status says: API servers convert
// each object of a list on its own. A deprecated version does not come first, since API servers remember who asked for it.
func (m *migration) readAt(step Step) []string {
	versions := slices.Clone(m.served)
	if step == late {
		return versions // all objects are at the storage version, or nearly
	}
	for _, former := range slices.Backward(m.crd.Status.StoredVersions) {
		if i := slices.Index(versions, former); former != m.storage && i >= 0 && !m.isDeprecated(former) {
			return slices.Insert(slices.Delete(versions, i, i+1), 0, former)
		}
	}
	return versions
}

func (m *migration) isDeprecated(version string) bool {
	return slices.ContainsFunc(m.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Deprecated })
}

// next returns the next page, which may be empty, and whether there was one.
func (p *pages) next(ctx context.Context) ([]metav1.PartialObjectMetadata, bool, error) {
	for {
		page, more, err := p.Next(ctx)
		limit := &p.Options.Limit
		switch {
		case err == nil && !more:
			return nil, false, nil
		case err == nil:
			*limit = min(p.full, *limit*2)
			return page.Items, true, nil
		case isServerError(err) && *limit > 1:
			*limit = max(1, *limit/shrink)
		case isServerError(err):
			return nil, false, incomplete("the object after %s can't be read at any served version, so nothing after it was read: %s", orStart(p.Last), reason(err))
		default:
			return nil, false, fmt.Errorf("listing %s: %w", p.resource, slow(err))
		}
	}
}

// list reads a page at the first version where that works, and the next one there, too: a webhook that hangs costs half a minute
// each time.
func (p *pages) list(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	var first error
	for i, version := range p.versions {
		list, err := p.client.Resource(p.resource.WithVersion(version)).List(ctx, options)
		if err == nil || ctx.Err() != nil || !isServerError(err) {
			p.versions[0], p.versions[i] = p.versions[i], p.versions[0]
			return list, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func orStart(name string) string {
	if name == "" {
		return "the start"
	}
	return name
}

// isServerError reports whether the API server failed, as when a conversion does.
func isServerError(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
}

// slow adds to the error of a request that was not answered in time what may be why.
func slow(err error) error {
	if late, is := errors.AsType[net.Error](err); is && late.Timeout() {
		return fmt.Errorf("%w; the API server asks the definition's webhooks for each object, so see whether one of them is slow", err)
	}
	return err
}

// corrupt is what API servers put around the error of a conversion, with the key and the revision of the object.
var corrupt = regexp.MustCompile(`^Internal error occurred: StorageError: corrupt object, .*AdditionalErrorMsg: object not decodable revision=[0-9]+: `)

// reason is what the API server said, the same for all objects that have the same fault.
func reason(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Message != "" {
		return corrupt.ReplaceAllString(status.Status().Message, "object not decodable: ")
	}
	return err.Error()
}

func (m *migration) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: m.crd.Spec.Group, Version: version, Resource: m.crd.Spec.Names.Plural}
}

// path is where an object is at a version.
func (m *migration) path(version string, object *metav1.PartialObjectMetadata) string {
	return kube.ResourceOf(m.crd, object.Namespace).Path(version, object.Name)
}
