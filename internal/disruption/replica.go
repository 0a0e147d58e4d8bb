package disruption

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/wire"
)

// terminationGrace is how long a program may take to end after SIGTERM, as pods may by default.
const terminationGrace = 30 * time.Second

// replica is a process that serves the webhook. It comes back at the same port, with the certificates of its folder.
type replica struct {
	command    subject.Command
	kubeconfig string
	certs      *certificates
	at         func(address string) error // called with where the process will listen, before it is started

	port    int
	address string
	process atomic.Pointer[subject.Process] // nil while there is none
	stopped bool                            // by SIGSTOP
}

// start starts the process, and waits until it answers. A process that does not is gone then.
func (r *replica) start(ctx context.Context) error {
	process, err := subject.Start(ctx, r.command, subject.Options{
		Kubeconfig: r.kubeconfig, Port: r.port, Grace: terminationGrace, Before: r.before,
		Certificates: &subject.Certificates{Folder: r.certs.folder, CA: r.certs.authority.PEM()},
	})
	if err != nil {
		return err
	}
	r.process.Store(process)
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
	r.resume()
	if process := r.process.Swap(nil); process != nil {
		return process.Stop(ctx)
	}
	return nil
}

// kill sends SIGKILL.
func (r *replica) kill(ctx context.Context) error {
	if process := r.process.Swap(nil); process != nil {
		return errors.Join(process.Kill(), process.Stop(ctx))
	}
	return nil
}

// pause sends SIGSTOP.
func (r *replica) pause() {
	if process := r.process.Load(); process != nil {
		r.stopped = true
		process.Signal(syscall.SIGSTOP)
	}
}

// resume sends SIGCONT after a pause.
func (r *replica) resume() {
	if process := r.process.Load(); r.stopped && process != nil {
		process.Signal(syscall.SIGCONT)
	}
	r.stopped = false
}

// alive returns why the process has ended, if it has by itself.
func (r *replica) alive() error {
	if process := r.process.Load(); process != nil {
		return process.Err()
	}
	return nil
}

// sampleEvery is how often it is looked at what the process uses.
const sampleEvery = 200 * time.Millisecond

// sample records what the process uses, as long as the context lasts.
func (r *replica) sample(ctx context.Context, to *record.Recorder) {
	for pause.For(ctx, sampleEvery) == nil {
		process := r.process.Load()
		if process == nil {
			continue
		}
		if used, known := process.Usage(); known {
			to.Sample(record.Sample{At: to.Now(), Resident: used.Resident, Processor: used.Processor, Processes: used.Processes})
		}
	}
}

// remove ends the process and removes its certificates.
func (r *replica) remove(ctx context.Context) error {
	return errors.Join(r.terminate(ctx), r.certs.remove())
}
