// Command example is a conversion webhook as examples show it: it works on objects without types, by net/http alone. It
// converts Jobs of the group cron.example.org between v1beta1, which has hostPort and cronSpec, and v1, which has host and
// port, and a schedule.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := webhook().Run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
