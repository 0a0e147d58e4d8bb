package disruption

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/subject"
)

// programs is a webhook that runs as programs beside the API server, and the way of connections to them.
type programs struct {
	*lab

	replicas []*replica // those that the scenario began with, and those that it started
	balancer *balancer  // nil where connections go to the only replica
	network  *network   // nil where nothing is wrong with it
	short    *short     // nil where all have what memory they want
	meter    *meter

	// greeted is called with a replica that has come while others served, or in the place of one that had served.
	greeted func(context.Context, *replica) error
}

// set starts the replicas.
func (p *programs) set(ctx context.Context, s *Scenario) error {
	command := p.Program
	if s.begins == oldBuild && p.OldProgram != nil {
		command = *p.OldProgram
	}
	for range max(1, s.replicas) {
		if _, err := p.add(ctx, command); err != nil {
			return err
		}
	}
	return p.connect(ctx, s.path)
}

// certs are the certificates of all replicas.
func (p *programs) certs() *certificates { return p.replicas[0].certs }

func (p *programs) authority() []byte { return p.certs().authority.PEM() }

func (p *programs) address() string { return p.replicas[0].address }

// add starts another replica with the certificates of the first.
func (p *programs) add(ctx context.Context, command subject.Command) (*replica, error) {
	return p.addIn(ctx, command, nil)
}

// addIn starts it in a cgroup; nil for none of its own.
func (p *programs) addIn(ctx context.Context, command subject.Command, group *process.Cgroup) (*replica, error) {
	kubeconfig, err := p.kubeconfig()
	if err != nil {
		return nil, err
	}
	r := &replica{command: command, kubeconfig: kubeconfig, meter: p.meter}
	if group != nil {
		r.within = group.Enter()
	}
	if len(p.replicas) > 0 {
		r.certs = p.certs()
	} else {
		if r.certs, err = issue(command); err != nil {
			return nil, err
		}
		// A program may read its own kind before it is ready, so it is in reach as soon as it listens.
		r.at = func(address string) error { return p.route(ctx, address) }
	}
	p.replicas = append(p.replicas, r)
	return r, r.start(ctx)
}

// route leads the service to an address.
func (p *programs) route(ctx context.Context, address string) error {
	return p.server.Route(ctx, serviceNamespace, serviceName, p.port, address)
}

// connect puts what a scenario needs between API server and webhook.
func (p *programs) connect(ctx context.Context, way path) (err error) {
	switch way {
	case direct:
		return nil
	case balanced:
		if p.balancer, err = newBalancer(ctx, addresses(p.replicas)...); err != nil {
			return err
		}
		return p.route(ctx, p.balancer.address())
	case networked:
		if p.network, err = newNetwork(p.replicas[0].address); err != nil {
			return err
		}
		return p.route(ctx, p.network.address())
	}
	return fmt.Errorf("unknown path %d", way)
}

// terminate sends SIGTERM to the first replica.
func (p *programs) terminate(ctx context.Context, signaled func()) (string, error) {
	began := time.Now()
	signaled()
	err := p.replicas[0].terminate(ctx)
	if err == nil && time.Since(began) >= terminationGrace {
		return fmt.Sprintf("it had not ended %s after SIGTERM, and was killed", terminationGrace), nil
	}
	return "", err
}

// kill sends SIGKILL to the first replica, which is the one that leads where one does.
func (p *programs) kill(ctx context.Context) error { return p.replicas[0].kill(ctx) }

// replaced has the service know that only the last replica is left.
func (p *programs) replaced(context.Context) error {
	p.balancer.set(p.replicas[len(p.replicas)-1].address)
	return nil
}

// start starts the first replica again.
func (p *programs) start(ctx context.Context) error {
	if err := p.replicas[0].start(ctx); err != nil {
		return wrongError{fmt.Errorf("it did not come back: %w", err)}
	}
	return p.greeted(ctx, p.replicas[0])
}

// rollOut replaces the replicas as a deployment does: a new one is ready, then an old one is to end.
func (p *programs) rollOut(ctx context.Context) error {
	old, now := p.replicas, []*replica{}
	for i, leaving := range old {
		next, err := p.add(ctx, p.Program)
		if err != nil {
			return wrongError{fmt.Errorf("the new build does not start beside the old one: %w", err)}
		}
		if err = p.greeted(ctx, next); err != nil {
			return err
		}
		now = append(now, next)
		p.balancer.set(addresses(append(now, old[i:]...))...)
		within, cancel := context.WithCancel(ctx)
		gone := make(chan error, 1)
		go func() { gone <- leaving.terminate(within) }()
		err = pause.For(ctx, endpointDelay)
		p.balancer.set(addresses(append(now, old[i+1:]...))...)
		if err != nil {
			cancel()
		}
		failed := <-gone
		cancel()
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

func (p *programs) replaceLeaf(context.Context) error { return p.certs().rotate(0) }

func (p *programs) leaf() *x509.Certificate { return p.certs().leaf }

func addresses(replicas []*replica) []string {
	var all []string
	for _, r := range replicas {
		all = append(all, r.address)
	}
	return all
}

func (p *programs) usage(ctx context.Context) (memory.Sample, bool) { return p.meter.measure(ctx) }

func (p *programs) ended(context.Context) ([]string, error) {
	var all []string
	for _, r := range p.replicas {
		if ended := r.alive(); ended != nil {
			all = append(all, ended.Error())
		}
	}
	return all, nil
}

// remove takes everything down again, whatever state it is in.
func (p *programs) remove(ctx context.Context) error {
	var errs []error
	for _, r := range p.replicas {
		r.resume()
	}
	if p.network != nil {
		p.network.mend(ctx)
		p.network.close()
	}
	if p.balancer != nil {
		errs = append(errs, p.balancer.close())
	}
	for _, r := range slices.Backward(p.replicas) {
		errs = append(errs, r.remove(ctx))
	}
	return errors.Join(append(errs, p.route(ctx, ""))...)
}
