package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
)

// Script is a command of scripts that starts an API server with what a script may do to it. The variables KUBECONFIG and ETCD lead to it; its context is lab.
//   - install FIXTURE [stored=VERSION] [unserved=VERSION] [without=VERSION]: a definition of internal/fixtures, converted by the webhook
//   - store VERSION STORED NAME...: objects at a version that are stored at another; a number makes so many
//   - stored VERSION N: there are N objects at the version in etcd
//   - listed VERSION...: the status of the definition lists these; list VERSION... has it do so
//   - delete NAME: an object
//   - meanwhile FILE NAME: deletes an object once there is a file, and the file then
//   - compact: etcd
//   - unchanged: neither a definition nor an object was written since the last time
func Script(ts *testscript.TestScript, _ bool, _ []string) {
	l := New(ts, ts.Defer)
	ts.Setenv("KUBECONFIG", l.Kubeconfig)
	ts.Setenv("ETCD", l.Endpoint)
	command := func(name string, run func(args []string)) {
		ts.SetCmd(name, func(_ *testscript.TestScript, _ bool, args []string) { run(args) })
	}
	command("install", func(args []string) { l.Install(changed(ts, args[0], args[1:])) })
	command("store", func(args []string) {
		for _, name := range args[2:] {
			if n, err := strconv.Atoi(name); err == nil {
				for i := range n {
					l.Store("example.com", fmt.Sprintf("crontab-%03d", i), args[0], args[1])
				}
				continue
			}
			l.Store("example.com", name, args[0], args[1])
		}
	})
	command("stored", func(args []string) {
		if n := l.Stored("/registry/example.com/crontabs/", "example.com/"+args[0]); strconv.Itoa(n) != args[1] {
			ts.Fatalf("%d objects are stored at %s", n, args[0])
		}
	})
	command("listed", func(args []string) {
		if got := l.Listed(); !slices.Equal(got, args) {
			ts.Fatalf("the status lists %v", got)
		}
	})
	command("list", func(args []string) {
		ts.Check(l.change(Definition, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = args }))
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
			fixtures.NotServed(version)(crd)
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
