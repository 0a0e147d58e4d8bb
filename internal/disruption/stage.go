package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/subject"
)

// stage is what a scenario happens on: the replicas of the webhook, and the way of connections to them.
type stage struct {
	*lab

	record   *record.Recorder
	replicas []*replica // those that the scenario began with, and those that it started
	balancer *balancer  // nil where connections go to the only replica
	network  *network   // nil where nothing is wrong with it
	meter    meter
	found    int // violations that the history does not show
}

// set starts the replicas and has the API server ask them.
func (l *lab) set(ctx context.Context, s *Scenario) (_ *stage, err error) {
	l.port++
	st := &stage{lab: l}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.strike(ctx))
		}
	}()
	command := l.Program
	if s.begins == oldBuild && l.OldProgram != nil {
		command = *l.OldProgram
	}
	for range max(1, s.replicas) {
		if _, err = st.add(ctx, command); err != nil {
			return st, err
		}
	}
	if err = st.connect(ctx, s.path); err != nil {
		return st, err
	}
	if len(l.things) > 0 {
		if err = l.convertBy(ctx, st.certs().authority.PEM()); err != nil {
			return st, err
		}
		err = l.settled(ctx)
	}
	return st, err
}

// certs are the certificates of all replicas.
func (st *stage) certs() *certificates { return st.replicas[0].certs }

// add starts another replica with the certificates of the first.
func (st *stage) add(ctx context.Context, command subject.Command) (*replica, error) {
	kubeconfig, err := st.kubeconfig()
	if err != nil {
		return nil, err
	}
	r := &replica{command: command, kubeconfig: kubeconfig, meter: &st.meter}
	if len(st.replicas) > 0 {
		r.certs = st.certs()
	} else {
		if r.certs, err = issue(command); err != nil {
			return nil, err
		}
		// A program may read its own kind before it is ready, so it is in reach as soon as it listens.
		r.at = func(address string) error { return st.route(ctx, address) }
	}
	st.replicas = append(st.replicas, r)
	return r, r.start(ctx)
}

// route leads the service to an address.
func (st *stage) route(ctx context.Context, address string) error {
	return st.server.Route(ctx, serviceNamespace, serviceName, st.port, address)
}

// connect puts what a scenario needs between API server and webhook.
func (st *stage) connect(ctx context.Context, p path) (err error) {
	switch p {
	case direct:
		return nil
	case balanced:
		if st.balancer, err = newBalancer(ctx, addresses(st.replicas)...); err != nil {
			return err
		}
		return st.route(ctx, st.balancer.address())
	case networked:
		if st.network, err = newNetwork(st.replicas[0].address); err != nil {
			return err
		}
		return st.route(ctx, st.network.address())
	}
	return fmt.Errorf("unknown path %d", p)
}

// strike takes everything down again, whatever state it is in.
func (st *stage) strike(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, r := range st.replicas {
		r.resume()
	}
	if st.network != nil {
		st.network.mend(ctx)
		st.network.close()
	}
	if st.balancer != nil {
		errs = append(errs, st.balancer.close())
	}
	for _, r := range slices.Backward(st.replicas) {
		errs = append(errs, r.remove(ctx))
	}
	return errors.Join(append(errs, st.route(ctx, ""))...)
}

// begin marks the beginning of the fault.
func (st *stage) begin(format string, arguments ...any) {
	st.record.Mark(record.FaultBegan, fmt.Sprintf(format, arguments...))
}

// end marks the end of the fault.
func (st *stage) end(format string, arguments ...any) {
	st.record.Mark(record.FaultEnded, fmt.Sprintf(format, arguments...))
}

// violation is what marks begin with that say what violates the requirement, and that the operations do not show.
const violation = "violation "

// violates notes something that violates the requirement.
func (st *stage) violates(format string, arguments ...any) {
	st.found++
	st.record.Mark(violation+strconv.Itoa(st.found), fmt.Sprintf(format, arguments...))
}

// started starts a replica again. One that does not come back violates the requirement.
func (st *stage) started(ctx context.Context, r *replica) error {
	err := r.start(ctx)
	if err != nil && ctx.Err() == nil {
		st.violates("it did not come back: %v", err)
		return nil
	}
	if err == nil {
		st.record.Mark(record.Ready, "the program answers again")
	}
	return err
}

// pickUp waits until a replica serves the certificate that was written. One that never does violates the requirement.
func (st *stage) pickUp(ctx context.Context) error {
	at := st.record.Now()
	err := st.certs().pickedUp(ctx, st.replicas[0].address, st.PickUp)
	switch {
	case err == nil:
		st.record.Mark("certificate picked up", fmt.Sprintf("%s after it was written", (st.record.Now()-at).Round(10*time.Millisecond)))
	case errors.Is(err, errNotPickedUp):
		st.violates("%v", err)
		return nil
	}
	return err
}
