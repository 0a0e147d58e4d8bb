package disruption

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/memory"
)

// stage is what a scenario happens on: the webhook under test, and the way of connections to it.
type stage struct {
	*lab
	*programs // nil where the webhook runs as pods

	hook   target
	record *record.Recorder
	found  int // violations that the history does not show
}

// target is the webhook under test, as what happens to programs and to pods alike sees it.
type target interface {
	// authority is what verifies it, in PEM.
	authority() []byte

	// address is where its only replica answers on this machine.
	address() string

	// terminate has the only replica end as it should, and waits until it has. It calls signaled when SIGTERM is on its way, and returns what
	// there is to say of a replica that is too late.
	terminate(ctx context.Context, signaled func()) (late string, err error)

	// kill kills a replica at once: the oldest one.
	kill(ctx context.Context) error

	// replaced waits until the other replicas are all that there is, or another one took the place of the one that was killed.
	replaced(ctx context.Context) error

	// start has a replica come back that ended, and waits until it answers.
	start(ctx context.Context) error

	// rollOut replaces all replicas one by one.
	rollOut(ctx context.Context) error

	// replaceLeaf replaces the certificate by another one of the same authority, and leaf returns the one that should be served.
	replaceLeaf(ctx context.Context) error
	leaf() *x509.Certificate

	// usage is what all replicas use together, and false where nobody knows.
	usage(ctx context.Context) (memory.Sample, bool)

	// ended describes replicas that ended by themselves.
	ended(ctx context.Context) ([]string, error)

	// remove takes it down, whatever state it is in.
	remove(ctx context.Context) error
}

// wrongError is what violates the requirement, unlike an error that keeps it from being judged.
type wrongError struct{ error }

// Unwrap returns what is wrong.
func (e wrongError) Unwrap() error { return e.error }

// set brings the replicas up and has the API server ask them.
func (l *lab) set(ctx context.Context, s *Scenario) (_ *stage, err error) {
	l.port++
	st := &stage{lab: l}
	defer func() {
		if err != nil && st.hook != nil {
			err = errors.Join(err, st.hook.remove(context.WithoutCancel(ctx)))
		}
	}()
	if l.Pods != nil {
		p := &pods{Pods: l.Pods, builds: l.Builds}
		st.hook = p
		err = p.set(ctx, s)
	} else {
		st.programs = &programs{lab: l, meter: new(meter), greeted: st.greeted}
		st.hook = st.programs
		err = st.programs.set(ctx, s)
	}
	if err != nil {
		return st, err
	}
	if len(l.things) > 0 {
		if err = l.convertBy(ctx, st.hook.authority()); err != nil {
			return st, err
		}
		err = l.settled(ctx)
	}
	return st, err
}

// begin marks the beginning of the fault.
func (st *stage) begin(format string, arguments ...any) {
	st.record.Mark(record.FaultBegan, fmt.Sprintf(format, arguments...))
}

// end marks the end of the fault.
func (st *stage) end(format string, arguments ...any) {
	st.record.Mark(record.FaultEnded, fmt.Sprintf(format, arguments...))
}

// The names of marks that say something that no figure does.
const (
	PickedUp    = "certificate picked up"
	MemoryLimit = "memory limit"
	Memory      = "memory" // that may leak
)

// violation is what marks begin with that say what violates the requirement, and that the operations do not show.
const violation = "violation "

// violates notes something that violates the requirement.
func (st *stage) violates(format string, arguments ...any) {
	st.found++
	st.record.Mark(violation+strconv.Itoa(st.found), fmt.Sprintf(format, arguments...))
}

// started has a replica come back. One that does not violates the requirement.
func (st *stage) started(ctx context.Context) error {
	err := st.hook.start(ctx)
	if err == nil {
		st.record.Mark(record.Ready, "the webhook answers again")
	}
	return st.blame(ctx, err)
}

// blame notes an error that violates the requirement, and returns any other.
func (st *stage) blame(ctx context.Context, err error) error {
	if wrong := (wrongError{}); errors.As(err, &wrong) && ctx.Err() == nil {
		st.violates("%v", wrong)
		return nil
	}
	return err
}

// pickUp waits until the first replica serves the certificate that was written. One that never does violates the requirement.
func (st *stage) pickUp(ctx context.Context) error {
	at := st.record.Now()
	err := pickedUp(ctx, st.hook.leaf(), st.hook.address(), st.PickUp)
	switch {
	case err == nil:
		st.record.Mark(PickedUp, fmt.Sprintf("%s after it was written", (st.record.Now()-at).Round(10*time.Millisecond)))
	case errors.Is(err, errNotPickedUp):
		st.violates("%v", err)
		return nil
	}
	return err
}
