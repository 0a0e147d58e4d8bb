package subject_test

import (
	"testing"

	"github.com/crdconform/crdconform/internal/loopback"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.com": false, "10.0.0.1": false, "0.0.0.0": false, "::": false, "[::1]": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
