package server_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/requirement"
)

// serveReference serves the reference webhook until SIGTERM, as the program to disrupt.
func serveReference(address, certs string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := webhook.StartWith(ctx, address, certs, webhook.Handler())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-ctx.Done()
	within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if s.Drain(within, 500*time.Millisecond) != nil {
		return 1
	}
	return 0
}

// idle are bounds that any machine keeps, however busy it is: what was lost or is wrong holds there too.
func idle() record.Bounds {
	b := record.UsualBounds()
	b.Share, b.Lag = 0, time.Hour
	return b
}

// trial starts an API server and returns a plan to disrupt a program there, with few and slow clients.
func trial(t *testing.T, command subject.Command, kind corpus.Corpus, ids ...requirement.ID) (*disruption.Plan, disruption.Server) {
	t.Helper()
	restore, err := embedded.CaptureLog(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
	api, err := embedded.Start(t.Context(), embedded.Options{WatchCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	command.ServerName = disruption.ServerName
	p := &disruption.Plan{Definition: kind.Definition.CRD, Samples: map[string][]*unstructured.Unstructured{}, Program: command, Path: command.Path, Settings: disruption.Defaults()}
	p.Rate, p.Reached, p.Objects, p.Quiet, p.Limit, p.PickUp = 25, 0, 12, time.Second, 0, patience
	for _, version := range kind.Definition.Versions() {
		p.Samples[version] = kind.Objects(version)
	}
	for _, id := range ids {
		s, known := disruption.Named(id)
		if !known {
			t.Fatalf("there is no scenario %s", id)
		}
		p.Scenarios = append(p.Scenarios, s)
	}
	return p, api
}

// outcomes disrupts, and leaves nothing behind.
func outcomes(t *testing.T, p *disruption.Plan, server disruption.Server) map[requirement.ID]disruption.Outcome {
	t.Helper()
	all := map[requirement.ID]disruption.Outcome{}
	defer removeDefinition(t, p, server)
	if err := disruption.Run(t.Context(), p, server, t.TempDir(), record.Header{}, objective.Set{}.For, func(o disruption.Outcome) { all[o.Scenario.ID] = o }); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(p.Scenarios) {
		t.Fatalf("%d scenarios of %d came to something", len(all), len(p.Scenarios))
	}
	return all
}

// removeDefinition deletes the definition with its objects.
func removeDefinition(t *testing.T, p *disruption.Plan, server disruption.Server) {
	t.Helper()
	client, err := clientset.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	if err = crds.Delete(t.Context(), p.Definition.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := crds.Get(ctx, p.Definition.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		t.Error(err)
	}
}

func reference(t *testing.T) subject.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return subject.Command{Args: []string{self, "serve", "127.0.0.1:{port}", "{certs}"}, Path: webhook.Path}
}

// noCgroup is why memory can't be limited where the tests run.
const noCgroup = "it needs a cgroup with a memory limit"

// TestDisruptionReference disrupts the reference webhook, which does nothing wrong. How long things take is for a quiet machine.
func TestDisruptionReference(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it takes a minute, most of it waiting")
	}
	// One of each class: of the process, of memory, of replicas, of the network, of certificates and of the API server.
	disruptReference(t, requirement.DisruptionRestartGraceful, requirement.DisruptionMemoryLimit, requirement.DisruptionReplicasOneOld,
		requirement.DisruptionReplicasRollout, requirement.DisruptionNetworkReset, requirement.DisruptionCertificateLeaf, requirement.DisruptionServerCompacted)
}

// disruptReference disrupts the reference webhook in some ways, and wants nothing to be found. What is void, since the machine was busy with something
// else, is tried again.
func disruptReference(t *testing.T, ids ...requirement.ID) {
	t.Helper()
	for attempts := 3; len(ids) > 0; attempts-- {
		if attempts == 0 {
			t.Fatalf("void each time: %v", ids)
		}
		ids = disruptedReference(t, ids...)
	}
}

// disruptedReference disrupts the reference webhook in some ways, and returns which of these are void.
func disruptedReference(t *testing.T, ids ...requirement.ID) (void []requirement.ID) {
	t.Helper()
	p, server := trial(t, reference(t), corpus.CronTabs("v1beta1", "v1"), ids...)
	for id, o := range outcomes(t, p, server) {
		if id == requirement.DisruptionReplicasOneOld {
			if !strings.Contains(o.Skipped, "the program of an old build") || o.History != nil {
				t.Errorf("%s without an old program: %q", id, o.Skipped)
			}
			continue
		}
		if id == requirement.DisruptionMemoryLimit && strings.Contains(o.Skipped, noCgroup) {
			t.Logf("%s was not tried: %s", id, o.Skipped)
			continue
		}
		if o.Err != nil {
			t.Errorf("%s: %v", id, o.Err)
			continue
		}
		for _, text := range disruption.Violations(o.History) {
			t.Errorf("%s: %s", id, text)
		}
		limited := slices.ContainsFunc(o.History.Marks, func(m record.Mark) bool {
			return m.Name == disruption.MemoryLimit && strings.Contains(m.Text, "with ") && !strings.Contains(m.Text, "without")
		})
		if id == requirement.DisruptionMemoryLimit && !limited {
			t.Errorf("%s: no memory was limited: %+v", id, o.History.Marks)
		}
		report, err := record.JudgeWithin(o.History, idle())
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if len(report.Void) > 0 {
			t.Logf("%s is void: %v", id, report.Void)
			void = append(void, id)
			continue
		}
		if report.Facts.Operations == 0 || report.Facts.Compared == 0 {
			t.Errorf("%s: clients did nothing: %+v", id, report.Facts)
		}
		for _, verb := range []record.Verb{record.Get, record.Patch, record.Apply, record.Update, record.List} {
			if !slices.ContainsFunc(o.History.Operations, func(o record.Operation) bool { return o.Verb == verb && o.Error == "" }) {
				t.Errorf("%s: no %s succeeded", id, verb)
			}
		}
		for _, f := range report.Anomalies {
			timed := slices.Contains([]record.AnomalyKind{record.NotRecovered, record.WatchSilent, record.WatchGone}, f.Kind)
			if !timed && o.Scenario.Forbids(f.Kind) {
				t.Errorf("%s: %s", id, strings.Join(append([]string{f.Text}, f.Examples...), "\n"))
			}
		}
		harmed := id == requirement.DisruptionCertificateExpired || id == requirement.DisruptionRestartKilled || id == requirement.DisruptionNetworkReset
		if harmed && report.Facts.Failed == 0 {
			t.Errorf("%s: it harmed nobody", id)
		}
	}
	etcd, err := server.Client()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // with nothing written in between
		if err := disruption.CompactOnce(t.Context(), etcd); err != nil {
			t.Error(err)
		}
	}
	return void
}

// frail builds the webhook whose bugs show when it is disrupted.
func frail(t *testing.T) (string, corpus.Corpus) {
	t.Helper()
	dir := filepath.Join("..", "subjects", "frail")
	program := filepath.Join(t.TempDir(), "frail")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	read, _, err := corpus.ReadDefinitions("crd.yaml", readFile(t, filepath.Join(dir, "crd.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := corpus.ReadSamples("samples.yaml", readFile(t, filepath.Join(dir, "samples.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := corpus.New(read[0], objects)
	if err != nil {
		t.Fatal(err)
	}
	return program, kind
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDisruptionFrailCaught has each bug found by its scenario, whatever else the machine does.
func TestDisruptionFrailCaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it takes a minute, most of it waiting")
	}
	// One of each class, as in TestDisruptionReference.
	catchFrail(t, []frailty{
		{"no-drain", requirement.DisruptionRestartGraceful, "it dropped"},
		{"certificate-once", requirement.DisruptionCertificateLeaf, "still serves the former certificate"},
		{"panics-on-reset", requirement.DisruptionNetworkReset, "it exited"},
		{"refuses-others", requirement.DisruptionReplicasOneOld, "the webhook answered"},
		{"ends-with-server", requirement.DisruptionServerRestarted, "it exited"},
		{"serves-too-early", requirement.DisruptionRestartGraceful, "a replica that listened failed to convert an object (503"},
		{"scarce-memory", requirement.DisruptionMemoryLimit, "differed from that of the undisturbed webhook"},
	})
}

// TestDisruptionOfALossyConversion has a field that a conversion loses in any case not held against the disruption.
func TestDisruptionOfALossyConversion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it takes seconds, most of it waiting")
	}
	program, kind := frail(t)
	id := requirement.DisruptionDefinitionStorage
	p, server := trial(t, subject.Command{Args: []string{program, "--port={port}", "--certs={certs}", "--bug=loses-sites"}, Path: "/convert"}, kind, id)
	o := outcomes(t, p, server)[id]
	if o.Err != nil || o.Wrong != "" {
		t.Fatal(o.Err, o.Wrong)
	}
	report, err := record.JudgeWithin(o.History, idle())
	if err != nil || report.Facts.Compared == 0 {
		t.Errorf("%d conversions were compared, %v", report.Facts.Compared, err)
	}
	if f, found := report.Found(record.FoundWrong); found {
		t.Errorf("%s\n%s", f.Text, strings.Join(f.Examples, "\n"))
	}
}

// frailty is a bug, what shows it, and what is said of it then.
type frailty struct {
	bug  string
	id   requirement.ID
	want string
}

// catchFrail wants bugs to be found.
func catchFrail(t *testing.T, bugs []frailty) {
	t.Helper()
	program, kind := frail(t)
	old := program + "-old"
	if err := os.Link(program, old); err != nil {
		t.Fatal(err)
	}
	p, server := trial(t, subject.Command{Args: []string{program}, Path: "/convert"}, kind, requirement.DisruptionRestartGraceful)
	p.PickUp = 2 * time.Second // which a correct program may miss on a busy machine, and these never pick it up
	for _, test := range bugs {
		t.Run(test.bug, func(t *testing.T) {
			p.Program.Args = []string{program, "--port={port}", "--certs={certs}", "--kubeconfig={kubeconfig}", "--bug=" + test.bug}
			p.OldProgram = &subject.Command{Args: slices.Concat([]string{old}, p.Program.Args[1:]), Path: p.Program.Path}
			s, _ := disruption.Named(test.id)
			p.Scenarios = []disruption.Scenario{s}
			o := outcomes(t, p, server)[test.id]
			if o.Err != nil || o.Wrong != "" {
				t.Fatal(o.Err, o.Wrong)
			}
			if strings.Contains(o.Skipped, noCgroup) {
				t.Skip(o.Skipped)
			}
			reasons := disruption.Violations(o.History)
			report, err := record.JudgeWithin(o.History, idle())
			if err != nil {
				t.Error(err)
			}
			for _, f := range report.Anomalies {
				reasons = append(reasons, f.Text)
			}
			reasons = append(reasons, s.Answered(report.Facts)...)
			if !slices.ContainsFunc(reasons, func(text string) bool { return strings.Contains(text, test.want) }) {
				t.Errorf("not found by %s: %q", test.id, reasons)
			}
		})
	}
}
