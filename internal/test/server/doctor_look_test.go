package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/doctor"
	"github.com/crdconform/crdconform/internal/doctor/doctortest"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// ward is an API server for what package doctor looks at.
type ward struct{ *doctortest.Ward }

func newWard(t *testing.T) *ward {
	t.Helper()
	w, err := doctortest.New(start(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	return &ward{w}
}

// service makes a service up, with so many endpoints that are ready and that are not.
func (w *ward) service(namespace, name string, port int32, ready, others int) {
	base := "/api/v1/namespaces/" + namespace
	w.Core[base] = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	w.Core[base+"/services/"+name] = corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: port, Protocol: corev1.ProtocolTCP}}},
	}
	slice := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("webhook"), Port: new(port)}}}
	for i := range ready + others {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(i < ready)}})
	}
	w.Core["/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices"] = discoveryv1.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, Items: []discoveryv1.EndpointSlice{slice},
	}
}

// create creates definitions, and waits until they are served. They are removed in the end.
func (w *ward) create(tb testing.TB, crds ...*apiextensionsv1.CustomResourceDefinition) {
	tb.Helper()
	api := w.CRDs.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
		if _, err := api.Create(tb.Context(), crd, metav1.CreateOptions{}); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := api.Delete(context.WithoutCancel(tb.Context()), crd.Name, metav1.DeleteOptions{}); err != nil {
				tb.Error(err)
			}
		})
	}
	for _, crd := range crds {
		at := w.Objects.Resource(doctortest.Resource(crd, "v1beta1"))
		w.Wait(tb, func() error { _, err := at.List(tb.Context(), metav1.ListOptions{}); return err })
	}
}

// define creates definitions with an object at v1beta1 each. All is removed in the end.
func (w *ward) define(tb testing.TB, crds ...*apiextensionsv1.CustomResourceDefinition) {
	tb.Helper()
	w.create(tb, crds...)
	for _, crd := range crds {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": crd.Spec.Group + "/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "one"}, "hostPort": "a:1"}}
		at := w.Objects.Resource(doctortest.Resource(crd, "v1beta1")).Namespace("default")
		w.Wait(tb, func() error { _, err := at.Create(tb.Context(), o, metav1.CreateOptions{}); return err })
		tb.Cleanup(func() {
			if err := at.Delete(context.WithoutCancel(tb.Context()), "one", metav1.DeleteOptions{}); err != nil {
				tb.Error(err)
			}
		})
	}
}

// issue returns the certificates of a server with these names, and of its authority.
func issue(t *testing.T, names ...string) (chain []*x509.Certificate, ca []byte) {
	t.Helper()
	authority, err := pki.NewLastingAuthority("an authority", 365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server(names...)
	if err != nil {
		t.Fatal(err)
	}
	for block, rest := pem.Decode(pair.Certificate); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, certificate)
	}
	return chain, authority.PEM()
}

// definedBy is a definition whose webhook has a URL.
func definedBy(group, url string, ca []byte) *apiextensionsv1.CustomResourceDefinition {
	crd := fixtures.WebhookURL.New(fixtures.InGroup(group))
	crd.Spec.Conversion.Webhook.ClientConfig.URL, crd.Spec.Conversion.Webhook.ClientConfig.CABundle = &url, ca
	return crd
}

// look looks at the ward, and returns the findings that are neither Passed nor NotApplicable, by definition and requirement.
func (w *ward) look(t *testing.T, options doctor.Options) (*doctor.Cluster, map[string]reports.Result) {
	t.Helper()
	c, err := doctor.Look(t.Context(), w.Seen(), options)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]reports.Result{}
	for _, f := range doctor.Judge(c, time.Now(), "--context here") {
		if f.Verdict != requirement.Passed && f.Verdict != requirement.NotApplicable {
			f.Reason, _, _ = strings.Cut(f.Reason, "\nTo fix it: ")
			found[f.Subject+" "+string(f.ID)] = f
		}
	}
	return c, found
}

// TestDoctorLook looks at webhooks that work and that do not, and sends nothing but GET requests.
func TestDoctorLook(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	w := newWard(t)
	good, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	bad, err := webhook.Start(t.Context(), "127.0.0.1:0", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go http.Serve(plain, http.NotFoundHandler()) //nolint:gosec // it ends with the listener

	served := fixtures.WebhookService.New(fixtures.InGroup("service.example.com"))
	gone := fixtures.WebhookService.New(fixtures.InGroup("gone.example.com"))
	gone.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "gone"
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{served, gone} {
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = good.CA
	}
	w.service("my-service-namespace", "my-service-name", 1234, 0, 2)
	w.define(t, definedBy("good.example.com", good.URL, good.CA), definedBy("other.example.com", good.URL, bad.CA), definedBy("bad.example.com", bad.URL, bad.CA),
		definedBy("plain.example.com", "https://"+plain.Addr().String()+"/", good.CA), served, gone)
	c, found := w.look(t, doctor.Options{})
	want := map[string]string{
		"crontabs.other.example.com doctor.certificate.served":  "unknown authority",
		"crontabs.other.example.com doctor.webhook.converts":    "default/one at v1",
		"crontabs.bad.example.com doctor.webhook.converts":      "default/one at v1",
		"crontabs.plain.example.com doctor.certificate.served":  "does not complete a TLS handshake",
		"crontabs.plain.example.com doctor.webhook.converts":    "default/one at v1",
		"crontabs.service.example.com doctor.webhook.endpoints": "of 2",
		"crontabs.gone.example.com doctor.webhook.namespace":    "does not exist",
	}
	for at, says := range want {
		if f, is := found[at]; !is || f.Verdict != requirement.Failed || !strings.Contains(f.Reason, says) {
			t.Errorf("%s: %+v, want %q", at, f, says)
		}
		delete(found, at)
	}
	for at, f := range found {
		// Certificates of tests last a day, and the webhooks are on this machine.
		if f.Verdict != requirement.Tolerated || f.ID != requirement.DoctorCertificateExpiry && !strings.Contains(f.Reason, "127.0.0.1 works only if") {
			t.Errorf("%s is %s: %s", at, f.Verdict, f.Reason)
		}
	}
	if first := c.Webhooks[0]; first.Name != good.URL || len(first.Definitions) != 2 {
		t.Errorf("the webhook of most definitions is %s, of %d", first.Name, len(first.Definitions))
	}
	for _, request := range w.Sent {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("it sent %s", request)
		}
	}
	if text := doctor.Text(c, doctor.Judge(c, time.Now(), "")); !strings.Contains(text, good.URL) || strings.Count(text, "\n") > 60 {
		t.Errorf("the text is\n%s", text)
	}
}

// TestDoctorCertificatesOfServices looks at what services serve, through a connection that somebody else opens.
func TestDoctorCertificatesOfServices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	w := newWard(t)
	authority, err := pki.NewLastingAuthority("an authority", 365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("my-service-name.my-service-namespace.svc")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	_, other := issue(t, "my-service-name.my-service-namespace.svc")
	right := fixtures.WebhookService.New(fixtures.InGroup("right.example.com"))
	right.Spec.Conversion.Webhook.ClientConfig.CABundle = authority.PEM()
	wrong := fixtures.WebhookService.New(fixtures.InGroup("wrong.example.com"))
	wrong.Spec.Conversion.Webhook.ClientConfig.CABundle = other
	w.service("my-service-namespace", "my-service-name", 1234, 2, 0)
	w.create(t, right, wrong)
	dialled := 0
	dial := func(ctx context.Context, namespace, name string, port int32) (net.Conn, error) {
		if namespace != "my-service-namespace" || name != "my-service-name" || port != 1234 {
			return nil, fmt.Errorf("it dials %s/%s:%d", namespace, name, port)
		}
		dialled++
		here, there := net.Pipe()
		go func() {
			server := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
			server.HandshakeContext(context.WithoutCancel(ctx))
		}()
		return here, nil
	}
	_, found := w.look(t, doctor.Options{Dial: dial})
	f := found["crontabs.wrong.example.com doctor.certificate.served"]
	if f.Verdict != requirement.Failed || dialled != 1 {
		t.Errorf("found %v, dialled %d times", found, dialled)
	}
	delete(found, "crontabs.wrong.example.com doctor.certificate.served")
	for at, f := range found {
		t.Errorf("%s: %s", at, f.Reason)
	}
}

// TestDoctorFewRights shows what can be shown.
func TestDoctorFewRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	w := newWard(t)
	served := fixtures.WebhookService.New(fixtures.InGroup("few.example.com"))
	w.define(t, served)
	w.Fail["/api/v1/namespaces/my-service-namespace"] = http.StatusForbidden
	w.Fail["/apis/few.example.com/v1beta1/crontabs"] = http.StatusForbidden
	_, found := w.look(t, doctor.Options{})
	for _, id := range []requirement.ID{requirement.DoctorWebhookNamespace, requirement.DoctorWebhookConverts} {
		f := found["crontabs.few.example.com "+string(id)]
		if f.Verdict != requirement.Errored || !strings.Contains(f.Reason, "the user may not") || strings.Contains(f.Reason, "\n") {
			t.Errorf("%s: %+v", id, f)
		}
	}
	w.Fail["/apis/apiextensions.k8s.io/v1/customresourcedefinitions"] = http.StatusForbidden
	if _, err := doctor.Look(t.Context(), w.Seen(), doctor.Options{}); err == nil || !strings.Contains(err.Error(), "may not list customresourcedefinitions") {
		t.Errorf("without the right to see definitions: %v", err)
	}
}

// BenchmarkDoctorDefinitions looks at a cluster with 500 definitions, each with a webhook, three versions of a schema and an object.
func BenchmarkDoctorDefinitions(b *testing.B) {
	cluster, err := embedded.Start(b.Context(), embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := cluster.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	made, err := doctortest.New(cluster.Config())
	if err != nil {
		b.Fatal(err)
	}
	w := &ward{made}
	good, err := webhook.Start(b.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { good.Close() })
	crd := definedBy("many.example.com", good.URL, good.CA)
	w.define(b, crd)
	all := apiextensionsv1.CustomResourceDefinitionList{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}}
	stored, err := w.CRDs.ApiextensionsV1().CustomResourceDefinitions().Get(b.Context(), crd.Name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for range 500 {
		all.Items = append(all.Items, *stored)
	}
	w.Core["/apis/apiextensions.k8s.io/v1/customresourcedefinitions"] = all
	for b.Loop() {
		if c, err := doctor.Look(b.Context(), w.Seen(), doctor.Options{}); err != nil || len(doctor.Judge(c, time.Now(), "")) != 500*15 {
			b.Fatal(err)
		}
	}
}

// TestDoctorNamed looks at some definitions only.
func TestDoctorNamed(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.service("my-service-namespace", "my-service-name", 1234, 1, 0)
	one, two := fixtures.WebhookService.New(fixtures.InGroup("one.example.com")), fixtures.None.New(fixtures.InGroup("two.example.com"))
	w.create(t, one, two)
	for _, options := range []doctor.Options{{Names: []string{one.Name}}, {Namespace: "my-service-namespace"}} {
		c, _ := w.look(t, options)
		if names := slices.Collect(func(yield func(string) bool) {
			for _, d := range c.Definitions {
				yield(d.Name)
			}
		}); !slices.Equal(names, []string{one.Name}) {
			t.Errorf("%+v: %v", options, names)
		}
	}
	for _, options := range []doctor.Options{{Names: []string{"no.example.com"}}, {Namespace: "nowhere"}} {
		if _, err := doctor.Look(t.Context(), w.Seen(), options); err == nil {
			t.Errorf("%+v: no error", options)
		}
	}
}
