package deployed

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// stack is what operators deploy: a definition, a service, and two pods behind it.
const stack = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  conversion:
    strategy: Webhook
    webhook:
      clientConfig: {service: {namespace: system, name: webhook-service, port: 8443, path: /widgets}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  replicas: 2
  template: {metadata: {labels: {app: manager}}}
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: system}
spec: {selector: {app: manager}, ports: [{port: 1}]}
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: system}
spec: {selector: {app: manager}, ports: [{port: 8443}, {port: 9443}]}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving-cert, namespace: system}
---
apiVersion: v1
kind: Namespace
metadata: {name: system}
`

func parsed(t *testing.T, text string) []document {
	t.Helper()
	documents, err := parse([]byte(text), "stack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func planned(t *testing.T, m Manifests, text string) (*Webhook, []document, error) {
	t.Helper()
	w, err := newWebhook(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	documents, _, err := w.plan(m, parsed(t, text))
	return w, documents, err
}

func find(documents []document, of string) *unstructured.Unstructured {
	i := slices.IndexFunc(documents, func(d document) bool { return title(d.Unstructured) == of })
	if i < 0 {
		return nil
	}
	return documents[i].Unstructured
}

func TestPlan(t *testing.T) {
	t.Parallel()
	w, documents, err := planned(t, Manifests{}, stack)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Service{"system", "webhook-service", 8443, "/widgets"}); w.Service != want || w.Replicas != 2 {
		t.Errorf("the webhook is %+v with %d pods, want %+v with 2", w.Service, w.Replicas, want)
	}
	if len(documents) != 6 {
		t.Errorf("what is applied is %q", titles(documents))
	}
	if w, _, err = planned(t, Manifests{Service: "system/metrics", Path: "/x", Certificate: Certificate{Secret: "a"}}, stack); err != nil || w.Service != (Service{"system", "metrics", 1, "/x"}) {
		t.Errorf("named: %+v, %v", w.Service, err)
	}
	if w, documents, err = planned(t, Manifests{WithoutDefinitions: true}, stack); err != nil || w.Service.Port != 8443 || find(documents, "CustomResourceDefinition widgets.example.com") != nil {
		t.Errorf("without definitions: %+v, %q, %v", w.Service, titles(documents), err)
	}
}

func TestPlansWithAnInjectedCertificate(t *testing.T) {
	t.Parallel()
	const mine = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: cert, namespace: system}\ndata: {other: eA==}\nstringData: {tls.key: none}\n"
	for name, text := range map[string]string{"a new Secret": stack, "the user's Secret": stack + mine} {
		_, documents, err := planned(t, Manifests{Certificate: Certificate{Secret: "cert"}}, text)
		if err != nil {
			t.Fatal(err)
		}
		secret := find(documents, "Secret system/cert")
		if secret == nil || find(documents, "Certificate system/serving-cert") != nil || len(documents) != 6 {
			t.Fatalf("%s: what is applied is %q", name, titles(documents))
		}
		data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
		if data["tls.crt"] == "" || data["tls.key"] == "" || name == "the user's Secret" && data["other"] != "eA==" {
			t.Errorf("%s: its keys are %v", name, len(data))
		}
		if _, left, _ := unstructured.NestedString(secret.Object, "stringData", "tls.key"); left {
			t.Errorf("%s: the user's key wins", name)
		}
		bundle, _, _ := unstructured.NestedString(find(documents, "CustomResourceDefinition widgets.example.com").Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		if bundle == "" || bundle != data["ca.crt"] {
			t.Errorf("%s: the definition has the caBundle %q", name, bundle)
		}
		pem, err := base64.StdEncoding.DecodeString(bundle)
		if err != nil || !holdsCertificate(pem) {
			t.Errorf("%s: the caBundle is none: %v", name, err)
		}
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: one}\nspec: {selector: {app: a}, ports: [{port: 8443}]}\n---\n"
	const pods = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {metadata: {labels: {app: a}}}}\n---\n"
	for name, test := range map[string]struct {
		manifests  Manifests
		text, want string
	}{
		"no service":        {Manifests{}, pods, "the manifests contain no Service, through which"},
		"two services":      {Manifests{}, pods + service + strings.ReplaceAll(service, "one", "two"), "there are crdconform-r1/one, crdconform-r1/two; name it"},
		"another service":   {Manifests{Service: "three"}, pods + service, "the manifests contain no Service three, only crdconform-r1/one"},
		"not among them":    {Manifests{}, strings.ReplaceAll(stack, "name: webhook-service, namespace: system", "name: other, namespace: system"), "CustomResourceDefinition widgets.example.com uses the service system/webhook-service, which the manifests do not contain; they contain "},
		"no selector":       {Manifests{}, pods + strings.ReplaceAll(service, "{app: a}", "{}"), "has no selector"},
		"nothing behind it": {Manifests{}, strings.ReplaceAll(pods, "app: a", "app: b") + service, "selects pods with app=a, and nothing among the manifests makes such pods"},
		"another namespace": {Manifests{}, strings.ReplaceAll(pods, "{name: d}", "{name: d, namespace: far}") + service, "nothing among the manifests makes such pods"},
		"two certificates":  {Manifests{Certificate: Certificate{Secret: "a", Authority: "b"}}, pods + service, "give only one of the two"},
		"no such port":      {Manifests{Port: 9, Certificate: Certificate{Secret: "a"}}, pods + service, "Service one (stack.yaml:6) has no port 9; it has 8443"},
		"which port":        {Manifests{Certificate: Certificate{Secret: "a"}}, pods + strings.ReplaceAll(service, "[{port: 8443}]", "[{port: 8443}, {port: 9}]"), "has no port 443; it has 8443, 9"},
		"no port":           {Manifests{Certificate: Certificate{Secret: "a"}}, pods + strings.ReplaceAll(service, "[{port: 8443}]", "[]"), "has no ports"},
		"the usual port":    {Manifests{}, strings.ReplaceAll(stack, "port: 8443, path", "path"), "has no port 443; it has 8443, 9443"},
		"no authority":      {Manifests{}, pods + service, "no definition among the manifests uses its service: name a Secret"},
	} {
		if _, _, err := planned(t, test.manifests, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if w, _, err := planned(t, Manifests{Certificate: Certificate{Authority: "a"}}, pods+service); err != nil || w.Service != (Service{"crdconform-r1", "one", 8443, "/convert"}) || w.Replicas != 1 {
		t.Errorf("one that does: %+v, %v", w, err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	for want, o := range map[string]Options{
		"there is no cluster":           {Run: "r1"},
		`"Not_A_Label"`:                 {Config: config, Run: "Not_A_Label"},
		`"" is not a valid label`:       {Config: config},
		"is not a valid namespace name": {Config: config, Run: "r1", Namespace: "a/b"},
	} {
		if _, err := DeployImage(t.Context(), Workload{Image: "a"}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	_, err := DeployImage(t.Context(), Workload{
		Port: 70000, ServicePort: -1, Path: "convert", Name: "UPPER", Certs: "certs", Replicas: -1, Env: map[string]string{"A=B": "hidden"},
	}, Options{Config: config, Run: "r1"})
	for _, want := range []string{"there is no image", "70000 is not a port", "-1 is not a port", `"convert" does not begin with a slash`, `"UPPER" is not a valid service name`, "absolute path", "-1: must be at least 0", `"A=B" is not a valid variable name`} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	documents := parsed(t, stack)
	slices.SortStableFunc(documents, func(x, y document) int { return kube.Rank(x.GroupVersionKind()) - kube.Rank(y.GroupVersionKind()) })
	want := []string{"Namespace system", "CustomResourceDefinition widgets.example.com", "Service system/metrics", "Service system/webhook-service", "Certificate system/serving-cert", "Deployment system/manager"}
	if got := titles(documents); !slices.Equal(got, want) {
		t.Errorf("created in the order %q, want %q", got, want)
	}
	// A definition can only go while its webhook is there to convert what it leaves.
	slices.SortStableFunc(documents, func(x, y document) int {
		return kube.RemovalRank(x.GroupVersionKind()) - kube.RemovalRank(y.GroupVersionKind())
	})
	want = []string{"Certificate system/serving-cert", "CustomResourceDefinition widgets.example.com", "Deployment system/manager", "Service system/metrics", "Service system/webhook-service", "Namespace system"}
	if got := titles(documents); !slices.Equal(got, want) {
		t.Errorf("removed in the order %q, want %q", got, want)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	for kind, places := range map[string][]string{
		"Deployment": {"metadata", "spec.template.metadata"},
		"CronJob":    {"metadata", "spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata"},
		"Widget":     {"metadata"},
	} {
		d := parsed(t, "apiVersion: a/v1\nkind: "+kind+"\nmetadata: {name: a, uid: u, resourceVersion: '1', labels: {mine: 'yes'}}\n"+
			"spec: {template: {metadata: {labels: {mine: 'yes'}}}, jobTemplate: {spec: {template: {}}}}\nstatus: {}\n")[0]
		mark(d.Unstructured, "r1")
		var marked []string
		for _, place := range []string{"metadata", "spec.template.metadata", "spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata"} {
			if inner := within(d.Object, append(strings.Split(place, "."), "labels")); inner != nil && inner[cluster.RunLabel] == "r1" {
				marked = append(marked, place)
			}
		}
		if !slices.Equal(marked, places) || d.GetLabels()["mine"] != "yes" {
			t.Errorf("%s is marked at %q, want %q; its labels are %v", kind, marked, places, d.GetLabels())
		}
		if d.GetUID() != "" || d.GetResourceVersion() != "" || d.Object["status"] != nil {
			t.Errorf("%s still has what a server filled in: %v", kind, d.Object)
		}
	}
}

func TestNameSubjects(t *testing.T) {
	t.Parallel()
	d := parsed(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nsubjects:\n- {kind: ServiceAccount, name: x}\n- {kind: ServiceAccount, name: y, namespace: z}\n- {kind: User, name: u}\n")[0]
	nameSubjects(d.Unstructured, "ours")
	subjects, _, _ := unstructured.NestedSlice(d.Object, "subjects")
	var got []any
	for _, s := range subjects {
		got = append(got, s.(map[string]any)["namespace"])
	}
	if !slices.Equal(got, []any{"ours", "z", nil}) {
		t.Errorf("the subjects are in %v", got)
	}
}

func TestWorkload(t *testing.T) {
	t.Parallel()
	l := Workload{Image: "a", Loaded: true, Env: map[string]string{"B": "2", "A": "1"}, Architecture: "arm64", Drain: 3e9}.withDefaults()
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	pod := l.deployment("r1").Spec.Template
	c := pod.Spec.Containers[0]
	if c.ImagePullPolicy != corev1.PullNever || c.Env[0].Name != "A" || c.VolumeMounts[0].MountPath != defaultCerts || c.Lifecycle.PreStop.Sleep.Seconds != 3 || pod.Spec.NodeSelector["kubernetes.io/arch"] != "arm64" {
		t.Errorf("the pod is %+v", pod.Spec)
	}
	service := l.service("r1")
	if service.Spec.Ports[0].Port != 443 || service.Spec.Ports[0].TargetPort.IntVal != 9443 || service.Spec.Selector[cluster.RunLabel] != "r1" || pod.Labels[cluster.RunLabel] != "r1" {
		t.Errorf("the service is %+v", service.Spec)
	}
	l.Loaded, l.Drain = false, 0
	if c := l.pod().Containers[0]; c.ImagePullPolicy != corev1.PullIfNotPresent || c.Lifecycle != nil {
		t.Errorf("the container is %+v", c)
	}
}
