package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// silent connects, and says nothing.
func (p *process) silent(t *testing.T) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestHurries has connections end that are too slow.
func TestHurries(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	c := start(t, newFrail(times{hello: time.Millisecond}), hurriesHellos, folder).silent(t)
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("a connection without a hello: %v", err)
	}
	c = start(t, newFrail(delays()), hurriesBodies, folder).halfway(t, trusts(a))
	if status := answered(bufio.NewReader(c)); status == http.StatusOK {
		t.Error("a request without a body is answered")
	}
	c, err := (&tls.Dialer{Config: trusts(a)}).DialContext(t.Context(), "tcp", start(t, newFrail(delays()), idlesBriefly, folder).host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", program.Path, len(body("a")), body("a"))
	lines := bufio.NewReader(c)
	if status := answered(lines); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	if more, err := io.ReadAll(lines); err != nil || len(more) > 0 {
		t.Errorf("an idle connection: %q, %v", more, err)
	}
}

// TestSilent has connections that say nothing keep others out.
func TestSilent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	for bug, count := range map[string]int{greetsInTurn: 1, fewConnections: 16} {
		p := start(t, newFrail(delays()), bug, folder)
		p.converts(t, trusts(a))
		var c net.Conn
		for range count {
			c = p.silent(t)
		}
		p.fails(t, a)
		c.Close()
		p.converts(t, trusts(a))
	}
}
