package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
)

// teller determines at which version objects are stored. It goes by what the API server shows of a definition and its objects, since
// the API never shows the stored version: an object is stored at the version that was the storage version when it was last written.
type teller struct {
	bytes    bool      // the stored bytes were read, so nothing is left to determine
	created  time.Time // the definition was
	only     string    // the storage version, if the definition has never changed
	segments []segment
	changed  time.Time // when spec.versions last changed, at the latest; zero if that is not known
	storage  string    // the storage version since then
	promised string    // the version that all objects are stored at if status.storedVersions can be relied on
}

// segment is a time in which the storage version was the same.
type segment struct {
	from    uint64 // its first resource version; it ends where the one before it begins
	storage string
}

// margin is how much later than the definition an object has to be changed. Times are in whole seconds, and come from the clocks of
// several API servers, each of which follows the definition after a moment.
const margin = 30 * time.Second

// version returns the version that an object is stored at and how that is known, or nothing.
func (t teller) version(o *stored) (string, Basis) {
	if t.only != "" && !t.precedes(o) {
		return t.only, NeverChanged
	}
	if revision, err := strconv.ParseUint(o.ResourceVersion, 10, 64); err == nil {
		for _, s := range t.segments { // the latest first
			if revision >= s.from {
				return s.storage, History
			}
		}
	}
	if !t.changed.IsZero() && kube.LastWritten(o.CreationTimestamp.Time, o.ManagedFields).After(t.changed.Add(margin)) {
		return t.storage, Times
	}
	return "", ""
}

// precedes reports whether an object was there before its definition: one with the name was deleted, and left it behind, as when
// somebody takes the finalizer off. What that definition was is not known.
func (t teller) precedes(o *stored) bool { return o.CreationTimestamp.Add(margin).Before(t.created) }

// history returns the teller of a definition.
func (i *inspector) history(ctx context.Context, d *Definition) (teller, error) {
	t, err := tellerOf(ctx, i.definitions, i.upstream[d])
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	if err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("The API server does not show earlier states of the definition: %s.", line(err.Error())))
	}
	return t, nil
}

// tellerOf returns the teller of a definition. The error says why the API server does not show earlier states of it; times may still
// help.
func tellerOf(ctx context.Context, definitions apiextensionsclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) (t teller, err error) {
	t = teller{storage: kube.StorageVersion(crd), created: crd.CreationTimestamp.Time}
	if crd.Generation == 1 {
		t.only = t.storage
		return t, nil
	}
	t.changed, t.promised = owners(crd)
	t.segments, err = (&past{definitions, crd, nil}).segments(ctx)
	return t, err
}

// StoredAt returns a function that returns the version at which an object of a definition is stored, or "" if that is not known, from
// what the API server remembers.
func StoredAt(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) (func(*metav1.ObjectMeta) string, error) {
	definitions, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	t, _ := tellerOf(ctx, definitions.ApiextensionsV1().CustomResourceDefinitions(), crd) // the version is then unknown
	return func(object *metav1.ObjectMeta) string {
		version, _ := t.version(&stored{ObjectMeta: *object})
		return version
	}, ctx.Err()
}

// owners returns what the managed fields of a definition say: when its versions were last changed, and the one stored version that it
// has if no client wrote status.storedVersions.
func owners(crd *apiextensionsv1.CustomResourceDefinition) (changed time.Time, promised string) {
	wrote := false
	for _, entry := range crd.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		var has struct {
			Spec   map[string]json.RawMessage `json:"f:spec"`
			Status map[string]json.RawMessage `json:"f:status"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &has) != nil {
			return time.Time{}, "" // who wrote what is not known
		}
		if _, is := has.Spec["f:versions"]; is && entry.Time != nil && entry.Time.After(changed) {
			changed = entry.Time.Time
		}
		if _, is := has.Status["f:storedVersions"]; is {
			wrote = true
		}
	}
	// Where nobody has the versions, managed fields were removed, and say nothing of the status either.
	if !wrote && !changed.IsZero() && len(crd.Status.StoredVersions) == 1 {
		promised = crd.Status.StoredVersions[0]
	}
	return changed, promised
}

// mostSegments is how many changes of a definition are looked for at most.
const mostSegments = 8

// segments returns the times that the API server remembers, the latest first. It remembers the definition at every resource version
// until etcd is compacted, which API servers do every five minutes. The resource versions of a definition and of its objects are
// revisions of the same etcd.
func (p *past) segments(ctx context.Context) ([]segment, error) {
	now, err := p.now(ctx)
	if err != nil {
		return nil, err
	}
	var segments []segment
	for end := now; len(segments) < mostSegments; {
		then := p.at(ctx, end)
		if then == nil {
			break
		}
		from := p.first(ctx, end, then.Generation)
		if p.failed != nil {
			return nil, p.failed
		}
		segments = append(segments, segment{from, kube.StorageVersion(then)})
		if end = from - 1; end == 0 {
			break
		}
	}
	return segments, p.failed
}

// past is what the API server remembers of a definition.
type past struct {
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	crd         *apiextensionsv1.CustomResourceDefinition
	failed      error // an error that is not about what was forgotten
}

func (p *past) selector() string {
	return fields.OneTermEqualSelector("metadata.name", p.crd.Name).String()
}

// now returns the latest resource version.
func (p *past) now(ctx context.Context) (uint64, error) {
	list, err := p.definitions.List(ctx, metav1.ListOptions{FieldSelector: p.selector()})
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, nil //nolint:nilerr // resource versions that are no numbers cannot be compared
	}
	return revision, nil
}

// at returns the definition as it was at a resource version, or nil if that is forgotten or if there was none.
func (p *past) at(ctx context.Context, revision uint64) *apiextensionsv1.CustomResourceDefinition {
	if revision == 0 || p.failed != nil {
		return nil
	}
	list, err := p.definitions.List(ctx, metav1.ListOptions{
		FieldSelector: p.selector(), ResourceVersion: strconv.FormatUint(revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	switch {
	case kube.IsForgotten(err):
		return nil
	case err != nil:
		p.failed = err
		return nil
	case list.ResourceVersion != strconv.FormatUint(revision, 10):
		return nil // Kubernetes before 1.19 answers with what is there now
	case len(list.Items) != 1 || list.Items[0].UID != p.crd.UID:
		return nil
	}
	return &list.Items[0]
}

// first returns the first resource version at which the definition had a generation, given one at which it had.
func (p *past) first(ctx context.Context, end uint64, generation int64) uint64 {
	before := uint64(0)
	for end-before > 1 {
		middle := before + (end-before)/2
		if then := p.at(ctx, middle); then != nil && then.Generation == generation {
			end = middle
		} else {
			before = middle
		}
	}
	return end
}
