package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/wire"
)

// begin starts a program and makes sure that nothing is left of it at the end.
func begin(t *testing.T, c Command, o Options) *Process {
	t.Helper()
	p, err := Start(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { finish(t, p) })
	return p
}

func finish(t *testing.T, p *Process) {
	t.Helper()
	for range 2 {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	<-p.Exited()
	if _, err := os.Stat(p.folder); !os.IsNotExist(err) {
		t.Errorf("the certificates are still there: %v", err)
	}
}

// ask sends a body to a path and returns what comes back.
func ask(t *testing.T, e wire.Endpoint, path, body string) (string, error) {
	t.Helper()
	client, err := wire.Connect(e)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	other, err := client.With(func(e *wire.Endpoint) {
		if path != "" {
			e.URL = strings.TrimSuffix(e.URL, "/convert") + path
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	response := other.SendRaw(t.Context(), http.MethodPost, nil, []byte(body))
	return string(response.Body), response.Err
}

// runs reports whether a process runs.
func runs(id int) bool {
	state, _ := stat(id)
	return !slices.Contains([]string{"", "Z", "X"}, state)
}

// stat returns the state of a process and the ID of its parent, or empty texts.
func stat(id int) (state, parent string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return fields[0], fields[1]
}

// hasChildren reports whether a process has any.
func hasChildren(t *testing.T, id int) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(dir string) bool {
		child, _ := strconv.Atoi(filepath.Base(dir))
		_, parent := stat(child)
		return parent == strconv.Itoa(id)
	})
}

// buffer is what Options.Output can be while somebody reads it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode    string
		server  string
		url     string // beginning of the endpoint's
		http2   bool
		another bool // whether another process than the first serves
	}{
		"plainly":                {mode: "serve", url: "https://127.0.0.1:", http2: true},
		"on ::1 all the same":    {mode: "six", url: "https://[::1]:", http2: true},
		"as a service":           {mode: "serve", server: "hook.system.svc", url: "https://127.0.0.1:"},
		"ignoring SIGTERM":       {mode: "stubborn", url: "https://127.0.0.1:", http2: true},
		"with a family":          {mode: "family", url: "https://127.0.0.1:", http2: true},
		"in the background":      {mode: "daemon", url: "https://127.0.0.1:", http2: true, another: true},
		"with gigabytes to say":  {mode: "flood", url: "https://127.0.0.1:", http2: true},
		"with its output closed": {mode: "quiet", url: "https://127.0.0.1:", http2: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.mode == "six" {
				listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1]:0")
				if err != nil {
					t.Skip("there is no IPv6 here")
				}
				listener.Close()
			}
			c := command(t, test.mode)
			c.ServerName = test.server
			p := begin(t, c, Options{Grace: 200 * time.Millisecond})
			if !strings.HasPrefix(p.Endpoint.URL, test.url) || !strings.HasSuffix(p.Endpoint.URL, "/convert") || p.Endpoint.HTTP2 != test.http2 || p.Endpoint.ServerName != test.server {
				t.Errorf("got %+v", p.Endpoint)
			}
			id, err := ask(t, p.Endpoint, "", "{}")
			if another := id != strconv.Itoa(p.child.ID()); err != nil || another != test.another {
				t.Errorf("%s serves, %v", id, err)
			}
			if err := p.Err(); err != nil {
				t.Error(err)
			}
			finish(t, p)
			if err := p.Err(); err != nil {
				t.Errorf("after Stop: %v", err)
			}
			if serving, err := strconv.Atoi(id); err != nil || runs(serving) {
				t.Errorf("%d still runs, %v", serving, err)
			}
		})
	}
}

// TestWhatTheProgramGets looks at the folder of the certificates, the environment and the directory.
func TestWhatTheProgramGets(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, "environment", "--host={host}", "{{}}", "{kubeconfig}")
	c.Env, c.Dir = map[string]string{"GIVEN": "<{port}>"}, dir
	var said buffer
	p := begin(t, c, Options{Kubeconfig: "/some/where", Output: &said})
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(p.Endpoint.URL, "https://"), "/convert"))
	if want := dir + " <" + port + "> true [--host=127.0.0.1 {} /some/where]"; p.Output() != want || said.String() != want+"\n" {
		t.Errorf("got %s, want %s", p.Output(), want)
	}
	info, err := os.Stat(p.folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if info, err := os.Stat(filepath.Join(p.folder, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	if group, err := syscall.Getpgid(p.child.ID()); err != nil || group == syscall.Getpgrp() {
		t.Errorf("it is in group %d, which Ctrl-C reaches, %v", group, err)
	}
}

// TestWhichClusterTheProgramGets has it be that of the run, or none, and never that of this process.
func TestWhichClusterTheProgramGets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("that of the run"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "/the/callers/kubeconfig")
	t.Setenv("KUBERNETES_SERVICE_HOST", "host")
	t.Setenv("KUBERNETES_SERVICE_PORT", "port")
	t.Setenv("HOME", "/home/caller")
	for _, test := range []struct {
		options Options
		env     map[string]string
		want    string
	}{
		{Options{Kubeconfig: file}, nil, "  /home/caller that of the run"},
		{Options{}, nil, "  /home/caller apiVersion: v1\nkind: Config\ncurrent-context: " + absent},
		{Options{}, map[string]string{"KUBECONFIG": file}, "  /home/caller that of the run"}, // the configuration says so
	} {
		c := command(t, "cluster")
		c.Env = test.env
		p := begin(t, c, test.options)
		if got := strings.TrimRight(p.Output(), "\n"); got != test.want {
			t.Errorf("%+v: got %q, want %q", test, got, test.want)
		}
		finish(t, p)
		if _, err := os.Stat(p.alone); p.alone != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the kubeconfig is left: %v", err)
		}
	}
}

// TestFixedPort starts a program that is given no port and serves at one of its own.
func TestFixedPort(t *testing.T) {
	t.Parallel()
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, "serve")
	if !c.Uses("port") {
		t.Error("a program that is given a port has a fixed one")
	}
	c.Args[slices.Index(c.Args, "{port}")] = strconv.Itoa(port)
	if c.Uses("port") {
		t.Error("a program that is given no port can be moved")
	}
	p := begin(t, c, Options{Port: port})
	if want := fmt.Sprintf("https://127.0.0.1:%d/convert", port); p.Endpoint.URL != want {
		t.Errorf("it is at %s, want %s", p.Endpoint.URL, want)
	}
	finish(t, p)
	c = command(t, "never")
	c.Args[slices.Index(c.Args, "{port}")], c.ReadyTimeout = strconv.Itoa(port), 100*time.Millisecond
	if _, err := Start(t.Context(), c, Options{Port: port}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("serves {certs}/tls.crt at port %d, since it is given no {port}", port)) {
		t.Errorf("got %v", err)
	}
}

// TestFamilies ends the children of a program too.
func TestFamilies(t *testing.T) {
	t.Parallel()
	p := begin(t, command(t, "family"), Options{Grace: 100 * time.Millisecond})
	var children []int
	for deadline := time.Now().Add(30 * time.Second); len(children) < 2 && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
		children = nil
		for _, match := range regexp.MustCompile(`child (\d+)`).FindAllStringSubmatch(p.Output(), -1) {
			id, _ := strconv.Atoi(match[1])
			children = append(children, id)
		}
	}
	finish(t, p)
	if len(children) != 2 {
		t.Fatalf("there are %d children: %s", len(children), p.Output())
	}
	for _, id := range children {
		if runs(id) {
			t.Errorf("child %d still runs", id)
		}
	}
}

// TestHiding has a process hide from Stop, by all means there are, which says so.
func TestHiding(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), command(t, "hiding"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// What started it must be gone before it can hide.
	for deadline := time.Now().Add(30 * time.Second); hasChildren(t, p.child.ID()) && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}
	err = p.Stop(context.Background())
	ask(t, p.Endpoint, "/die", "0")
	if !errors.Is(err, errEscaped) {
		t.Errorf("got %v", err)
	}
}

func TestEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ mode, status, want string }{
		{"serve", "3", "it exited: exit status 3; its last output:\nasked to die"},
		{"serve", "0", "it exited: exit status 0; its last output:\nasked to die"},
		{"daemon", "4", "it exited: exit status 0"},
	} {
		p := begin(t, command(t, test.mode), Options{})
		if _, err := ask(t, p.Endpoint, "/die", test.status); err == nil {
			t.Errorf("%s: it lives on", test.mode)
		}
		<-p.Exited()
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", test.mode, err, test.want)
		}
		if err := p.tooLate(t.Context(), time.Second, nil); !strings.HasPrefix(err.Error(), "it exited before it responded: exit status") {
			t.Errorf("%s: had it not responded in time, it would say %v", test.mode, err)
		}
		finish(t, p)
		if p.Err() == nil {
			t.Errorf("%s: Stop makes it forget", test.mode)
		}
	}
}

// TestRevive has a program end, which is started again where it was as often as it may be: how it ended is known to all whose connection broke, and
// whether that was before they asked.
func TestRevive(t *testing.T) {
	t.Parallel()
	p := begin(t, command(t, "serve"), Options{Restarts: 2})
	if _, ended := p.Revive(t.Context(), time.Now()); ended != nil {
		t.Errorf("it runs, and revived it says %v", ended)
	}
	const want = "it exited: exit status 3; its last output:\nasked to die"
	for n := range 2 {
		since := time.Now()
		if _, err := ask(t, p.Endpoint, "/die", "3"); err == nil {
			t.Fatal("it lives on")
		}
		for range 2 {
			if before, ended := p.Revive(t.Context(), since); ended == nil || before || !strings.HasSuffix(ended.Error(), want) {
				t.Errorf("%d: it ended: %v, before that: %t", n, ended, before)
			}
		}
		if _, err := ask(t, p.Endpoint, "", ""); err != nil || p.Err() != nil {
			t.Errorf("%d: it doesn't answer again: %v, %v", n, err, p.Err())
		}
	}
	ask(t, p.Endpoint, "/die", "0")
	<-p.Exited()
	if _, ended := p.Revive(t.Context(), time.Now()); ended != nil || p.Err() == nil || !strings.Contains(p.Err().Error(), "it exited, as it had 2 times before, and was not started again: exit status 0") {
		t.Errorf("it ended: %v; then it says %v", ended, p.Err())
	}
}

// TestReviveBefore has a program end before a request: that is not to blame.
func TestReviveBefore(t *testing.T) {
	t.Parallel()
	p := begin(t, command(t, "serve"), Options{Restarts: 1})
	ask(t, p.Endpoint, "/die", "3")
	<-p.Exited()
	if before, ended := p.Revive(t.Context(), time.Now()); ended == nil || !before {
		t.Errorf("it ended: %v, before that: %t", ended, before)
	}
}

// TestReviveInVain has a program end whose port is taken when it is to be started again.
func TestReviveInVain(t *testing.T) {
	t.Parallel()
	c := command(t, "serve")
	c.ReadyTimeout = 5 * time.Second
	p := begin(t, c, Options{Restarts: 2})
	ask(t, p.Endpoint, "/die", "3")
	<-p.Exited()
	address := strings.TrimSuffix(strings.TrimPrefix(p.Endpoint.URL, "https://"), "/convert")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("the port is taken already: %v", err)
	}
	defer listener.Close()
	if _, ended := p.Revive(t.Context(), time.Now()); ended != nil || p.Err() == nil || !strings.Contains(p.Err().Error(), "asked to die; it could not be started again: ") {
		t.Errorf("it ended: %v; then it says %v", ended, p.Err())
	}
}

// TestFloods reads whatever the program writes, and keeps little.
func TestFloods(t *testing.T) {
	t.Parallel()
	enough := &meter{left: 64 << 20, full: make(chan struct{})}
	p := begin(t, command(t, "flood"), Options{Output: enough})
	<-enough.full
	if _, err := ask(t, p.Endpoint, "", "{}"); err != nil {
		t.Error(err)
	}
	finish(t, p)
	if text := p.Output(); len(text) > 64<<10 || strings.Count(text, "\n") != keptLines || !strings.HasPrefix(text, "(earlier output is left out)\nx") {
		t.Errorf("%d bytes are kept, in %d lines", len(text), strings.Count(text, "\n"))
	}
}

// meter fails once enough was written.
type meter struct {
	left int
	full chan struct{}
}

func (m *meter) Write(p []byte) (int, error) {
	if m.left -= len(p); m.left > 0 {
		return len(p), nil
	}
	close(m.full)
	return 0, errors.New("full")
}

func TestTakenPorts(t *testing.T) {
	t.Parallel()
	begin(t, command(t, "loser", filepath.Join(t.TempDir(), "lost")), Options{})
	var said buffer
	_, err := Start(t.Context(), command(t, "taken"), Options{Output: &said})
	if !errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), "exit status 1; its last output:\nlisten tcp :") {
		t.Errorf("got %v", err)
	}
	ports := regexp.MustCompile(`:(\d+): bind`).FindAllString(said.String(), -1)
	if len(ports) != 2 || ports[0] == ports[1] {
		t.Errorf("it was tried at %v", ports)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, text, _ := net.SplitHostPort(listener.Addr().String()); !taken(t, text) {
		t.Error("a taken port is free")
	}
}

func taken(t *testing.T, text string) bool {
	t.Helper()
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return isTaken(t.Context(), port)
}

// TestNeverReady has every way of not getting ready end in an error that says why, and in nothing that is left.
func TestNeverReady(t *testing.T) {
	folders := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(folders, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folders)
	var all sync.WaitGroup
	for name, test := range map[string]struct{ mode, want string }{
		"it dies at once":        {"dies", "it exited before it responded: exit status 2; its last output:\ncannot read the \uFFFD configuration"},
		"it ends well at once":   {"ends", "it exited before it responded: exit status 0; it wrote nothing"},
		"it never listens":       {"never", "no response within 5s (webhook https://127.0.0.1:"},
		"it never listens, text": {"never", "check that it serves {certs}/tls.crt at {port}; its last output:\nnot today"},
		"it says nothing":        {"silent", "it accepts connections but does not respond"},
		"it has its own":         {"own", `it serves its own certificate (subject "CN=localhost", issuer "CN=home-made authority"); configure it to use {certs}`},
		"it finds no cluster":    {"homesick", "it exited before it responded: exit status 1; it looks for a cluster, and this run has none: choose another"},
		"it serves plain HTTP":   {"plain", "it does not use TLS at {port}"},
	} {
		all.Go(func() {
			c := command(t, test.mode)
			if c.ReadyTimeout = 30 * time.Second; test.mode == "never" || test.mode == "silent" {
				c.ReadyTimeout = 5 * time.Second
			}
			_, err := Start(t.Context(), c, Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, errPortTaken) {
				t.Errorf("%s: got %v, want something with %q", name, err, test.want)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	_, err := Start(ctx, command(t, "never"), Options{Output: writer(func() { cancel(enough) })})
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "interrupted while it was starting") {
		t.Errorf("cancelled: got %v", err)
	}
	if _, err := Start(ctx, command(t, "serve"), Options{}); err == nil {
		t.Error("it starts although the context is over")
	}
	if left, err := os.ReadDir(folders); err != nil || len(left) > 0 {
		t.Errorf("there are still %v, %v", left, err)
	}
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environments {
		if environment, err := os.ReadFile(path); err == nil && bytes.Contains(environment, []byte("TMPDIR="+folders)) {
			t.Errorf("%s is still there", path)
		}
	}
}

// writer does something for every write.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// TestStopInAHurry stops a program that ignores SIGTERM, when there is no time to wait.
func TestStopInAHurry(t *testing.T) {
	t.Parallel()
	p := begin(t, command(t, "stubborn"), Options{Grace: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); err != nil {
		t.Error(err)
	}
}
