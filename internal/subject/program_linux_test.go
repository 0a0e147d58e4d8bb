package subject

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/crdconform/crdconform/internal/cluster/pki"
)

// TestMain makes the test's own executable the webhook program too: "program MODE PORT CERTS MORE" serves in some mode.
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "program" {
		program{port: os.Args[3], certs: os.Args[4], more: os.Args[5:]}.run(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

// command starts this executable in a mode.
func command(t *testing.T, mode string, more ...string) Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Args: append([]string{self, "program", mode, "{port}", "{certs}"}, more...), Path: "/convert"}
}

type program struct {
	port, certs string
	more        []string
}

func (p program) run(mode string) {
	switch mode {
	case "serve":
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "family":
		p.family()
	case "child":
		signal.Ignore(syscall.SIGTERM)
		say("child", os.Getpid())
		<-time.After(time.Hour)
	case "daemon":
		check(p.again("stubborn", &syscall.SysProcAttr{Setsid: true}).Start())
		return
	case "hiding":
		check(p.again("middle", nil).Run())
		<-time.After(time.Hour)
	case "middle":
		child := p.again("fleeting", &syscall.SysProcAttr{Setsid: true})
		child.Env = []string{"NOTHING="}
		check(child.Start())
		return
	case "fleeting": // for a minute, lest a test that fails leaves it behind
		time.AfterFunc(time.Minute, func() { syscall.Exit(1) })
	case "flood":
		go flood()
	case "quiet":
		os.Stdout.Close()
		os.Stderr.Close()
	case "dies":
		say("cannot read the \xff configuration")
		syscall.Exit(2)
	case "ends":
		return
	case "never":
		say("not today")
		<-time.After(time.Hour)
	case "taken":
		say("listen tcp :" + p.port + ": bind: address already in use")
		syscall.Exit(1)
	case "loser":
		p.loseOnce()
	case "plain":
		log.Fatal(http.ListenAndServe("127.0.0.1:"+p.port, nil))
	case "silent":
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+p.port)
		check(err)
		_, err = listener.Accept()
		check(err)
		<-time.After(time.Hour)
	case "six":
		p.serve("[::1]:"+p.port, p.certificate())
	case "own":
		p.serve("127.0.0.1:"+p.port, own())
	case "environment":
		dir, _ := os.Getwd()
		say(dir, variable("GIVEN"), variable("PATH") != "", p.more)
	case "cluster":
		text, err := os.ReadFile(variable("KUBECONFIG"))
		check(err)
		say(variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"), variable("HOME"), string(text))
	case "homesick":
		say(`{"level":"error","msg":"unable to get kubeconfig","error":"context \"` + absent + `\" does not exist"}`)
		say("main.main\n\t/src/cmd/main.go:42")
		syscall.Exit(1)
	}
	p.serve("127.0.0.1:"+p.port, p.certificate())
}

func say(words ...any) { fmt.Fprintln(os.Stdout, words...) }

// variable returns what a variable of the environment is set to, if it is.
func variable(name string) string {
	for _, setting := range os.Environ() {
		if value, found := strings.CutPrefix(setting, name+"="); found {
			return value
		}
	}
	return ""
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (p program) certificate() tls.Certificate {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(p.certs, "tls.crt"), filepath.Join(p.certs, "tls.key"))
	check(err)
	return certificate
}

func own() tls.Certificate {
	authority, err := pki.NewAuthority("home-made authority")
	check(err)
	pair, err := authority.Server("localhost")
	check(err)
	certificate, err := pair.TLS()
	check(err)
	return certificate
}

// serve answers with its process ID. A POST to /die ends it with the status in the body.
func (p program) serve(address string, certificate tls.Certificate) {
	server := http.Server{Addr: address, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.URL.Path == "/die" {
			status, _ := strconv.Atoi(string(body))
			say("asked to die")
			syscall.Exit(status)
		}
		fmt.Fprint(w, os.Getpid())
	})
	check(server.ListenAndServeTLS("", ""))
}

// again starts this executable in another mode.
func (p program) again(mode string, attributes *syscall.SysProcAttr) *exec.Cmd {
	child := exec.CommandContext(context.Background(), os.Args[0], "program", mode, p.port, p.certs)
	child.SysProcAttr = attributes
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child
}

// family starts a child in the group, and one that leaves it for a session of its own.
func (p program) family() {
	check(p.again("child", nil).Start())
	check(p.again("child", &syscall.SysProcAttr{Setsid: true}).Start())
}

func flood() {
	block := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 1000))
	for {
		os.Stdout.Write(block)
	}
}

// loseOnce says at its first start that the port is taken, and does nothing at its second.
func (p program) loseOnce() {
	if _, err := os.Stat(p.more[0]); err == nil {
		return
	}
	check(os.WriteFile(p.more[0], nil, 0o600))
	say("Error: listen EADDRINUSE: :" + p.port)
	syscall.Exit(1)
}
