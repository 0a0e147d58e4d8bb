package deployed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Manifests are what the user deploys the webhook with.
type Manifests struct {
	// Paths of YAML files, of folders of them, and of folders with a kustomization. All that it is made of must be on this
	// machine: nothing is fetched.
	Paths []string

	// Service of the webhook, as name or namespace/name; empty for the one that the definitions among the manifests convert by,
	// or else the only one there is.
	Service string

	Port int32  // of the service; 0 for what the definitions say, or its only one
	Path string // of the URL; empty for what the definitions say, or /convert

	Certificate Certificate

	// WithoutDefinitions leaves the definitions among the manifests out, because they are installed elsewhere. They are still
	// read.
	WithoutDefinitions bool
}

// Certificate says where the webhook's certificate comes from. The zero value says that the manifests bring one of their own,
// whose authority is the caBundle of a definition among them, as soon as it is there.
type Certificate struct {
	// Secret is the name of the Secret, in the namespace of the service, that the pods mount: a certificate of the run is put
	// there, and its authority into the caBundle of the definitions among the manifests. What the manifests have for
	// cert-manager is left out.
	Secret string

	// Authority is a Secret, as name or namespace/name, that has the certificate of the authority under ca.crt or, when the
	// certificate has signed itself, under tls.crt. It need not be there from the beginning.
	Authority string

	// Definition is the name of a definition in the cluster whose caBundle has the authority, as soon as it is there.
	Definition string
}

// DeployManifests applies the user's manifests, in the namespace of the run unless they say another, and waits until the
// webhook is ready and the API server reaches it. It does so by server-side apply, and everything gets the label of the run.
// When something of it is there already, nothing is applied. The context bounds the wait only: the webhook is there until
// Stop. On failure nothing is left behind, and the error has the last lines of the log and the events of the pod that is at
// fault. It must not run twice at a time.
func DeployManifests(ctx context.Context, m Manifests, o Options) (*Webhook, error) {
	w, err := newWebhook(o)
	if err != nil {
		return nil, err
	}
	documents, err := load(m.Paths)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	documents, authority, err := w.plan(m, documents)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	if err := w.bringUp(ctx, documents, authority); err != nil {
		return nil, err
	}
	return w, nil
}

// Check says what is wrong with the manifests by themselves: it reads them, and asks no cluster. It must not run twice at a time.
func (m Manifests) Check() error {
	documents, err := load(m.Paths)
	if err != nil {
		return err
	}
	references, err := referencesIn(documents)
	if err != nil {
		return err
	}
	_, _, err = m.find(documents, references, "the namespace of the run")
	return err
}

// find finds out which service the webhook is, and how many pods are behind it. It fails when it cannot come to anything.
func (m Manifests) find(documents []document, references []reference, namespace string) (Service, int, error) {
	found, err := findService(m, documents, references, namespace)
	if err != nil {
		return Service{}, 0, err
	}
	pods, err := replicas(found, documents, namespace)
	if err != nil {
		return Service{}, 0, err
	}
	service, err := serviceOf(m, found, references, namespace)
	if err != nil {
		return Service{}, 0, err
	}
	if m.Certificate == (Certificate{}) && !slices.ContainsFunc(references, func(r reference) bool { return r.matches(service) }) {
		return Service{}, 0, authorityWanted("the authority of the webhook's certificate is unknown, because no definition among the manifests uses its service")
	}
	return service, pods, nil
}

// authorityWanted says what to do when nothing says how to verify the webhook.
func authorityWanted(problem string) error {
	return unsaid([]string{"secret", "caSecret"}, "%s: name a Secret that its pods mount, to store a certificate in, or one that has the ca.crt of their certificate", problem)
}

// UnsaidError is about something that has to be said of the webhook.
type UnsaidError struct {
	Keys []string // of webhook.inCluster in crdconform.yaml, any of which says it
	error
}

func unsaid(keys []string, format string, args ...any) error {
	return &UnsaidError{keys, fmt.Errorf(format, args...)}
}

// plan finds out which service the webhook is, and returns what is to be applied, and how the authority becomes known.
func (w *Webhook) plan(m Manifests, documents []document) ([]document, func(context.Context) ([]byte, error), error) {
	if m.Certificate.Secret != "" && (m.Certificate.Authority != "" || m.Certificate.Definition != "") {
		return nil, nil, errors.New("certificate: either it is stored in a Secret, or the manifests bring it; give only one of the two")
	}
	for _, d := range documents {
		w.redactor.manifest(d.Unstructured)
	}
	references, err := referencesIn(documents)
	if err != nil {
		return nil, nil, err
	}
	if w.Service, w.Replicas, err = m.find(documents, references, w.options.namespace()); err != nil {
		return nil, nil, err
	}
	authority := func(ctx context.Context) ([]byte, error) { return w.awaitAuthority(ctx, m, references) }
	w.remedy = "check that this certificate was signed by the given authority"
	if m.Certificate.Secret != "" {
		w.remedy = fmt.Sprintf("its pods must mount the Secret %s, and it must serve tls.crt and tls.key of that Secret", m.Certificate.Secret)
		var ca []byte
		if documents, ca, err = w.inject(m.Certificate.Secret, documents, references); err != nil {
			return nil, nil, err
		}
		authority = func(context.Context) ([]byte, error) { return ca, nil }
	}
	if m.WithoutDefinitions {
		documents = slices.DeleteFunc(slices.Clone(documents), func(d document) bool { return isDefinition(d.GroupVersionKind()) })
	}
	return documents, authority, nil
}

// reference is a definition among the manifests that converts by a service.
type reference struct {
	document
	service apiextensionsv1.ServiceReference
}

// matches reports whether it is by a service of the webhook.
func (r reference) matches(s Service) bool {
	return r.service.Namespace == s.Namespace && r.service.Name == s.Name
}

func referencesIn(documents []document) ([]reference, error) {
	var all []reference
	for _, d := range documents {
		if !isDefinition(d.GroupVersionKind()) {
			continue
		}
		var definition struct {
			Spec struct {
				Conversion *apiextensionsv1.CustomResourceConversion `json:"conversion"`
			} `json:"spec"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, &definition); err != nil {
			return nil, fmt.Errorf("%s (%s): %w", title(d.Unstructured), d.From, err)
		}
		c := definition.Spec.Conversion
		if c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil && c.Webhook.ClientConfig.Service != nil {
			all = append(all, reference{d, *c.Webhook.ClientConfig.Service})
		}
	}
	return all, nil
}

// findService finds the webhook's service among the manifests.
func findService(m Manifests, documents []document, references []reference, namespace string) (document, error) {
	var services []document
	var titles []string
	for _, d := range documents {
		if d.GetKind() == "Service" && d.GetAPIVersion() == "v1" {
			services = append(services, d)
			titles = append(titles, cmp.Or(d.GetNamespace(), namespace)+"/"+d.GetName())
		}
	}
	find := func(is func(at, name string) bool) (document, bool) {
		i := slices.IndexFunc(services, func(d document) bool { return is(cmp.Or(d.GetNamespace(), namespace), d.GetName()) })
		if i < 0 {
			return document{}, false
		}
		return services[i], true
	}
	if len(services) == 0 {
		return document{}, errors.New("the manifests contain no Service, through which API servers reach webhooks in the cluster")
	}
	if m.Service != "" {
		if found, is := find(func(at, name string) bool { return m.Service == name || m.Service == at+"/"+name }); is {
			return found, nil
		}
		return document{}, fmt.Errorf("the manifests contain no Service %s, only %s", m.Service, strings.Join(titles, ", "))
	}
	for _, r := range references {
		if found, is := find(func(at, name string) bool { return at == r.service.Namespace && name == r.service.Name }); is {
			return found, nil
		}
	}
	switch {
	case len(references) > 0:
		r := references[0]
		return document{}, fmt.Errorf("%s uses the service %s/%s, which the manifests do not contain; they contain %s",
			title(r.Unstructured), r.service.Namespace, r.service.Name, strings.Join(titles, ", "))
	case len(services) > 1:
		return document{}, fmt.Errorf("the service of the webhook is ambiguous: no definition among them names it, and there are %s; name it", strings.Join(titles, ", "))
	}
	return services[0], nil
}

// serviceOf is where the webhook is to be found. Its port is the one that is asked for, or what a definition says, or the only one
// that the service has.
func serviceOf(m Manifests, service document, references []reference, namespace string) (Service, error) {
	s := Service{Namespace: cmp.Or(service.GetNamespace(), namespace), Name: service.GetName(), Port: m.Port, Path: m.Path}
	for _, r := range references {
		if !r.matches(s) {
			continue
		}
		if s.Port == 0 {
			s.Port = ptr.Deref(r.service.Port, defaultServicePort)
		}
		if s.Path == "" && r.service.Path != nil {
			s.Path = *r.service.Path
		}
	}
	ports := portsOf(service)
	if s.Port == 0 && len(ports) == 1 {
		s.Port = ports[0]
	}
	s.Port, s.Path = cmp.Or(s.Port, defaultServicePort), cmp.Or(s.Path, defaultPath)
	if !slices.Contains(ports, s.Port) {
		var there []string
		for _, port := range ports {
			there = append(there, strconv.Itoa(int(port)))
		}
		if len(there) == 0 {
			return s, fmt.Errorf("%s (%s) has no ports", title(service.Unstructured), service.From)
		}
		return s, unsaid([]string{"port"}, "%s (%s) has no port %d; it has %s; choose one as the port", title(service.Unstructured), service.From, s.Port, strings.Join(there, ", "))
	}
	if !strings.HasPrefix(s.Path, "/") {
		s.Path = "/" + s.Path
	}
	return s, nil
}

// portsOf returns the numbers of a service's ports.
func portsOf(service document) []int32 {
	all, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	var ports []int32
	for _, one := range all {
		fields, _ := one.(map[string]any)
		if number, is := fields["port"].(int64); is {
			ports = append(ports, int32(number)) //nolint:gosec // API servers refuse what is no port
		}
	}
	return ports
}

// replicas returns how many pods of the manifests are behind the service, and fails when there are none.
func replicas(service document, documents []document, namespace string) (int, error) {
	selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	if len(selector) == 0 {
		return 0, fmt.Errorf("%s (%s) has no selector, so it selects no pods", title(service.Unstructured), service.From)
	}
	total, matched := 0, false
	for _, d := range documents {
		template := within(d.Object, []string{"spec", "template"})
		if d.GetKind() == "Pod" {
			template = d.Object
		}
		if template == nil || cmp.Or(d.GetNamespace(), namespace) != cmp.Or(service.GetNamespace(), namespace) {
			continue
		}
		pod := unstructured.Unstructured{Object: template}
		if !labels.SelectorFromSet(selector).Matches(labels.Set(pod.GetLabels())) {
			continue
		}
		matched = true
		count, found, err := unstructured.NestedInt64(d.Object, "spec", "replicas")
		if err != nil || !found {
			count = 1
		}
		total += int(count)
	}
	if !matched {
		return 0, fmt.Errorf("%s (%s) selects pods with %s, and nothing among the manifests makes such pods", title(service.Unstructured), service.From, labels.SelectorFromSet(selector))
	}
	return max(total, 1), nil
}

// inject puts a certificate of the run where the pods look for it, and its authority into the definitions.
func (w *Webhook) inject(name string, documents []document, references []reference) ([]document, []byte, error) {
	secret, authority, err := issue(w.Service, name)
	if err != nil {
		return nil, nil, err
	}
	w.redactor.Secret(secret.Data)
	w.authority, w.secret = authority, secret.Name
	var kept []document
	added := false
	for _, d := range documents {
		switch {
		case d.GroupVersionKind().Group == "cert-manager.io":
			w.options.note("leaving out %s, because the run creates the certificate", title(d.Unstructured))
			continue
		case d.GetKind() == "Secret" && d.GetName() == name && cmp.Or(d.GetNamespace(), w.options.namespace()) == w.Service.Namespace:
			fill(d.Unstructured, secret)
			added = true
		}
		kept = append(kept, d)
	}
	if !added {
		d, err := documentOf(secret)
		if err != nil {
			return nil, nil, err
		}
		kept = append(kept, d)
	}
	for _, r := range references {
		if config := within(r.Object, []string{"spec", "conversion", "webhook", "clientConfig"}); config != nil && r.matches(w.Service) {
			config["caBundle"] = base64.StdEncoding.EncodeToString(authority.PEM())
		}
	}
	return kept, authority.PEM(), nil
}

// fill puts the certificate into a Secret of the user's, and leaves alone what else is in there.
func fill(object *unstructured.Unstructured, secret *corev1.Secret) {
	data := within(object.Object, []string{"data"})
	if data == nil {
		data = map[string]any{}
		object.Object["data"] = data
	}
	for key, value := range secret.Data {
		data[key] = base64.StdEncoding.EncodeToString(value)
		unstructured.RemoveNestedField(object.Object, "stringData", key)
	}
}

// awaitAuthority waits until what the user deploys has put the authority's certificate where it was said to be.
func (w *Webhook) awaitAuthority(ctx context.Context, m Manifests, references []reference) ([]byte, error) {
	var where string
	var look func() ([]byte, error)
	definition := m.Certificate.Definition
	if i := slices.IndexFunc(references, func(r reference) bool { return r.matches(w.Service) }); definition == "" && i >= 0 {
		definition = references[i].GetName()
	}
	switch {
	case m.Certificate.Authority != "":
		namespace, name, found := strings.Cut(m.Certificate.Authority, "/")
		if !found {
			namespace, name = w.Service.Namespace, m.Certificate.Authority
		}
		where = fmt.Sprintf("the Secret %s/%s has no certificate under %s or %s", namespace, name, caKey, corev1.TLSCertKey)
		look = func() ([]byte, error) { return w.authorityInSecret(ctx, namespace, name) }
	case definition != "":
		where = fmt.Sprintf("the caBundle of the definition %s contains no certificate; either something in the cluster must add it, or crdconform must store a certificate in a Secret that the pods mount", definition)
		look = func() ([]byte, error) { return w.authorityInDefinition(ctx, definition) }
	default:
		return nil, authorityWanted("the authority of the webhook's certificate is unknown")
	}
	w.options.note("waiting for the certificate of the authority")
	var authority []byte
	err := poll(ctx, func() (bool, error) {
		var err error
		authority, err = look()
		return len(authority) > 0, err
	})
	if errors.Is(err, errTooLate) {
		return nil, errors.New(where)
	}
	return authority, err
}

// authorityInSecret returns what a Secret has, or nothing while it has none.
func (w *Webhook) authorityInSecret(ctx context.Context, namespace, name string) ([]byte, error) {
	secret, err := w.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.redactor.Secret(map[string][]byte{corev1.TLSPrivateKeyKey: secret.Data[corev1.TLSPrivateKeyKey]})
	for _, key := range []string{caKey, corev1.TLSCertKey} {
		if holdsCertificate(secret.Data[key]) {
			return secret.Data[key], nil
		}
	}
	return nil, nil
}

// authorityInDefinition returns the caBundle of a definition, or nothing while it has none.
func (w *Webhook) authorityInDefinition(ctx context.Context, name string) ([]byte, error) {
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	object, err := w.applier.owned.Client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !holdsCertificate(bundle) {
		return nil, nil //nolint:nilerr // a placeholder, which something will replace
	}
	return bundle, nil
}

func holdsCertificate(pem []byte) bool {
	return len(bytes.TrimSpace(pem)) > 0 && x509.NewCertPool().AppendCertsFromPEM(pem)
}
