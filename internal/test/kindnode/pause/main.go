// Command pause keeps the namespaces of a pod open until it is stopped. Where the containers of a pod share their processes it is
// process 1, so it reaps what others leave.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for <-signals == syscall.SIGCHLD {
		reap()
	}
}

// reap collects all children that have ended.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}
