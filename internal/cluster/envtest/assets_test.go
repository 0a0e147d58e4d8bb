//go:build unix

package envtest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/executable"
)

// script is a program of a few lines of shell.
func script(lines string) []byte { return []byte("#!/bin/sh\n" + lines + "\n") }

// fakes makes a folder with programs.
func fakes(t *testing.T, programs map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range programs {
		executable.Write(t, filepath.Join(dir, name), body)
	}
	return dir
}

var (
	fakeServer = script(`echo "Kubernetes v1.36.3"`)
	fakeEtcd   = script(`case "$1" in --help) echo "  --listen-client-http-urls ''"; exit;; esac; echo "$@" >&2; exit 1`)
)

// foreign is the beginning of a program for another architecture than this machine's.
func foreign() []byte {
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[20], header[52] = 2, 1, 64 // an executable, of version 1, with a header of 64 bytes
	header[18] = 183                              // aarch64
	if runtime.GOARCH == "arm64" {
		header[18] = 62 // x86_64
	}
	return header
}

func TestUnusableAssets(t *testing.T) {
	both := func(server, etcd []byte) map[string][]byte {
		return map[string][]byte{apiServerName: server, etcdName: etcd}
	}
	for name, test := range map[string]struct {
		programs map[string][]byte
		says     []string
	}{
		"empty folder":  {nil, []string{"there is no kube-apiserver in ", "the assets option", "KUBEBUILDER_ASSETS", "setup-envtest"}},
		"no etcd":       {map[string][]byte{apiServerName: fakeServer}, []string{"there is no etcd in "}},
		"architecture":  {both(foreign(), fakeEtcd), []string{"kube-apiserver cannot run on this machine, which is " + runtime.GOOS + "/" + runtime.GOARCH}},
		"no program":    {both(fakeServer, []byte("hello")), []string{"etcd cannot run on this machine", "it is not a program for this system"}},
		"old":           {both(script(`echo "Kubernetes v1.20.15"`), fakeEtcd), []string{"is Kubernetes v1.20.15, but crdconform requires 1.28 or later"}},
		"another":       {both(script(`echo hello`), fakeEtcd), []string{`does not report its Kubernetes release: --version prints "hello"`}},
		"broken":        {both(script(`echo "no such library" >&2; exit 127`), fakeEtcd), []string{"kube-apiserver --version: exit status 127: no such library"}},
		"old etcd":      {both(fakeServer, script(`echo "  --listen-client-urls"`)), []string{"etcd is not etcd, or is too old: it has no flag --listen-client-http-urls"}},
		"etcd ends":     {both(fakeServer, fakeEtcd), []string{"etcd ended while it was starting: it wrote: ", "--advertise-client-urls=http://127.0.0.1:"}},
		"etcd is mute":  {both(fakeServer, script(`case "$1" in --help) echo "--listen-client-http-urls";; esac`)), []string{"etcd ended while it was starting: it wrote nothing; check the free disk space in "}},
		"etcd is slow":  {both(fakeServer, script(`case "$1" in --help) echo "--listen-client-http-urls"; exit;; esac; echo "thinking"; exec sleep 60`)), []string{"etcd was not ready within 1s, which KUBEBUILDER_CONTROLPLANE_START_TIMEOUT can change: it wrote: thinking"}},
		"ports in use":  {both(fakeServer, script(`case "$1" in --help) echo "--listen-client-http-urls"; exit;; esac; echo "listen tcp: bind: address already in use"; exit 1`)), []string{"each of 3 free ports was taken by another program first"}},
		"not permitted": {both(fakeServer, fakeEtcd), []string{"is not executable; run chmod +x "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fakes(t, test.programs)
			if name == "not permitted" {
				if err := os.Chmod(filepath.Join(dir, apiServerName), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := Start(t.Context(), Options{Assets: dir, Variable: variables{"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": "1s"}.look})
			if err == nil {
				t.Errorf("it started: %v", c.Stop(t.Context()))
			}
			for _, says := range test.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("the error is %v, and lacks %q", err, says)
				}
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("it is more than a sentence: %v", err)
			}
		})
	}
}

// variables are an environment.
type variables map[string]string

func (v variables) look(name string) (string, bool) {
	value, set := v[name]
	return value, set
}

func TestLook(t *testing.T) {
	for name, test := range map[string]struct {
		folder    string
		variables variables
		server    string
		etcd      string
		origin    string
	}{
		"nothing is set": {"", nil, "/usr/local/kubebuilder/bin/kube-apiserver", "/usr/local/kubebuilder/bin/etcd", "not set"},
		"folder":         {"/given", variables{"KUBEBUILDER_ASSETS": "/env", "TEST_ASSET_ETCD": "/e"}, "/given/kube-apiserver", "/given/etcd", ""},
		"assets":         {"", variables{"KUBEBUILDER_ASSETS": "/env"}, "/env/kube-apiserver", "/env/etcd", "KUBEBUILDER_ASSETS"},
		"one program":    {"", variables{"KUBEBUILDER_ASSETS": "/env", "TEST_ASSET_ETCD": "/e"}, "/env/kube-apiserver", "/e", "KUBEBUILDER_ASSETS"},
		"both programs":  {"", variables{"TEST_ASSET_KUBE_APISERVER": "/s", "TEST_ASSET_ETCD": "/e"}, "/s", "/e", "TEST_ASSET_KUBE_APISERVER"},
	} {
		t.Run(name, func(t *testing.T) {
			found, origin := look(test.folder, test.variables.look)
			if (found != assets{test.server, test.etcd}) || !strings.Contains(origin, test.origin) || (origin == "") != (test.origin == "") {
				t.Errorf("got %+v, %q", found, origin)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	for name, says := range map[string]string{
		"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=soon": "must be a duration such as 30s",
		"KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=-1s":   "must be a duration such as 30s",
		"USE_EXISTING_CLUSTER=true":                   "asks for a cluster that is there already",
		"USE_EXISTING_CLUSTER=false":                  "there is no kube-apiserver",
		"KUBEBUILDER_ASSETS=/nowhere":                 "there is no kube-apiserver in /nowhere (which KUBEBUILDER_ASSETS names): set the assets option or KUBEBUILDER_ASSETS",
	} {
		t.Run(name, func(t *testing.T) {
			variable, value, _ := strings.Cut(name, "=")
			set := variables{"KUBEBUILDER_ASSETS": "/nowhere"}
			set[variable] = value
			c, err := Start(t.Context(), Options{Variable: set.look})
			if err == nil {
				t.Fatalf("it started: %v", c.Stop(t.Context()))
			}
			if !strings.Contains(err.Error(), says) {
				t.Errorf("the error is %v, and lacks %q", err, says)
			}
		})
	}
}

// TestValidate looks for programs, and asks none of them.
func TestValidate(t *testing.T) {
	t.Parallel()
	whole := fakes(t, map[string][]byte{apiServerName: script("exit 1"), etcdName: script("exit 1")})
	if err := (Options{Assets: whole}).Validate(); err != nil {
		t.Error(err)
	}
	half := fakes(t, map[string][]byte{apiServerName: script("exit 1")})
	if err := (Options{Assets: half}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "there is no etcd in "+half+": ") {
		t.Errorf("without etcd: %v", err)
	}
}
