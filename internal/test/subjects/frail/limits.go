package main

import (
	"context"
	"net/http"
	"sync"
)

const (
	most    = 10 // requests at once
	workers = 8
)

// limited refuses requests while it is at others.
func (f *frail) limited(next http.Handler) http.Handler {
	places := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
		default:
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		defer func() { <-places }()
		wait(r.Context(), f.times.task)
		next.ServeHTTP(w, r)
	})
}

// pooled has a worker do a part of each request.
func (f *frail) pooled(next http.Handler) http.Handler {
	places := make(chan struct{}, workers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if readWhole(r) && f.turn(r.Context(), places) {
			next.ServeHTTP(w, r)
		}
	})
}

// turn waits for a worker, and reports whether it did its part. A worker keeps its place until somebody has taken what it did.
func (f *frail) turn(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-places }()
		wait(context.WithoutCancel(ctx), f.times.task)
		select {
		case done <- struct{}{}:
		case <-f.released:
		}
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// inTurn serves one request at a time.
func inTurn(next http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		next.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush() // a client that is gone needs no answer
	})
}
