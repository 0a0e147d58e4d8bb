package disruption

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/subject/deployed"
)

// Pods is a webhook that runs as pods of the cluster. Errors of pods that do not get ready wrap deployed.ErrNotReady.
type Pods interface {
	ClientConfig() apiextensionsv1.WebhookClientConfig

	// Address is where it answers on this machine.
	Address() string

	// Scale gives it another number of pods, and waits until there are exactly so many, all of them ready.
	Scale(ctx context.Context, replicas int) error

	// Kill deletes a pod, and does not wait until it is gone. A negative grace is the pod's own.
	Kill(ctx context.Context, grace time.Duration) (name string, id types.UID, err error)

	// Grace is how long a pod may take to stop.
	Grace(ctx context.Context) (time.Duration, error)

	// Stopping waits until a kubelet has begun to stop a pod that was deleted, or a moment if that is not known.
	Stopping(ctx context.Context, id types.UID) error

	// Gone waits until a pod that was deleted is gone.
	Gone(ctx context.Context, name string, id types.UID) error

	// Settle waits until there are as many pods as before, all of them ready, and without the former ones.
	Settle(ctx context.Context, former ...types.UID) error

	// RollOut replaces all pods, and waits until the former ones are gone.
	RollOut(ctx context.Context) error

	// RollTo replaces the pods of other images by those of an image, and waits until they are gone.
	RollTo(ctx context.Context, image deployed.Image) error

	// Issued reports whether its certificate is one of the run, so that it can be replaced.
	Issued() bool

	// ReplaceCertificate replaces its certificate by another one of the same authority, and returns that.
	ReplaceCertificate(ctx context.Context) (*x509.Certificate, error)

	// Usage is what all pods use together.
	Usage(ctx context.Context) (memory.Sample, error)

	// Crashes describes pods that ended by themselves.
	Crashes(ctx context.Context) ([]string, error)
}

// signalDelay is how long SIGTERM may take to a container after its kubelet has begun to stop it.
const signalDelay = 2 * time.Second

// pods is the webhook under test as pods. It is not removed here.
type pods struct {
	Pods

	builds      *Builds           // nil where there is no old one
	old         bool              // the scenario begins with the old build
	former      []types.UID       // that were deleted
	certificate *x509.Certificate // that was put in the place of the first one

	used  memory.Sample // what kubelets said last
	asked time.Time     // when that was
	blind bool          // it may not ask
}

// Builds are the images of a webhook that runs as pods.
type Builds struct {
	Old, New deployed.Image
	Advice   string // what may help if the pods of the old one do not start; may be empty
}

// set brings up as many pods as the scenario needs, of the build that it begins with, whatever another one left.
func (p *pods) set(ctx context.Context, s *Scenario) error {
	if p.builds != nil {
		image := p.builds.New
		if p.old = s.begins == oldBuild; p.old {
			image = p.builds.Old
		}
		err := p.RollTo(ctx, image)
		if err != nil && p.old {
			err = fmt.Errorf("the image %s of the old build: %w%s", image.Reference, err, p.builds.Advice)
		}
		if err != nil {
			return err
		}
	}
	return p.Scale(ctx, max(1, s.replicas))
}

func (p *pods) authority() []byte { return p.ClientConfig().CABundle }

func (p *pods) address() string { return p.Address() }

// terminate deletes a pod with its grace period.
func (p *pods) terminate(ctx context.Context, signaled func()) (string, error) {
	grace, err := p.Grace(ctx)
	if err != nil {
		return "", err
	}
	began := time.Now()
	name, id, err := p.Kill(ctx, -1)
	if err != nil {
		return "", err
	}
	p.former = append(p.former, id)
	if err = errors.Join(p.Stopping(ctx, id), pause.For(ctx, signalDelay)); err != nil {
		return "", err
	}
	signaled()
	err = p.Gone(ctx, name, id)
	if took := time.Since(began); err == nil && took >= grace {
		return fmt.Sprintf("its pod was gone only after %s, and a pod that has not ended after its grace period of %s is killed", took.Round(100*time.Millisecond), grace), nil
	}
	return "", err
}

// kill deletes a pod without a grace period.
func (p *pods) kill(ctx context.Context) error {
	_, id, err := p.Kill(ctx, 0)
	if err == nil {
		p.former = append(p.former, id)
	}
	return err
}

// start waits until another pod is there in place of the one that was deleted.
func (p *pods) start(ctx context.Context) error {
	return unready("no other pod took its place", p.Settle(ctx, p.former...))
}

func (p *pods) replaced(ctx context.Context) error { return p.start(ctx) }

func (p *pods) rollOut(ctx context.Context) (err error) {
	if p.old {
		err = p.RollTo(ctx, p.builds.New)
	} else {
		err = p.RollOut(ctx)
	}
	return unready("the rollout did not finish", err)
}

func (p *pods) replaceLeaf(ctx context.Context) (err error) {
	p.certificate, err = p.ReplaceCertificate(ctx)
	return err
}

func (p *pods) leaf() *x509.Certificate { return p.certificate }

// unready says that the webhook is to blame where its pods are not ready.
func unready(what string, err error) error {
	if errors.Is(err, deployed.ErrNotReady) {
		return wrongError{fmt.Errorf("%s: %w", what, err)}
	}
	return err
}

const (
	// usageEvery is how often it is asked what pods use. Kubelets look more seldom than that.
	usageEvery = 2 * time.Second

	// usagePatience is how long the answer may take.
	usagePatience = 3 * time.Second
)

// usage returns what pods use when kubelets have looked again.
func (p *pods) usage(ctx context.Context) (memory.Sample, bool) {
	if p.blind || time.Since(p.asked) < usageEvery {
		return memory.Sample{}, false
	}
	within, cancel := context.WithTimeout(ctx, usagePatience)
	defer cancel()
	used, err := p.Usage(within)
	p.asked, p.blind = time.Now(), apierrors.IsForbidden(err)
	known := err == nil && used.Processes > 0 && used != p.used
	p.used = used
	return used, known
}

func (p *pods) ended(ctx context.Context) ([]string, error) { return p.Crashes(ctx) }

// remove leaves the pods to those who deployed them. The next scenario waits until they are whole.
func (*pods) remove(context.Context) error { return nil }
