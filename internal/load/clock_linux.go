package load

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crdconform/crdconform/internal/pause"
)

// clock wakes the pacer. The timers of Go's runtime wait for whole milliseconds on Linux, which is more than a fast webhook
// takes. So a timer of the kernel is waited for, as for a file; it is exact to a tenth of that, and to wait for it keeps
// no goroutine from running.
type clock struct{ file *os.File }

func newClock() *clock {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &clock{} // without it, wait is less exact
	}
	return &clock{os.NewFile(uintptr(fd), "timerfd")}
}

// wait waits for a while, or until the context ends.
func (c *clock) wait(ctx context.Context, d time.Duration) {
	if c.file == nil || c.arm(d) != nil {
		_ = pause.For(ctx, d)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.file.SetReadDeadline(time.Unix(0, 1)) })
	defer stop()
	var expirations [8]byte
	_, _ = c.file.Read(expirations[:]) // it ends when the timer expires, by the deadline at the latest
}

// arm sets the timer and, because busy programs look at timers of their own more often, a deadline to go with it.
func (c *clock) arm(d time.Duration) error {
	if err := c.file.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	controlled := raw.Control(func(fd uintptr) {
		err = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil)
	})
	if controlled != nil {
		return controlled
	}
	return err
}

func (c *clock) close() {
	if c.file != nil {
		_ = c.file.Close() // nothing can be lost
	}
}
