//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/figures"
)

// stamp is a field near the beginning of objects, for what is to differ from response to response.
const stamp = `"at":"000"`

// measureJudge compares how many bytes of responses one core judges with how many encoding/json finds to be valid. A response is known
// when it is what came before, but for the uid; it is scanned when all of its objects differ from what came before in one field, as when
// a webhook writes the time into them; it is new when most of their fields differ.
func measureJudge(b *testing.B) []figures.Claim {
	b.Helper()
	const batch = 500
	c := content{batch, 1<<10 - len(stamp) - 1}
	var measured []figures.Claim
	for _, objects := range []struct {
		how     string
		objects []json.RawMessage
	}{
		{padded, stamped(c.requests(b)[0].Objects)},
		{"CronTabs with 30 short fields", wideCronTabs(batch, 0)},
	} {
		repeated, response := judged(b, objects.objects)
		size := len(response.Body) / batch
		places := stamps(b, response.Body, batch)
		peer := throughput(func() { _ = json.Valid(response.Body) }, len(response.Body))
		n := 0
		known := func() { accept(b, repeated.Judge(uid, response)) }
		scanned := func() {
			n++
			for _, at := range places {
				response.Body[at], response.Body[at+1], response.Body[at+2] = byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10)
			}
			accept(b, repeated.Judge(uid, response))
		}
		var others []contract.Response
		for i := range different {
			if objects.how != padded {
				_, other := judged(b, wideCronTabs(batch, i+1))
				others = append(others, other)
			}
		}
		anew := func() {
			n++
			accept(b, repeated.Judge(uid, others[n%len(others)]))
		}
		for _, path := range []struct {
			name  string
			judge func()
			how   string
			asked float64
		}{
			{"known", known, "the uid differs or nothing", judgeFactor},
			{"scanned", scanned, "each differs from the one before in a field", judgeFactor},
			{"new", anew, "each differs from the one before in most fields", newFactor},
		} {
			if path.name == "new" && objects.how == padded {
				continue // they have only one field
			}
			how := fmt.Sprintf("batch %d x %d B, %s; %s", batch, size, objects.how, path.how)
			what := path.name + " " + objects.how
			rate := throughput(path.judge, len(response.Body))
			measured = append(measured,
				figures.Claim{What: "judge against encoding/json.Valid, " + what, Asked: path.asked, AtLeast: true, Measured: rate / peer, Unit: "x", How: fmt.Sprintf("%.0f to %.0f MB/s a core; %s", rate, peer, how)},
				figures.Claim{What: "allocations of the judge, " + what, Asked: 0, Measured: testing.AllocsPerRun(200, path.judge) / batch, Unit: "an object", How: how},
			)
		}
	}
	return measured
}

// different is how many responses come in turn: more than it takes until a sample is forgotten.
const different = 67

// padded are objects that have one long field.
const padded = "padded CronTabs"

// judgeFactor is how many times faster than encoding/json.Valid responses are judged at least. Where that takes 320 MB/s a core, as
// on the machine on which 1,000 MB/s were promised, it is those.
const judgeFactor = 3.2

// newFactor is the same for objects of which most fields are new: 1,000 MB/s a core where encoding/json.Valid takes 400.
const newFactor = 2.5

// uid is that of the request whose responses are judged.
const uid = "c0ffee00-0000-4000-8000-000000000000"

// accept fails the benchmark when the judge has something against a good response.
func accept(b *testing.B, j contract.Judgement) {
	b.Helper()
	if len(j.Violations) > 0 {
		b.Fatal(j.Violations)
	}
}

// throughput is how many millions of bytes are judged in a second of a processor, by the best of five tries. What else runs on
// the machine does not count.
func throughput(judge func(), size int) float64 {
	const tries, each = 5, 500 * time.Millisecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := 0.0
	for range tries {
		n := 0
		began, busy := time.Now(), threadTime()
		for time.Since(began) < each {
			judge()
			n++
		}
		best = max(best, float64(n*size)/1e6/(threadTime()-busy).Seconds())
	}
	return best
}

// threadTime is how long processors worked for the thread that calls.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // Linux has that clock
	}
	return time.Duration(t.Nano())
}

// judged returns what judges responses to a request with the objects, and the one of the reference webhook.
func judged(b *testing.B, objects []json.RawMessage) (*contract.Repeated, contract.Response) {
	b.Helper()
	request := contract.Request{ReviewVersion: "v1", UID: uid, DesiredAPIVersion: "example.com/v1", Objects: objects}
	body, err := request.Body()
	if err != nil {
		b.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	webhook.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, webhook.Path, bytes.NewReader(body)))
	return request.Repeated(), contract.Response{Status: recorder.Code, ContentType: recorder.Header().Get("Content-Type"), Body: recorder.Body.Bytes()}
}

// stamped returns the objects with a stamp.
func stamped(objects []json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	for _, object := range objects {
		all = append(all, fmt.Appendf(nil, "{%s,%s", stamp, object[1:]))
	}
	return all
}

// stamps are the places of the digits.
func stamps(b *testing.B, body []byte, n int) []int {
	b.Helper()
	var places []int
	for from := 0; ; {
		i := bytes.Index(body[from:], []byte(stamp))
		if i < 0 {
			break
		}
		from += i + len(stamp)
		places = append(places, from-len(`000"`))
	}
	if len(places) != n {
		b.Fatalf("%d of %d objects have a stamp:\n%.2000s", len(places), n, body)
	}
	return places
}

// wideCronTabs returns stamped objects of about 1 kB with many fields, no two of the same shape. Those of another version have the same
// metadata and other values.
func wideCronTabs(n, version int) []json.RawMessage {
	objects := make([]json.RawMessage, n)
	for i := range objects {
		spec := map[string]any{}
		for j := range 10 + i%5 {
			k := i + version
			spec[fmt.Sprintf("text%d", j)] = strings.Repeat("v", (3*k+7*j)%17)
			spec[fmt.Sprintf("list%d", j)] = []any{k + j, k%3 == 0, nil}
			if j%2 == 0 {
				spec[fmt.Sprintf("port%d", j)] = map[string]any{"name": fmt.Sprintf("port-%d", k), "port": 8000 + j}
			}
		}
		metadata := map[string]any{
			"name": fmt.Sprintf("crontab-%d", i), "namespace": "default", "uid": fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", i),
			"resourceVersion": "4711", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z",
		}
		objects[i], _ = json.Marshal(map[string]any{
			"at": "000", "apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": metadata, "spec": spec,
		})
	}
	return objects
}
