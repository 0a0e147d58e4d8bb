// Package kube has what clients of an API server do, whatever they are for: they install definitions and wait until those are served, list
// page by page, remove what they created, find out what the API server reaches, and send requests exactly once.
package kube

import (
	"context"
	"time"

	"sigs.k8s.io/e2e-framework/klient/wait"
)

// Until asks at an interval, at once for the first time, until the answer is yes or an error. When the context ends before that, its cause is
// the error.
func Until(ctx context.Context, interval time.Duration, ask func(context.Context) (bool, error)) error {
	err := wait.For(ask, wait.WithContext(ctx), wait.WithInterval(interval), wait.WithTimeout(0), wait.WithImmediate())
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
