package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// stateAnnotation is where the lease keeps the state.
	stateAnnotation = "crdconform.dev/migration"

	// releaseTimeout is how long giving a lease back may take.
	releaseTimeout = 10 * time.Second
)

// lease keeps other migrations of the definition away while this one runs.
type lease struct {
	client   coordination.LeaseInterface
	holder   string
	duration time.Duration

	mu  sync.Mutex
	now *coordinationv1.Lease // as it was written last
}

// lock takes the lease, and returns a context that is over when it is lost, and how to give it back. On API servers without leases
// there is no lock, which the result says.
func (m *migration) lock(ctx context.Context) (context.Context, func(succeeded bool) error, error) {
	_, err := m.everything.Discovery().ServerResourcesForGroupVersion(coordinationv1.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		m.result.NoLock = "the API server has no leases, so nothing prevented another migration at the same time"
		return ctx, func(succeeded bool) error { return m.forget(succeeded) }, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("discovery of leases: %w", err)
	}
	m.lease, err = m.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	held, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { m.lease.renewUntil(held, lose) })
	return held, func(succeeded bool) error {
		lose(nil)
		renewing.Wait()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		return errors.Join(m.lease.release(within, succeeded && !m.keepsState()), m.forget(succeeded))
	}, nil
}

// LeaseName is the name of the lease of a migration of a definition.
func LeaseName(definition string) string {
	name := "crdconform-migrate-" + definition
	return strings.TrimRight(name[:min(len(name), validation.DNS1123SubdomainMaxLength)], ".-")
}

// acquire takes the lease in the namespace of the options.
func (m *migration) acquire(ctx context.Context) (*lease, error) {
	name := LeaseName(m.name)
	namespaces := []string{m.options.LeaseNamespace}
	if m.options.LeaseNamespace == "" {
		namespaces = []string{metav1.NamespaceSystem, metav1.NamespaceDefault}
	}
	var err error
	for _, namespace := range namespaces {
		l := &lease{client: m.everything.CoordinationV1().Leases(namespace), holder: m.holder, duration: m.options.LeaseDuration}
		err = l.acquire(ctx, name, func(other string, within time.Duration) {
			m.report(Progress{Waiting: fmt.Sprintf("%s holds the lease %s/%s: waiting up to %s to see whether it still runs", other, namespace, name, within)})
		})
		switch {
		case err == nil:
			return l, nil
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("the user may not get, create, update and delete leases of coordination.k8s.io in the namespace %s, which prevent two migrations at the same time: %w", namespace, err)
		case !apierrors.IsNotFound(err): // the namespace
			return nil, err
		}
	}
	return nil, fmt.Errorf("the lease %s: %w", name, err)
}

func (l *lease) acquire(ctx context.Context, name string, waiting func(holder string, within time.Duration)) error {
	for {
		fresh := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
		l.hold(fresh)
		made, err := l.client.Create(ctx, fresh, metav1.CreateOptions{})
		if err == nil {
			l.now = made
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		there, err := l.client.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			there, err = l.expired(ctx, there, waiting)
		}
		if apierrors.IsNotFound(err) {
			continue // it was given back
		}
		if err != nil {
			return err
		}
		l.hold(there)
		taken, err := l.client.Update(ctx, there, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			continue // another one took it, or it was given back
		}
		l.now = taken
		return err
	}
}

// hold makes a lease ours.
func (l *lease) hold(one *coordinationv1.Lease) {
	now := metav1.NowMicro()
	one.Spec.HolderIdentity = &l.holder
	one.Spec.LeaseDurationSeconds = new(int32(l.duration / time.Second))
	one.Spec.AcquireTime, one.Spec.RenewTime = &now, &now
}

// expired returns a lease that nobody holds. That of a holder who was killed is one after it was not renewed for as long as it lasts:
// by the clock of this machine, since that of the holder may differ.
func (l *lease) expired(ctx context.Context, there *coordinationv1.Lease, waiting func(holder string, within time.Duration)) (*coordinationv1.Lease, error) {
	holder := holderOf(there)
	if holder == "" {
		return there, nil
	}
	lasts := l.duration
	if seconds := there.Spec.LeaseDurationSeconds; seconds != nil {
		lasts = time.Duration(*seconds) * time.Second
	}
	waiting(holder, lasts)
	for began := time.Now(); time.Since(began) < lasts; {
		if err := pause.For(ctx, lasts/20); err != nil {
			return nil, err
		}
		now, err := l.client.Get(ctx, there.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if holderOf(now) == "" {
			return now, nil
		}
		if holderOf(now) != holder || !now.Spec.RenewTime.Equal(there.Spec.RenewTime) {
			return nil, fmt.Errorf("another migration of the definition is in progress: %s holds the lease %s/%s; wait until it ends", holderOf(now), now.Namespace, now.Name)
		}
	}
	return there, nil
}

func holderOf(one *coordinationv1.Lease) string {
	if one.Spec.HolderIdentity == nil {
		return ""
	}
	return *one.Spec.HolderIdentity
}

// renewUntil renews the lease until the context is over, and ends it when the lease is lost.
func (l *lease) renewUntil(ctx context.Context, lose context.CancelCauseFunc) {
	for renewed := time.Now(); pause.For(ctx, l.duration/3) == nil; {
		err := l.update(ctx, func(one *coordinationv1.Lease) {
			now := metav1.NowMicro()
			one.Spec.RenewTime = &now
		})
		switch {
		case err == nil:
			renewed = time.Now()
		case errors.Is(err, errLost) || time.Since(renewed) >= l.duration:
			lose(fmt.Errorf("stopped, because the lease could not be renewed; run it again: %w", err))
			return
		}
	}
}

// errLost says that another migration holds the lease.
var errLost = errors.New("another migration took the lease")

// update changes the lease if it is still ours.
func (l *lease) update(ctx context.Context, change func(*coordinationv1.Lease)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		changed := l.now.DeepCopy()
		change(changed)
		written, err := l.client.Update(ctx, changed, metav1.UpdateOptions{})
		if err == nil {
			l.now = written
			return nil
		}
		if apierrors.IsNotFound(err) {
			return errLost
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		there, err := l.client.Get(ctx, l.now.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && holderOf(there) != l.holder {
			return errLost
		}
		if err != nil {
			return err
		}
		l.now = there
	}
}

// release gives the lease back. It is deleted when nothing in it is needed any more.
func (l *lease) release(ctx context.Context, remove bool) error {
	err := l.update(ctx, func(one *coordinationv1.Lease) {
		one.Spec.HolderIdentity, one.Spec.RenewTime, one.Spec.AcquireTime = nil, nil, nil
	})
	if err == nil && remove {
		err = l.client.Delete(ctx, l.now.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.now.UID, ResourceVersion: &l.now.ResourceVersion}})
	}
	if errors.Is(err, errLost) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another one has it
	}
	if err != nil {
		return fmt.Errorf("releasing the lease %s: %w", l.now.Name, err)
	}
	return nil
}

// load returns the state in the lease; none is in one that was just made.
func (l *lease) load() (state, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var s state
	if text := l.now.Annotations[stateAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return state{}, fmt.Errorf("the annotation %s of the lease %s/%s: %w; remove it to start over", stateAnnotation, l.now.Namespace, l.now.Name, err)
		}
	}
	return s, nil
}

func (l *lease) save(ctx context.Context, text string) error {
	return l.update(ctx, func(one *coordinationv1.Lease) { metav1.SetMetaDataAnnotation(&one.ObjectMeta, stateAnnotation, text) })
}
