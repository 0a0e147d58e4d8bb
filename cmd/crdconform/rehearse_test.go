package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/test/needs"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// upgrade is a folder with the definitions of two releases of the sample operator, which differ in the storage version.
type upgrade struct {
	t              *testing.T
	dir, old, next string
}

func newUpgrade(t *testing.T) upgrade {
	t.Helper()
	u := upgrade{t: t, dir: t.TempDir()}
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "test", "subjects", "kubebuilder", "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The versions v1, v1alpha1 and v1beta1 are in this order, and the first is stored.
	old := strings.Replace(string(text), "storage: true", "storage: -", 1)
	i := strings.LastIndex(old, "storage: false")
	old = strings.Replace(old[:i]+"storage: true"+old[i+len("storage: false"):], "storage: -", "storage: false", 1)
	u.old, u.next = u.write("old.yaml", old), u.write("new.yaml", string(text))
	return u
}

func (u upgrade) write(name, text string) string {
	u.t.Helper()
	name = filepath.Join(u.dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return name
}

const widget = `apiVersion: factory.example.org/v1beta1
kind: Widget
metadata: {name: a, namespace: prod, resourceVersion: "12"}
spec: {enabled: false}
`

// rehearse runs the command with the two releases.
func (u upgrade) rehearse(arguments ...string) (code int, out, errors string) {
	u.t.Helper()
	base := []string{"rehearse", "--seed", "1", "--report-dir", filepath.Join(u.dir, "report")}
	if !slices.Contains(arguments, "--old") {
		base = append(base, "--old", u.old)
	}
	if !slices.Contains(arguments, "--new") {
		base = append(base, "--new", u.next)
	}
	return executed(u.t, append(base, arguments...)...)
}

// executed is what a command line comes to.
func executed(t *testing.T, arguments ...string) (code int, out, errors string) {
	t.Helper()
	var written, said strings.Builder
	code = execute(t.Context(), arguments, streams{out: &written, err: &said})
	return code, written.String(), said.String()
}

func TestRehearseUsage(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	program := []string{"--", "./rehearse_test.go", "{port}", "{certs}"}
	objects := func(text string) []string {
		sum := sha256.Sum256([]byte(text))
		return append([]string{"--objects", u.write(hex.EncodeToString(sum[:4])+".yaml", text)}, program...)
	}
	managed := strings.Replace(widget, `resourceVersion: "12"`, `managedFields: [{manager: x, operation: Update, apiVersion: factory.example.org/v1, fieldsType: FieldsV1, fieldsV1: {"f:a": 1}}]`, 1)
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"a version that the old definition lacks": {objects(strings.Replace(widget, "v1beta1", "v9", 1)), "Widget prod/a is at the version v9, which the old definition does not have (want v1, v1alpha1, v1beta1)"},
		"an object twice":                         {objects(widget + "---\n" + widget), "Widget prod/a is there already at"},
		"an object that is cut off":               {objects(`{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Wid`), "it is cut off; get a complete one"},
		"managed fields that cannot be parsed":    {objects(managed), `metadata.managedFields[0].fieldsV1 of the manager "x" cannot be parsed`},
		"managed fields of no version":            {objects(strings.Replace(managed, "factory.example.org/v1,", "a/b/c,", 1)), `metadata.managedFields[0].apiVersion of the manager "x" cannot be parsed: unexpected GroupVersion string: a/b/c; remove`},
		"none of the objects":                     {objects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), "there are no objects of Widget.factory.example.org in it; it has 1 of ConfigMap"},
		"no such file":                            {append([]string{"--objects", "nosuch.yaml"}, program...), "no such file"},
		"no such program":                         {append([]string{"--old-program", "./nosuch {port} {certs}"}, objects(widget)...), `--old-program: webhook program "./nosuch": the file, or the interpreter`},
		"a program that is not executable":        {objects(widget), `webhook program "./rehearse_test.go": a directory, or not executable`},
		"no webhook":                              {nil, "the objects of widgets.factory.example.org are converted by a webhook, and none is given"},
		"no old release":                          {append([]string{"--old", ""}, program...), "--old: the name is empty"},
		"another project":                         {append([]string{"--old", "../../internal/test/subjects/python/crd.yaml"}, program...), "is among the new ones, which are widgets.factory.example.org; is it the same project?"},
		"a git revision that there is not":        {append([]string{"--old", "git://no-such-revision:config"}, program...), "git has no revision no-such-revision"},
		"a context that there is not":             {append([]string{"--old", "context://staging", "--kubeconfig", "nosuch"}, program...), "--kubeconfig nosuch: the file does not exist"},
		"objects of such a context":               {append([]string{"--from-context", "staging", "--kubeconfig", "nosuch"}, program...), "--kubeconfig nosuch: the file does not exist"},
		"a kubeconfig for nothing":                {append([]string{"--kubeconfig", "nosuch"}, program...), "--kubeconfig: only valid with --from-context"},
		"an existing cluster":                     {append([]string{"--cluster", "existing"}, program...), "this command cannot use such a cluster (want embedded, kind, envtest)"},
		"an unknown way":                          {append([]string{"--install", "helm"}, program...), `unknown way "helm" (want apply, server-side, replace)`},
		"a quotation mark":                        {append([]string{"--old-program", "./a 'b"}, program...), "a quotation mark is not closed"},
		"too many programs":                       {append([]string{"--old-program", "a", "--old-program", "b"}, program...), "there are 2 for 1 old releases (--old)"},
		"a program without a port":                {append([]string{"--old-program", "./manager"}, program...), "neither its arguments nor its environment contain"},
		"an image for no pods":                    {append([]string{"--old-image", "widgets:v1"}, program...), "no pods can run with cluster embedded"},
		"an unknown requirement":                  {append([]string{"--filter", "upgrade.nosuch"}, program...), "--filter upgrade.nosuch: unknown requirement"},
		"a requirement of another chapter":        {append([]string{"--filter", "webhook"}, program...), `--filter webhook: "crdconform check" checks it, this command does not`},
		"a path to mask that nothing has":         {append([]string{"--redact", "spec.nosuch"}, objects(widget)...), "no object has a value at spec.nosuch"},
		"objects from two places":                 {append([]string{"--from-context", "a"}, objects(widget)...), "objects are given too (--objects); give only one"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out, errors := u.rehearse(test.arguments...); code != exitUsage || !strings.Contains(errors, test.want) || out != "" {
				t.Errorf("exit code %d, wrote %q, said %q, want %q", code, out, errors, test.want)
			}
			if _, err := os.Stat(filepath.Join(u.dir, "report")); err == nil {
				t.Error("there is a report")
			}
		})
	}
}

// TestRehearseProgram rehearses an upgrade with real programs, of which the new one has a bug, and reads the report.
func TestRehearseProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade with real programs")
	}
	u := newUpgrade(t)
	program := subjects.Build(t, subjects.Kubebuilder)
	objects := u.write("objects.yaml", widget+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	arguments := []string{"--objects", objects, "--old-program", strings.Join(program.Serve(), " "), "--"}
	code, out, errors := u.rehearse(append(arguments, program.Serve("--bug", "drops-false")...)...)
	if code != exitViolates || errors != "" {
		t.Fatalf("exit code %d, said %q, wrote\n%s", code, errors, out)
	}
	for _, want := range []string{
		"note: " + objects + ": objects of other definitions were left out: 1 of ConfigMap",
		"the upgrade from ", ", with 1 object, seed 1", "\nread         Failed: 1 finding of 1 object (", "\nread         Failed 1 of 1",
		"FAILED upgrade.read.content (read)\n    widgets.factory.example.org prod/a: read at v1 after the upgrade: spec.enabled: expected false, got nothing, which becomes the default true",
		"        kubectl get widgets.v1.factory.example.org a -n prod -o yaml\n    why it matters: " + why(t, requirement.UpgradeReadContent) + "\n    again: crdconform rehearse --filter=upgrade.read.content --seed=1 --",
		"before anything is written, the old definition can be put back.",
		"\nDoes not conform: 2 of 27 requirements failed, in ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	report, err := reports.ReadFile(filepath.Join(u.dir, "report"))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Upgrade) != 1 || len(report.Upgrade[0].Steps) != 14 || report.Upgrade[0].Kinds[0].Stored["v1beta1"] != 1 || report.Cluster == nil {
		t.Errorf("the report has %+v", report)
	}
	for _, r := range report.Results {
		if r.ID == requirement.UpgradeReadContent && !strings.Contains(r.Rerun, "crdconform rehearse --filter=upgrade.read.content --seed=1 --") {
			t.Errorf("it is rehearsed again by %s", r.Rerun)
		}
	}
	if code, out, _ = u.rehearse(append(arguments, program.Serve()...)...); code != exitConforms {
		t.Errorf("without a bug the exit code is %d:\n%s", code, out)
	}
	code, out, _ = executed(t, "report", filepath.Join(u.dir, "report"), "--baseline", filepath.Join(u.dir, "report"))
	if code != exitConforms {
		t.Errorf("compared with itself: %d\n%s", code, out)
	}
	code, _, errors = executed(t, "report", filepath.Join(u.dir, "report"), filepath.Join(u.dir, "report"), "--side-by-side")
	if code != exitUsage || !strings.Contains(errors, "is the report of a rehearsal; compare two with --baseline") {
		t.Errorf("side by side: %d, said %q", code, errors)
	}
}

// TestRehearseSnapshot rehearses with a snapshot of etcd, whole and damaged.
func TestRehearseSnapshot(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade with real programs")
	}
	u := newUpgrade(t)
	whole, encrypted := snapshots(t, u.dir)
	damaged := u.write("damaged.db", whole[:len(whole)-sha256.Size]+strings.Repeat("x", sha256.Size))
	program := subjects.Build(t, subjects.Kubebuilder)
	serve := append([]string{"--"}, program.Serve()...)
	for file, want := range map[string]string{
		damaged:                                 "does not have the SHA-256 that it ends with: it is truncated or damaged",
		u.write("cut.db", whole[:len(whole)/2]): "does not end with a SHA-256",
		u.write("encrypted.db", encrypted):      "the API server stores it encrypted (k8s:enc:aescbc:v1)",
	} {
		if code, _, errors := u.rehearse(append([]string{"--objects", file}, serve...)...); code != exitUsage || !strings.Contains(errors, want) {
			t.Errorf("%s: exit code %d, said %q, want %q", filepath.Base(file), code, errors, want)
		}
	}
	code, out, errors := u.rehearse(append([]string{"--objects", u.write("whole.db", whole), "--old-program", strings.Join(serve[1:], " "), "--filter", "upgrade.read"}, serve...)...)
	if code != exitConforms {
		t.Fatalf("exit code %d, said %q, wrote\n%s", code, errors, out)
	}
	report, err := reports.ReadFile(filepath.Join(u.dir, "report"))
	if err != nil {
		t.Fatal(err)
	}
	if stored := report.Upgrade[0].Kinds[0].Stored; stored["v1"] != 1 || stored["v1beta1"] != 1 {
		t.Errorf("the objects were stored at %v, want one at v1 and one at v1beta1, as in the snapshot", stored)
	}
}

// TestRehearseContext reads definitions, their status, and objects from a cluster, in which nothing changes.
func TestRehearseContext(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade of another API server's objects")
	}
	k := keeps(t)
	revision := func() string {
		list, err := k.objects.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return list.GetResourceVersion()
	}
	before := revision()
	dropped := fixtures.None.New(fixtures.StoredAt("v1"), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1beta1" })
	})
	text, err := yaml.Marshal(dropped)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	code, out, said := executed(t, "rehearse", "--old", "context://lab", "--from-context", "lab", "--kubeconfig", k.kubeconfig, "--new", file(t, "new.yaml", string(text)),
		"--filter", "upgrade.definitions.accepted,upgrade.objects", "--report-dir", dir)
	if code != exitViolates || !strings.Contains(out, `status.storedVersions[0]: Invalid value: "v1beta1": missing from spec.versions`) || !strings.Contains(out, "with 2 objects") {
		t.Errorf("exit code %d, said %q, wrote\n%s", code, said, out)
	}
	if after := revision(); after != before {
		t.Errorf("the cluster was at revision %s, and is at %s", before, after)
	}
	code, _, said = executed(t, "rehearse", "--old", "context://nosuch", "--kubeconfig", k.kubeconfig, "--new", file(t, "new.yaml", string(text)), "--report-dir", dir)
	if code != exitUsage || !strings.Contains(said, "nosuch") {
		t.Errorf("of no context: %d, said %q", code, said)
	}
}

// snapshots are snapshots of an etcd with two widgets, and with one that is encrypted.
func snapshots(t *testing.T, dir string) (whole, encrypted string) {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "snap") //nolint:usetesting // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	suitetest.Cluster(t, embedded.Options{Dir: folder})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(folder, "etcd", "sockets", "client.sock")}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	put := func(name, value string) {
		t.Helper()
		if _, err := client.Put(t.Context(), "/registry/factory.example.org/widgets/prod/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	object := func(name, version string) string {
		return `{"apiVersion":"factory.example.org/` + version + `","kind":"Widget","metadata":{"name":"` + name + `","namespace":"prod","uid":"00000000-0000-4000-8000-00000000000` + name + `","creationTimestamp":"2024-01-01T00:00:00Z","generation":1},"spec":{"replicas":1}}`
	}
	put("1", object("1", "v1beta1"))
	put("2", object("2", "v1"))
	whole = saved(t.Context(), t, client, dir)
	put("3", "k8s:enc:aescbc:v1:key1:secret")
	return whole, saved(t.Context(), t, client, dir)
}

// saved is a snapshot of an etcd.
func saved(ctx context.Context, t *testing.T, client *clientv3.Client, dir string) string {
	t.Helper()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	file, err := os.Create(filepath.Join(dir, "snapshot.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRehearseOperator rehearses an upgrade to an operator that lists its own kind before it serves, to its corrected twin, and as
// docs/upgrades.md shows it.
func TestRehearseOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for a program that waits for itself")
	}
	u := subjects.BuildUpgrade(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "crdconform.yaml")
	rehearse := func(more string) (int, string, *reports.Report) {
		t.Helper()
		text := "apiVersion: crdconform.dev/v1alpha1\nkind: Config\nold: [" + u.Old + "]\ncrds: [" + u.New + "]\nrehearse: {objects: [" + u.Objects + "], programs: [\"" + u.Program +
			" --port={port} --certs={certs}\"]}\nwebhook: {command: {args: [" + u.Program + ", '--port={port}', '--certs={certs}', '--kubeconfig={kubeconfig}'" + more + "], readyTimeout: 8s}}\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, _ := executed(t, "rehearse", "--config", config, "--seed", "1", "--report-dir", filepath.Join(dir, "report"), "--filter", "upgrade.webhook,upgrade.read")
		report, err := reports.ReadFile(filepath.Join(dir, "report"))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return code, out, report
	}
	code, out, report := rehearse(", --lists-first")
	failed := report.With(requirement.Failed, requirement.Tolerated, requirement.Errored)
	if code != exitViolates || len(failed) != 1 || failed[0].ID != requirement.UpgradeWebhookStarts || !strings.Contains(failed[0].Reason, "the new program waits for itself: it does not serve conversions before it has read its own kind") {
		t.Errorf("exit code %d, %+v\n%s", code, failed, out)
	}
	// Once it is helped, the rest is judged.
	if passed := report.With(requirement.Passed); len(passed) != 6 {
		t.Errorf("%d requirements passed: %+v", len(passed), passed)
	}
	if code, out, _ = rehearse(""); code != exitConforms {
		t.Errorf("the corrected twin: exit code %d\n%s", code, out)
	}
	serves := []string{u.Program, "--port={port}", "--certs={certs}"}
	_, out, _ = executed(t, append([]string{
		"rehearse", "--seed", "1", "--report-dir", filepath.Join(dir, "report"), "--old", u.Old, "--new", u.New, "--objects", u.Objects, "--old-program", strings.Join(serves, " "), "--",
	}, append(serves, "--drops-memory")...)...)
	_, shown, _ := strings.Cut(string(read(t, filepath.Join("..", "..", "docs", "upgrades.md"))), "```\ncrdconform (devel): ")
	shown, _, _ = strings.Cut(shown, "```\n")
	here := strings.NewReplacer(filepath.Dir(u.Old)+string(filepath.Separator), "", " --report-dir="+filepath.Join(dir, "report"), "")
	if got, want := timeless(here.Replace(out)), timeless("crdconform (devel): "+shown); got != want {
		t.Errorf("docs/upgrades.md shows another output:\n%s\nwant\n%s", got, want)
	}
}

// TestRehearseEnvtest rehearses an upgrade on a whole API server whose etcd is a process of its own, from a kubeconfig on.
func TestRehearseEnvtest(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade with real programs")
	}
	needs.APIServer(t)
	u := subjects.BuildUpgrade(t)
	dir := t.TempDir()
	serves := []string{u.Program, "--port={port}", "--certs={certs}", "--kubeconfig={kubeconfig}"}
	var out, said strings.Builder
	code := execute(t.Context(), append([]string{
		"rehearse", "--cluster", "envtest", "--seed", "1", "--report-dir", dir, "--old", u.Old, "--new", u.New, "--objects", u.Objects, "--old-program", strings.Join(serves, " "), "--",
	}, serves...), streams{out: &out, err: &said, variable: func(name string) (string, bool) {
		if name == "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT" { // the machine may be busy
			return "3m", true
		}
		return os.LookupEnv(name) //nolint:forbidigo // envtest goes by it too
	}})
	if code != exitConforms || said.String() != "" {
		t.Errorf("exit code %d, said %q, wrote\n%s", code, &said, &out)
	}
	report, err := reports.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if report.Cluster == nil || report.Cluster.Name != "envtest" || len(report.Upgrade) != 1 || report.Upgrade[0].Kinds[0].Objects != 2 || report.Upgrade[0].Kinds[0].Stored["v1beta1"] != 2 {
		t.Errorf("the report has %+v of %+v", report.Upgrade, report.Cluster)
	}
	for _, r := range report.With(requirement.NotApplicable) {
		if r.ID == requirement.UpgradeUseCollected && !strings.Contains(r.Reason, "garbage collector") {
			t.Errorf("%s is not judged: %s", r.ID, r.Reason)
		}
	}
}

// timeless is what a rehearsal writes, without what differs from run to run.
func timeless(out string) string {
	out, _, _ = strings.Cut(out, "\nReport: ")
	return regexp.MustCompile(`[0-9.]+ s\b`).ReplaceAllString(out, "* s")
}
