package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// process is a program that runs in the test.
type process struct {
	*frail

	host  string
	stop  context.CancelFunc // what SIGTERM does
	ended chan error
}

// start runs the program with a bug until the test ends.
func start(t *testing.T, f *frail, bug, folder string) *process {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	p := &process{frail: f, stop: stop, ended: make(chan error, 1)}
	go func() {
		p.ended <- f.webhook().Run(ctx, []string{"--certs", folder, "--bug", bug}, in)
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not start: %v", <-p.ended)
	}
	u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(line), "listening on "))
	if err != nil {
		t.Fatal(err)
	}
	p.host = u.Host
	t.Cleanup(func() {
		stop()
		select {
		case <-f.released:
		default:
			close(f.released)
		}
	})
	return p
}

// authority makes an authority, and a certificate of it in the folder.
func authority(t *testing.T, folder string) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "ca.crt"), a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	rotate(t, folder, a)
	return a
}

// rotate replaces the certificate in a folder.
func rotate(t *testing.T, folder string, a *pki.Authority) {
	t.Helper()
	pair, err := a.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.key": pair.Key, "tls.crt": pair.Certificate} {
		if err := os.WriteFile(filepath.Join(folder, name+".new"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, name+".new"), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// trusts returns client settings that trust the certificates of an authority.
func trusts(a *pki.Authority) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func body(names ...string) string {
	var objects []string
	for _, name := range names {
		objects = append(objects, fmt.Sprintf(`{"apiVersion":%q,"kind":"Pump","metadata":{"name":%q},"spec":{"flow":3}}`, newer, name))
	}
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":%q,"objects":[%s]}}`, older, strings.Join(objects, ","))
}

// ask asks for conversions on a new connection.
func (p *process) ask(ctx context.Context, t *testing.T, config *tls.Config, names ...string) (status int, answer string, err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+p.host+program.Path, strings.NewReader(body(names...)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// converts fails the test unless a request is answered.
func (p *process) converts(t *testing.T, config *tls.Config) {
	t.Helper()
	status, answer, err := p.ask(t.Context(), t, config, "a")
	if err != nil || status != http.StatusOK || !strings.Contains(answer, `"litres":3`) {
		t.Fatalf("got %d, %q, %v", status, answer, err)
	}
}

// halfway begins a request, and returns when the program waits for the rest of it.
func (p *process) halfway(t *testing.T, config *tls.Config) net.Conn {
	t.Helper()
	c, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", p.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", program.Path, len(body("a")))
	line := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(c, line); err != nil || !bytes.Contains(line, []byte("100 Continue")) {
		t.Fatalf("got %q, %v", line, err)
	}
	return c
}

// TestMain has controller-runtime log nothing.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	m.Run()
}

// answered reads a response, and returns its status; 0 if there is none.
func answered(lines *bufio.Reader) int {
	response, err := http.ReadResponse(lines, nil)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}

// TestGood answers what it has accepted before it ends, and serves a new certificate.
func TestGood(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := authority(t, folder)
	p := start(t, newFrail(delays()), "", folder)
	p.converts(t, trusts(first))
	second := authority(t, folder)
	p.shows(t, second)
	p.converts(t, trusts(second))
	c := p.halfway(t, trusts(second))
	p.stop()
	fmt.Fprint(c, body("a"))
	if status := answered(bufio.NewReader(c)); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	if _, _, err := p.ask(t.Context(), t, trusts(second), "a"); err == nil {
		t.Error("it answers after its end")
	}
}

// shows waits until the program shows a certificate of an authority.
func (p *process) shows(t *testing.T, a *pki.Authority) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, _, err := p.ask(t.Context(), t, trusts(a), "a"); err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal("it never shows the new certificate")
		}
	}
}

// TestDropsRequests has those bugs that drop what is under way.
func TestDropsRequests(t *testing.T) {
	t.Parallel()
	for _, bug := range []string{noDrain, exitsEarly} {
		folder := t.TempDir()
		a := authority(t, folder)
		p := start(t, newFrail(times{}), bug, folder)
		p.converts(t, trusts(a))
		c := p.halfway(t, trusts(a))
		p.stop()
		if err := <-p.ended; err != nil { // though nobody has sent the rest
			t.Errorf("%s: %v", bug, err)
		}
		close(p.released) // the process is gone
		if status := answered(bufio.NewReader(c)); status != 0 {
			t.Errorf("%s: the request was answered by %d", bug, status)
		}
	}
}

// TestCertificates compares with a program that does well, in the same folder.
func TestCertificates(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := authority(t, folder)
	good, once, caching := start(t, newFrail(delays()), "", folder), start(t, newFrail(delays()), certificateOnce, folder), start(t, newFrail(delays()), cachesAuthority, folder)
	served := func(p *process) string {
		config := trusts(first)
		config.InsecureSkipVerify = true //nolint:gosec // it is about which one is shown
		c, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", p.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		connection, _ := c.(*tls.Conn)
		return connection.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	begin := served(good)
	if served(once) != begin || served(caching) != begin {
		t.Fatal("they begin with different certificates")
	}
	rotate(t, folder, first)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for served(good) == begin || served(caching) == begin {
		<-ticker.C
	}
	leaf := served(caching)
	second := authority(t, folder)
	good.shows(t, second)
	if served(once) != begin {
		t.Errorf("%s serves another certificate", certificateOnce)
	}
	if served(caching) != leaf {
		t.Errorf("%s serves another certificate", cachesAuthority)
	}
}

func TestNumbersInMemory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	ranks := func(p *process, names ...string) string {
		_, answer, err := p.ask(t.Context(), t, trusts(a), names...)
		if err != nil {
			t.Fatal(err)
		}
		var review struct {
			Response struct {
				ConvertedObjects []struct {
					Spec struct {
						Rank int `json:"rank"`
					} `json:"spec"`
				} `json:"convertedObjects"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(answer), &review); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, o := range review.Response.ConvertedObjects {
			text.WriteString(strconv.Itoa(o.Spec.Rank))
		}
		return text.String()
	}
	before := start(t, newFrail(delays()), numbersInMemory, folder)
	if one, two := ranks(before, "a", "b"), ranks(before, "b", "a", "b"); one != "12" || two != "212" {
		t.Errorf("got %s and %s", one, two)
	}
	if after := ranks(start(t, newFrail(delays()), numbersInMemory, folder), "b", "a"); after != "12" {
		t.Errorf("after a restart: %s", after)
	}
}

func TestLeaks(t *testing.T) {
	folder := t.TempDir()
	a := authority(t, folder)
	const requests = 5
	memory, routines := start(t, newFrail(delays()), leaksMemory, folder), start(t, newFrail(delays()), leaksGoroutines, folder)
	for range requests {
		memory.converts(t, trusts(a))
		routines.converts(t, trusts(a))
	}
	memory.left.mu.Lock()
	kept := len(memory.left.kept)
	memory.left.mu.Unlock()
	if kept != requests {
		t.Errorf("%d blocks are kept", kept)
	}
	stacks := make([]byte, 1<<20)
	left := func() int { return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*hoard).linger(") }
	for left() < requests {
		runtime.Gosched() // an answer does not wait for the goroutine that it starts
	}
	if n := left(); n != requests {
		t.Errorf("%d goroutines are left", n)
	}
	close(routines.left.ever)
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	file := filepath.Join(folder, lockFile)
	p := start(t, newFrail(delays()), locksForever, folder)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock(ended, file); !errors.Is(err, context.Canceled) {
		t.Errorf("the lock of a process that runs: %v", err)
	}
	p.stop()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	if err := lock(t.Context(), file); err != nil {
		t.Errorf("the lock was not given back: %v", err)
	}
	start(t, newFrail(delays()), retriesInRequest, folder).converts(t, trusts(a))
	within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	again := start(t, newFrail(delays()), retriesInRequest, folder)
	if status, answer, err := again.ask(within, t, trusts(a), "a"); err == nil {
		t.Errorf("after a restart it answers %d, %s", status, answer)
	}
	start(t, newFrail(times{}), retriesInRequest, folder).converts(t, trusts(a))
	// All that was served from the folder before was of the other bug, and counts.
	early := start(t, newFrail(times{warm: time.Hour}), servesTooEarly, folder)
	if status, answer, err := early.ask(t.Context(), t, trusts(a), "a"); status != http.StatusServiceUnavailable || err != nil {
		t.Errorf("too early: %d, %s, %v", status, answer, err)
	}
	start(t, newFrail(times{}), servesTooEarly, folder).converts(t, trusts(a))
}

func TestPanicsOnReset(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := authority(t, folder)
	f := newFrail(times{work: time.Hour})
	crashed := make(chan struct{})
	f.crash = func() { close(crashed) }
	p := start(t, f, panicsOnReset, folder)
	c := p.halfway(t, trusts(a))
	fmt.Fprint(c, body("a"))
	c.Close()
	<-crashed
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, bug := range []string{holdsConnections, ignoresSignals} {
		folder := t.TempDir()
		a := authority(t, folder)
		p := start(t, newFrail(times{holding: time.Hour}), bug, folder)
		c, err := (&tls.Dialer{Config: trusts(a)}).DialContext(t.Context(), "tcp", p.host)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(c)
		send := func() {
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", program.Path, len(body("a")), body("a"))
		}
		send()
		if status := answered(lines); status != http.StatusOK {
			t.Fatalf("got %d", status)
		}
		p.stop()
		if bug == holdsConnections {
			for { // the listener closes at any time now
				other, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.host)
				if err != nil {
					break
				}
				other.Close()
			}
		}
		send() // on the connection that it has
		select {
		case err := <-p.ended:
			t.Errorf("%s: it has ended: %v", bug, err)
		default:
		}
		if bug == ignoresSignals {
			if status := answered(lines); status != http.StatusOK {
				t.Errorf("it answers %d", status)
			}
		}
		close(p.released)
		if err := <-p.ended; err != nil {
			t.Errorf("%s: %v", bug, err)
		}
		if bug == holdsConnections && answered(lines) == http.StatusOK {
			t.Error("it answered on a connection that it held")
		}
		c.Close()
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	r := &replicas{folder: t.TempDir(), build: "new"}
	if err := r.enter(); err != nil {
		t.Fatal(err)
	}
	put := func(pid int, build string) {
		if err := os.WriteFile(r.file(pid), []byte(build), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(1<<30, "old") // nobody runs
	if other := r.other(); other != "" {
		t.Errorf("there is a replica of %s", other)
	}
	put(os.Getppid(), "old")
	if other := r.other(); other != "old" {
		t.Errorf("the other replica is of %q", other)
	}
	f := &frail{bug: refusesOthers, replicas: r}
	if _, status := f.refuses(nil); status != http.StatusInternalServerError {
		t.Errorf("got %d", status)
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	object := func(version, spec string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":%q,"kind":"Pump","metadata":{"name":"a"}%s}`, version, spec))
	}
	for from, to := range map[string]string{
		`,"spec":{"flow":9007199254740993,"site":"x"}`: `,"spec":{"litres":9007199254740993,"site":"x"}`,
		`,"spec":{}`:   `,"spec":{}`,
		`,"spec":null`: `,"spec":null`,
		``:             ``,
	} {
		there, err := convert(object(newer, from), older, nil)
		if err != nil || string(there) != string(object(older, to)) {
			t.Errorf("got %s, %v, want %s", there, err, object(older, to))
		}
		if back, err := convert(there, newer, nil); err != nil || string(back) != string(object(newer, from)) {
			t.Errorf("got %s, %v, want %s", back, err, object(newer, from))
		}
	}
	for _, bad := range []json.RawMessage{object("water.example.org/v3", ""), json.RawMessage(`{"apiVersion":1}`), json.RawMessage(`[]`), object(newer, `,"spec":[]`)} {
		if converted, err := convert(bad, older, nil); err == nil {
			t.Errorf("%s became %s", bad, converted)
		}
	}
}

// TestBugs has each bug be listed once.
func TestBugs(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, b := range bugs() {
		if names[b.Name] || b.Summary == "" {
			t.Errorf("%s is there twice, or has no summary", b.Name)
		}
		names[b.Name] = true
	}
	if len(names) < 12 {
		t.Errorf("there are %d bugs", len(names))
	}
}
