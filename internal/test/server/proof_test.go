package server_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/requirement"
)

// proofPopulated installs a definition with a webhook, and n objects of about 1 kB that are stored at v1beta1, while v1 is the storage
// version. It returns the name of the definition.
func proofPopulated(t *testing.T, c *embedded.Cluster, n int) string {
	t.Helper()
	group := strings.ToLower(strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())) + ".example.com"
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	config := c.Config()
	config.QPS = -1
	crds := clientset.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	crd := fixtures.Webhook.New(fixtures.InGroup(group), fixtures.WithSubresources())
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: server.CA}
	if _, err = crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := crds.Delete(ctx, crd.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		proofEventually(ctx, t, func(ctx context.Context) bool {
			_, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	proofEventually(t.Context(), t, func(ctx context.Context) bool {
		now, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		return err == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established)
	})
	proofCreate(t, config, group, n)
	now, err := crds.Get(t.Context(), crd.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fixtures.StoredAt("v1")(now)
	if _, err = crds.Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	proofEventually(t.Context(), t, func(ctx context.Context) bool {
		now, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		return err == nil && len(now.Status.StoredVersions) == 2
	})
	return crd.Name
}

func proofCreate(t *testing.T, config *rest.Config, group string, n int) {
	t.Helper()
	objects := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "crontabs"}).Namespace("default")
	var clients sync.WaitGroup
	queue := make(chan int)
	for range 8 {
		clients.Go(func() {
			for i := range queue {
				object := fixtures.LocalCronTab.At("v1beta1")
				object.SetAPIVersion(group + "/v1beta1")
				object.SetNamespace("")
				object.SetName(fmt.Sprintf("crontab-%d", i))
				object.SetAnnotations(map[string]string{"filler": strings.Repeat("x", 600)})
				if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	clients.Wait()
}

func proofEventually(ctx context.Context, t *testing.T, is func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestProofWritersDuringAMigration has clients write on and on while objects are migrated: nothing may be lost, and nobody blamed.
// CRDCONFORM_TEST_OBJECTS is how many objects there are.
func TestProofWritersDuringAMigration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	n := 200
	if text := os.Getenv("CRDCONFORM_TEST_OBJECTS"); text != "" { //nolint:forbidigo // a larger one is asked for by the environment
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	c := shared.Cluster(t)
	name := proofPopulated(t, c, n)
	var recorded bytes.Buffer
	begin := time.Now()
	p, err := proof.Begin(t.Context(), c.Config(), name, proof.Options{Storage: c, History: &recorded, Writers: proof.Writers{Rate: 300, Existing: 4}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Since(begin)
	result, err := migrate.Run(t.Context(), c.Config(), name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
	if err != nil {
		t.Fatal(err)
	}
	migrated := time.Since(begin) - began
	verdict, err := p.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects: %s to look before, %s to migrate %d, %s to judge; %d writes, %.0f a second, %d refused, %d unknown",
		n, began, migrated, result.Rewritten, time.Since(begin)-began-migrated, verdict.Writes, verdict.Rate(), verdict.Refused, verdict.Unknown)
	for _, f := range verdict.Findings {
		t.Error(f)
	}
	if verdict.Objects != n || verdict.Writes == 0 || len(verdict.Weaker) > 0 {
		t.Errorf("got %+v", verdict)
	}
	operations, err := history.Decode(&recorded)
	if err != nil || len(operations) < verdict.Writes {
		t.Errorf("the history has %d operations: %v", len(operations), err)
	}
	kinds := map[history.Kind]bool{}
	for _, o := range operations {
		if o.Outcome == history.Acknowledged {
			kinds[o.Kind] = true
		}
	}
	if n >= 200 && len(kinds) < 4 {
		t.Errorf("the writers did %v alone", kinds)
	}
	nothingLeftOfProof(t, c, name, n)
}

// nothingLeftOfProof wants nothing of a proof to be left in the objects.
func nothingLeftOfProof(t *testing.T, c *embedded.Cluster, definition string, n int) {
	t.Helper()
	group := strings.TrimPrefix(definition, "crontabs.")
	all, err := dynamic.NewForConfigOrDie(c.Config()).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "crontabs"}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Items) != n {
		t.Errorf("there are %d objects, want %d", len(all.Items), n)
	}
	for i := range all.Items {
		text, err := all.Items[i].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("crdconform.dev/proof")) || bytes.Contains(text, []byte("crdconform-writer")) {
			t.Fatalf("something is left: %s", text)
		}
	}
}

// TestProofNamesUndoneWrites has migrators that write what they read before a controller wrote: without the resource version, with that of
// a second read, by which one wins its conflict, or by force. Another one takes the resource version with it, and its write is a conflict.
func TestProofNamesUndoneWrites(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	c := shared.Cluster(t)
	name := proofPopulated(t, c, 3)
	_, group, _ := strings.Cut(name, ".")
	objects := dynamic.NewForConfigOrDie(c.Config()).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "crontabs"}).Namespace("default")
	replaced := func(ctx context.Context, read *unstructured.Unstructured, revision, manager string) error {
		object := read.DeepCopy()
		object.SetResourceVersion(revision)
		_, err := objects.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
		return err
	}
	for manager, migrator := range map[string]struct {
		stale bool
		write func(ctx context.Context, read *unstructured.Unstructured, manager string) error
	}{
		"merges": {true, func(ctx context.Context, read *unstructured.Unstructured, manager string) error {
			_, err := objects.Patch(ctx, read.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"host":%q}`, read.Object["host"]), metav1.PatchOptions{FieldManager: manager})
			return err
		}},
		"reads-again": {true, func(ctx context.Context, read *unstructured.Unstructured, manager string) error {
			if err := replaced(ctx, read, read.GetResourceVersion(), manager); !apierrors.IsConflict(err) {
				return fmt.Errorf("no conflict: %w", err)
			}
			now, err := objects.Get(ctx, read.GetName(), metav1.GetOptions{})
			return cmp.Or(err, replaced(ctx, read, now.GetResourceVersion(), manager))
		}},
		"forces": {true, func(ctx context.Context, read *unstructured.Unstructured, manager string) error {
			object := read.DeepCopy()
			object.SetResourceVersion("")
			object.SetManagedFields(nil)
			_, err := objects.Apply(ctx, read.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true})
			return err
		}},
		"gives-up": {false, func(ctx context.Context, read *unstructured.Unstructured, manager string) error {
			if err := replaced(ctx, read, read.GetResourceVersion(), manager); !apierrors.IsConflict(err) {
				return fmt.Errorf("no conflict: %w", err)
			}
			return nil
		}},
	} {
		p, err := proof.Begin(t.Context(), c.Config(), name, proof.Options{Storage: c, OtherClients: true, Foreign: true, Untrimmed: true})
		if err != nil {
			t.Fatal(err)
		}
		read, err := objects.Get(t.Context(), "crontab-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := "other-than-" + manager
		_, err1 := objects.Patch(t.Context(), "crontab-1", types.MergePatchType, fmt.Appendf(nil, `{"host":%q}`, theirs), metav1.PatchOptions{FieldManager: "controller"})
		_, err2 := migrate.Run(t.Context(), c.Config(), name, migrate.Options{Steps: []migrate.Step{migrate.Objects}})
		if err := errors.Join(err1, err2, migrator.write(t.Context(), read, manager)); err != nil {
			t.Fatalf("%s: %v", manager, err)
		}
		verdict, err := p.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if migrator.stale {
			want = []string{fmt.Sprintf(`default/crontab-1: expected what controller wrote meanwhile to stay, got .host (%q, now %q) by %s, which wrote back what was there before: `+
				`have it send the resource version that it has read (migration.clients.writes)`, theirs, read.Object["host"], manager)}
		}
		var got []string
		for _, f := range verdict.Of(requirement.MigrationClientsWrites) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q; weaker: %q", manager, got, want, verdict.Weaker)
		}
	}
}
