//go:build linux

package main

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// timers wait more exactly than the timers of Go's runtime, which wait for whole milliseconds on Linux: each is a timer of the
// kernel that is read like a file, so it keeps no goroutine from running. They must not be copied.
type timers struct{ idle sync.Pool }

// wait waits for a while. It panics when the system has no timer left, without which nothing can be measured.
func (t *timers) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer, ok := t.idle.Get().(*os.File)
	if !ok {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil {
			panic("bench: a timer of the kernel: " + err.Error())
		}
		timer = os.NewFile(uintptr(fd), "timerfd")
	}
	defer t.idle.Put(timer)
	raw, err := timer.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			if e := unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil); e != nil {
				panic("bench: a timer of the kernel: " + e.Error())
			}
		})
	}
	if err == nil {
		_, err = timer.Read(make([]byte, 8)) // how often it expired
	}
	if err != nil {
		panic("bench: a timer of the kernel: " + err.Error())
	}
}
