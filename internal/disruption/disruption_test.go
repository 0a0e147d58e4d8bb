package disruption

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/subject"
)

// TestMain serves the reference webhook if it is started as the program to disrupt.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func serve(address, certs string) int {
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

// referenceCommand is the reference webhook as a program.
func referenceCommand(t *testing.T) subject.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return subject.Command{Args: []string{self, "serve", "127.0.0.1:{port}", "{certs}"}, Path: webhook.Path, ServerName: ServerName}
}

// plan disrupts the reference webhook.
func plan(t *testing.T, scenarios ...Scenario) *Plan {
	t.Helper()
	crd := fixtures.Webhook.New()
	p := &Plan{
		Definition: crd, Samples: map[string][]*unstructured.Unstructured{}, Program: referenceCommand(t), Path: webhook.Path, Scenarios: scenarios, Settings: Defaults(),
		Progress: func(text string) { t.Log(text) },
	}
	tabs := corpus.CronTabs("v1beta1", "v1")
	for _, version := range []string{"v1beta1", "v1"} {
		p.Samples[version] = tabs.Objects(version)
	}
	return p
}

func TestTry(t *testing.T) {
	restore, err := embedded.CaptureLog(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	api, err := embedded.Start(t.Context(), embedded.Options{WatchCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Stop(context.Background())
	var some []Scenario
	for _, s := range Scenarios() {
		if only := os.Getenv("ONLY"); only == "" || strings.Contains(string(s.ID), only) {
			some = append(some, s)
		}
	}
	p := plan(t, some...)
	p.Rate = 60
	if rate, err := strconv.Atoi(os.Getenv("RATE")); err == nil {
		p.Rate = float64(rate)
	}
	err = Run(t.Context(), p, api, t.TempDir(), record.Header{}, objective.Set{}.For, func(o Outcome) {
		if o.History == nil {
			t.Logf("%s: %.1f s: %s %v", o.Scenario.ID, o.Seconds, o.Skipped, o.Err)
			return
		}
		v, err := Judge(o.History)
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s %s: %.1f s, %d ops, failed %d, first %v, recovery %v, marks %v\n%s", o.Scenario.ID, v.Verdict, o.Seconds, v.Facts.Operations, v.Facts.Failed, v.Facts.FirstFailure, v.Facts.Recovery, o.History.Marks, v.Reason)
		for _, f := range v.Facts.Failures {
			t.Log("   ", f)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
