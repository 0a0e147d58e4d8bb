//go:build nightly

package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/needs"
)

// audited is a kube-apiserver that logs each request of each user.
type audited struct {
	*lab

	environment *envtest.Environment
	log         string
	stop        func() // after which all of the log is written
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "policy.yaml"), `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`)
	a := &audited{
		environment: &envtest.Environment{ControlPlaneStartTimeout: 3 * time.Minute, ControlPlaneStopTimeout: time.Minute},
		log:         filepath.Join(dir, "audit.log"),
	}
	a.environment.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", filepath.Join(dir, "policy.yaml")).Set("audit-log-path", a.log)
	a.stop = sync.OnceFunc(func() {
		if err := a.environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(a.stop)
	config, err := a.environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	a.lab = labOf(t, config, dir, a.environment.ControlPlane.Etcd.URL.String())
	t.Cleanup(func() { a.etcd.Close() })
	url, ca := serve(t, webhook.Handler(), nil)
	converted := fixtures.WebhookURL.New(fixtures.InGroup("converted.example.com"))
	converted.Spec.Conversion.Webhook.ClientConfig.URL, converted.Spec.Conversion.Webhook.ClientConfig.CABundle = &url, read(t, ca)
	a.install(converted)
	a.store("converted.example.com", "converted", "v1", "v1beta1")
	a.install(fixtures.None.New(fixtures.StoredAt("v1beta1")))
	a.store("example.com", "old", "v1", "v1beta1")
	a.install(fixtures.None.New(fixtures.StoredAt("v1")))
	return a
}

// as runs a command as a user who may do everything.
func (a *audited) as(t *testing.T, user string, command ...string) (out string, code int) {
	t.Helper()
	added, err := a.environment.AddUser(envtest.User{Name: user, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	code, out, said := executed(t, append(command, "--context", "lab", "--kubeconfig", kubeconfigOf(t, added.Config(), t.TempDir()))...)
	return out + said, code
}

// asked returns the verbs that each user sent, each as often as it was sent.
func (a *audited) asked(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(a.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	verbs := map[string][]string{}
	for events := json.NewDecoder(file); ; {
		var e auditv1.Event
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF):
			return verbs
		case err != nil:
			t.Fatal(err)
		}
		verbs[e.User.Username] = append(verbs[e.User.Username], e.Verb)
	}
}

// TestLooksAreReadOnly has the audit log of a kube-apiserver show what commands do that only read, as users who may do everything.
func TestLooksAreReadOnly(t *testing.T) {
	needs.APIServer(t)
	a := newAudited(t)
	const name = "crontabs.example.com"
	looks := map[string]struct {
		command []string
		code    int
		want    string // in the output
		least   int    // requests
	}{
		"doctor":       {[]string{"doctor", "--strict"}, exitViolates, "TOLERATED doctor.storage.stored-versions: " + name, 8},
		"status":       {[]string{"storage", "status", name}, exitConforms, name + ": 1 object\n", 8},
		"safe-to-drop": {[]string{"storage", "safe-to-drop", name, "v1beta1"}, exitViolates, "NOT SAFE to drop v1beta1", 8},
	}
	before := a.revisions()
	if len(before) != 4 {
		t.Fatalf("stored are %v, want two definitions and two objects", before)
	}
	for user, look := range looks {
		if out, code := a.as(t, user, look.command...); code != look.code || !strings.Contains(out, look.want) {
			t.Errorf("%s: exit code %d:\n%s", user, code, out)
		}
		if after := a.revisions(); !maps.Equal(after, before) {
			t.Errorf("%s has changed what is stored: %v, before it %v", user, after, before)
		}
	}
	// What writes is seen to.
	if out, code := a.as(t, "migrate", "storage", "migrate", name, "--settle", "0s"); code != exitConforms {
		t.Errorf("migrate: exit code %d:\n%s", code, out)
	}
	if after := a.revisions(); maps.Equal(after, before) {
		t.Error("a migration has changed nothing")
	}
	a.stop()
	asked := a.asked(t)
	writes := func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }
	for user, look := range looks {
		if len(asked[user]) < look.least || slices.ContainsFunc(asked[user], writes) {
			t.Errorf("%s sent %v, want %d requests or more that only read", user, asked[user], look.least)
		}
	}
	if !slices.ContainsFunc(asked["migrate"], writes) {
		t.Errorf("the log has no write of a migration: %v", asked["migrate"])
	}
}
