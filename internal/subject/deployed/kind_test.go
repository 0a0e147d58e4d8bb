//go:build kind

package deployed

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/wire"
)

// one is the cluster that the tests share, with the image that they deploy.
var one struct {
	sync.Once
	cluster *kind.Cluster
	archive *Archive
	log     bytes.Buffer
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if one.cluster != nil {
		if err := one.cluster.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // this is what a main of tests does
}

// shared returns a cluster of kind, and the image of testdata/webhook, which its nodes have.
func shared(t *testing.T) (*kind.Cluster, *Archive) {
	t.Helper()
	image := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE") //nolint:forbidigo // CI sets it
	if image == "" {
		t.Fatal("CRDCONFORM_TEST_KIND_IMAGE names no node image to make a cluster of")
	}
	one.Do(func() {
		one.err = func() error {
			program, err := suitetest.WebhookProgram(t)
			if err != nil {
				return err
			}
			if one.archive, err = Build(program); err != nil {
				return err
			}
			one.cluster, err = kind.Start(t.Context(), kind.Options{
				Image: image, ConfigFile: os.Getenv("CRDCONFORM_TEST_KIND_CONFIG"), Name: "deployed-" + strings.ToLower(rand.Text()[:6]), Log: &one.log, //nolint:forbidigo // CI sets it for the tests of all packages
			})
			if err != nil {
				return fmt.Errorf("%w\n%s", err, &one.log)
			}
			if err := suitetest.MendProxy(t, one.cluster.Config()); err != nil {
				return err
			}
			begun := time.Now()
			err = one.archive.Load(t.Context(), one.cluster)
			t.Logf("the image was loaded in %s", time.Since(begun).Round(time.Millisecond))
			return err
		}()
	})
	if one.err != nil {
		t.Fatal(one.err)
	}
	return one.cluster, one.archive
}

// TestRollTo replaces the pods of an image by those of another, and one image that no node has is not ready.
func TestRollTo(t *testing.T) {
	c, _ := shared(t)
	t.Parallel()
	images := []Image{another(t, c, "--certs=/certs", "--mode=abrupt"), another(t, c, "--certs=/certs")}
	w, err := DeployImage(t.Context(), Workload{Image: images[0].Reference, Loaded: true, Certs: "/certs", Path: webhook.Path, Replicas: 2}, options(t, c))
	if err != nil {
		t.Fatal(err)
	}
	defer stopped(t, w)
	// Kubelets look every ten seconds or so.
	within, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err = poll(within, func() (bool, error) {
		used, err := w.Usage(within)
		return used.Processes == 2 && used.Resident > 2<<20 && used.Processor > 0, err
	}); err != nil {
		t.Error(err)
	}
	for _, image := range []Image{images[1], images[0]} {
		if err := w.RollTo(t.Context(), image); err != nil {
			t.Fatal(err)
		}
		now, err := w.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if pods := now.behind(); len(pods) != 2 || pods[0].Spec.Containers[0].Image != image.Reference || pods[1].Spec.Containers[0].Image != image.Reference {
			t.Errorf("there are %d pods, the first with the image %s, want 2 with %s", len(pods), pods[0].Spec.Containers[0].Image, image.Reference)
		}
		if err := w.awaitCalls(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := w.RollTo(t.Context(), Image{Reference: "crdconform.invalid/nothing:v1", Loaded: true}); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "crdconform.invalid/nothing:v1") {
		t.Errorf("an image that no node has: %v", err)
	}
	for range 2 { // back, with a pod that never gets ready, and then there is nothing to do
		if err := w.RollTo(t.Context(), images[0]); err != nil {
			t.Errorf("back: %v", err)
		}
	}
	if now, err := w.Image(t.Context()); err != nil || now != images[0] {
		t.Errorf("the image is %+v, want %+v: %v", now, images[0], err)
	}
}

// another returns the image of testdata/webhook with arguments, which is another one than the shared image, and which the nodes have.
func another(t *testing.T, c *kind.Cluster, arguments ...string) Image {
	t.Helper()
	program, err := suitetest.WebhookProgram(t)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := Build(program, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return Image{Reference: archive.Reference, Loaded: true}
}

// options are for a run of the test's own.
func options(t *testing.T, c *kind.Cluster) Options {
	t.Helper()
	return Options{
		Config: c.Config(), Run: "t" + strings.ToLower(rand.Text()[:8]), Timeout: time.Minute,
		Progress: func(note string) { t.Log(note) },
	}
}

func stopped(t *testing.T, w *Webhook) {
	t.Helper()
	begun := time.Now()
	if err := errors.Join(w.Stop(context.WithoutCancel(t.Context())), w.Stop(context.WithoutCancel(t.Context()))); err != nil {
		t.Error(err)
	}
	t.Logf("it was gone after %s", time.Since(begun).Round(time.Millisecond))
	gone(t, w.options)
}

// gone fails the test when something of a run is left.
func gone(t *testing.T, o Options) {
	t.Helper()
	client, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	ours := metav1.ListOptions{LabelSelector: cluster.RunLabel + "=" + o.Run}
	for _, kind := range [][3]string{
		{"", "v1", "namespaces"},
		{"", "v1", "pods"},
		{"", "v1", "services"},
		{"", "v1", "secrets"},
		{"", "v1", "serviceaccounts"},
		{"apps", "v1", "deployments"},
		{"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
		{"rbac.authorization.k8s.io", "v1", "clusterroles"},
	} {
		list, err := client.Resource(schemaResource(kind)).List(context.WithoutCancel(t.Context()), ours)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, object := range list.Items {
			t.Errorf("left behind: %s", title(&object))
		}
	}
}

// asked sends the webhook a review of one CronTab from here, and returns the status.
func asked(ctx context.Context, e wire.Endpoint) error {
	client, err := wire.Connect(e)
	if err != nil {
		return err
	}
	defer client.Close()
	review := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u-1","desiredAPIVersion":"example.com/v1","objects":[{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"localhost:1234"}]}}`
	answer := client.Send(ctx, []byte(review))
	if answer.Err != nil {
		return answer.Err
	}
	var got struct {
		Response struct {
			UID              string           `json:"uid"`
			ConvertedObjects []map[string]any `json:"convertedObjects"`
		} `json:"response"`
	}
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		return fmt.Errorf("%d: %w: %s", answer.Status, err, answer.Body)
	}
	if got.Response.UID != "u-1" || len(got.Response.ConvertedObjects) != 1 || got.Response.ConvertedObjects[0]["port"] != "1234" {
		return fmt.Errorf("%d: %s", answer.Status, answer.Body)
	}
	return nil
}

// crontabs installs a definition that the webhook converts, with one object, and returns a function that reads the object at
// the other version, which takes a conversion.
func crontabs(t *testing.T, o Options, by apiextensionsv1.WebhookClientConfig) func(ctx context.Context) error {
	t.Helper()
	a, err := newApplier(o.Config, o.Run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.owned.Remove(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	group := "stable." + o.Run + ".example.com"
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	d, err := documentOf(&apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "crontabs." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Singular: "crontab", Kind: "CronTab", ListKind: "CronTabList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: anything}, {Name: "v1beta1", Served: true, Schema: anything},
			},
			Conversion: kube.ConvertedBy(&apiextensionsv1.CustomResourceDefinition{}, by),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	mark(d.Unstructured, o.Run)
	if err := a.apply(t.Context(), d.Unstructured); err != nil {
		t.Fatal(err)
	}
	resource := func(version string) dynamic.ResourceInterface {
		return a.owned.Client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "crontabs"})
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "host": "localhost", "port": "1234",
	}}
	err = poll(t.Context(), func() (bool, error) {
		_, err := resource("v1").Apply(t.Context(), "a", object, metav1.ApplyOptions{FieldManager: kube.FieldManager})
		if err == nil {
			_, err = resource("v1beta1").Get(t.Context(), "a", metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		got, err := resource("v1beta1").Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if hostPort := got.Object["hostPort"]; hostPort != "localhost:1234" {
			return fmt.Errorf("the object has the hostPort %v", hostPort)
		}
		return nil
	}
}

// TestDeployedImage has a webhook of two pods asked from here and by the API server, and one of its pods killed meanwhile.
func TestDeployedImage(t *testing.T) {
	c, archive := shared(t)
	o := options(t, c)
	begun := time.Now()
	w, err := DeployImage(t.Context(), Workload{
		Image: archive.Reference, Loaded: true, Args: []string{"--certs=" + defaultCerts, "--address=:7443"}, Port: 7443, ServicePort: 8443,
		Path: "/crdconvert", Replicas: 2, Architecture: archive.Architecture, Drain: 3 * time.Second, Env: map[string]string{"SOME_TOKEN": "hidden-value"},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, w) })
	t.Logf("deployed and ready in %s", time.Since(begun).Round(time.Millisecond))
	if want := (Service{o.namespace(), "webhook", 8443, "/crdconvert"}); w.Service != want {
		t.Errorf("it is at %+v, want %+v", w.Service, want)
	}
	if err := asked(t.Context(), w.Endpoint()); err != nil {
		t.Errorf("from here: %v", err)
	}
	other := w.Endpoint()
	other.ServerName = "webhook.elsewhere.svc"
	if err := asked(t.Context(), other); err == nil || !strings.Contains(err.Error(), "webhook.elsewhere.svc") {
		t.Errorf("by a name that its certificate has not: %v", err)
	}
	convert := crontabs(t, o, w.ClientConfig())
	if err := convert(t.Context()); err != nil {
		t.Fatalf("by the API server: %v", err)
	}
	t.Run("connections", func(t *testing.T) { connections(t, w) })
	t.Run("speed", func(t *testing.T) { speed(t, w) })
	t.Run("artifacts", func(t *testing.T) { artifacts(t, w) })
	t.Run("killed", func(t *testing.T) {
		outage, err := w.KillUnderLoad(t.Context(), Kills{Convert: convert, Clients: 4, Grace: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(outage)
		if outage.Conversions < 100 {
			t.Errorf("that is no load: %s", outage)
		}
		if err := outage.Problem(); err != nil {
			t.Error(err)
		}
		if err := asked(t.Context(), w.Endpoint()); err != nil {
			t.Errorf("from here, after that: %v", err)
		}
	})
}

// connections opens many at a time, by both protocols, and to both pods.
func connections(t *testing.T, w *Webhook) {
	t.Helper()
	for _, old := range []bool{false, true} {
		spoken := &protocols{old: old}
		to := newTestTunnel(t, w, spoken)
		pods := map[string]bool{}
		for range 4 {
			connection, err := to.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pods[connection.RemoteAddr().String()] = true
			if err := connection.Close(); err != nil {
				t.Errorf("SPDY %t: %v", old, err)
			}
			if _, err := connection.Read(make([]byte, 1)); err == nil {
				t.Error("a closed connection can be read")
			}
		}
		if len(pods) != 2 || spoken.spdy.Load() > 0 != old {
			t.Errorf("SPDY %t: connected to %v, %d times by SPDY", old, pods, spoken.spdy.Load())
		}
	}
	to := newTestTunnel(t, w, &protocols{})
	closed, err := to.connect(t.Context(), target{firstPod(t, to), 1})
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	if _, err := closed.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "port 1: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a port at which nobody listens: %v", err)
	}
	if _, err := to.connect(t.Context(), target{"none", 1}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a pod that is not there: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := to.dial(ctx); err == nil {
		t.Error("it connects although the context is over")
	}
}

// protocols is what an API server speaks that is asked to forward ports: an old one knows no WebSocket.
type protocols struct {
	old  bool
	spdy atomic.Int32 // requests
}

type speaking struct {
	*protocols
	next http.RoundTripper
}

func (s *speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodPost:
		s.spdy.Add(1)
	case s.old:
		return nil, errors.New("it speaks no WebSocket")
	}
	return s.next.RoundTrip(r)
}

func newTestTunnel(t *testing.T, w *Webhook, spoken *protocols) *tunnel {
	t.Helper()
	config := rest.CopyConfig(w.options.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &speaking{spoken, next} })
	to, err := newTunnel(config, w.client, w.Service)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func firstPod(t *testing.T, to *tunnel) string {
	t.Helper()
	targets, _, err := to.next(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return targets[0].pod
}

// speed measures the ways to the webhook, and has none of the requests fail.
func speed(t *testing.T, w *Webhook) {
	t.Helper()
	for _, old := range []bool{false, true} {
		to := newTestTunnel(t, w, &protocols{old: old})
		f, err := listen(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		e := w.Endpoint()
		e.URL = "https://" + f.address() + w.Service.Path
		begun := time.Now()
		const dials = 10
		for range dials {
			if err := asked(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("SPDY %t: %s for a request with a connection of its own", old, (time.Since(begun) / dials).Round(100*time.Microsecond))
		client, err := wire.Connect(e)
		if err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		var clients sync.WaitGroup
		const requests = 200
		for range 8 {
			clients.Go(func() {
				for range requests {
					if answer := client.Send(t.Context(), []byte(`{"kind":"ConversionReview"}`)); answer.Err != nil {
						t.Errorf("SPDY %t: %v", old, answer.Err)
						return
					}
				}
			})
		}
		clients.Wait()
		t.Logf("SPDY %t: %.0f requests a second by 8 clients", old, 8*requests/time.Since(begun).Seconds())
		client.Close()
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}
}

func artifacts(t *testing.T, w *Webhook) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "webhook")
	if err := w.Artifacts(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	logs := 0
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if strings.Contains(text, "hidden-value") || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s has a secret in it", entry.Name())
		}
		switch {
		case strings.HasSuffix(entry.Name(), ".log"):
			logs++
			if !strings.Contains(text, "the webhook starts, user 65532") {
				t.Errorf("%s: %s", entry.Name(), text)
			}
		case entry.Name() == "events.txt" && !strings.Contains(text, "Started"), entry.Name() == "objects.yaml" && !strings.Contains(text, "kind: Deployment"):
			t.Errorf("%s: %s", entry.Name(), text)
		}
	}
	if logs != 2 || len(entries) != 4 {
		t.Errorf("there are %v", entries)
	}
}

// TestKilledWithNoTimeToStop only has what happens reported: calls may be led to a pod that is not there any more.
func TestKilledWithNoTimeToStop(t *testing.T) {
	c, archive := shared(t)
	o := options(t, c)
	w, err := DeployImage(t.Context(), Workload{Image: archive.Reference, Loaded: true, Args: []string{"--certs=" + defaultCerts}, Path: "/crdconvert", Replicas: 2}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, w) })
	outage, err := w.KillUnderLoad(t.Context(), Kills{Convert: crontabs(t, o, w.ClientConfig()), Clients: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s; %v", outage, outage.Problem())
	if outage.Conversions < 100 || outage.Pod == "" || outage.Replaced <= 0 {
		t.Errorf("that was no outage: %s", outage)
	}
}

// TestImagesThatDoNotGetReady has each end in an error that says why, and leave nothing behind.
func TestImagesThatDoNotGetReady(t *testing.T) {
	c, archive := shared(t)
	mode := func(mode string) Workload {
		return Workload{Image: archive.Reference, Loaded: true, Args: []string{"--certs=" + defaultCerts, "--mode=" + mode}, Env: map[string]string{"DATABASE_PASSWORD": "hidden-value"}}
	}
	away, missing, foreign, broken := mode("serve"), mode("serve"), mode("serve"), mode("serve")
	away.Image, away.Loaded = "registry.invalid/webhook:v1", false
	missing.Image = "crdconform.dev/webhook:none"
	foreign.Architecture = "s390x"
	broken.Command = []string{"/manager"}
	for name, test := range map[string]struct {
		workload Workload
		timeout  time.Duration
		want     []string
	}{
		"crashes":   {mode("crash"), time.Minute, []string{"container webhook repeatedly exits: it exited with code 3", "its last output:\n", "the database is away", "connecting with the password [redacted]", "BackOff"}},
		"silent":    {mode("never"), 20 * time.Second, []string{"it is not ready after 20s: 0 of 1 pods ready: webhook-", "waiting for a leader", "Unhealthy"}},
		"own":       {mode("own"), time.Minute, []string{"its pods are ready, but API servers would not trust it (x509: ", `issuer "CN=home-made"; have it serve tls.crt and tls.key of the folder ` + defaultCerts}},
		"away":      {away, time.Minute, []string{"the image registry.invalid/webhook:v1 cannot be pulled"}},
		"missing":   {missing, time.Minute, []string{"the image crdconform.dev/webhook:none should have been loaded into the node"}},
		"foreign":   {foreign, time.Minute, []string{"is not scheduled: 0/1 nodes are available"}},
		"unstarted": {broken, time.Minute, []string{"repeatedly exits: it cannot be started", "/manager"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, c)
			o.Timeout, o.Artifacts = test.timeout, filepath.Join(t.TempDir(), "artifacts")
			begun := time.Now()
			w, err := DeployImage(t.Context(), test.workload, o)
			t.Logf("after %s: %v", time.Since(begun).Round(time.Millisecond), err)
			if err == nil {
				stopped(t, w)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden-value") {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(o.Artifacts, "events.txt")); err != nil {
				t.Errorf("the artifacts: %v", err)
			}
			gone(t, o)
		})
	}
}

// userManifest is what a user may deploy the webhook with. The namespace, the Secret and the image are to be filled in.
const userManifest = `apiVersion: v1
kind: Service
metadata: {name: webhook-service}
spec: {selector: {app: manager}, ports: [{port: 443, targetPort: serving}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec:
      containers:
      - name: manager
        image: IMAGE
        imagePullPolicy: Never
        args: [--certs=/certs]
        ports: [{name: serving, containerPort: 9443}]
        readinessProbe: {tcpSocket: {port: serving}, periodSeconds: 1}
        volumeMounts: [{name: certs, mountPath: /certs}]
      volumes: [{name: certs, secret: {secretName: serving-cert}}]
`

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: CronTab, plural: crontabs}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: NAMESPACE, name: webhook-service, path: /crdconvert}, caBundle: Cg==}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE-role}
rules: []
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving-cert}
`

// TestDeployedManifests deploys a kustomization whose certificate the run makes.
func TestDeployedManifests(t *testing.T) {
	c, archive := shared(t)
	o := options(t, c)
	o.Namespace = "factory-" + o.Run
	dir := t.TempDir()
	write(t, filepath.Join(dir, "manager/all.yaml"), []byte(userManifest))
	write(t, filepath.Join(dir, "manager/kustomization.yaml"), []byte("resources: [all.yaml]\n"))
	write(t, filepath.Join(dir, "crd.yaml"), []byte(strings.ReplaceAll(definition, "NAMESPACE", o.Namespace)))
	name, tag, _ := strings.Cut(archive.Reference, ":")
	write(t, filepath.Join(dir, "kustomization.yaml"), []byte("namespace: "+o.Namespace+"\nresources: [manager, crd.yaml]\nimages: [{name: IMAGE, newName: "+name+", newTag: "+tag+"}]\n"))
	begun := time.Now()
	w, err := DeployManifests(t.Context(), Manifests{Paths: []string{dir}, Certificate: Certificate{Secret: "serving-cert"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, w) })
	t.Logf("deployed and ready in %s", time.Since(begun).Round(time.Millisecond))
	if want := (Service{o.Namespace, "webhook-service", 443, "/crdconvert"}); w.Service != want {
		t.Errorf("it is at %+v, want %+v", w.Service, want)
	}
	if err := asked(t.Context(), w.Endpoint()); err != nil {
		t.Error(err)
	}
	// The definition is the user's, with the authority filled in.
	group := schema.GroupVersionResource{Group: o.Namespace + ".example.com", Version: "v1beta1", Resource: "crontabs"}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group.GroupVersion().String(), "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1"}}
	if _, err := w.applier.owned.Client.Resource(group).Apply(t.Context(), "a", object, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Errorf("an object at the version that is not stored: %v", err)
	}
	t.Run("what somebody else made is left alone", func(t *testing.T) {
		again := options(t, c)
		again.Namespace = o.Namespace
		_, err := DeployManifests(t.Context(), Manifests{Paths: []string{dir}, Certificate: Certificate{Secret: "serving-cert"}}, again)
		for _, want := range []string{"Deployment " + o.Namespace + "/manager", "Service " + o.Namespace + "/webhook-service", "ClusterRole " + o.Namespace + "-role", "Secret " + o.Namespace + "/serving-cert", errNotOurs.Error()} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		gone(t, again)
		if err := errors.Join(w.Check(t.Context()), asked(t.Context(), w.Endpoint())); err != nil {
			t.Errorf("the first one: %v", err)
		}
	})
}

// TestManifestsWithTheirOwnCertificate has the authority found in a Secret of the manifests.
func TestManifestsWithTheirOwnCertificate(t *testing.T) {
	c, archive := shared(t)
	o := options(t, c)
	secret, authority, err := issue(Service{Namespace: o.namespace(), Name: "webhook-service"}, "serving-cert")
	if err != nil {
		t.Fatal(err)
	}
	secret.Namespace = ""
	text, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret.json"), text)
	write(t, filepath.Join(dir, "all.yaml"), []byte(strings.ReplaceAll(userManifest, "IMAGE", archive.Reference)))
	m := Manifests{Paths: []string{dir}, Path: "/crdconvert", Certificate: Certificate{Authority: "serving-cert"}}
	w, err := DeployManifests(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, w) })
	if !bytes.Equal(w.CA, authority.PEM()) {
		t.Error("the authority is another one")
	}
	if err := asked(t.Context(), w.Endpoint()); err != nil {
		t.Error(err)
	}
	t.Run("in the caBundle", func(t *testing.T) {
		o := options(t, c)
		o.Namespace = "factory-" + o.Run
		secret, authority, err := issue(Service{Namespace: o.namespace(), Name: "webhook-service"}, "serving-cert")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		crd, _, _ := strings.Cut(strings.ReplaceAll(definition, "NAMESPACE", o.Namespace), "---")
		dir := t.TempDir()
		write(t, filepath.Join(dir, "secret.json"), text)
		write(t, filepath.Join(dir, "crd.yaml"), []byte(strings.ReplaceAll(crd, "Cg==", base64.StdEncoding.EncodeToString(authority.PEM()))))
		write(t, filepath.Join(dir, "all.yaml"), []byte(strings.ReplaceAll(userManifest, "IMAGE", archive.Reference)))
		w, err := DeployManifests(t.Context(), Manifests{Paths: []string{dir}}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer stopped(t, w)
		if err := asked(t.Context(), w.Endpoint()); err != nil || !bytes.Equal(w.CA, authority.PEM()) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the authority of the webhook's certificate is unknown", func(t *testing.T) {
		o := options(t, c)
		m.Certificate = Certificate{}
		if _, err := DeployManifests(t.Context(), m, o); err == nil || !strings.Contains(err.Error(), "the authority of the webhook's certificate is unknown") {
			t.Errorf("got %v", err)
		}
		gone(t, o)
	})
	t.Run("a port that no pod has", func(t *testing.T) {
		o := options(t, c)
		dir := t.TempDir()
		file := write(t, filepath.Join(dir, "all.yaml"), []byte(strings.ReplaceAll(strings.ReplaceAll(userManifest, "IMAGE", archive.Reference), "targetPort: serving", "targetPort: typo")))
		_, err := DeployManifests(t.Context(), Manifests{Paths: []string{file}, Certificate: Certificate{Secret: "serving-cert"}}, o)
		if err == nil || !strings.Contains(err.Error(), "has no endpoints") || !strings.Contains(err.Error(), "targetPort (typo)") {
			t.Errorf("got %v", err)
		}
		gone(t, o)
	})
}

// TestReachable has webhooks on this machine reached by the API server in the node, or not.
func TestReachable(t *testing.T) {
	c, _ := shared(t)
	listener, host, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serve := func(listener net.Listener, plain bool) (*url.URL, []byte) {
		authority, pair := certificateFor(t, host)
		server := httptest.NewUnstartedServer(webhook.Handler())
		server.Listener.Close()
		server.Listener = listener
		if server.TLS = pair; plain {
			server.Start()
		} else {
			server.StartTLS()
		}
		t.Cleanup(server.Close)
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port), Path: "/crdconvert"}, authority
	}
	at, authority := serve(listener, false)
	again, _, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := serve(again, true)
	other, _ := certificateFor(t, host)
	refused := *at
	refused.Host = net.JoinHostPort(host, "1")
	for name, test := range map[string]struct {
		url       string
		authority []byte
		away      bool
		want      string
	}{
		"reached":          {at.String(), authority, false, ""},
		"refused":          {refused.String(), authority, true, "connection refused; check that the webhook listens on that address"},
		"localhost":        {"https://localhost:9443/convert", authority, true, "is the machine or the container of the API server itself"},
		"unknown":          {"https://webhook.invalid/convert", authority, true, "does not reach the webhook at https://webhook.invalid/convert: dial tcp: lookup"},
		"another's":        {at.String(), other, false, "does not trust it"},
		"plain":            {plain.String(), authority, false, "it does not use TLS"},
		"an odd authority": {at.String(), []byte("hello"), false, " is not established: its caBundle is not valid ("},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, c)
			begun := time.Now()
			err := Reachable(t.Context(), c, o.Run, apiextensionsv1.WebhookClientConfig{URL: new(test.url), CABundle: test.authority})
			t.Logf("after %s: %v", time.Since(begun).Round(time.Millisecond), err)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || errors.Is(err, cluster.ErrNotReached) != test.away {
				t.Errorf("got %v, want %q", err, test.want)
			}
			gone(t, o)
		})
	}
}

// TestNodesOfAnotherArchitecture has an image not loaded where it cannot run.
func TestNodesOfAnotherArchitecture(t *testing.T) {
	c, archive := shared(t)
	foreign := *archive
	foreign.Architecture = "s390x"
	if err := foreign.Load(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the program is for s390x, but the nodes of the cluster are "+archive.Architecture) {
		t.Errorf("got %v", err)
	}
	if err := archive.Load(t.Context(), struct{ cluster.Cluster }{c}); err == nil || !strings.Contains(err.Error(), "push one to a registry") {
		t.Errorf("a cluster that takes none: %v", err)
	}
}

// certificateFor returns an authority and the settings of a server that is known by a host.
func certificateFor(t *testing.T, host string) ([]byte, *tls.Config) {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server(host)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return authority.PEM(), &tls.Config{Certificates: []tls.Certificate{certificate}}
}
