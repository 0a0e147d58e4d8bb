package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// workerSpec is what workers are given, as the protocol's version 2 has it. One of two sends half of 100 requests a second.
func workerSpec(t *testing.T, url, ca, duration string) string {
	t.Helper()
	length, err := time.ParseDuration(duration)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]any{
		"protocol": 5, "of": 2, "patienceNanoseconds": time.Minute,
		"endpoint": map[string]any{"url": url, "ca": read(t, ca)},
		"workload": map[string]any{
			"phases": []any{map[string]any{"seconds": length.Seconds(), "rate": 100, "to": 100}}, "batch": 1, "reviewVersion": "v1",
		},
		"requests": []any{map[string]any{
			"reviewVersion": "v1", "desiredAPIVersion": "example.com/v1",
			"objects": []any{map[string]any{
				"apiVersion": "example.com/v1beta1", "kind": "CronTab", "hostPort": "localhost:80",
				"metadata": map[string]any{"name": "one", "uid": "9415a0ae-0b6f-4a1c-9f7e-6d2d6ba0b9a1"},
			}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(spec)
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
	url, ca := serve(t, webhook.Handler(), nil)
	spec := workerSpec(t, url, ca, "300ms")
	start := fmt.Sprintf(`{"number": 1, "start": %q, "leadNanoseconds": 1000000000}`, time.Now().Add(time.Second).Format(time.RFC3339Nano))
	out, err := worker(t.Context(), nil, "--spec", file(t, "a", spec[:50]), "--spec", file(t, "b", spec[50:]), "--orders", file(t, "orders", start), "--index", "1")
	if err != nil {
		t.Fatal(err)
	}
	if partial, requests, good := lastLine(t, out); partial || requests != 15 || good != 15 {
		t.Errorf("it wrote %s", out)
	}
	if !strings.HasPrefix(out, `{"hello":{"protocol":5,"index":1}}`+"\n") {
		t.Errorf("it wrote %s", out)
	}
}

// TestWorkerWithOrders is told to start and then to stop by a file.
func TestWorkerWithOrders(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	orders := file(t, "orders", "")
	reader, writer := io.Pipe()
	cmd := newWorker(streams{out: writer}, nil)
	cmd.SetArgs([]string{"--spec", file(t, "spec", workerSpec(t, url, ca, "1h")), "--orders", orders, "--index", "0"})
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.ExecuteContext(t.Context())
		writer.Close()
	}()
	give := func(order string) {
		if err := os.WriteFile(orders+".new", []byte(order), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(orders+".new", orders); err != nil {
			t.Error(err)
		}
	}
	var last string
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		switch last = lines.Text(); {
		case strings.HasPrefix(last, `{"hello"`):
			give(fmt.Sprintf(`{"start": %q, "leadNanoseconds": 1000000000}`, time.Now().Add(time.Second).Format(time.RFC3339Nano)))
		case strings.HasPrefix(last, `{"second"`):
			give(`{"stop": true}`)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if partial, requests, good := lastLine(t, last); !partial || requests == 0 || good != requests {
		t.Errorf("it wrote %s", last)
	}
}

// TestWorkerFromInput is stopped by the end of its input, and by a signal.
func TestWorkerFromInput(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	spec := workerSpec(t, url, ca, "1h")
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

func TestWorkerThatMakesNoSense(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	spec := workerSpec(t, url, ca, "1s")
	good := file(t, "good", spec)
	missing := filepath.Join(t.TempDir(), "missing")
	away := file(t, "away", workerSpec(t, "https://127.0.0.1:1/", ca, "1s"))
	for name, test := range map[string]struct {
		args string
		code int // 0 for usage, which execute turns into its code
		want string
	}{
		"nothing":           {"", 0, `required flag(s) "index", "spec" not set`},
		"no index":          {"--spec " + good, 0, `required flag(s) "index" not set`},
		"an argument":       {"--spec " + good + " --index 0 more", 0, "worker takes no arguments"},
		"no file":           {"--spec " + missing + " --orders " + good + " --index 0", 0, missing},
		"no file of orders": {"--spec " + good + " --orders " + missing + " --index 0", 0, missing},
		"no orders":         {"--spec " + good + " --index 0", 0, "--orders: without orders it never starts"},
		"input and a file":  {"--spec - --spec " + good + " --index 0", 0, "give no other file"},
		"input and orders":  {"--spec - --orders " + good + " --index 0", 0, "give no other file"},
		"another release":   {"--index 0 --orders " + good + " --spec " + file(t, "new", strings.Replace(spec, `"protocol":5`, `"protocol":7`, 1)), 0, "speaks version 7"},
		"no such worker":    {"--spec " + good + " --orders " + good + " --index 2", exitUnjudged, "part 2 of 2"},
		"no webhook":        {"--spec " + away + " --orders " + good + " --index 1", exitUnjudged, "connection refused"},
	} {
		out, err := worker(t.Context(), strings.NewReader(spec), strings.Fields(test.args)...)
		if err == nil || !strings.Contains(err.Error(), test.want) || out != "" {
			t.Errorf("%s: got %v, want something with %q; it wrote %s", name, err, test.want, out)
			continue
		}
		var exit *exitError
		if errors.As(err, &exit); exit != nil && exit.code != test.code || exit == nil && test.code != 0 {
			t.Errorf("%s: got %+v, want the code %d", name, exit, test.code)
		}
	}
}
