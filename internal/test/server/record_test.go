package server_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/wire"
)

// recordingTo serves a proxy that records to a file in front of a webhook, and returns where, and what ends it.
func recordingTo(t *testing.T, file io.Writer, hook wire.Endpoint, redact string) (proxy wire.Endpoint, end func()) {
	t.Helper()
	redaction, err1 := recording.ParseRedaction([]string{redact})
	recorder, err2 := recording.NewRecorder(file, recording.Options{Redaction: redaction})
	client, err3 := wire.Connect(hook)
	authority, err4 := pki.NewAuthority("proxy")
	target, err5 := url.Parse(hook.URL)
	listener, err6 := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err1, err2, err3, err4, err5, err6)
	pair, err1 := authority.Server("127.0.0.1")
	certificate, err2 := pair.TLS()
	noError(t, err1, err2)
	ctx, interrupt := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		_, err := recording.NewProxy(target, client.Transport(), recorder, time.Now()).Serve(ctx, listener, certificate)
		served <- err
	}()
	end = sync.OnceFunc(func() {
		interrupt()
		if err := <-served; err != nil {
			t.Error(err)
		}
		recorder.Close()
		client.Close()
	})
	t.Cleanup(end)
	return wire.Endpoint{URL: "https://" + listener.Addr().String() + target.Path, CA: authority.PEM()}, end
}

func noError(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecording puts the proxy of recordings between an API server and the reference webhook.
func TestRecording(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it wants an API server")
	}
	var mu sync.Mutex
	var seen []string
	hook := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("User-Agent") != "kube-apiserver-admission" || r.URL.RawQuery != "timeout=30s" || r.URL.Path != webhook.Path {
			t.Errorf("the webhook is asked for %s by %v: %v", r.URL, r.Header, err)
		}
		mu.Lock()
		seen = append(seen, string(body))
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	}))
	var file bytes.Buffer
	proxy, end := recordingTo(t, &file, hook, "host")
	config := shared.Cluster(t).Config()
	definitions, err1 := clientset.NewForConfig(config)
	client, err2 := dynamic.NewForConfig(config)
	noError(t, err1, err2)
	crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
	crd := fixtures.Reference.New(fixtures.InGroup("recording.example.com"), fixtures.StoredAt("v1beta1"))
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &proxy.URL, CABundle: proxy.CA}
	_, err := crds.Create(t.Context(), crd, metav1.CreateOptions{})
	noError(t, err)
	t.Cleanup(func() { noError(t, crds.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{})) })
	objects := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).Namespace("default")
	}
	eventually(t, func() error { _, err := objects("v1").List(t.Context(), metav1.ListOptions{}); return err })
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetAPIVersion(crd.Spec.Group + "/v1beta1")
	object.SetNamespace("default")
	want, err := objects("v1beta1").Create(t.Context(), object, metav1.CreateOptions{})
	noError(t, err)
	converted, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{})
	if err != nil || converted.Object["host"] != "localhost" || converted.Object["port"] != "1234" {
		t.Fatalf("got %v, %v", converted, err)
	}
	end()
	whole, err := recording.Read(&file)
	noError(t, err)
	mu.Lock()
	defer mu.Unlock()
	if len(whole.Exchanges) == 0 || len(whole.Exchanges) != len(seen) {
		t.Fatalf("%d exchanges are recorded, and the webhook saw %d", len(whole.Exchanges), len(seen))
	}
	found := false
	for _, x := range whole.Exchanges {
		if j := x.Request.Judge(x.Response); len(j.Violations) > 0 || !slices.ContainsFunc(seen, func(body string) bool { return strings.Contains(body, x.Request.UID) }) {
			t.Errorf("line %d: %v, or the webhook has not seen it", x.Line, j.Violations)
		}
		found = found || bytes.Contains(x.Response.Body, []byte(`"host":"xxxxxxxxx"`)) && !bytes.Contains(x.Response.Body, []byte(`"host":"localhost"`))
	}
	if !found {
		t.Errorf("no recorded response has the host redacted: %+v", whole.Exchanges)
	}
	// The proxy was in between, so that there is no conversion without it.
	if _, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{}); err == nil || !apierrors.IsInternalError(err) && !strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("without the proxy: %v", err)
	}
}
