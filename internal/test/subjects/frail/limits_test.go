package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
)

// fails fails the test if a request is answered soon.
func (p *process) fails(t *testing.T, a *pki.Authority) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if status, answer, err := p.ask(within, t, trusts(a), "a"); err == nil {
		t.Errorf("it answers %d, %s", status, answer)
	}
}

func TestEndsAfterPause(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	authority(t, folder)
	p := start(t, newFrail(times{late: -time.Hour}), endsAfterPause, folder)
	if err := <-p.ended; err == nil || !strings.Contains(err.Error(), "watchdog") {
		t.Errorf("it ended with %v", err)
	}
}

func TestLimitsRequests(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	p := start(t, newFrail(times{}), limitsRequests, folder)
	for range most {
		p.converts(t, trusts(a))
		p.halfway(t, trusts(a))
	}
	if status, answer, err := p.ask(t.Context(), t, trusts(a), "a"); status != http.StatusTooManyRequests || err != nil {
		t.Errorf("got %d, %s, %v", status, answer, err)
	}
}

func TestWaitsForReaders(t *testing.T) {
	t.Parallel()
	f, places := newFrail(times{task: time.Millisecond}), make(chan struct{}, workers)
	defer close(f.released)
	one := make(chan struct{}, 1)
	for range 3 {
		if !f.turn(t.Context(), one) {
			t.Fatal("a worker is lost though somebody has taken what it did")
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for len(places) < workers {
		f.turn(gone, places)
	}
	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if f.turn(within, places) {
		t.Error("there are more workers")
	}
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	p := start(t, newFrail(delays()), oneAtATime, folder)
	c := p.halfway(t, trusts(a))
	p.fails(t, a)
	fmt.Fprint(c, body("a"))
	if status := answered(bufio.NewReader(c)); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	p.converts(t, trusts(a))
}
