package main

import (
	"net/http"
	"os"
	"testing"
	"time"
)

func TestAsksLeader(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	t.Cleanup(func() { os.Remove(leaderFile(t)) })
	first := start(t, newFrail(times{term: time.Hour}), asksLeader, folder)
	second := start(t, newFrail(times{term: time.Hour}), asksLeader, folder)
	if leader := second.leading.leader(); leader != first.host {
		t.Fatalf("%q leads", leader)
	}
	first.converts(t, trusts(a))
	second.converts(t, trusts(a))
	dead := []byte("127.0.0.1:1")
	if err := os.WriteFile(leaderFile(t), dead, 0o600); err != nil {
		t.Fatal(err)
	}
	second.leading.stand()
	if status, answer, err := second.ask(t.Context(), t, trusts(a), "a"); status != http.StatusBadGateway || err != nil {
		t.Errorf("the leader is dead: %d, %s, %v", status, answer, err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(leaderFile(t), long, long); err != nil {
		t.Fatal(err)
	}
	if status, answer, err := second.ask(t.Context(), t, trusts(a), "a"); status != http.StatusServiceUnavailable || err != nil {
		t.Errorf("nobody leads: %d, %s, %v", status, answer, err)
	}
	second.leading.stand()
	second.converts(t, trusts(a))
	first.converts(t, trusts(a))
	second.stop()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
	if leader := first.leading.leader(); leader != "" {
		t.Errorf("%q leads after its end", leader)
	}
}

func leaderFile(t *testing.T) string {
	t.Helper()
	file, err := besideProgram("leader")
	if err != nil {
		t.Fatal(err)
	}
	return file
}
