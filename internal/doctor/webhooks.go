package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// handshakeTimeout is how long a webhook has to show its certificate.
const handshakeTimeout = 10 * time.Second

// webhooks looks at the webhooks that definitions have, each once.
func (l *looker) webhooks(ctx context.Context, c *Cluster) {
	known := map[string]*Webhook{}
	for _, d := range c.Definitions {
		client := d.client()
		if client == nil || client.Service == nil && client.URL == nil {
			continue
		}
		name := nameOf(client)
		w := known[name]
		if w == nil {
			w = &Webhook{Name: name, Service: client.Service != nil}
			known[name] = w
			c.Webhooks = append(c.Webhooks, w)
		}
		d.Webhook = w
		w.Definitions = append(w.Definitions, d)
	}
	each(c.Webhooks, func(w *Webhook) {
		client := w.Definitions[0].client()
		if w.Service {
			l.service(ctx, w, client.Service)
		}
		l.handshake(ctx, w, client)
		for _, d := range w.Definitions {
			if w.Chain != nil {
				d.Trust = trust(w.Chain, d.client().CABundle, w.ServerName)
			}
		}
	})
	slices.SortFunc(c.Webhooks, func(a, b *Webhook) int {
		if n := len(b.Definitions) - len(a.Definitions); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// nameOf names what API servers call.
func nameOf(client *apiextensionsv1.WebhookClientConfig) string {
	if s := client.Service; s != nil {
		return fmt.Sprintf("%s/%s:%d", s.Namespace, s.Name, portOf(s))
	}
	return *client.URL
}

func portOf(s *apiextensionsv1.ServiceReference) int32 {
	return ptr.Deref(s.Port, 443)
}

// service looks at the service of a webhook, and at what is behind it.
func (l *looker) service(ctx context.Context, w *Webhook, at *apiextensionsv1.ServiceReference) {
	namespace, err := l.core.CoreV1().Namespaces().Get(ctx, at.Namespace, metav1.GetOptions{})
	w.Namespace = thing("the namespace "+at.Namespace, "namespaces", err)
	w.Namespace.Going = err == nil && namespace.DeletionTimestamp != nil
	if err != nil && apierrors.IsNotFound(err) {
		return
	}
	service, err := l.core.CoreV1().Services(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	w.Exists = thing("the service "+at.Namespace+"/"+at.Name, "services", err)
	if err != nil {
		return
	}
	port := func(p corev1.ServicePort) bool { return p.Port == portOf(at) && p.Protocol != corev1.ProtocolUDP }
	i := slices.IndexFunc(service.Spec.Ports, port)
	w.Port.There = i >= 0
	if i < 0 {
		var has []string
		for _, p := range service.Spec.Ports {
			has = append(has, strconv.Itoa(int(p.Port)))
		}
		w.Port.Wrong = "it has " + strings.Join(has, ", ")
		return
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		w.Exists.Wrong = "it is of type ExternalName, which API servers do not resolve"
		return
	}
	behind, err := l.core.DiscoveryV1().EndpointSlices(at.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + at.Name})
	if err != nil {
		w.Unseen = sentence("the endpoints of "+at.Namespace+"/"+at.Name, "list", "endpointslices.discovery.k8s.io", err).Error()
		return
	}
	for j := range behind.Items {
		w.count(&behind.Items[j], service.Spec.Ports[i].Name)
	}
}

// count counts the endpoints of a slice that have a port of the service, by its name.
func (w *Webhook) count(s *discoveryv1.EndpointSlice, port string) {
	named := func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port }
	if !slices.ContainsFunc(s.Ports, named) {
		return
	}
	for _, e := range s.Endpoints {
		w.Endpoints += len(e.Addresses)
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
			if name := workload(e.TargetRef.Name); !slices.Contains(w.Workloads, name) {
				w.Workloads = append(w.Workloads, name)
				slices.Sort(w.Workloads)
			}
		}
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			w.Ready += len(e.Addresses)
		}
	}
}

// podSuffix is what Deployments, and other workloads, append to their names to name pods.
var podSuffix = regexp.MustCompile(`(-[bcdf-hj-np-tv-xz2456789]{6,10})?-([bcdf-hj-np-tv-xz2456789]{5}|[0-9]+)$`)

// workload is the name of the workload that a pod belongs to, as far as the name of the pod shows it.
func workload(pod string) string { return podSuffix.ReplaceAllString(pod, "") }

// thing is what an answer says of something that was asked for.
func thing(what, resource string, err error) Thing {
	switch {
	case err == nil:
		return Thing{There: true}
	case apierrors.IsNotFound(err):
		return Thing{}
	}
	return Thing{Unseen: sentence(what, "get", resource, err).Error()}
}

// handshake reads the certificate that a webhook serves.
func (l *looker) handshake(ctx context.Context, w *Webhook, client *apiextensionsv1.WebhookClientConfig) {
	within, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	var connection net.Conn
	var err error
	if s := client.Service; s != nil {
		w.ServerName = s.Name + "." + s.Namespace + ".svc"
		switch {
		case l.options.Dial == nil:
			w.Unreached = "services of the cluster are not reached from here; \"crdconform doctor --port-forward\" reaches them through the API server"
			return
		case !w.Port.There || w.Ready == 0:
			w.Unreached = "there is nothing to connect to"
			return
		}
		connection, err = l.options.Dial(within, s.Namespace, s.Name, portOf(s))
	} else {
		var u *url.URL
		if u, err = url.Parse(*client.URL); err == nil {
			w.ServerName = u.Hostname()
			port := u.Port()
			if port == "" {
				port = "443"
			}
			connection, err = new(net.Dialer).DialContext(within, "tcp", net.JoinHostPort(u.Hostname(), port))
		}
	}
	if err != nil {
		w.Unreached = fmt.Sprintf("%s cannot be reached from here: %v", w.Name, err)
		return
	}
	defer connection.Close()
	// The chain is judged afterwards, to have both it and what is wrong with it.
	secured := tls.Client(connection, &tls.Config{ServerName: w.ServerName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // nothing is sent
	if err := secured.HandshakeContext(within); err != nil {
		w.Unreached, w.Broken = fmt.Sprintf("%s does not complete a TLS handshake: %v", w.Name, err), true
		return
	}
	w.Chain = secured.ConnectionState().PeerCertificates
}

// trust says why API servers would not accept a chain, by the authority of a definition, or by that of the system if it has none.
func trust(chain []*x509.Certificate, bundle []byte, name string) error {
	options := x509.VerifyOptions{DNSName: name, Intermediates: x509.NewCertPool()}
	if len(bundle) > 0 {
		options.Roots = x509.NewCertPool()
		options.Roots.AppendCertsFromPEM(bundle)
	}
	for _, certificate := range chain[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(options)
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is && invalid.Reason == x509.Expired {
		return nil // which is another requirement
	}
	return err
}
