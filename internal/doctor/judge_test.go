package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// patient is a cluster with one definition whose webhook is a service.
type patient struct {
	*Definition
	w   *Webhook
	now time.Time
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

const serviceName = "my-service-name.my-service-namespace.svc"

// healthy returns a cluster with which nothing is wrong.
func healthy(t *testing.T) *patient {
	t.Helper()
	crd := fixtures.WebhookService.New()
	crd.Status.StoredVersions = []string{"v1beta1"}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			crd.Status.StoredVersions = []string{crd.Spec.Versions[i].Name}
		}
	}
	for _, sort := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: sort, Status: apiextensionsv1.ConditionTrue})
	}
	chain, ca := issue(t, serviceName)
	crd.Spec.Conversion.Webhook.ClientConfig.CABundle = ca
	there := Thing{There: true}
	w := &Webhook{
		Name: nameOf(crd.Spec.Conversion.Webhook.ClientConfig), Service: true, Namespace: there, Exists: there, Port: there, Ready: 2, Endpoints: 2,
		Chain: chain, ServerName: serviceName, Unreached: "it is not reached from here",
	}
	d := &Definition{CustomResourceDefinition: crd, Webhook: w, Conversions: []Conversion{{"v1", "default/a", nil}, {"v1beta1", "default/a", nil}}}
	w.Definitions = []*Definition{d}
	return &patient{d, w, time.Now()}
}

func (p *patient) client() *apiextensionsv1.WebhookClientConfig {
	return p.Spec.Conversion.Webhook.ClientConfig
}

// serves has the webhook serve other certificates.
func (p *patient) serves(chain []*x509.Certificate) { p.w.Chain = chain }

// other returns the version that is not stored.
func (p *patient) other() *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(p.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
	return &p.Spec.Versions[i]
}

// deprecate has v1beta1 be deprecated, and v1 stored.
func (p *patient) deprecate() {
	for i := range p.Spec.Versions {
		v := &p.Spec.Versions[i]
		v.Storage, v.Deprecated = v.Name == "v1", v.Name == "v1beta1"
	}
	p.Status.StoredVersions = []string{"v1"}
}

// without takes the webhook away.
func (p *patient) without() {
	p.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	p.Webhook, p.Conversions = nil, nil
}

// alike has no webhook and needs none.
func (p *patient) alike() {
	p.without()
	for i := range p.Spec.Versions {
		p.Spec.Versions[i].Schema = p.Spec.Versions[0].Schema
	}
}

// storing has been looked at, with versions that are defined as these say.
func (p *patient) storing(unknown int64, versions ...*storage.Version) {
	p.Storage = &storage.Definition{Name: p.Name, Unknown: unknown, Versions: versions}
	for _, v := range versions {
		p.Status.StoredVersions = append(slices.DeleteFunc(p.Status.StoredVersions, func(name string) bool { return name == v.Name }), v.Name)
	}
}

func (p *patient) condition(sort apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, message string) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == sort })
	p.Status.Conditions = append(p.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: sort, Status: status, Message: message})
}

// judged judges a patient, and returns what does not pass and does apply.
func (p *patient) judged(t *testing.T) map[requirement.ID]reports.Result {
	t.Helper()
	if p.w.Chain != nil && p.Webhook != nil {
		p.Trust = trust(p.w.Chain, p.client().CABundle, p.w.ServerName)
	}
	p.lint(t.Context(), p.now)
	found := map[requirement.ID]reports.Result{}
	seen := map[requirement.ID]bool{}
	for _, f := range Judge(&Cluster{Definitions: []*Definition{p.Definition}}, p.now, "--context here") {
		var mend string
		f.Reason, mend, _ = strings.Cut(f.Reason, toFix)
		if seen[f.ID] {
			t.Errorf("%s is judged twice", f.ID)
		}
		seen[f.ID] = true
		if f.Verdict != requirement.Passed && f.Verdict != requirement.NotApplicable {
			found[f.ID] = f
		}
		if (f.Verdict == requirement.Passed) != (f.Reason == "") {
			t.Errorf("%s is %s, with the reason %q", f.ID, f.Verdict, f.Reason)
		}
		if (f.Verdict == requirement.Failed || f.Verdict == requirement.Tolerated) && mend == "" {
			t.Errorf("%s does not say how to mend it", f.ID)
		}
	}
	for _, r := range requirement.All() {
		if r.ID.Area() == area && !seen[r.ID] {
			t.Errorf("%s is not judged", r.ID)
		}
	}
	return found
}

// plantings are the defects, each with what finds it: the requirement, how bad it is, and what the reason has.
var plantings = map[string]struct { //nolint:gochecknoglobals // a table of tests
	plant   func(t *testing.T, p *patient)
	finds   requirement.ID
	verdict requirement.Verdict
	says    string
}{
	"the namespace is gone": {func(_ *testing.T, p *patient) {
		p.w.Namespace, p.w.Exists, p.w.Port, p.w.Ready, p.w.Chain = Thing{}, Thing{}, Thing{}, 0, nil
		p.Conversions[0].Err = errors.New("no such service")
	}, requirement.DoctorWebhookNamespace, requirement.Failed, "the namespace my-service-namespace of its webhook does not exist"},
	"the namespace is being deleted": {func(_ *testing.T, p *patient) { p.w.Namespace.Going = true }, requirement.DoctorWebhookNamespace, requirement.Failed, "is being deleted"},
	"the service is gone": {func(_ *testing.T, p *patient) {
		p.w.Exists, p.w.Port, p.w.Ready, p.w.Chain = Thing{}, Thing{}, 0, nil
		p.Conversions[0].Err = errors.New("no such service")
	}, requirement.DoctorWebhookService, requirement.Failed, "does not exist"},
	"the service is an alias": {func(_ *testing.T, p *patient) {
		p.w.Exists.Wrong, p.w.Ready, p.w.Chain = "it is of type ExternalName", 0, nil
	}, requirement.DoctorWebhookService, requirement.Failed, "ExternalName"},
	"the service has another port": {func(_ *testing.T, p *patient) { p.w.Port, p.w.Ready, p.w.Chain = Thing{Wrong: "it has 443"}, 0, nil }, requirement.DoctorWebhookService, requirement.Failed, "has no port 1234; it has 443"},
	"no endpoint":                  {func(_ *testing.T, p *patient) { p.w.Ready, p.w.Endpoints, p.w.Chain = 0, 0, nil }, requirement.DoctorWebhookEndpoints, requirement.Failed, "no ready endpoint (of 0)"},
	"no endpoint is ready": {func(_ *testing.T, p *patient) {
		p.w.Ready, p.w.Chain = 0, nil
		p.Conversions[1].Err = errors.New("connection refused")
	}, requirement.DoctorWebhookEndpoints, requirement.Failed, "of 2"},
	"the pods of other workloads": {func(_ *testing.T, p *patient) { p.w.Workloads = []string{"agent", "operator"} }, requirement.DoctorWebhookEndpoints, requirement.Tolerated, "the pods of agent and of operator"},
	"managed fields of a version that is gone, with one stored version": {func(_ *testing.T, p *patient) {
		p.Foreign = map[string]int{"v1alpha1": 2}
	}, requirement.DoctorStorageReadable, requirement.Failed, "the managed fields of 2 objects name v1alpha1"},
	"an object that cannot be read for want of its version": {func(_ *testing.T, p *patient) {
		p.Conversions[1] = Conversion{"v1beta1", "default/old", errors.New("request to convert CR from an invalid group/version: example.com/v1alpha1")}
	}, requirement.DoctorStorageReadable, requirement.Failed, "default/old is stored at a version that it no longer has"},
	"a list that fails for want of a version": {func(_ *testing.T, p *patient) {
		p.alike()
		p.Unsampled = "the list of objects: failed"
		p.Conversions = []Conversion{{"v1", "one of its objects", errors.New("request to convert CR from an invalid group/version: example.com/v1alpha1")}}
	}, requirement.DoctorStorageReadable, requirement.Failed, "one of its objects is stored at a version that it no longer has"},
	"a list that fails, without a webhook": {func(_ *testing.T, p *patient) {
		p.alike()
		p.Unsampled = "the list of objects: timeout"
		p.Conversions = []Conversion{{"v1", "one of its objects", errors.New("timeout")}}
	}, requirement.DoctorStorageReadable, requirement.Errored, "the list of objects: timeout"},
	"a version that Kubernetes cannot order": {func(_ *testing.T, p *patient) {
		for i := range p.Spec.Versions {
			if p.Spec.Versions[i].Storage {
				p.Spec.Versions[i].Name, p.Status.StoredVersions = "v1api20230101", []string{"v1api20230101"}
			}
		}
	}, requirement.DoctorDefinitionSchema, requirement.Tolerated, "v1api20230101"},
	"a version cannot be read": {func(_ *testing.T, p *patient) {
		p.Conversions[1].Err = errors.New("conversion webhook failed: no kind")
	}, requirement.DoctorWebhookConverts, requirement.Failed, "no kind"},
	"no object can be listed": {func(_ *testing.T, p *patient) {
		p.Conversions = []Conversion{{"v1", "one of its objects", errors.New("timeout")}}
	}, requirement.DoctorWebhookConverts, requirement.Failed, "timeout"},
	"no caBundle": {func(_ *testing.T, p *patient) { p.client().CABundle, p.w.Chain = nil, nil }, requirement.DoctorCertificateBundle, requirement.Failed, "there is no caBundle"},
	"nobody injected": {func(_ *testing.T, p *patient) {
		p.client().CABundle, p.Annotations = nil, map[string]string{"cert-manager.io/inject-ca-from": "default/cert"}
	}, requirement.DoctorCertificateBundle, requirement.Failed, "nobody filled it in"},
	"an annotation that cert-manager ignores": {func(_ *testing.T, p *patient) {
		p.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "cert"}
	}, requirement.DoctorCertificateBundle, requirement.Failed, "must be namespace/name"},
	"a caBundle of white space": {func(_ *testing.T, p *patient) { p.client().CABundle, p.w.Chain = []byte("\n"), nil }, requirement.DoctorCertificateBundle, requirement.Failed, "placeholder"},
	"a caBundle that is no PEM": {func(_ *testing.T, p *patient) { p.client().CABundle, p.w.Chain = []byte("Cg=="), nil }, requirement.DoctorCertificateBundle, requirement.Failed, "not PEM"},
	"a caBundle with the certificate itself": {func(_ *testing.T, p *patient) {
		p.client().CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.w.Chain[0].Raw})
	}, requirement.DoctorCertificateBundle, requirement.Tolerated, "server certificate"},
	"an expired authority": {func(_ *testing.T, p *patient) { p.now = p.now.Add(10 * 365 * 24 * time.Hour) }, requirement.DoctorCertificateExpiry, requirement.Failed, "expired on"},
	"an authority that expires soon": {func(_ *testing.T, p *patient) {
		p.now, p.w.Chain = p.now.Add(350*24*time.Hour), nil
	}, requirement.DoctorCertificateExpiry, requirement.Tolerated, "expires on"},
	"an authority of the future": {func(_ *testing.T, p *patient) { p.now, p.w.Chain = p.now.Add(-30*24*time.Hour), nil }, requirement.DoctorCertificateExpiry, requirement.Failed, "not valid before"},
	"an expired certificate": {func(_ *testing.T, p *patient) {
		leaf := *p.w.Chain[0]
		leaf.NotAfter = p.now.Add(-time.Hour)
		p.serves([]*x509.Certificate{&leaf})
	}, requirement.DoctorCertificateExpiry, requirement.Failed, "that its webhook serves"},
	"a certificate that expires soon": {func(_ *testing.T, p *patient) {
		leaf := *p.w.Chain[0]
		leaf.NotAfter = p.now.Add(24 * time.Hour)
		p.serves([]*x509.Certificate{&leaf})
	}, requirement.DoctorCertificateExpiry, requirement.Tolerated, "that its webhook serves"},
	"a certificate of another authority": {func(t *testing.T, p *patient) {
		t.Helper()
		chain, _ := issue(t, serviceName)
		p.serves(chain)
	}, requirement.DoctorCertificateServed, requirement.Failed, "unknown authority"},
	"a certificate for another name": {func(t *testing.T, p *patient) {
		t.Helper()
		chain, ca := issue(t, "webhook.other.svc")
		p.client().CABundle = ca
		p.serves(chain)
	}, requirement.DoctorCertificateServed, requirement.Failed, "webhook.other.svc"},
	"no TLS": {func(_ *testing.T, p *patient) { p.w.Chain, p.w.Broken, p.w.Unreached = nil, true, "it answers no TLS" }, requirement.DoctorCertificateServed, requirement.Failed, "no TLS"},
	"a webhook for one version": {func(_ *testing.T, p *patient) {
		p.Spec.Versions = slices.DeleteFunc(p.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
	}, requirement.DoctorConversionNeeded, requirement.Tolerated, "only one version is in use"},
	"a webhook for a version that is not served": {func(_ *testing.T, p *patient) { p.other().Served = false }, requirement.DoctorConversionNeeded, requirement.Tolerated, "only one version is in use"},
	"None loses fields":                          {func(_ *testing.T, p *patient) { p.without() }, requirement.DoctorConversionNone, requirement.Failed, "host"},
	"a type that differs": {func(_ *testing.T, p *patient) {
		p.without()
		same := p.Spec.Versions[0].Schema.DeepCopy()
		same.OpenAPIV3Schema.Properties["extra"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		p.Spec.Versions[0].Schema = same.DeepCopy()
		same.OpenAPIV3Schema.Properties["extra"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
		p.Spec.Versions[1].Schema = same
	}, requirement.DoctorDefinitionSchema, requirement.Failed, "extra"},
	"no review version that API servers know": {func(_ *testing.T, p *patient) { p.Spec.Conversion.Webhook.ConversionReviewVersions = []string{"v2"} }, requirement.DoctorDefinitionSchema, requirement.Failed, "ConversionReview"},
	"a scale path that is not there": {func(_ *testing.T, p *patient) {
		p.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}}
	}, requirement.DoctorDefinitionSchema, requirement.Tolerated, "replicas"},
	"the preferred version is deprecated": {func(_ *testing.T, p *patient) {
		for i := range p.Spec.Versions {
			p.Spec.Versions[i].Deprecated = p.Spec.Versions[i].Name == "v1"
		}
		p.storing(0, &storage.Version{Name: p.Status.StoredVersions[0], Defined: true, Storage: true, Served: true, Deprecated: true, Requests: storage.Requests{Known: true}})
	}, requirement.DoctorDefinitionSchema, requirement.Tolerated, "deprecated"},
	"names that are taken": {func(_ *testing.T, p *patient) {
		p.condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, `"CronTab" is already in use`)
	}, requirement.DoctorDefinitionAccepted, requirement.Failed, "already in use"},
	"names that another definition has": {func(_ *testing.T, p *patient) {
		other := p.DeepCopy()
		other.Name, other.Status.AcceptedNames = "tabs.stable.example.com", apiextensionsv1.CustomResourceDefinitionNames{Plural: "tabs", Kind: "Tab", ShortNames: []string{"ct"}}
		p.condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, `"ct" is already in use`)
		(&Cluster{Definitions: []*Definition{p.Definition, {CustomResourceDefinition: other}}}).holders()
	}, requirement.DoctorDefinitionAccepted, requirement.Failed, `"ct" is already in use; tabs.stable.example.com has the short name ct`},
	"not established": {func(_ *testing.T, p *patient) {
		p.condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "not all names are accepted")
	}, requirement.DoctorDefinitionAccepted, requirement.Failed, "Established"},
	"a schema that is not structural": {func(_ *testing.T, p *patient) {
		p.condition(apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionTrue, "type must not be empty")
	}, requirement.DoctorDefinitionAccepted, requirement.Failed, "not structural"},
	"a deletion that hangs": {func(_ *testing.T, p *patient) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: p.now.Add(-time.Hour)}, []string{"customresourcecleanup.apiextensions.k8s.io"}
		p.condition(apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "conversion webhook failed")
	}, requirement.DoctorDefinitionDeletion, requirement.Failed, "customresourcecleanup"},
	"a stored version that is done": {func(_ *testing.T, p *patient) {
		p.storing(0, &storage.Version{Name: "v1", Defined: true, Storage: true, Stored: 3}, &storage.Version{Name: "v1beta1", Defined: true})
	}, requirement.DoctorStorageStoredVersions, requirement.Tolerated, "nothing is stored at v1beta1 any more"},
	"objects that are still stored at another version": {func(_ *testing.T, p *patient) {
		p.storing(0, &storage.Version{Name: "v1", Defined: true, Storage: true}, &storage.Version{Name: "v1beta1", Defined: true, Stored: 7})
	}, requirement.DoctorStorageStoredVersions, requirement.Tolerated, "7 objects are stored at v1beta1"},
	"managed fields of a version that is gone": {func(_ *testing.T, p *patient) {
		p.Storage = &storage.Definition{Versions: []*storage.Version{{Name: "v1alpha1", ManagedFields: 2}}}
	}, requirement.DoctorStorageReadable, requirement.Failed, "the managed fields of 2 objects name v1alpha1"},
	"objects stored at a version that is gone": {func(_ *testing.T, p *patient) {
		p.Storage = &storage.Definition{Versions: []*storage.Version{{Name: "v1alpha1", Stored: 1}}}
	}, requirement.DoctorStorageReadable, requirement.Failed, "1 object is stored at v1alpha1"},
	"a deprecated version that is asked for": {func(_ *testing.T, p *patient) {
		p.deprecate()
		p.Storage = &storage.Definition{Versions: []*storage.Version{{Name: p.other().Name, Defined: true, Served: true, Deprecated: true, Requests: storage.Requests{Known: true, Basis: "metrics", Asked: []storage.Request{{}}}}}}
	}, requirement.DoctorVersionsRequested, requirement.Tolerated, "asked for (metrics)"},
	"a deprecated version in managed fields": {func(_ *testing.T, p *patient) {
		p.deprecate()
		p.Storage = &storage.Definition{Versions: []*storage.Version{{Name: p.other().Name, Defined: true, Served: true, Deprecated: true, ManagedFields: 4}}}
	}, requirement.DoctorVersionsRequested, requirement.Tolerated, "the managed fields of 4 objects name it"},
}

// TestHealthyCluster wants nothing to be found where nothing is wrong.
func TestHealthyCluster(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *patient){
		"as it is":              func(*patient) {},
		"no connection":         func(p *patient) { p.w.Chain, p.w.Unreached = nil, "not reached from here" },
		"nothing to convert":    func(p *patient) { p.Conversions, p.Unconverted, p.Unconvertible = nil, "there is no object", true },
		"a deletion that began": func(p *patient) { p.DeletionTimestamp = &metav1.Time{Time: p.now.Add(-time.Minute)} },
		"the same schemas without a webhook": func(p *patient) {
			p.without()
			p.Spec.Versions[1].Schema = p.Spec.Versions[0].Schema
		},
		"a version that is stored though not served": func(p *patient) {
			p.other().Served = false
			p.storing(0, &storage.Version{Name: "v1beta1", Defined: true, Storage: true}, &storage.Version{Name: "v1", Defined: true})
			p.Status.StoredVersions = []string{"v1"}
		},
	} {
		p := healthy(t)
		change(p)
		for id, f := range p.judged(t) {
			t.Errorf("%s: %s is %s: %s", name, id, f.Verdict, f.Reason)
		}
	}
}

// TestDefects wants each defect to be found by its requirement, and by no other.
func TestDefects(t *testing.T) {
	t.Parallel()
	if len(plantings) < 30 {
		t.Errorf("%d defects", len(plantings))
	}
	found := map[requirement.ID]bool{}
	for _, name := range slices.Sorted(maps.Keys(plantings)) {
		planting := plantings[name]
		p := healthy(t)
		planting.plant(t, p)
		all := p.judged(t)
		f := all[planting.finds]
		found[planting.finds] = true
		if len(all) != 1 || f.Verdict != planting.verdict || !strings.Contains(f.Reason, planting.says) {
			t.Errorf("%s: want %s to be %s with %q, got %s", name, planting.finds, planting.verdict, planting.says, findingsText(all))
		}
	}
	for _, r := range requirement.All() {
		if r.ID.Area() == area && !found[r.ID] {
			t.Errorf("no defect violates %s", r.ID)
		}
	}
}

func findingsText(all map[requirement.ID]reports.Result) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "\n    %s is %s: %s", f.ID, f.Verdict, f.Reason)
	}
	return b.String()
}

// TestNothingIsMigratedWithoutTheWebhook advises a migration only where something converts.
func TestNothingIsMigratedWithoutTheWebhook(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		p := healthy(t)
		p.storing(0, &storage.Version{Name: "v1", Defined: true, Storage: true}, &storage.Version{Name: "v1beta1", Defined: true, Stored: 7}, &storage.Version{Name: "v1alpha1", ManagedFields: 2})
		if gone {
			plantings["the namespace is gone"].plant(t, p)
		}
		advised := 0
		for _, f := range Judge(&Cluster{Definitions: []*Definition{p.Definition}}, p.now, "") {
			if strings.Contains(f.Reason, "crdconform storage migrate") {
				advised++
			}
		}
		if want := map[bool]int{false: 2, true: 0}[gone]; advised != want {
			t.Errorf("the namespace is gone: %t: %d findings advise a migration, want %d", gone, advised, want)
		}
	}
}

// TestRightsThatAreMissing wants the verdict to be that nothing is known.
func TestRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	for id, change := range map[requirement.ID]func(p *patient){
		requirement.DoctorWebhookConverts: func(p *patient) {
			p.Conversions = []Conversion{{"v1", "a", &RightError{"the user may not get it"}}}
		},
		requirement.DoctorWebhookEndpoints: func(p *patient) { p.w.Unseen = "the user may not list endpointslices" },
		requirement.DoctorStorageStoredVersions: func(p *patient) {
			p.Status.StoredVersions, p.Unstored = []string{"v1", "v1beta1"}, "the user may not list them"
		},
	} {
		p := healthy(t)
		change(p)
		all := p.judged(t)
		if f := all[id]; len(all) != 1 || f.Verdict != requirement.Errored || !strings.Contains(f.Reason, "may not") {
			t.Errorf("%s: got %s", id, findingsText(all))
		}
	}
}

// TestEstablishing has a definition that an API server has just accepted, and one with which it is not done after an hour.
func TestEstablishing(t *testing.T) {
	for since, want := range map[time.Duration]requirement.Verdict{0: 0, 5 * time.Second: 0, time.Hour: requirement.Failed} {
		p := healthy(t)
		p.condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "the initial names have been accepted")
		last := &p.Status.Conditions[len(p.Status.Conditions)-1]
		last.Reason, last.LastTransitionTime = "Installing", metav1.Time{Time: p.now.Add(-since)}
		if got := p.judged(t)[requirement.DoctorDefinitionAccepted].Verdict; got != want {
			t.Errorf("accepted since %s: got %s", since, got)
		}
	}
}

// TestPodsAreOfWorkloads names workloads by their pods, as Deployments, StatefulSets and DaemonSets name these.
func TestPodsAreOfWorkloads(t *testing.T) {
	t.Parallel()
	for pod, want := range map[string]string{
		"operator-6d5f7c9b8d-x2v4k": "operator", "operator-7c9b8d6d5f-b5zzt": "operator", "db-operator-0": "db-operator", "agent-x2v4k": "agent", "webhook": "webhook",
	} {
		if got := workload(pod); got != want {
			t.Errorf("%s: got %s, want %s", pod, got, want)
		}
	}
}

// TestSample has objects of each release among those that are read, and all if there are few.
func TestSample(t *testing.T) {
	t.Parallel()
	var all []metav1.PartialObjectMetadata
	for i := range 200 {
		o := metav1.PartialObjectMetadata{}
		o.Name = strconv.Itoa(i)
		if o.ManagedFields = []metav1.ManagedFieldsEntry{{APIVersion: "example.com/v1"}}; i == 150 {
			o.ManagedFields[0].APIVersion = "example.com/v1beta1"
		}
		all = append(all, o)
	}
	names := func(objects []metav1.PartialObjectMetadata) (names []string) {
		for _, o := range objects {
			names = append(names, o.Name)
		}
		return names
	}
	if got := names(sample(all)); len(got) != sampled || !slices.Contains(got, "150") || !slices.Contains(got, "0") {
		t.Errorf("got %v", got)
	}
	if got := names(sample(all[:4])); len(got) != 4 {
		t.Errorf("got %v", got)
	}
}

// TestTextShowsAllThatFailed has more failures than fit on a screen.
func TestTextShowsAllThatFailed(t *testing.T) {
	t.Parallel()
	var results []reports.Result
	for i := range 2 * shownFindings {
		verdict := requirement.Failed
		if i%2 == 0 {
			verdict = requirement.Tolerated
		}
		r, _ := requirement.Lookup(requirement.DoctorDefinitionSchema)
		results = append(results, reports.Result{Requirement: r, Subject: fmt.Sprintf("a%d.example.com", i), Verdict: verdict, Reason: strings.Repeat("x", i)})
	}
	text := Text(&Cluster{}, results)
	if n := strings.Count(text, "FAILED"); n != shownFindings || strings.Contains(text, "TOLERATED") {
		t.Errorf("%d of %d are shown:\n%s", n, shownFindings, text)
	}
	for i := range results { // one line for what differs in a time only
		results[i].Verdict, results[i].Reason = requirement.Tolerated, fmt.Sprintf("asked for (since 2026-11-01T11:%d:00Z)", 10+i)
	}
	if text := Text(&Cluster{}, results); strings.Count(text, "TOLERATED") != 1 {
		t.Errorf("got\n%s", text)
	}
}
