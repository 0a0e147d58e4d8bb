package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/executable"
)

// fakeProgram puts a program in place of the real ones. It answers as Docker does, and its first argument leads to one of the
// answers, which are lines of sh. It returns the folder that it is in.
func fakeProgram(t *testing.T, name string, answers map[string]string) (dir string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\nwhat=$1\n[ \"$1\" = image ] && what=inspect\ncase \"$what\" in\n")
	usual := map[string]string{
		"-v":      "echo Docker version 28.2.2",
		"info":    `echo '{"CgroupVersion":"2"}'`,
		"inspect": "echo linux/amd64",
		"version": "echo linux/amd64",
	}
	maps.Copy(usual, answers)
	for what, answer := range usual {
		fmt.Fprintf(&script, "%s) %s ;;\n", what, answer)
	}
	script.WriteString("esac\n")
	dir = t.TempDir()
	executable.Write(t, filepath.Join(dir, name), []byte(script.String()))
	t.Setenv("PATH", dir)
	return dir
}

// says makes an answer that fails.
func says(text string) string { return "echo '" + text + "' >&2; exit 1" }

// leavesNothing gives the test a temporary directory of its own and looks in the end whether anything is in it.
func leavesNothing(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestWhatRunsContainersIsAway(t *testing.T) {
	for name, test := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"the daemon is away": {
			map[string]string{"info": "printf 'Client:\\n Version: 28.2.2\\n\\nServer:\\n'; " + says("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")},
			"kind: docker is installed but does not respond (Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?); start it, or check its address (DOCKER_HOST, or `docker context ls`)",
		},
		"the user has no rights": {
			map[string]string{"info": says("permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: permission denied")},
			"add it to the group docker, or set up rootless mode",
		},
		"no image and no registry": {
			map[string]string{"inspect": says("Error: No such image"), "pull": says("Error response from daemon: manifest for kindest/node:v1.99.0 not found: manifest unknown")},
			"kind: the node image kindest/node:v1.99.0 is not available locally and cannot be pulled: `docker pull kindest/node:v1.99.0` says: Error response from daemon: manifest for kindest/node:v1.99.0 not found: manifest unknown",
		},
		"another architecture": {
			map[string]string{"inspect": "echo linux/arm64"},
			"kind: the node image kindest/node:v1.99.0 is for linux/arm64, but docker runs containers for linux/amd64; use an image for that architecture",
		},
		"the disk is full": {
			map[string]string{"inspect": says("Error: No such image"), "pull": says("write /var/lib/docker/tmp/x: no space left on device")},
			"the disk is full (write /var/lib/docker/tmp/x: no space left on device); free some space; `docker system df` shows the usage of containers and images",
		},
		"a port in use": {
			map[string]string{"run": says("docker: Error response from daemon: failed to set up container networking: driver failed programming external connectivity on endpoint x: failed to bind host port for 127.0.0.1:6443:172.18.0.2:6443/tcp: address already in use")},
			"kind: 127.0.0.1:6443 is in use: choose another port in the kind configuration",
		},
		"a container of the name": {
			map[string]string{"run": says(`docker: Error response from daemon: Conflict. The container name "/x" is already in use by container "y".`)},
			"kind: a container with the name of a node already exists; choose another name for the cluster",
		},
		"an image that runs and is no node": {
			map[string]string{"logs": "echo hello"},
			"kind: a node was started but did not become ready: its image is not a kind node image, or is for another architecture",
		},
		"an image that does not run": {
			map[string]string{"run": says("docker: Error response from daemon: failed to create task: exec: no such file or directory")},
			"says: docker: Error response from daemon: failed to create task: exec: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			fakeProgram(t, "docker", test.answers)
			_, err := Start(t.Context(), Options{Image: "kindest/node:v1.99.0"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("it has several lines: %q", err)
			}
		})
	}
}

func TestNothingRunsContainers(t *testing.T) {
	leavesNothing(t)
	t.Setenv("PATH", t.TempDir())
	const none = "kind: no program to run nodes: none of docker, nerdctl, finch, podman is on PATH; install Docker, for example"
	if _, err := Start(t.Context(), Options{}); err == nil || err.Error() != none {
		t.Errorf("Start: %v", err)
	}
	if _, err := Left(t.Context(), ""); err == nil || err.Error() != none {
		t.Errorf("Left: %v", err)
	}
	if err := Delete(t.Context(), "", Prefix+"x"); err == nil || err.Error() != none {
		t.Errorf("Delete: %v", err)
	}
	if _, err := Start(t.Context(), Options{Provider: "podman"}); err == nil || err.Error() != "kind: podman, which runs the nodes, is not on PATH; install it" {
		t.Errorf("podman: %v", err)
	}
	if _, err := Start(t.Context(), Options{Provider: "lxc"}); err == nil || err.Error() != `kind: kind cannot run nodes with "lxc" (want docker, nerdctl, finch, podman)` {
		t.Errorf("lxc: %v", err)
	}
}

// TestProgramsAreFoundAsKindDoes proves that Podman is not taken for Docker where it has its name, and is found by its own.
func TestProgramsAreFoundAsKindDoes(t *testing.T) {
	fakeProgram(t, "podman", map[string]string{"-v": "echo podman version 5.2.1"})
	podman, err := engineNamed(t.Context(), "")
	if err != nil || podman.name != "podman" {
		t.Errorf("got %q, %v", podman.name, err)
	}
	fakeProgram(t, "docker", map[string]string{"-v": "echo podman version 5.2.1"})
	if _, err := engineNamed(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no program to run nodes") {
		t.Errorf("podman by the name of docker: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"":                      Prefix + "abc",
		"x":                     Prefix + "x",
		Prefix + "x":            Prefix + "x",
		"X":                     "is not a valid cluster name",
		"a b":                   "is not a valid cluster name",
		Prefix:                  "is not a valid cluster name",
		strings.Repeat("x", 40): "is too long: at most 50 characters",
		strings.Repeat("x", 39): Prefix + strings.Repeat("x", 39),
	} {
		got, err := named(Options{Name: name, Run: "ABC"})
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestOthersAreLeftAlone(t *testing.T) {
	if err := Delete(t.Context(), "", "kind"); err == nil || !strings.Contains(err.Error(), "the cluster kind was not created by a run") {
		t.Errorf("deleting a cluster that is not a run's: %v", err)
	}
	removed := filepath.Join(t.TempDir(), "removed")
	fakeProgram(t, "docker", map[string]string{
		// Somebody made the cluster dev himself.
		"ps":        `case "$*" in *cluster=*) echo "${4##*=}-control-plane" ;; *) echo kind; for c in b a dev; do echo crdconform-$c; done; echo other-crdconform- ;; esac`,
		"container": `case "$*" in *-a-*) echo '"2026-11-22T08:32:09.046807603Z"' ;; *) echo '"2026-11-21T08:00:00Z"' ;; esac`,
		"cp":        `case "$2" in *-dev-*:/kind/kubeadm.conf) echo '    node-labels: ""' ;; *:/kind/kubeadm.conf) echo '    node-labels: "crdconform.dev/run=x"' ;; esac`,
		"rm":        "echo \"$@\" >> " + removed,
	})
	t.Setenv("TMPDIR", t.TempDir())
	left, err := Left(t.Context(), "")
	if err != nil || names(left) != Prefix+"a "+Prefix+"b" {
		t.Fatalf("left: %v, %v", left, err)
	}
	if a, b := left[0], left[1]; a.Created.Format(time.RFC3339) != "2026-11-22T08:32:09Z" || b.Created.Format(time.RFC3339) != "2026-11-21T08:00:00Z" || a.Gone || a.Engine != "docker" {
		t.Errorf("left: %+v", left)
	}
	if _, err := Start(t.Context(), Options{Name: "a"}); err == nil || !strings.Contains(err.Error(), "a cluster named crdconform-a already exists") {
		t.Errorf("a name in use: %v", err)
	}
	if _, err := os.Stat(removed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was removed: %v", err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	its, another := filepath.Join(os.TempDir(), Prefix+"a"+dirSuffix+"1"), filepath.Join(os.TempDir(), Prefix+"ab"+dirSuffix+"1")
	for _, dir := range []string{its, another} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := Delete(t.Context(), "", Prefix+"a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(removed); err != nil {
		t.Errorf("nothing was removed: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(another) {
		t.Errorf("of the kubeconfigs there are %v, %v", left, err)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) > 0 {
		t.Errorf("in the home directory is %v, %v", files, err)
	}
	fakeProgram(t, "docker", nil)
	// Of the other one there is a kubeconfig, and no cluster any more.
	if left, err := Left(t.Context(), ""); err != nil || names(left) != Prefix+"ab" || !left[0].Gone || left[0].Created.IsZero() {
		t.Errorf("left of a cluster that has gone: %v, %v", left, err)
	}
	if err := Delete(t.Context(), "", Prefix+"ab"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("of the kubeconfigs there are %v, %v", left, err)
	}
	if err := Delete(t.Context(), "", Prefix+"a"); err == nil || err.Error() != "kind: there is no cluster crdconform-a" {
		t.Errorf("deleting what is not there: %v", err)
	}
}

// names are those of the clusters that runs left.
func names(left []Leftover) string {
	var all []string
	for _, l := range left {
		all = append(all, l.Name)
	}
	return strings.Join(all, " ")
}

// TestOfAnotherProgram has two programs run nodes, of which the user has chosen the one that is not looked for first.
func TestOfAnotherProgram(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	removed := filepath.Join(t.TempDir(), "removed")
	answers := func(cluster string) map[string]string {
		return map[string]string{
			"ps":        `case "$*" in *cluster=*) echo node ;; *) echo ` + cluster + ` ;; esac`,
			"container": `echo '"2026-11-22T08:32:09Z"'`,
			"cp":        `echo '    node-labels: "crdconform.dev/run=x"'`,
			"rm":        "echo $0 >> " + removed,
		}
	}
	docker := fakeProgram(t, "docker", answers(Prefix+"of-docker"))
	others := answers(Prefix + "of-finch")
	others["-v"] = "echo finch version 1.0.0"
	t.Setenv("PATH", docker+string(filepath.ListSeparator)+fakeProgram(t, "finch", others))
	for provider, want := range map[string]string{"": "of-docker", "docker": "of-docker", "finch": "of-finch"} {
		if left, err := Left(t.Context(), provider); err != nil || names(left) != Prefix+want {
			t.Errorf("%q: left are %v, %v", provider, left, err)
		}
	}
	if err := Delete(t.Context(), "finch", Prefix+"of-finch"); err != nil {
		t.Error(err)
	}
	if by, err := os.ReadFile(removed); err != nil || filepath.Base(strings.TrimSpace(string(by))) != "finch" {
		t.Errorf("removed by %q, %v", by, err)
	}
}

// TestUnlabelledNodes has a cluster whose node was killed before it got its label, of which the run has left a kubeconfig; one of
// which nothing is known; and one that cannot be looked at.
func TestUnlabelledNodes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.Mkdir(filepath.Join(os.TempDir(), Prefix+"early"+dirSuffix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"ps":        `case "$*" in *cluster=*) echo "${4##*=}-control-plane" ;; *) echo crdconform-early; echo crdconform-unknown ;; esac`,
		"container": `echo '"2026-11-22T08:32:09Z"'`,
		"cp":        says("Error response from daemon: Could not find the file /kind/kubeadm.conf in container x"),
	}
	fakeProgram(t, "docker", answers)
	if left, err := Left(t.Context(), ""); err != nil || names(left) != Prefix+"early" || left[0].Gone {
		t.Errorf("left are %+v, %v", left, err)
	}
	answers["rm"] = says("Error response from daemon: it will not go")
	fakeProgram(t, "docker", answers)
	if err := Delete(t.Context(), "", Prefix+"early"); err == nil || !strings.Contains(err.Error(), "it will not go") {
		t.Errorf("got %v", err)
	}
	// It is still known that it is a run's.
	if left, err := Left(t.Context(), ""); err != nil || names(left) != Prefix+"early" {
		t.Errorf("left are %+v, %v", left, err)
	}
	answers["container"] = says("Error response from daemon: it is broken")
	fakeProgram(t, "docker", answers)
	if _, err := Left(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "kind: the cluster crdconform-") || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("got %v", err)
	}
	// Its run has deleted it between two looks.
	once := filepath.Join(t.TempDir(), "once")
	answers["ps"] = `case "$*" in *cluster=*) [ -e ` + once + ` ] || { echo node; : > ` + once + `; } ;; *) echo crdconform-ending ;; esac`
	answers["container"] = says("Error response from daemon: No such container: node")
	fakeProgram(t, "docker", answers)
	if left, err := Left(t.Context(), ""); err != nil || names(left) != Prefix+"early" {
		t.Errorf("left are %+v, %v", left, err)
	}
}

// TestSlowMachine creates a cluster once more where kubeadm had no answer from an API server that runs.
func TestSlowMachine(t *testing.T) {
	leavesNothing(t)
	attempts := filepath.Join(t.TempDir(), "attempts")
	fakeProgram(t, "docker", map[string]string{
		"run": "echo once >> " + attempts + "; " + says("error: could not bootstrap the admin user in file admin.conf: context deadline exceeded"),
	})
	var log bytes.Buffer
	_, err := Start(t.Context(), Options{Image: "kindest/node:v1.99.0", Log: &log})
	if err == nil || !strings.Contains(err.Error(), "did not answer in time, twice") || !strings.Contains(log.String(), "created once more") {
		t.Errorf("got %v, and the log %s", err, &log)
	}
	if made, err := os.ReadFile(attempts); string(made) != "once\nonce\n" {
		t.Errorf("it was tried %q, %v", made, err)
	}
}

// TestBreakingOff breaks off what takes long: a pull, and a creation that goes on until its nodes are taken away.
func TestBreakingOff(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	for name, answers := range map[string]map[string]string{
		"pull":   {"inspect": says("Error: No such image"), "pull": "exec /bin/sleep 60"},
		"create": {"run": "echo $$ > " + pid + "; exec /bin/sleep 60", "ps": "[ -e " + pid + " ] && echo node || true", "rm": "read -r p < " + pid + " && kill $p; /bin/rm " + pid},
		"info":   {"info": "exec /bin/sleep 60"},
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			fakeProgram(t, "docker", answers)
			because := errors.New("somebody pressed a key")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			timer := time.AfterFunc(500*time.Millisecond, func() { cancel(because) })
			defer timer.Stop()
			begun := time.Now()
			_, err := Start(ctx, Options{Image: "kindest/node:v1.99.0"})
			if !errors.Is(err, because) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	if _, err := os.Stat(pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the creation was not broken off: %v", err)
	}
}

func TestConfigurations(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "kind.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, test := range map[string]struct{ file, want string }{
		"missing":       {filepath.Join(t.TempDir(), "none.yaml"), "none.yaml does not exist"},
		"a directory":   {t.TempDir(), "is a directory"},
		"no YAML":       {write("a: b: c"), "is not YAML"},
		"another kind":  {write("kind: Pod\napiVersion: v1\n"), `is not a kind configuration: it has the kind "Pod" and the apiVersion "v1" (want "Cluster" and "kind.x-k8s.io/v1alpha4")`},
		"empty":         {write(""), `it has the kind "" and the apiVersion ""`},
		"an old one":    {write("kind: Cluster\napiVersion: kind.sigs.k8s.io/v1alpha3\n"), `"kind.sigs.k8s.io/v1alpha3"`},
		"unknown field": {write("kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnods: []\n"), `unknown field "nods"`},
	} {
		_, err := Start(t.Context(), Options{ConfigFile: test.file})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Start(t.Context(), Options{Kubernetes: "1.5"}); err == nil || !strings.Contains(err.Error(), "no kind configuration for Kubernetes 1.5") {
		t.Errorf("a minor that nobody knows: %v", err)
	}
}

func TestConfigurationsAreMerged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kind.yaml")
	if err := os.WriteFile(file, []byte(`kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: not-this
networking: {disableDefaultCNI: true}
featureGates: {StorageVersionMigrator: false, Other: true}
kubeadmConfigPatches: ["the user's"]
nodes:
- role: control-plane
  labels: {a: b}
- role: worker
  image: example.com/node:v1
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := configuration(Options{Kubernetes: "1.36", ConfigFile: file, Run: "7"})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Networking.DisableDefaultCNI || c.FeatureGates["StorageVersionMigrator"] || !c.FeatureGates["Other"] || c.RuntimeConfig["storagemigration.k8s.io/v1beta1"] != "true" {
		t.Errorf("got %+v", c)
	}
	if patches := c.KubeadmConfigPatches; len(patches) != 2 || patches[0] != "the user's" || patches[1] != withoutWatchCache {
		t.Errorf("the patches are %q", patches)
	}
	if len(c.Nodes) != 2 || !strings.HasPrefix(c.Nodes[0].Image, "kindest/node:v1.36.") || c.Nodes[1].Image != "example.com/node:v1" {
		t.Errorf("the nodes are %+v", c.Nodes)
	}
	if labels := c.Nodes[0].Labels; labels["a"] != "b" || labels["crdconform.dev/run"] != "7" {
		t.Errorf("the labels are %v", labels)
	}
	with, err := configuration(Options{Kubernetes: "1.36", ConfigFile: file, WatchCache: true, Image: "my/node:v1.36.0"})
	if err != nil {
		t.Fatal(err)
	}
	if len(with.KubeadmConfigPatches) != 1 || with.Nodes[0].Image != "my/node:v1.36.0" || with.Nodes[1].Image != "my/node:v1.36.0" {
		t.Errorf("with a watch cache and an image: %+v", with)
	}
}

func TestBases(t *testing.T) {
	migrates := func(options Options) bool {
		t.Helper()
		c, err := configuration(options)
		if err != nil {
			t.Fatal(err)
		}
		if c.Nodes[0].Image == "" {
			t.Error("there is no image")
		}
		return c.FeatureGates["StorageVersionMigrator"]
	}
	for image, want := range map[string]bool{
		"kindest/node:v1.36.3": true,
		"registry.example.com:5000/node:v1.35.1@sha256:" + strings.Repeat("a", 64): true,
		"kindest/node:v1.34.4":    false, // not there yet
		"kindest/node:v1.12.0":    false, // no configuration
		"example.com:1.36.3/node": false, // no tag
		"example.com/mine:latest": false,
		"":                        true, // the newest
	} {
		if got := migrates(Options{Image: image}); got != want {
			t.Errorf("%q: %v", image, got)
		}
	}
}

// TestImageOfAnotherMinor gives an image and a minor that contradict each other, and some that do not.
func TestImageOfAnotherMinor(t *testing.T) {
	for image, refused := range map[string]bool{
		"kindest/node:v1.36.4": true,
		"kindest/node:v1.36.4@sha256:" + strings.Repeat("a", 64): true,
		"kindest/node:v1.34.0":    false,
		"example.com/mine:latest": false,
		"":                        false,
	} {
		err := Options{Kubernetes: "1.34", Image: image}.Validate()
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "says Kubernetes 1.36, but the configuration is for 1.34") {
			t.Errorf("%q: %v", image, err)
		}
	}
}

func TestLogger(t *testing.T) {
	var out strings.Builder
	l := newLogger(&out)
	l.V(2).Infof("token: %s\n\n", "abcdef.0123456789abcdef")
	l.Warn("mind the gap")
	if out.String() != "token: [redacted]\nmind the gap\n" {
		t.Errorf("got %q", out.String())
	}
}
