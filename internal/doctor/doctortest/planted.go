package doctortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/doctor"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// planted is a definition with something wrong.
type planted struct {
	change func(crd *apiextensionsv1.CustomResourceDefinition, client *apiextensionsv1.WebhookClientConfig) // client is nil without a webhook
	after  func(t *testing.T, w *Ward, crd *apiextensionsv1.CustomResourceDefinition)                       // it was created
	none   bool                                                                                             // without a webhook
	finds  requirement.ID
	says   string
}

// at leads a webhook to a service.
func at(namespace, name string, port int32) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
	return func(_ *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.WebhookClientConfig) {
		c.Service.Namespace, c.Service.Name, c.Service.Port = namespace, name, &port
	}
}

// trusting has a webhook verified by another authority, which is valid for some time.
func trusting(lifetime time.Duration) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
	return func(_ *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.WebhookClientConfig) {
		authority, err := pki.NewLastingAuthority("planted", lifetime)
		if err != nil {
			panic(err)
		}
		c.CABundle = authority.PEM()
	}
}

// property adds a field to one version.
func property(version string, schema apiextensionsv1.JSONSchemaProps) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
	return func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.WebhookClientConfig) {
		fixtures.WithProperty(version, "extra", schema)(crd)
	}
}

// versions sets what is so of both versions.
func versions(change func(v *apiextensionsv1.CustomResourceDefinitionVersion)) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
	return func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.WebhookClientConfig) {
		for i := range crd.Spec.Versions {
			change(&crd.Spec.Versions[i])
		}
	}
}

// changed updates a definition.
func (w *Ward) changed(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	api := w.CRDs.ApiextensionsV1().CustomResourceDefinitions()
	w.Wait(t, func() error {
		now, err := api.Get(t.Context(), crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(now)
		_, err = api.Update(t.Context(), now, metav1.UpdateOptions{})
		return err
	})
}

// stored creates an object of a definition.
func (w *Ward) stored(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string, finalizers ...string) {
	t.Helper()
	o := fixtures.CronTab("one", "hostPort: a:1")
	o.SetAPIVersion(crd.Spec.Group + "/" + version)
	o.SetFinalizers(finalizers)
	api := w.Objects.Resource(Resource(crd, version)).Namespace("default")
	w.Wait(t, func() error { _, err := api.Create(t.Context(), o, metav1.CreateOptions{}); return err })
}

// gardens are what is planted. What the tables of judged states have beside them needs minutes, or what API servers refuse.
func gardens() map[string]planted { //nolint:revive // a table
	none := func(change func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig), finds requirement.ID, says string) planted {
		return planted{change: change, none: true, finds: finds, says: says}
	}
	url := func(url string) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
		return func(_ *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.WebhookClientConfig) {
			c.URL, c.Service = &url, nil
		}
	}
	annotated := func(name, value string) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
		return func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.WebhookClientConfig) {
			crd.Annotations = map[string]string{name: value}
		}
	}
	unbundled := func(name, value string) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
		return func(crd *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.WebhookClientConfig) {
			annotated(name, value)(crd, c)
			c.CABundle = nil
		}
	}
	deprecated := func(name string) func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.WebhookClientConfig) {
		return versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Deprecated = v.Name == name })
	}
	migrating := func(objects int) func(*testing.T, *Ward, *apiextensionsv1.CustomResourceDefinition) {
		return func(t *testing.T, w *Ward, crd *apiextensionsv1.CustomResourceDefinition) {
			t.Helper()
			if objects > 0 {
				w.stored(t, crd, "v1beta1")
			}
			w.changed(t, crd, func(now *apiextensionsv1.CustomResourceDefinition) { fixtures.StoredAt("v1")(now) })
		}
	}
	return map[string]planted{
		"namespace-gone":   {change: at("nowhere", "webhook", 443), finds: requirement.DoctorWebhookNamespace, says: "does not exist"},
		"namespace-going":  {change: at("going", "webhook", 443), finds: requirement.DoctorWebhookNamespace, says: "is being deleted"},
		"service-gone":     {change: at("here", "nothing", 443), finds: requirement.DoctorWebhookService, says: "does not exist"},
		"service-alias":    {change: at("here", "alias", 443), finds: requirement.DoctorWebhookService, says: "ExternalName"},
		"port-gone":        {change: at("here", "ready", 8443), finds: requirement.DoctorWebhookService, says: "has no port 8443"},
		"port-udp":         {change: at("here", "udp", 443), finds: requirement.DoctorWebhookService, says: "has no port 443"},
		"no-endpoints":     {change: at("here", "empty", 443), finds: requirement.DoctorWebhookEndpoints, says: "of 0"},
		"not-ready":        {change: at("here", "starting", 443), finds: requirement.DoctorWebhookEndpoints, says: "of 1"},
		"other-port-name":  {change: at("here", "misnamed", 443), finds: requirement.DoctorWebhookEndpoints, says: "of 0"},
		"no-bundle":        {change: unbundled("planted", "yes"), finds: requirement.DoctorCertificateBundle, says: "there is no caBundle"},
		"not-injected":     {change: unbundled("cert-manager.io/inject-ca-from", "here/webhook"), finds: requirement.DoctorCertificateBundle, says: "nobody filled it in"},
		"injection-short":  {change: annotated("cert-manager.io/inject-ca-from", "webhook"), finds: requirement.DoctorCertificateBundle, says: "must be namespace/name"},
		"injection-false":  {change: annotated("service.beta.openshift.io/inject-cabundle", "false"), finds: requirement.DoctorCertificateBundle, says: "must be"},
		"injection-legacy": {change: annotated("certmanager.k8s.io/inject-ca-from", "here/webhook"), finds: requirement.DoctorCertificateBundle, says: "no longer reads"},
		"bundle-expired":   {change: trusting(-time.Minute), finds: requirement.DoctorCertificateExpiry, says: "expired on"},
		"bundle-expires":   {change: trusting(5 * 24 * time.Hour), finds: requirement.DoctorCertificateExpiry, says: "expires on"},
		"one-version": {change: func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.WebhookClientConfig) {
			fixtures.WithVersions("v1beta1")(crd)
		}, finds: requirement.DoctorConversionNeeded, says: "only one version is in use"},
		"one-served": {change: versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Served = v.Storage }), finds: requirement.DoctorConversionNeeded, says: "only one version is in use"},
		"scale-path": {change: versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}}
		}), finds: requirement.DoctorDefinitionSchema, says: ".spec.replicas is not in the schema"},
		"column-path": {change: versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "a", Type: "string", JSONPath: ".spec.nothing"}}
		}), finds: requirement.DoctorDefinitionSchema, says: ".spec.nothing"},
		"url-loopback":         {change: url("https://127.0.0.1:1/convert"), finds: requirement.DoctorDefinitionSchema, says: "127.0.0.1"},
		"url-in-cluster":       {change: url("https://webhook.here.svc/convert"), finds: requirement.DoctorDefinitionSchema, says: "webhook.here.svc"},
		"preferred-deprecated": {change: deprecated("v1"), finds: requirement.DoctorDefinitionSchema, says: "deprecated"},
		"storage-deprecated":   {change: deprecated("v1beta1"), finds: requirement.DoctorDefinitionSchema, says: "deprecated"},
		"not-served":           {change: versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Served = false }), finds: requirement.DoctorDefinitionSchema, says: "no version is served"},
		"storage-not-served":   {change: versions(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Served = !v.Storage }), finds: requirement.DoctorDefinitionSchema, says: "storage version"},
		"webhook-down": {change: url("https://127.0.0.1:1/convert"), after: func(t *testing.T, w *Ward, crd *apiextensionsv1.CustomResourceDefinition) {
			t.Helper()
			w.stored(t, crd, "v1beta1")
		}, finds: requirement.DoctorWebhookConverts, says: "default/one at v1"},
		"names-taken": {change: func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.WebhookClientConfig) {
			crd.Spec.Group = "one-version.example.com"
			crd.Spec.Names.Plural, crd.Spec.Names.Singular, crd.Spec.Names.ShortNames = "others", "other", nil
			crd.Name = "others." + crd.Spec.Group
		}, finds: requirement.DoctorDefinitionAccepted, says: ".one-version.example.com has the kind"},
		"none-loses": none(property("v1", apiextensionsv1.JSONSchemaProps{Type: "string"}), requirement.DoctorConversionNone, "extra"),
		"none-type": none(func(crd *apiextensionsv1.CustomResourceDefinition, c *apiextensionsv1.WebhookClientConfig) {
			property("v1", apiextensionsv1.JSONSchemaProps{Type: "string"})(crd, c)
			property("v1beta1", apiextensionsv1.JSONSchemaProps{Type: "integer"})(crd, c)
		}, requirement.DoctorDefinitionSchema, "extra"),
		"migrated":  {none: true, after: migrating(0), finds: requirement.DoctorStorageStoredVersions, says: "nothing is stored at v1beta1 any more"},
		"migrating": {none: true, after: migrating(1), finds: requirement.DoctorStorageStoredVersions, says: "1 object is stored at v1beta1"},
		"deletion-hangs": {none: true, after: func(t *testing.T, w *Ward, crd *apiextensionsv1.CustomResourceDefinition) {
			t.Helper()
			w.stored(t, crd, "v1beta1", "example.com/planted")
			if err := w.CRDs.ApiextensionsV1().CustomResourceDefinitions().Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, finds: requirement.DoctorDefinitionDeletion, says: "customresourcecleanup"},
	}
}

// furnish makes the services that are there: with real ones where there are such things.
func (w *Ward) furnish(t *testing.T) {
	t.Helper()
	port := func(protocol corev1.Protocol) []corev1.ServicePort {
		return []corev1.ServicePort{{Name: "webhook", Port: 443, Protocol: protocol}}
	}
	for _, s := range []struct {
		name  string
		spec  corev1.ServiceSpec
		ready []bool
		port  string
	}{
		{"ready", corev1.ServiceSpec{Ports: port(corev1.ProtocolTCP)}, []bool{true, true}, "webhook"},
		{"alias", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Ports: port(corev1.ProtocolTCP)}, nil, "webhook"},
		{"udp", corev1.ServiceSpec{Ports: port(corev1.ProtocolUDP)}, []bool{true}, "webhook"},
		{"empty", corev1.ServiceSpec{Ports: port(corev1.ProtocolTCP)}, nil, "webhook"},
		{"starting", corev1.ServiceSpec{Ports: port(corev1.ProtocolTCP)}, []bool{false}, "webhook"},
		{"misnamed", corev1.ServiceSpec{Ports: port(corev1.ProtocolTCP)}, []bool{true}, "metrics"},
	} {
		meta := metav1.ObjectMeta{Name: s.name, Namespace: "here"}
		service := corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta, Spec: s.spec}
		slice := discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: s.name + "-planted", Namespace: "here", Labels: map[string]string{discoveryv1.LabelServiceName: s.name}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &s.port, Port: new(int32(9443)), Protocol: new(corev1.ProtocolTCP)}},
		}
		for i, ready := range s.ready {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9." + string(rune('1'+i))}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
		}
		w.place(t, &service, &slice)
	}
}

// place puts a service with its endpoints where Look finds it.
func (w *Ward) place(t *testing.T, service *corev1.Service, slice *discoveryv1.EndpointSlice) {
	t.Helper()
	if w.client == nil {
		base := "/api/v1/namespaces/"
		w.Core[base+"here"] = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		w.Core[base+"going"] = corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
		w.Core[base+"here/services/"+service.Name] = service
		w.Core["/apis/discovery.k8s.io/v1/namespaces/here/endpointslices?"+service.Name] = discoveryv1.EndpointSliceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, Items: []discoveryv1.EndpointSlice{*slice},
		}
		return
	}
	for _, name := range []string{"here", "going"} {
		_, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	if service.Name == "ready" { // once: what has a finalizer holds the namespace
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/planted"}}}
		_, err := w.client.CoreV1().ConfigMaps("going").Create(t.Context(), held, metav1.CreateOptions{})
		if err = errors.Join(err, w.client.CoreV1().Namespaces().Delete(t.Context(), "going", metav1.DeleteOptions{})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.client.CoreV1().Services("here").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices("here").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// seeds plants everything, and returns the names of the definitions.
func (w *Ward) seeds(t *testing.T, all map[string]planted) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	authority, err := pki.NewLastingAuthority("an authority", 365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	crds := map[string]*apiextensionsv1.CustomResourceDefinition{}
	api := w.CRDs.ApiextensionsV1().CustomResourceDefinitions()
	names := slices.Sorted(maps.Keys(all))
	for _, last := range []bool{false, true} { // the one whose names are taken
		for _, name := range names {
			p := all[name]
			if (p.finds == requirement.DoctorDefinitionAccepted) != last {
				continue
			}
			crd := fixtures.WebhookService.New(fixtures.InGroup(name + ".example.com"))
			if p.none {
				crd = fixtures.None.New(fixtures.InGroup(name+".example.com"), fixtures.StoredAt("v1beta1"))
			}
			var client *apiextensionsv1.WebhookClientConfig
			if !p.none {
				client = crd.Spec.Conversion.Webhook.ClientConfig
				client.CABundle = authority.PEM()
				at("here", "ready", 443)(crd, client)
			}
			if p.change != nil {
				p.change(crd, client)
			}
			if _, err := api.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			t.Cleanup(func() { w.remove(t, crd) })
			crds[name] = crd
		}
		if !last {
			w.Wait(t, func() error { return w.established(t, crds["one-version"].Name) })
		}
	}
	for _, name := range names {
		if all[name].after != nil {
			all[name].after(t, w, crds[name])
		}
	}
	return crds
}

// established fails while a definition is not.
func (w *Ward) established(t *testing.T, name string) error {
	t.Helper()
	crd, err := w.CRDs.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established); c == nil || c.Status != apiextensionsv1.ConditionTrue {
		return fmt.Errorf("the condition Established of %s is %v", name, c)
	}
	return nil
}

// remove removes a definition with its objects, whatever holds them.
func (w *Ward) remove(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	object := w.Objects.Resource(Resource(crd, "v1beta1")).Namespace("default")
	_, _ = object.Patch(ctx, "one", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}) // most have none
	_ = w.CRDs.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, crd.Name, metav1.DeleteOptions{})                   // one is deleted
}

// Found wants everything that is planted to be found, and nothing in what is healthy.
func (w *Ward) Found(t *testing.T) {
	t.Helper()
	w.furnish(t)
	all := gardens()
	if len(all) < 30 {
		t.Errorf("%d defects are planted", len(all))
	}
	healthy := map[string]planted{"healthy-webhook": {}, "healthy-none": {none: true}}
	maps.Copy(all, healthy)
	crds := w.seeds(t, all)
	w.Wait(t, func() error { // API servers write conditions a little later
		for name, crd := range crds {
			if err := w.established(t, crd.Name); err != nil && name != "names-taken" && name != "deletion-hangs" {
				return err
			}
		}
		return nil
	})
	c, err := doctor.Look(t.Context(), w.Seen(), doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]reports.Result{}
	for _, f := range doctor.Judge(c, time.Now().Add(10*time.Minute), "") {
		if f.Verdict == requirement.Failed || f.Verdict == requirement.Tolerated || f.Verdict == requirement.Errored {
			f.Reason, _, _ = strings.Cut(f.Reason, "\nTo fix it: ")
			byName[f.Subject] = append(byName[f.Subject], f)
		}
	}
	for name, p := range all {
		got := byName[crds[name].Name]
		is := func(f reports.Result) bool { return f.ID == p.finds && strings.Contains(f.Reason, p.says) }
		if p.finds == "" && len(got) > 0 || p.finds != "" && !slices.ContainsFunc(got, is) {
			t.Errorf("%s: want %s with %q, got %+v", name, p.finds, p.says, got)
		}
	}
	for _, request := range w.Sent {
		if !strings.HasPrefix(request, http.MethodGet+" ") {
			t.Errorf("it sent %s", request)
		}
	}
}
