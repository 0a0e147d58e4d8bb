package workers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// empty returns the exported fields of a struct that are zero, by their paths, of those that count.
func empty(v reflect.Value, path string, but ...string) []string {
	if slices.Contains(but, path) {
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // all others are values
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		var all []string
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				all = append(all, empty(v.Field(i), path+"."+f.Name, but...)...)
			}
		}
		return all
	case reflect.Slice:
		if v.Len() > 0 {
			return empty(v.Index(0), path+"[]", but...)
		}
	}
	if v.IsZero() {
		return []string{path}
	}
	return nil
}

// TestSpecHasAll sends a load in which everything is set, so that nothing can be forgotten.
func TestSpecHasAll(t *testing.T) {
	t.Parallel()
	l := Load{
		Endpoint: wire.Endpoint{URL: "https://localhost/", CA: []byte("ca"), ServerName: "name", HTTP2: true, Timeout: time.Second, CAOption: "a", ServerNameOption: "b"},
		Requests: []contract.Request{{ReviewVersion: "v1", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{[]byte(`{"a":1.50,"b":"\u003c"}`)}}},
		Workload: load.Workload{
			Name: "name", Phases: []loadgen.Phase{{Seconds: 60, Rate: 1. / 3, To: 1e-7}}, Clients: 2, Duration: 3, Requests: 4, Whole: true, Batch: 5, Bytes: 6,
			ReviewVersion: "v1beta1", Pairs: []corpus.Pair{{From: "v1", To: "v2"}}, InFlight: 7, Due: []time.Duration{11, 12}, JudgeContent: true,
			Content: &load.Content{
				Answers: []load.Answer{{
					Objects: [][]byte{[]byte("{ }")}, Body: []byte("{}"), UID: "u",
					Violations: []contract.Violation{{Requirement: "a", Severity: contract.Rejected, Object: 1, Path: "p", Expected: "x", Actual: "y"}},
				}},
				Varying: []string{"spec.at"},
			},
		},
		Workers: 9, Patience: 10,
	}
	// Each request gets a uid of its own, and the part is each worker's.
	if forgotten := empty(reflect.ValueOf(l), "", ".Endpoint.ClientCertificate", ".Requests[].UID", ".Workload.Part"); forgotten != nil {
		t.Errorf("the test forgets %v", forgotten)
	}
	encoded, err := newSpec(l).encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decodeSpec(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded.Load; !reflect.DeepEqual(got, l) {
		t.Errorf("got  %+v\nwant %+v", got, l)
	}
}

func TestSpecsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                              "is not JSON",
		`{`:                             "is not JSON",
		`{"of":1}`:                      "speaks version 0 of the protocol of workers, and this one 6: use the same release",
		`{"protocol":7,"of":1,"new":1}`: "speaks version 7 of the protocol",
		`{"protocol":6,"new":1}`:        `unknown field "new"`,
		`{"protocol":6}`:                "is for 0 of them",
		`{"protocol":6,"of":1}`:         "has no requests in it",
	} {
		if _, err := FromStream(t.Context(), strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want something with %q", text, err, want)
		}
		if _, err := FromFiles(t.Context(), []string{file(t, text)}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s as a file: got %v, want something with %q", text, err, want)
		}
	}
	for name, content := range map[string]string{"half a header": "\x1f\x8b\x08", "half of it": string(compress(t, newMinimal(t))[:30])} {
		if _, err := FromFiles(t.Context(), []string{file(t, content)}, ""); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := FromFiles(t.Context(), []string{"/no/such/file"}, ""); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("got %v", err)
	}
	if _, err := FromFiles(t.Context(), []string{file(t, string(newMinimal(t)))}, "/no/such/orders"); err == nil || !strings.Contains(err.Error(), "/no/such/orders") {
		t.Errorf("got %v", err)
	}
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func compress(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(plain)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newMinimal is a spec of a webhook that is nowhere.
func newMinimal(t *testing.T) []byte {
	t.Helper()
	encoded, err := newSpec(crontabLoad(t, wire.Endpoint{URL: "https://127.0.0.1:1/"}, time.Second)).encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestFiles reads a spec that is compressed and cut in two, and orders from a file that changes.
func TestFiles(t *testing.T) {
	t.Parallel()
	compressed, orders := compress(t, newMinimal(t)), file(t, "")
	in, err := FromFiles(t.Context(), []string{file(t, string(compressed[:100])), file(t, string(compressed[100:]))}, orders)
	if err != nil {
		t.Fatal(err)
	}
	if in.spec.Workers != 3 || len(in.spec.Requests) == 0 {
		t.Errorf("got %+v", in.spec)
	}
	start := time.Now().Add(time.Hour).UTC()
	for _, want := range []order{{Start: start, Lead: time.Hour}, {Stop: true}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]byte{text[:5], text} { // as when it is read while it is written
			if err := os.WriteFile(orders, part, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-in.orders; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	select {
	case again := <-in.orders:
		t.Errorf("got %+v a second time", again)
	case <-time.After(3 * polling):
	}
}

// TestStart waits for the order to start and looks at its clock.
func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		order  string // that comes after a second
		offset time.Duration
		want   string
	}{
		"in time":           {"start", 2 * time.Second, ""},
		"at the last":       {"start", 0, ""},
		"within tolerance":  {"start", 6 * time.Second, ""},
		"a little late":     {"start", -10 * time.Second, ""},
		"too late":          {"start", -12500 * time.Millisecond, "arrived 12.5s after the start: either it took long, or the clock of this machine is ahead"},
		"clock behind":      {"start", 9 * time.Second, "the clock of this machine is 4s behind"},
		"stop":              {"stop", 0, ErrStopped.Error()},
		"end of the stream": {"end", 0, ErrStopped.Error()},
		"context":           {"cancel", 0, ErrStopped.Error()},
		"no order":          {"none", 0, "no start message within 1m15s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				orders := make(chan order)
				start := time.Now().Add(time.Second + test.offset)
				go func() {
					lapse(time.Second)
					switch test.order {
					case "start":
						orders <- order{Start: start, Lead: 5 * time.Second}
					case "stop":
						orders <- order{Stop: true}
					case "end":
						close(orders)
					case "cancel":
						cancel()
					}
				}()
				got, err := Input{spec{Load: Load{Patience: time.Minute}}, orders}.start(ctx)
				cancel()
				if test.want == "" && (err != nil || !got.Start.Equal(start)) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("got %+v, %v, want %s, %s", got, err, start, test.want)
				}
			})
		})
	}
}

// TestStreamEnds has what gives orders end with the context, and with the stream.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		go writer.Write(append(newMinimal(t), `{"stop":true}`...))
		if _, err := FromStream(ctx, reader); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel() // while nobody takes the order
		in, err := FromStream(t.Context(), bytes.NewReader(append(newMinimal(t), "nonsense"...)))
		if err != nil {
			t.Fatal(err)
		}
		if o, more := <-in.orders; more {
			t.Errorf("got %+v", o)
		}
	})
}

// TestResultHasAll sends a summary in which everything is set.
func TestResultHasAll(t *testing.T) {
	t.Parallel()
	s, err := load.Merge()
	if err != nil {
		t.Fatal(err)
	}
	for n, h := range []interface{ RecordValue(int64) error }{s.Response, s.Response, s.Response, s.Response, s.Service, s.Lag} {
		if err := h.RecordValue(int64(n) + 1); err != nil {
			t.Fatal(err)
		}
	}
	s.Workload = load.Split(load.Workload{Name: "name"}, 1, 2)
	s.LastSent, s.LastAnswer = time.Second, time.Minute
	s.Began, s.Elapsed, s.Partial, s.Protocol = time.Unix(1, 2).UTC(), time.Hour, true, "HTTP/2.0"
	s.Requests, s.Objects, s.Good, s.Accepted, s.BytesIn, s.BytesOut, s.Unanswered, s.Late = 3, 3, 4, 5, 6, 7, 1, 9
	s.Unsent, s.Errors, s.Violations = map[string]uint64{"a": 1}, map[load.Kind]uint64{load.HTTP: 2, load.Overdue: 1}, map[requirement.ID]uint64{requirement.WebhookResponseUID: 3}
	s.Findings = []loadgen.Finding{{
		Request: 1, Requirement: requirement.WebhookResponseUID, Tolerated: true, Text: "a",
		Files: []loadgen.File{{Path: "1-request.json", Data: []byte{1, 0, 255}}, {Path: "1-response", Data: []byte("<")}},
	}}
	s.Seconds = []load.Second{{Second: loadgen.Second{End: 1, Requests: 2, Objects: 3, Failed: 4, P50: 5, P90: 6, P99: 7, Max: 8}, Response: "histogram"}}
	s.Generator = loadgen.Generator{ProcessorSeconds: 1, Cores: 2, Collections: 3, Paused: 4, Waited: 5}
	// Lost and Workers are the coordinator's, the workload is known, and a file of a summary is there.
	known := []string{".Lost", ".Workers", ".Workload", ".Response", ".Service", ".Lag", ".Findings[].Files[].Missing"}
	if forgotten := empty(reflect.ValueOf(s), "", known...); forgotten != nil {
		t.Errorf("the test forgets %v", forgotten)
	}
	r := resultOf(s)
	var out bytes.Buffer
	l := &lines{encoder: json.NewEncoder(&out)}
	l.second(s.Seconds[0])
	l.write(message{Result: r})
	written := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(written) != 2 || l.err != nil {
		t.Fatalf("it wrote %q, %v", written, l.err)
	}
	one, ok1 := parse([]byte(written[0]))
	two, ok2 := parse([]byte(written[1]))
	if !ok1 || !ok2 {
		t.Fatalf("it wrote %q", written)
	}
	got, err := two.Result.complete(s.Workload, []load.Second{one.Second.Second})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Response.Equals(s.Response) || !got.Service.Equals(s.Service) || !got.Lag.Equals(s.Lag) {
		t.Error("the histograms differ")
	}
	for _, each := range []*load.Summary{&got, &s} {
		each.Response, each.Service, each.Lag = nil, nil, nil
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("got  %+v\nwant %+v", got, s)
	}
}

// TestEvidenceIsBounded keeps the result of a worker within what logs of pods hold.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	s, err := load.Merge()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.Findings = append(s.Findings, loadgen.Finding{Files: []loadgen.File{{Data: make([]byte, evidence/4)}, {Data: make([]byte, evidence/8)}}})
	}
	r := resultOf(s)
	kept := 0
	for _, f := range r.Findings {
		for _, file := range f.Files {
			kept += len(file.Data)
		}
	}
	if len(r.Findings) != 100 || kept == 0 || kept > evidence {
		t.Errorf("%d findings with %d bytes", len(r.Findings), kept)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`{"hello":{"protocol":1,"index":0}}`: true,
		`{"ack":{"order":1}}`:                true,
		`{"second":{"number":0}}`:            true,
		`{"result":{}}`:                      true,
		`{}`:                                 false,
		`{"hello":{},"second":{}}`:           false,
		`{"hello":{}} {"hello":{}}`:          false,
		`{"hello":{"more":1}}`:               false,
		`{"hello":`:                          false,
		`panic: runtime error`:               false,
		`{"level":"error","message":"something else that writes JSON"}`:    false,
		`W1121 19:00:00.000000       1 reflector.go:324] something to log`: false,
	} {
		if _, ok := parse([]byte(line)); ok != want {
			t.Errorf("%s: got %t", line, ok)
		}
	}
}

func certificate() *tls.Certificate { return new(tls.Certificate) }
