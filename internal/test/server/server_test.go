package server_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// shared is the API server of the tests that leave nothing in one.
var shared suitetest.Shared

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" { // it is the program that a test disrupts
		os.Exit(serveReference(os.Args[2], os.Args[3])) //nolint:forbidigo // it is main
	}
	shared.Main(m)
}

// eventually waits until a condition holds, and fails the test with its error if it does not within minutes.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(2 * time.Minute)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
