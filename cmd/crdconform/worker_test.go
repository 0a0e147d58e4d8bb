package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// workerSpec is what workers are given. One of two sends half of 100 requests a second.
func workerSpec(t *testing.T, duration time.Duration) string {
	t.Helper()
	url, ca := serve(t, webhook.Handler(), nil)
	const spec = `{"protocol":6,"of":2,"patienceNanoseconds":60000000000,"endpoint":{"url":%q,"ca":%q},
		"workload":{"phases":[{"seconds":%g,"rate":100,"to":100}],"batch":1,"reviewVersion":"v1"},
		"requests":[{"reviewVersion":"v1","desiredAPIVersion":"example.com/v1","objects":[{"apiVersion":"example.com/v1beta1","kind":"CronTab",
			"hostPort":"localhost:80","metadata":{"name":"one","uid":"9415a0ae-0b6f-4a1c-9f7e-6d2d6ba0b9a1"}}]}]}`
	return fmt.Sprintf(spec, url, base64.StdEncoding.EncodeToString(read(t, ca)), duration.Seconds())
}

// worker runs the command with an input and returns its error and what it wrote.
func worker(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var out strings.Builder
	cmd := newWorker(streams{out: &out}, in) //nolint:contextcheck // commands get their context from cobra
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// lastLine is the result of a worker, as far as the test needs it.
func lastLine(t *testing.T, out string) (partial bool, requests, good int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct {
		Result *struct {
			Partial  bool `json:"partial"`
			Requests int  `json:"requests"`
			Good     int  `json:"good"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Result == nil {
		t.Fatalf("it wrote %s: %v", out, err)
	}
	return last.Result.Partial, last.Result.Requests, last.Result.Good
}

func TestWorkerFromFiles(t *testing.T) {
	t.Parallel()
	spec := workerSpec(t, 300*time.Millisecond)
	start := fmt.Sprintf(`{"number": 1, "start": %q, "leadNanoseconds": 1000000000}`, time.Now().Add(time.Second).Format(time.RFC3339Nano))
	out, err := worker(t.Context(), nil, "--spec", file(t, "a", spec[:50]), "--spec", file(t, "b", spec[50:]), "--orders", file(t, "orders", start), "--index", "1")
	check(t, err)
	if partial, requests, good := lastLine(t, out); partial || requests != 15 || good != 15 {
		t.Errorf("it wrote %s", out)
	}
	if !strings.HasPrefix(out, `{"hello":{"protocol":6,"index":1}}`+"\n") {
		t.Errorf("it wrote %s", out)
	}
}

// TestWorkerFromInput is stopped by the end of its input, and by a signal.
func TestWorkerFromInput(t *testing.T) {
	t.Parallel()
	spec := workerSpec(t, time.Hour)
	start := fmt.Sprintf(`{"start":%q,"leadNanoseconds":3600000000000}`, time.Now().Add(time.Hour).Format(time.RFC3339Nano))
	code := func(err error) int {
		var exit *exitError
		if !errors.As(err, &exit) {
			return 0
		}
		return exit.code
	}
	if out, err := worker(t.Context(), strings.NewReader(spec), "--spec", "-", "--index", "0"); code(err) != exitInterrupted || strings.Contains(out, "result") {
		t.Errorf("without an order: %v, %s", err, out)
	}
	if out, err := worker(t.Context(), strings.NewReader(spec+start), "--spec", "-", "--index", "0"); err != nil || !strings.Contains(out, `"partial":true`) {
		t.Errorf("stopped before the start: %v, %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	reader, writer := io.Pipe()
	defer writer.Close()
	go io.WriteString(writer, spec+start)
	if out, err := worker(ctx, reader, "--spec", "-", "--index", "0"); code(err) != exitInterrupted {
		t.Errorf("by a signal: %v, %s", err, out)
	}
}
