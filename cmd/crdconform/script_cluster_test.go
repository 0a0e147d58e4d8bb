package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/test/subjects"
)

const crontabsCRD = "crontabs.example.com"

// clusterCommands are the commands of scripts that need an API server, or start several, or are about flags of them.
func clusterCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"assets":     assets,
		"cluster":    withLab,
		"forms":      allForms,
		"interrupts": interrupts,
		"onpath":     onPath,
		"upgrade":    upgrade,
	}
}

// testOf is the test that runs the script.
func testOf(ts *testscript.TestScript) *testing.T { return ts.Value("t").(sequential).T } //nolint:forcetypeassert // see runScripts

// withLab starts an API server with what a script may do to it: cluster. The variables KUBECONFIG and ETCD lead to it; its context is lab.
//   - install FIXTURE [stored=VERSION] [unserved=VERSION] [without=VERSION]: a definition of internal/fixtures, converted by the webhook
//   - store VERSION STORED NAME...: objects at a version that are stored at another; a number makes so many
//   - stored VERSION N: there are N objects at the version in etcd
//   - listed VERSION...: the status of the definition lists these; list VERSION... has it do so
//   - delete NAME: an object
//   - meanwhile FILE NAME: deletes an object once there is a file, and the file then
//   - compact: etcd
//   - unchanged: neither a definition nor an object was written since the last time
func withLab(ts *testscript.TestScript, _ bool, _ []string) {
	l := newLab(ts, ts.Defer)
	ts.Setenv("KUBECONFIG", l.kubeconfig)
	ts.Setenv("ETCD", l.endpoint)
	command := func(name string, run func(args []string)) {
		ts.SetCmd(name, func(_ *testscript.TestScript, _ bool, args []string) { run(args) })
	}
	command("install", func(args []string) { l.install(changed(ts, args[0], args[1:])) })
	command("store", func(args []string) {
		for _, name := range args[2:] {
			if n, err := strconv.Atoi(name); err == nil {
				for i := range n {
					l.store("example.com", numbered(i), args[0], args[1])
				}
				continue
			}
			l.store("example.com", name, args[0], args[1])
		}
	})
	command("stored", func(args []string) {
		if n := l.stored("/registry/example.com/crontabs/", "example.com/"+args[0]); strconv.Itoa(n) != args[1] {
			ts.Fatalf("%d objects are stored at %s", n, args[0])
		}
	})
	command("listed", func(args []string) {
		if got := l.listed(); !slices.Equal(got, args) {
			ts.Fatalf("the status lists %v", got)
		}
	})
	command("list", func(args []string) {
		ts.Check(l.change(crontabsCRD, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = args }))
	})
	command("delete", func(args []string) {
		ts.Check(l.crontabs("example.com", "v1").Delete(context.Background(), args[0], metav1.DeleteOptions{}))
	})
	command("meanwhile", func(args []string) {
		over, done, busy := make(chan struct{}), make(chan struct{}), ts.MkAbs(args[0])
		ts.Defer(func() { close(over); <-done })
		go func() {
			defer close(done)
			for _, err := os.Stat(busy); err != nil; _, err = os.Stat(busy) {
				select {
				case <-time.After(5 * time.Millisecond):
				case <-over:
					return
				}
			}
			if err := errors.Join(l.crontabs("example.com", "v1").Delete(context.Background(), args[1], metav1.DeleteOptions{}), os.Remove(busy)); err != nil {
				ts.Logf("%v", err)
			}
		}()
	})
	var before map[string]int64
	command("unchanged", func([]string) {
		now := l.revisions()
		if before != nil && !maps.Equal(before, now) {
			ts.Fatalf("stored are %v, and were %v", now, before)
		}
		before = now
	})
	command("compact", func([]string) { l.compact() })
}

// changed is a definition with changes, as install takes them.
func changed(ts *testscript.TestScript, fixture string, changes []string) *apiextensionsv1.CustomResourceDefinition {
	crd := fixtures.Definition(fixture).New()
	for _, change := range changes {
		how, version, _ := strings.Cut(change, "=")
		switch how {
		case "stored":
			fixtures.StoredAt(version)(crd)
		case "unserved":
			fixtures.Served(version, false)(crd)
		case "without":
			crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
		default:
			ts.Fatalf("unknown change %q", change)
		}
	}
	if url := ts.Getenv("URL"); crd.Spec.Conversion.Webhook != nil {
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: []byte(ts.ReadFile("ca.crt"))}
	}
	return crd
}

// interrupts interrupts a command line once its output matches: interrupts PATTERN ARGUMENT...
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupts PATTERN ARGUMENT...")
	}
	pattern, err := regexp.Compile("(?s)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var said strings.Builder
	out := watching{io.MultiWriter(&said, ts.Stdout()), func() {
		if pattern.MatchString(said.String()) {
			cancel()
		}
	}}
	if code := commandLine(ctx, ts, out, ts.Stderr(), args[1:]); code != exitInterrupted {
		ts.Fatalf("exit code %d, want %d", code, exitInterrupted)
	}
}

// watching calls a function after whatever is written.
type watching struct {
	io.Writer
	then func()
}

func (w watching) Write(text []byte) (int, error) {
	defer w.then()
	return w.Writer.Write(text)
}

// assets makes folders of programs that end at once, of which no API server comes up, or what runColumn takes their names for:
// assets NAME...
func assets(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		ts.Check(makeAssets(ts.MkAbs(name)))
	}
}

// allForms fails unless all forms of the report in a folder agree: forms FOLDER.
func allForms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forms FOLDER")
	}
	reportIn(ts, ts.MkAbs(args[0]))
}

// onPath puts this program on the PATH as crdconform.
func onPath(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(errors.Join(err, os.MkdirAll(ts.MkAbs("bin"), 0o755)))
	ts.Check(os.Symlink(self, ts.MkAbs("bin/crdconform")))
	ts.Setenv("PATH", ts.MkAbs("bin")+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	ts.Setenv(asProgram, "yes")
}

// leftRunning returns the processes that run in a folder or below it.
func leftRunning(dir string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var all []string
	for _, link := range links {
		// Processes end while they are looked at.
		if at, err := os.Readlink(link); err == nil && (at+"/" == dir+"/" || strings.HasPrefix(at, dir+"/")) {
			all = append(all, filepath.Dir(link))
		}
	}
	return all
}

// upgrade builds a program and writes old.yaml and new.yaml to the folder of the script, as subjects.BuildReleases does. The variable
// PROGRAM is the path of the program.
func upgrade(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PROGRAM", subjects.BuildReleases(testOf(ts), ts.MkAbs(".")).Serve()[0])
}
