package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// migratable is a definition with objects that are stored at v1beta1, while v1 is the storage version, in a cluster that exists.
type migratable struct {
	*testing.T
	api         *embedded.Cluster
	definitions clientset.Interface
	name        string
	etcd        string   // its URL
	flags       []string // that lead to the cluster
	webhookDown atomic.Bool
}

func newMigratable(t *testing.T, objects int) *migratable {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "crdconform-test-") //nolint:usetesting // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &migratable{
		T: t, api: suitetest.Cluster(t, embedded.Options{Dir: dir}), name: fixtures.Reference.New().Name,
		etcd: "unix://" + filepath.Join(dir, "etcd", "sockets", "client.sock"),
	}
	convert := webhook.Handler()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.webhookDown.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		convert.ServeHTTP(w, r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if m.definitions, err = clientset.NewForConfig(m.api.Config()); err != nil {
		t.Fatal(err)
	}
	m.populate(objects, installOn(t, m.api, server.URL, server.CA))
	m.change(fixtures.StoredAt("v1"))
	m.flags = []string{"--kubeconfig", m.kubeconfig(), "--context", "staging", "--settle", "0s"}
	return m
}

func (m *migratable) populate(n int, at func(version string) dynamic.ResourceInterface) {
	m.Helper()
	for i := range n {
		object := fixtures.LocalCronTab.At("v1beta1")
		object.SetName(fmt.Sprintf("crontab-%03d", i))
		if _, err := at("v1beta1").Create(m.Context(), object, metav1.CreateOptions{}); err != nil {
			m.Fatal(err)
		}
	}
}

func (m *migratable) change(option fixtures.Option) {
	m.Helper()
	crds := m.definitions.ApiextensionsV1().CustomResourceDefinitions()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := crds.Get(m.Context(), m.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		option(crd)
		_, err = crds.Update(m.Context(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		m.Fatal(err)
	}
}

// kubeconfig writes a file with the cluster under the context staging, which is not the current one.
func (m *migratable) kubeconfig() string {
	m.Helper()
	config := api.NewConfig()
	at := m.api.Config()
	config.Clusters["c"] = &api.Cluster{Server: at.Host, CertificateAuthorityData: at.CAData}
	config.AuthInfos["u"] = &api.AuthInfo{ClientCertificateData: at.CertData, ClientKeyData: at.KeyData}
	config.Contexts["staging"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	path := filepath.Join(m.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		m.Fatal(err)
	}
	return path
}

// migrate runs the command.
func (m *migratable) migrate(args ...string) result {
	m.Helper()
	return invoke(m.T, m.line(args...)...)
}

// line is the command line of the command.
func (m *migratable) line(args ...string) []string {
	return slices.Concat([]string{"storage", "migrate", m.name}, m.flags, args)
}

// storedAt counts the objects in etcd that are at a version.
func (m *migratable) storedAt(version string) int {
	m.Helper()
	all, err := m.api.StoredAll(m.Context(), "example.com", "crontabs")
	if err != nil {
		m.Fatal(err)
	}
	n := 0
	for _, one := range all {
		if strings.Contains(string(one.Data), `"apiVersion":"example.com/`+version+`"`) {
			n++
		}
	}
	return n
}

func (m *migratable) storedVersions() []string {
	m.Helper()
	crd, err := m.definitions.ApiextensionsV1().CustomResourceDefinitions().Get(m.Context(), m.name, metav1.GetOptions{})
	if err != nil {
		m.Fatal(err)
	}
	return crd.Status.StoredVersions
}

// forget has etcd forget what was before.
func (m *migratable) forget() {
	m.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{m.etcd}, Logger: zap.NewNop()})
	if err != nil {
		m.Fatal(err)
	}
	defer etcd.Close()
	now, err := etcd.Get(m.Context(), "/")
	if err == nil {
		_, err = etcd.Compact(m.Context(), now.Header.Revision)
	}
	if err != nil {
		m.Fatal(err)
	}
}

// wants checks what came of a command and what it said.
func wants(t *testing.T, r result, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("it ended with %d, want %d:\n%s%s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("it did not say %q:\n%s%s", text, r.out, r.err)
		}
	}
}

// TestStorageMigrate migrates: refused, on trial, all, and once more.
func TestStorageMigrate(t *testing.T) {
	t.Parallel()
	m := newMigratable(t, 120)
	m.webhookDown.Store(true)
	wants(t, m.migrate("--dry-run"), exitViolates, "100 objects in a row failed, so the rest was not tried", "objects, such as default/crontab-", ": object not decodable: conversion webhook for ")
	m.webhookDown.Store(false)

	wants(t, m.migrate("--dry-run"), exitConforms, m.name+", storage version v1: dry-run\n", "objects          120 tried, 0 refused\n")
	if n := m.storedAt("v1beta1"); n != 120 {
		t.Errorf("a dry run left %d objects at v1beta1", n)
	}

	wants(t, m.migrate("--max-size", "10"), exitViolates, "120 objects were refused by the dry run; nothing was written", " bytes at v1, and etcd takes 10")

	r := m.migrate("--drop", "v1beta1", "--output", "json")
	wants(t, r, exitConforms)
	var did migrated
	if err := json.Unmarshal([]byte(r.out), &did); err != nil {
		t.Fatal(err)
	}
	if did.Outcome != "migrated" || did.Migration.Rewritten != 120 || did.Migration.Mended != 120 || did.Proof == nil || !did.Proof.Proved() || did.Proof.Objects != 120 {
		t.Errorf("it said %s", r.out)
	}
	if n := m.storedAt("v1"); n != 120 {
		t.Errorf("%d objects are at v1", n)
	}
	if got := m.storedVersions(); !slices.Equal(got, []string{"v1"}) {
		t.Errorf("the status lists %v", got)
	}
	wants(t, m.migrate("--etcd-endpoints", m.etcd), exitConforms, "no lock          the API server has no leases", "storedVersions   v1\n", "proof            all 120 objects are there")

	// Nothing is to be written, and the API server remembers that all was, until etcd is compacted.
	wants(t, m.migrate(), exitConforms, "proof            all 120 objects are there")
	m.forget()
	wants(t, m.migrate(), exitUnjudged, "proof            all 120 objects are there", "it is not known at which version 120 objects are stored; give --etcd-endpoints")
}

// TestStorageMigrateLooksIntoEtcd has somebody else say that all objects were migrated.
func TestStorageMigrateLooksIntoEtcd(t *testing.T) {
	t.Parallel()
	m := newMigratable(t, 3)
	other := newMigratable(t, 0)
	wants(t, m.migrate("--etcd-endpoints", other.etcd), exitUnjudged, "it is of another cluster")
	wants(t, m.migrate("--etcd-endpoints", "localhost:2379"), exitUsage, `"localhost:2379" is not a URL such as https://127.0.0.1:2379`)
	wants(t, m.migrate("--etcd-cert", "a"), exitUsage, "need --etcd-endpoints")
	wants(t, m.migrate("--etcd-endpoints", m.etcd, "--", "true"), exitViolates, "default/crontab-000: expected it at v1 in etcd, got v1beta1 (migration.objects.stored)")
	wants(t, m.migrate("--etcd-endpoints", m.etcd), exitConforms, "proof            all 3 objects are there")
}

// TestStorageMigrateKilled kills a migration in the middle, interrupts the next, and has another one complete it.
func TestStorageMigrateKilled(t *testing.T) {
	t.Parallel()
	m := newMigratable(t, 60)
	state := filepath.Join(t.TempDir(), "state.json")
	halfway := func(n int, signal os.Signal) result {
		p := start(t, m.line("--state", state, "--qps", "40", "--concurrency", "2", "--steps", "objects,managed-fields,stored-versions")...)
		for deadline := time.Now().Add(time.Minute); m.storedAt("v1") < n && time.Now().Before(deadline); {
			<-time.After(10 * time.Millisecond)
		}
		p.signal(t, signal)
		return p.end()
	}
	if r := halfway(10, os.Kill); r.code != -1 {
		t.Errorf("it ended with %d", r.code)
	}
	wants(t, halfway(20, os.Interrupt), exitInterrupted, ": interrupted\n", "interrupted; run it again to complete the migration")
	if n := m.storedAt("v1"); n < 20 || n == 60 || !slices.Equal(m.storedVersions(), []string{"v1beta1", "v1"}) {
		t.Errorf("%d objects are at v1, and the status lists %v", n, m.storedVersions())
	}
	wants(t, m.migrate("--state", state), exitConforms, "resumed          this run continues an earlier one", "proof            all 60 objects are there")
	if n := m.storedAt("v1"); n != 60 || !slices.Equal(m.storedVersions(), []string{"v1"}) {
		t.Errorf("%d objects are at v1, and the status lists %v", n, m.storedVersions())
	}
}

// TestStorageMigrateUnproved is interrupted between a complete migration and the end of its proof.
func TestStorageMigrateUnproved(t *testing.T) {
	t.Parallel()
	at := newMigratable(t, 1)
	var out strings.Builder
	m := &migrator{streams: streams{out: &out, err: &out}, definition: at.name}
	ctx, interrupt := context.WithCancel(t.Context())
	proving, err := proof.Begin(ctx, at.api.Config(), at.name, m.provable())
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	did := &migrated{}
	err = m.told(ctx, did, m.judge(ctx, proving, did, nil))
	if exit, is := errors.AsType[*exitError](err); !is || exit.code != exitInterrupted || did.Outcome != "interrupted" || did.Proof != nil {
		t.Errorf("got %v, %+v", err, did)
	}
}

// TestStorageMigrateByCommand has a command migrate: one that does, one that does not, and one that fails.
func TestStorageMigrateByCommand(t *testing.T) {
	t.Parallel()
	m := newMigratable(t, 5)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	wants(t, m.migrate("--", "false"), exitViolates, "false ended with exit status 1")
	wants(t, m.migrate("--", "true"), exitViolates, "default/crontab-000: expected it to be written at v1, got it as it was, stored at another version", "the proof found that the migration is wrong")
	wants(t, m.migrate("--", "sh", "-c", path+" storage migrate "+m.name+" --context staging --settle 0s --proof=false"), exitConforms,
		"5 written as they are", "proof            all 5 objects are there")
	if n := m.storedAt("v1"); n != 5 {
		t.Errorf("%d objects are at v1", n)
	}
	// What is deleted meanwhile may have been deleted by the command.
	busy := filepath.Join(t.TempDir(), "busy")
	deletes := start(t, m.line("--", "sh", "-c", path+" storage migrate "+m.name+" --context staging --settle 0s --proof=false && touch "+busy+" && while [ -e "+busy+" ]; do sleep 0.1; done")...)
	for {
		if _, err := os.Stat(busy); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the command did not get so far")
		}
		<-time.After(20 * time.Millisecond)
	}
	objects, err := dynamic.NewForConfig(m.api.Config())
	if err != nil {
		t.Fatal(err)
	}
	crontabs := objects.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"})
	if err := errors.Join(crontabs.Namespace("default").Delete(t.Context(), "crontab-000", metav1.DeleteOptions{}), os.Remove(busy)); err != nil {
		t.Fatal(err)
	}
	wants(t, deletes.end(), exitUnjudged, "meanwhile, objects were deleted (1) or changed (0), and whether by the migrator or by others is not known",
		"5 objects were there before", "not proved       objects are gone, which others may have deleted: default/crontab-000")
	wants(t, m.migrate("--with", "in-tree"), exitUnjudged, "the API server does not serve storagemigration.k8s.io; it is on by default from Kubernetes 1.37")
}

// TestStorageMigrateUsage is about what nothing can be done with.
func TestStorageMigrateUsage(t *testing.T) {
	t.Parallel()
	m := newMigratable(t, 0)
	for args, want := range map[string]string{
		"storage migrate":                                              "migrate takes the name of one definition, such as crontabs.stable.example.com, but got 0",
		"storage migrate crontabs --context a":                         `"crontabs" is not the name of a definition`,
		"storage migrate a.b":                                          "no cluster specified; give --context NAME",
		"storage migrate a.b --context b --kubeconfig /no/such":        "--kubeconfig /no/such: the file does not exist",
		"storage migrate a.b --context a --steps all":                  `--steps all: unknown step (want dry-run, objects, managed-fields or stored-versions)`,
		"storage migrate a.b --context a --with cmctl":                 "--with cmctl: unknown migrator (want crdconform or in-tree)",
		"storage migrate a.b --context a --dry-run --steps objects":    "--dry-run and --steps cannot be combined",
		"storage migrate a.b --context a --with in-tree -- true":       "--with and a command after -- cannot be combined",
		"storage migrate a.b --context a --":                           "there is no command after --",
		"storage migrate a.b --context a -- no-such-program":           "no-such-program: ",
		"storage migrate a.b --context a --qps -1":                     "--qps -1: must be at least 0",
		"storage migrate a.b --context a --concurrency 0":              "--concurrency 0: must be from 1 to 1000",
		"storage migrate a.b --context a --page-size 0":                "--page-size 0: must be from 1 to 10000",
		"storage migrate a.b --context a --max-latency -1s":            "--max-latency -1s: must be at least 0s",
		"storage migrate a.b --context a --max-size 0":                 "--max-size 0: must be at least 1",
		"storage migrate a.b --context a --output yaml":                "--output yaml: unknown format (want text or json)",
		"storage migrate foos.example.com " + joined(m):                "the cluster has no definition foos.example.com",
		"storage migrate " + m.name + " --drop v2 " + joined(m):        "has no version v2 to drop (want one of ",
		"storage migrate " + m.name + " --drop v1 " + joined(m):        "v1 is the storage version of " + m.name + " and can't be dropped",
		"storage migrate " + m.name + " --drop v1beta1 a " + joined(m): "but got 2",
	} {
		wants(t, invoke(t, strings.Fields(args)...), exitUsage, want)
	}
}

func joined(m *migratable) string { return strings.Join(m.flags, " ") }

// TestStorageMigrateBehind says how many objects another API server stored at the former version.
func TestStorageMigrateBehind(t *testing.T) {
	t.Parallel()
	const line = "behind           2 changed when they were written once more at the end: they may have been stored at another version\n"
	for behind, want := range map[int]bool{0: false, 2: true} {
		did := migrated{Outcome: "migrated", Migration: migrate.Result{Behind: behind}}
		if text := did.text(&migrator{}); strings.Contains(text, line) != want {
			t.Errorf("%d: got\n%s", behind, text)
		}
	}
}

// TestRefusalsByReason tells each reason once, and how many reasons were left out.
func TestRefusalsByReason(t *testing.T) {
	t.Parallel()
	did := migrated{}
	refuse := func(name, reason string) {
		did.Migration.Refused = append(did.Migration.Refused, migrate.Refusal{Namespace: "default", Name: name, Reason: reason})
	}
	refuse("a", "the webhook is down")
	refuse("b", "too large")
	refuse("c", "the webhook is down")
	for i := range shownLines {
		refuse(fmt.Sprint("d", i), fmt.Sprint("rule ", i))
	}
	text := did.text(&migrator{})
	for _, want := range []string{
		"  refused          2 objects, such as default/a: the webhook is down\n", "  refused          default/b: too large\n",
		"and for 2 more reasons; --output json has all\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "default/c") {
		t.Errorf("it tells one reason twice:\n%s", text)
	}
}
