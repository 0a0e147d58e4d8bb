package disruption

import (
	"context"
	"errors"
	"net/url"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/wire"
)

// terminationGrace is how long a program may take to end after SIGTERM, as pods may by default.
const terminationGrace = 30 * time.Second

// replica is a process that serves the webhook. It comes back at the same port, with the certificates of its folder.
type replica struct {
	command    subject.Command
	within     []string // see subject.Options
	kubeconfig string
	certs      *certificates
	meter      *meter
	at         func(address string) error // called with where the process will listen, before it is started

	port    int
	address string
	process *subject.Process // nil while there is none
	stopped bool             // by SIGSTOP
}

// start starts the process, and waits until it answers. A process that does not is gone then.
func (r *replica) start(ctx context.Context) error {
	process, err := subject.Start(ctx, r.command, subject.Options{
		Kubeconfig: r.kubeconfig, Port: r.port, Grace: terminationGrace, Before: r.before, Within: r.within,
		Certificates: &subject.Certificates{Folder: r.certs.folder, CA: r.certs.authority.PEM()},
	})
	if err != nil {
		return err
	}
	r.process = process
	r.meter.watch(process)
	return r.before(process.Endpoint) // which may be another address of this machine
}

// before takes the address and the port.
func (r *replica) before(e wire.Endpoint) error {
	u, err := url.Parse(e.URL)
	if err != nil {
		return err
	}
	if r.address == u.Host {
		return nil
	}
	if r.port, err = portOf(u.Host); err != nil {
		return err
	}
	r.address = u.Host
	if r.at == nil {
		return nil
	}
	return r.at(r.address)
}

// terminate sends SIGTERM and waits for the end, as long as a pod may take.
func (r *replica) terminate(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	r.resume()
	process := r.process
	r.process = nil
	return process.Stop(ctx)
}

// kill sends SIGKILL.
func (r *replica) kill(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	process := r.process
	r.process = nil
	return errors.Join(process.Kill(), process.Stop(ctx))
}

// pause sends SIGSTOP.
func (r *replica) pause() {
	r.stopped = true
	r.process.Signal(syscall.SIGSTOP)
}

// resume sends SIGCONT after a pause.
func (r *replica) resume() {
	if r.stopped && r.process != nil {
		r.process.Signal(syscall.SIGCONT)
	}
	r.stopped = false
}

// alive returns why the process has ended, if it has by itself.
func (r *replica) alive() error {
	if r.process == nil {
		return nil
	}
	return r.process.Err()
}

// remove ends the process and removes its certificates.
func (r *replica) remove(ctx context.Context) error {
	return errors.Join(r.terminate(ctx), r.certs.remove())
}
