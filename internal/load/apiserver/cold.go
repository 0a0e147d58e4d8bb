package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/loadgen"
)

const (
	// again is after what time a client that was refused asks again. API servers ask for whole seconds, which they need far
	// less than.
	again = 50 * time.Millisecond

	// unchanged is how long nothing has to be converted, at least, after a change of the definition that may leave the cache as
	// it is, for the API server to have kept it.
	unchanged = time.Second
)

// Loss is how an API server comes to lose its cache, or could.
type Loss = string

// The losses.
const (
	AfterRestart    Loss = "restart"    // the API server was restarted
	AfterAnnotation Loss = "annotation" // the definition got another annotation
	AfterSchema     Loss = "schema"     // the definition got another description in its schema
	AfterFlip       Loss = "flip"       // the definition got another storage version, so that all objects are old
)

// restarter is a cluster whose API server can be restarted on the same data.
type restarter interface {
	Restart(ctx context.Context) error
}

// cold measures the first LIST after each way to lose the cache.
func (r *run) cold(ctx context.Context) error {
	if err := r.warm(ctx); err != nil {
		return err
	}
	for _, loss := range []Loss{AfterRestart, AfterSchema, AfterAnnotation, AfterFlip} {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c, err := r.coldList(ctx, loss, r.step("listing after a loss of the cache: "+loss))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		r.result.Cold = append(r.result.Cold, c)
		r.predict()
		if !c.Complete && c.Skipped == "" {
			return fmt.Errorf("the LIST at %s after %s was not complete within %.3g s: %s; the measurement ends here, since those after other losses would not be either",
				c.Version, loss, c.Seconds, c.Failures[0].First)
		}
	}
	// The storage version is to be the user's again.
	return r.change(ctx, change(AfterFlip, r.storage))
}

func (r *run) coldList(ctx context.Context, loss Loss, still func(any)) (loadgen.ColdList, error) {
	c := loadgen.ColdList{After: loss, Version: r.other}
	counted := r.proxy.count()
	if loss == AfterRestart {
		cluster, can := r.Cluster.(restarter)
		if !can {
			c.Skipped = fmt.Sprintf("a cluster of the kind %s cannot be restarted from here", r.Cluster.Name())
			return c, nil
		}
		// This cannot be interrupted: the API server would be gone.
		if err := cluster.Restart(context.WithoutCancel(ctx)); err != nil {
			return c, fmt.Errorf("restarting the API server: %w", err)
		}
		r.clients.Close()
	} else if err := r.change(ctx, change(loss, r.other)); err != nil {
		return c, err
	}
	r.first(ctx, &c, counted, r.awaited(loss), still)
	r.settle(ctx)
	c.Webhook = counted()
	if !c.Complete {
		return c, nil
	}
	counted = r.proxy.count()
	began := time.Now()
	if _, err := r.everythingAt(ctx, r.other); err != nil {
		r.note("the second LIST after the %s failed: %v", loss, err)
	}
	c.WarmSeconds = time.Since(began).Seconds()
	r.settle(ctx)
	c.WarmCalls = counted().Calls
	return c, nil
}

// change is what is done to a definition to make the API server lose its cache.
func change(loss Loss, other string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		switch loss {
		case AfterAnnotation:
			if crd.Annotations == nil {
				crd.Annotations = map[string]string{}
			}
			crd.Annotations[mark] = time.Now().UTC().Format(time.RFC3339Nano)
		case AfterSchema:
			for i := range crd.Spec.Versions {
				if schema := crd.Spec.Versions[i].Schema; schema != nil && schema.OpenAPIV3Schema != nil {
					schema.OpenAPIV3Schema.Description += " (" + mark + ")"
				}
			}
		default: // AfterFlip
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == other
			}
		}
	}
}

// awaited is how long to wait for a sign that the cache is lost. A restart and a change of the specification are certain to show,
// however busy the API server is. Another annotation was not seen to; if it does, then not much later than such a change.
func (r *run) awaited(loss Loss) time.Duration {
	if loss == AfterAnnotation {
		return max(unchanged, 3*r.slowest)
	}
	return kube.Effect
}

// first asks for a LIST until the client has it. An API server goes over to a changed definition some time after it accepted
// it, and nothing shows when. So LISTs that are answered without a call are those of before, and the first one is the first
// that costs calls or is refused; when there is none for a while, the cache was kept.
func (r *run) first(ctx context.Context, c *loadgen.ColdList, counted func() loadgen.Calls, within time.Duration, still func(any)) {
	var failed failures
	defer func() { c.Failures = failed.sorted() }()
	changed := time.Now()
	var began time.Time
	for {
		sent := time.Now()
		before := counted().Calls
		n, err := r.everythingAt(ctx, r.other)
		if ctx.Err() != nil {
			return
		}
		if began.IsZero() && err == nil && counted().Calls == before {
			if time.Since(changed) > within {
				c.Complete, c.Requests, c.Seconds = true, 1, time.Since(sent).Seconds()
				return
			}
			_ = pause.For(ctx, again)
			continue
		}
		if began.IsZero() {
			began, c.Rebuilt = sent, true
			r.slowest = max(r.slowest, sent.Sub(changed))
		}
		c.Requests++
		c.Seconds = time.Since(began).Seconds()
		if err == nil && n >= r.Seeded { // one that could not be deleted may be there too
			c.Complete = true
			return
		}
		if err == nil {
			err = fmt.Errorf("the list has %d of %d objects", n, r.Seeded)
		}
		failed.add(err)
		still(err)
		if kube.StatusOf(err) == http.StatusTooManyRequests {
			c.Refused++
		}
		if time.Since(began) > r.Settings.ListPatience || pause.For(ctx, again) != nil {
			return
		}
	}
}

// everythingAt lists the objects at a version and returns how many there are.
func (r *run) everythingAt(ctx context.Context, version string) (int, error) {
	l, err := r.list(ctx, kube.Request{Path: r.clients.Path(version)})
	return len(l.Items), err
}
