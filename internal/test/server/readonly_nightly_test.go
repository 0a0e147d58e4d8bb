//go:build nightly

package server_test

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

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	testlab "github.com/crdconform/crdconform/internal/test/lab"
	"github.com/crdconform/crdconform/internal/test/needs"
)

// audited is a kube-apiserver that logs each request of each user.
type audited struct {
	*lab

	environment *envtest.Environment
	program     string // crdconform
	log         string
	stop        func() // after which all of the log is written
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	const logged = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`
	if err := os.WriteFile(policy, []byte(logged), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &audited{
		environment: &envtest.Environment{ControlPlaneStartTimeout: 3 * time.Minute, ControlPlaneStopTimeout: time.Minute},
		program:     compiled(t), log: filepath.Join(dir, "audit.log"),
	}
	a.environment.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", a.log)
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
	crds, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	a.lab = &lab{endpoint: a.environment.ControlPlane.Etcd.URL.String(), definitions: crds.ApiextensionsV1().CustomResourceDefinitions()}
	if a.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	hook := serve(t, webhook.Handler())
	converted := fixtures.WebhookURL.New(fixtures.InGroup("converted.example.com"))
	converted.Spec.Conversion.Webhook.ClientConfig.URL, converted.Spec.Conversion.Webhook.ClientConfig.CABundle = &hook.URL, hook.CA
	if _, err := a.definitions.Create(t.Context(), converted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	(&crontabs{a.lab, t, "converted.example.com", converted.Name}).create("v1", "converted")
	old := a.define(t, "example.com")
	old.create("v1", "old")
	if err := old.change(fixtures.StoredAt("v1")); err != nil {
		t.Fatal(err)
	}
	return a
}

// as runs a command as a user who may do everything.
func (a *audited) as(t *testing.T, user string, command ...string) (out string, code int) {
	t.Helper()
	added, err := a.environment.AddUser(envtest.User{Name: user, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := testlab.WriteKubeconfig(added.Config(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	code, out, said := executed(t, a.program, append(command, "--context", "lab", "--kubeconfig", kubeconfig)...)
	return out + said, code
}

// revisions are those of the definitions and of their objects, by their keys in etcd. Of the rest, an API server writes much by itself.
func (a *audited) revisions(t *testing.T) map[string]int64 {
	t.Helper()
	response, err := a.etcd(t).Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, kv := range response.Kvs {
		if key := string(kv.Key); strings.Contains(key, "/customresourcedefinitions/") || strings.Contains(key, "/crontabs/") {
			all[key] = kv.ModRevision
		}
	}
	return all
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
		"doctor":       {[]string{"doctor", "--strict"}, 1, "TOLERATED doctor.storage.stored-versions: " + name, 8},
		"status":       {[]string{"storage", "status", name}, 0, name + ": 1 object\n", 8},
		"safe-to-drop": {[]string{"storage", "safe-to-drop", name, "v1beta1"}, 1, "NOT SAFE to drop v1beta1", 8},
	}
	before := a.revisions(t)
	if len(before) != 4 {
		t.Fatalf("stored are %v, want two definitions and two objects", before)
	}
	for user, look := range looks {
		if out, code := a.as(t, user, look.command...); code != look.code || !strings.Contains(out, look.want) {
			t.Errorf("%s: exit code %d:\n%s", user, code, out)
		}
		if after := a.revisions(t); !maps.Equal(after, before) {
			t.Errorf("%s has changed what is stored: %v, before it %v", user, after, before)
		}
	}
	// What writes is seen to.
	if out, code := a.as(t, "migrate", "storage", "migrate", name, "--set", "storage.settle=0s"); code != 0 {
		t.Errorf("migrate: exit code %d:\n%s", code, out)
	}
	if after := a.revisions(t); maps.Equal(after, before) {
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
