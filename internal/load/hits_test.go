package load

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
)

// ledger is a webhook that returns one answer to all, and counts by uid who asked.
type ledger struct {
	before, after []byte // the answer, around the uid
	asked         []atomic.Uint32
	others        atomic.Uint64 // requests with a uid that no hit has
}

// newLedger returns a webhook for so many requests, all of which are the given one.
func newLedger(t *testing.T, request contract.Request, most uint64) *ledger {
	t.Helper()
	var objects []json.RawMessage
	for _, object := range request.Objects {
		objects = append(objects, bytes.Replace(object, []byte("example.com/v1beta1"), []byte("example.com/v1"), 1))
	}
	answer, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
		"response": map[string]any{"uid": uid(0), "convertedObjects": objects, "result": map[string]any{"status": "Success"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{asked: make([]atomic.Uint32, most)}
	l.before, l.after, _ = bytes.Cut(answer, []byte(uid(0)))
	return l
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	at := bytes.Index(body, []byte(`"uid":"c0ffee00-`))
	if err != nil || at < 0 {
		l.others.Add(1)
		return
	}
	id := body[at+len(`"uid":"`):][:uidLength]
	n, err := strconv.ParseUint(string(id[uidLength-12:]), 16, 64)
	if err != nil || n >= uint64(len(l.asked)) {
		l.others.Add(1)
		return
	}
	l.asked[n].Add(1)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(append(append(make([]byte, 0, len(l.before)+uidLength+len(l.after)), l.before...), id...), l.after...))
}

// compareHits holds that each of vegeta's results is a request that the webhook saw once, and that it saw no others.
func compareHits(t *testing.T, w Workload) {
	t.Helper()
	w.Batch = 1
	requests, err := Bodies(crontabs, w)
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(t, requests[0], w.Total())
	hits := make([]uint32, w.Total()) // the watch is never called concurrently
	var metrics vegeta.Metrics
	s, err := Run(t.Context(), connect(t, l), requests[:1], w, Watch{Result: func(r *vegeta.Result) {
		hits[r.Seq]++
		metrics.Add(r)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range hits {
		if asked := l.asked[n].Load(); hits[n] != 1 || asked != 1 {
			t.Errorf("%d results of hit %d, which the webhook saw %d times", hits[n], n, asked)
		}
	}
	if other := l.others.Load(); other > 0 || metrics.Requests != w.Total() || s.Requests != w.Total() || s.Good != w.Total() {
		t.Errorf("%d requests that are no hits, %d hits of %d: %+v", other, metrics.Requests, w.Total(), s)
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Workload){
		"by the clock": func(w *Workload) { w.Phases = Constant(4000, time.Second) },
		"few at once":  func(w *Workload) { w.Phases, w.InFlight = Constant(2000, time.Second), 1 },
		"clients":      func(w *Workload) { w.Phases, w.Clients, w.Duration, w.Requests = nil, 8, time.Hour, 5000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workload()
			change(&w)
			compareHits(t, w)
		})
	}
}

// TestHitsOfARedirect has a webhook that redirects to nowhere: vegeta, whose results say so, does not ask again.
func TestHitsOfARedirect(t *testing.T) {
	t.Parallel()
	var asked, hits atomic.Int64
	s, err := attack(t.Context(), connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = w.Write([]byte("elsewhere"))
	})), workload(), Watch{Result: func(r *vegeta.Result) {
		if r.Code != http.StatusTemporaryRedirect || r.BytesIn != uint64(len("elsewhere")) {
			t.Errorf("got %+v", r)
		}
		hits.Add(1)
	}})
	if err != nil || hits.Load() != 100 || asked.Load() != 100 || s.Errors[HTTP] != 100 {
		t.Errorf("%d hits, %d requests, %v, %v", hits.Load(), asked.Load(), s.Errors, err)
	}
}

// TestTargets has vegeta's own attacker send what was written for it: the webhook gets the same as from Run, but for the uids.
func TestTargets(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	count := map[string]int{}
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request, err := contract.ParseRequest(body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		count[r.Method+r.RequestURI+r.Header.Get("Content-Type")+r.Header.Get("Accept")+r.UserAgent()+string(bytes.Replace(body, []byte(request.UID), []byte(uid(0)), 1))]++
	}))
	w := workload() // 100 requests, of 64 different ones
	requests, err := Bodies(crontabs, w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), client, requests, w, Watch{}); err != nil {
		t.Fatal(err)
	}
	ours := maps.Clone(count)
	clear(count)

	targets, err := Targets(client.URL(), requests)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	encode := vegeta.NewJSONTargetEncoder(&file)
	for i := range targets {
		if err := encode(&targets[i]); err != nil {
			t.Fatal(err)
		}
	}
	read, err := vegeta.ReadAllTargets(vegeta.NewJSONTargeter(&file, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(client.Endpoint().CA)
	attacker := vegeta.NewAttacker(vegeta.TLSConfig(&tls.Config{RootCAs: roots}), vegeta.HTTP2(false))
	var metrics vegeta.Metrics
	for result := range attacker.Attack(vegeta.NewStaticTargeter(read...), upTo{vegeta.Rate{Freq: 200, Per: time.Second}, w.Total()}, 0, "") {
		metrics.Add(result)
	}
	mu.Lock()
	defer mu.Unlock()
	if metrics.Requests != 100 || metrics.StatusCodes["200"] != 100 || len(ours) != 64 || !maps.Equal(ours, count) {
		t.Errorf("%d hits, %v: %d kinds of requests, as ours of %d kinds: %t", metrics.Requests, metrics.StatusCodes, len(count), len(ours), maps.Equal(ours, count))
	}
}

// upTo is a pacer that stops after some hits.
type upTo struct {
	vegeta.ConstantPacer

	most uint64
}

// Pace stops after the last one.
func (u upTo) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	wait, stop := u.ConstantPacer.Pace(elapsed, hits)
	return wait, stop || hits >= u.most
}
