package main

import (
	"net/http"
	"os"
	"testing"
	"time"
)

func TestNotifiesPeers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	first := start(t, newFrail(times{term: time.Hour}), notifiesPeers, folder)
	t.Cleanup(func() { os.RemoveAll(first.peers.folder) })
	second := start(t, newFrail(times{term: time.Hour}), notifiesPeers, folder)
	if others := first.peers.others(); len(others) != 1 || others[0] != second.host {
		t.Fatalf("it knows %v", others)
	}
	first.converts(t, trusts(a))
	second.stop()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
	first.converts(t, trusts(a))
	if err := os.WriteFile(second.peers.file, []byte(second.host), 0o600); err != nil { // as if it had been killed
		t.Fatal(err)
	}
	if status, answer, err := first.ask(t.Context(), t, trusts(a), "a"); status != http.StatusInternalServerError || err != nil {
		t.Errorf("a peer is dead: %d, %s, %v", status, answer, err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(second.peers.file, long, long); err != nil {
		t.Fatal(err)
	}
	first.converts(t, trusts(a))
}
