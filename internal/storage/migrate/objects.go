package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// manager is the name under which fields would be owned that a write sets; no write sets any.
	manager = "crdconform"

	// attempts is how often a write is tried that fails for a reason that may pass.
	attempts = 3

	// contests is how often a write is tried of an object that others keep writing.
	contests = 50

	// backoff is how long the first retry waits; the others wait twice as long each.
	backoff = 100 * time.Millisecond

	// quick is how long a write may have taken to be tried again when it fails: what times out would do so again.
	quick = 5 * time.Second
)

// MaxInARow is how many objects may fail one after the other because the API server or a webhook fails.
const MaxInARow = 100

// late is the pass over what others wrote since the start. It belongs to the step Objects.
const late Step = "late objects"

// shown is the step as users know it.
func (s Step) shown() Step {
	if s == late {
		return Objects
	}
	return s
}

// tally counts what workers did.
type tally struct {
	sync.Mutex
	inARow   int                 // failures
	compared int                 // objects of which it was looked at what a write changes
	wrote    map[uint64]struct{} // resource versions of our last writes
}

// remembered is how many of our writes are remembered, at most. Of the others, those after the first list are patched once more, which
// changes nothing.
const remembered = 1 << 19

// outcome is what came of an object.
type outcome int

const (
	rewritten outcome = iota
	newer             // others wrote it since the start
	untouched         // nothing was to be done
	gone
	refused
)

// pass goes over all objects and tries the write of each, or does it.
func (m *migration) pass(ctx context.Context, step Step) error {
	pages := m.pages(step)
	seen := 0
	defer func() { m.result.Expired += pages.Expired }()
	for {
		page, more, err := pages.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if err := m.began(ctx, pages.Revision); err != nil {
			return err
		}
		m.listedAt = pages.versions[0]
		if err := m.each(ctx, step, page); err != nil {
			return err
		}
		seen += len(page)
		m.report(Progress{Step: step.shown(), Objects: seen, Refused: len(m.result.Refused)})
		if _, err := m.storesAsBefore(ctx); err != nil {
			return err
		}
	}
}

// each does the objects of a page, several at a time.
func (m *migration) each(ctx context.Context, step Step, page []metav1.PartialObjectMetadata) error {
	queue := make(chan *metav1.PartialObjectMetadata)
	var workers sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for range min(m.options.Concurrency, len(page)) {
		workers.Go(func() {
			for object := range queue {
				if err := m.one(ctx, step, object); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
feed:
	for i := range page {
		select {
		case queue <- &page[i]:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// one does an object and counts it. The error ends the migration.
func (m *migration) one(ctx context.Context, step Step, object *metav1.PartialObjectMetadata) error {
	if step == late && (!m.isNewer(object) || m.isOurs(object)) {
		return nil
	}
	did, mended, err := m.write(ctx, step, object)
	if err != nil && (ctx.Err() != nil || !isAnswer(err)) {
		if ctx.Err() == nil {
			err = fmt.Errorf("writing %s: %w", kube.Key(object.Namespace, object.Name), slow(err))
		}
		return err
	}
	m.tally.Lock()
	defer m.tally.Unlock()
	m.tally.inARow++
	if err == nil || !isServerError(err) {
		m.tally.inARow = 0
	}
	if did == refused {
		m.result.Refused = append(m.result.Refused, Refusal{step.shown(), object.Namespace, object.Name, reason(err)})
	}
	if m.tally.inARow >= MaxInARow {
		return incomplete("%d objects in a row failed, so the rest was not tried; the last one: %s", MaxInARow, m.result.Refused[len(m.result.Refused)-1])
	}
	switch step {
	case DryRun:
		m.result.Tried++
		return nil
	case late:
		if did == rewritten && mended == nil {
			m.result.Behind++
		}
	default:
		m.count(did)
	}
	if mended != nil && did == rewritten {
		m.result.Mended++
		m.lost(mended.orphans)
	}
	return nil
}

// count counts what came of an object in the pass over all of them.
func (m *migration) count(did outcome) {
	m.result.Objects++
	switch did {
	case rewritten:
		m.result.Rewritten++
	case newer:
		m.result.Newer++
	case gone:
		m.result.Gone++
	case untouched, refused:
	}
}

// lost counts the fields of an object that lost their owner.
func (m *migration) lost(orphans []Orphans) {
	m.result.Orphaned += min(1, len(orphans))
	for _, one := range orphans {
		i := slices.IndexFunc(m.result.Orphans, func(o Orphans) bool {
			return o.Manager == one.Manager && o.Version == one.Version && slices.Equal(o.Fields, one.Fields)
		})
		switch {
		case i >= 0:
			m.result.Orphans[i].Objects++
		case len(m.result.Orphans) < maxOrphans:
			m.result.Orphans = append(m.result.Orphans, one)
		}
	}
}

// isAnswer reports whether an error is what the API server answered, rather than that it did not.
func isAnswer(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status)
}

// write writes an object with the content that it has, at the storage version, or tries to. If others write it at the same time, it
// is looked at again. Mended is set if its managed fields are rewritten, too.
func (m *migration) write(ctx context.Context, step Step, object *metav1.PartialObjectMetadata) (outcome, *mended, error) {
	for failures, conflicts := 0, 0; ; {
		began := time.Now()
		did, mended, err := m.once(ctx, step, object)
		if err == nil {
			return did, mended, nil
		}
		switch {
		case apierrors.IsNotFound(err):
			return gone, nil, nil
		case ctx.Err() != nil:
			return refused, nil, context.Cause(ctx)
		case apierrors.IsConflict(err) && conflicts < contests:
			conflicts++
			if object, err = m.again(ctx, object); apierrors.IsNotFound(err) {
				return gone, nil, nil
			}
		case apierrors.IsConflict(err) && step == late && mended == nil:
			return untouched, nil, nil // others wrote it all the time, long after the storage version changed
		case (isServerError(err) || !isAnswer(err)) && failures < attempts-1 && time.Since(began) < quick:
			if waited := pause.For(ctx, backoff<<failures); waited != nil {
				return refused, nil, waited
			}
			failures++
			err = nil
		}
		if err != nil {
			return refused, nil, err
		}
	}
}

// once writes an object that is as it was read, or tries to, unless nothing is to be done.
func (m *migration) once(ctx context.Context, step Step, object *metav1.PartialObjectMetadata) (did outcome, mended *mended, err error) {
	mends := m.takes(ManagedFields) && m.namesDropped(object)
	switch {
	case !mends && step != late && m.isNewer(object):
		return newer, nil, nil
	case !mends && !m.takes(Objects) && m.takes(ManagedFields):
		return untouched, nil, nil
	case step == DryRun:
		if mends {
			err = m.mendable(ctx, object)
		}
		if err == nil {
			err = m.try(ctx, object)
		}
		return rewritten, nil, err
	case mends:
		if mended, err = m.mend(ctx, object); err != nil {
			return refused, nil, err
		}
	}
	changed, err := m.patch(ctx, object, mended)
	if step == late && !changed {
		return untouched, nil, err
	}
	return rewritten, mended, err
}

// again reads the metadata of an object that others wrote.
func (m *migration) again(ctx context.Context, object *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	return m.metadata.Resource(m.resource(m.served[0])).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
}

// isOurs reports whether this run was the last to write an object.
func (m *migration) isOurs(object *metav1.PartialObjectMetadata) bool {
	m.tally.Lock()
	defer m.tally.Unlock()
	revision, err := strconv.ParseUint(object.ResourceVersion, 10, 64)
	_, ours := m.tally.wrote[revision]
	return err == nil && ours
}

// remember notes that this run wrote an object.
func (t *tally) remember(resourceVersion string) {
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return // it is patched once more
	}
	t.Lock()
	defer t.Unlock()
	if len(t.wrote) == remembered {
		clear(t.wrote)
	}
	t.wrote[revision] = struct{}{}
}

// isNewer reports whether an object was written since the start: by others, or by an earlier run. It is at the storage version then,
// unless an API server wrote it that had not seen the storage version change.
func (m *migration) isNewer(object *metav1.PartialObjectMetadata) bool {
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, m.start.Revision)
	return err == nil && order > 0
}

// patch writes an object that is as it was read. It changes nothing, or the managed fields: the API server keeps a write that changes
// nothing if what it would store differs from what is stored, as it does at another version. It returns whether something was stored.
func (m *migration) patch(ctx context.Context, object *metav1.PartialObjectMetadata, mended *mended) (bool, error) {
	request, err := m.request(object, mended)
	if err != nil {
		return false, err
	}
	answer, err := body(request.SetHeader("Accept", metadataOnly).Do(ctx))
	if err != nil {
		return false, err
	}
	var written metav1.PartialObjectMetadata
	if err = json.Unmarshal(answer, &written); err != nil {
		return false, fmt.Errorf("what the API server wrote for %s: %w", kube.Key(object.Namespace, object.Name), err)
	}
	m.tally.remember(written.ResourceVersion)
	if written.ResourceVersion == object.ResourceVersion {
		return false, nil
	}
	if m.options.Wrote != nil {
		m.options.Wrote(object.Namespace, object.Name, object.ResourceVersion, written.ResourceVersion)
	}
	return true, nil
}

// request is the write of an object.
func (m *migration) request(object *metav1.PartialObjectMetadata, mended *mended) (*rest.Request, error) {
	kind := types.MergePatchType
	change, err := json.Marshal(map[string]preconditions{"metadata": preconditionsOf(&object.ObjectMeta)})
	if mended != nil {
		kind = types.JSONPatchType
		change, err = mended.patch(object)
	}
	return m.requestOf(kind, object, change), err
}

func (m *migration) requestOf(kind types.PatchType, object *metav1.PartialObjectMetadata, change []byte) *rest.Request {
	return m.rest.Patch(kind).AbsPath(m.path(m.served[0], object)).Param("fieldManager", manager).Body(change)
}

// try has the API server try the write of an object without keeping it. Where managed fields name other versions, it tries the write
// without them: the API server would convert the object three times for each of these versions, and none of that refuses a write. What
// is refused is tried once more with them.
func (m *migration) try(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	if m.namesOthers(object) {
		err := m.tried(ctx, m.requestOf(types.MergePatchType, object, withoutManagedFields(object)), object.ManagedFields)
		if !isRefusal(err) {
			return cmp.Or(err, m.compare(ctx, object))
		}
	}
	request, err := m.request(object, nil)
	if err != nil {
		return err
	}
	return cmp.Or(m.tried(ctx, request, nil), m.compare(ctx, object))
}

// namesOthers reports whether managed fields of an object name another version than that at which it is written.
func (m *migration) namesOthers(object *metav1.PartialObjectMetadata) bool {
	at := schema.GroupVersion{Group: m.crd.Spec.Group, Version: m.served[0]}.String()
	return slices.ContainsFunc(object.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion != at })
}

// withoutManagedFields is a merge patch that removes the managed fields of an object, and nothing else.
func withoutManagedFields(object *metav1.PartialObjectMetadata) []byte {
	return fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q,"managedFields":[{}]}}`, object.UID, object.ResourceVersion)
}

// isRefusal reports whether the API server refused a write for what it is, rather than because the object is another one by now.
func isRefusal(err error) bool {
	return err != nil && isAnswer(err) && !isServerError(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err)
}

// tried sends a dry run and returns what it was refused for. API servers do not ask etcd, so its limit is ours to check: for what
// they answer and what was left out of it.
func (m *migration) tried(ctx context.Context, request *rest.Request, left []metav1.ManagedFieldsEntry) error {
	written, err := body(request.Param("dryRun", metav1.DryRunAll).Do(ctx))
	if err != nil {
		return err
	}
	fields, err := json.Marshal(left)
	if size := len(written) + len(fields); err == nil && size > m.options.MaxSize {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("it has %d bytes at %s, and etcd takes %d by default", size, m.storage, m.options.MaxSize))
	}
	return err
}

// body is that of a response. The error is what the API server said: that of Raw alone would not be.
func body(response rest.Result) ([]byte, error) {
	if err := response.Error(); err != nil {
		return nil, err
	}
	return response.Raw()
}

// metadataOnly asks for no more than the metadata of what was written.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
