package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/pki"
)

// Workload is a webhook of which there is an image, and nothing else.
type Workload struct {
	Image   string            // such as registry.example.com/widgets:v1, or the Reference of an Archive
	Loaded  bool              // the nodes have it already, and are not to look for it in a registry
	Command []string          // in place of the image's entry point; empty for that
	Args    []string          // in place of the image's arguments; empty for those
	Env     map[string]string // environment variables to set

	Name        string // of the service, and of what belongs to it; empty for webhook
	Port        int32  // that it listens on, on all addresses; 0 for 9443
	ServicePort int32  // of the service; 0 for 443
	Path        string // of the URL; empty for /convert
	Replicas    int32  // pods; 0 for 1

	// Certs is the folder where it finds tls.crt, tls.key and ca.crt; empty for the one that controller-runtime reads.
	Certs string

	// Architecture of the nodes to run it on; empty for any.
	Architecture string

	// ReadOnlyRoot has it write nowhere but to /tmp, which is empty when it starts, and run as another user than root.
	ReadOnlyRoot bool

	// Drain is how long a pod goes on serving after SIGTERM, in whole seconds, so that no calls are routed to it
	// when it stops. 0 stops it at once. It takes Kubernetes 1.30.
	Drain time.Duration
}

func (l Workload) withDefaults() Workload {
	l.Name = cmp.Or(l.Name, "webhook")
	l.Port = cmp.Or(l.Port, defaultPort)
	l.ServicePort = cmp.Or(l.ServicePort, defaultServicePort)
	l.Path = cmp.Or(l.Path, defaultPath)
	l.Replicas = cmp.Or(l.Replicas, 1)
	l.Certs = cmp.Or(l.Certs, defaultCerts)
	return l
}

// check says what is wrong with a workload whose defaults are filled in.
func (l Workload) check() error {
	var problems []error
	if strings.TrimSpace(l.Image) == "" {
		problems = append(problems, errors.New("there is no image; give one such as registry.example.com/widgets:v1"))
	}
	if found := validation.IsDNS1035Label(l.Name); len(found) > 0 {
		problems = append(problems, fmt.Errorf("%q is not a valid service name: %s", l.Name, strings.Join(found, "; ")))
	}
	for name, port := range map[string]int32{"port": l.Port, "service port": l.ServicePort} {
		if port < 1 || port > 65535 {
			problems = append(problems, fmt.Errorf("%s: %d is not a port", name, port))
		}
	}
	if !strings.HasPrefix(l.Path, "/") {
		problems = append(problems, fmt.Errorf("path: %q does not begin with a slash", l.Path))
	}
	if !strings.HasPrefix(l.Certs, "/") {
		problems = append(problems, fmt.Errorf("certificates: %q is not an absolute path", l.Certs))
	}
	if l.Replicas < 0 {
		problems = append(problems, fmt.Errorf("replicas: %d: must be at least 0", l.Replicas))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if found := validation.IsEnvVarName(name); len(found) > 0 {
			problems = append(problems, fmt.Errorf("environment: %q is not a valid variable name", name))
		}
	}
	return errors.Join(problems...)
}

// DeployImage deploys an image of a webhook, with a certificate of the run, and waits until it is ready and the API server
// reaches it. The context bounds the wait only: the webhook is there until Stop. On failure nothing is left behind, and the
// error has the last lines of the log and the events of the pod that is at fault.
func DeployImage(ctx context.Context, l Workload, o Options) (*Webhook, error) {
	l = l.withDefaults()
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	w, err := newWebhook(o)
	if err != nil {
		return nil, err
	}
	w.Service = Service{Namespace: o.namespace(), Name: l.Name, Port: l.ServicePort, Path: l.Path}
	w.Replicas = int(l.Replicas)
	w.remedy = "have it serve tls.crt and tls.key of the folder " + l.Certs
	w.redactor.environment(l.Env)
	if l.Drain > 0 && !w.sleeps(l) {
		l.Drain = 0
	}
	secret, authority, err := issue(w.Service, l.Name+"-cert")
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	w.redactor.Secret(secret.Data)
	w.authority, w.secret = authority, secret.Name
	var documents []document
	for _, object := range []any{secret, l.account(), l.service(o.Run), l.deployment(o.Run)} {
		d, err := documentOf(object)
		if err != nil {
			return nil, fmt.Errorf("webhook in the cluster: %w", err)
		}
		documents = append(documents, d)
	}
	if err := w.bringUp(ctx, documents, func(context.Context) ([]byte, error) { return authority.PEM(), nil }); err != nil {
		return nil, err
	}
	return w, nil
}

// sleeps reports whether the cluster lets containers sleep before they stop.
func (w *Webhook) sleeps(l Workload) bool {
	version, err := w.client.Discovery().ServerVersion()
	if err != nil {
		return true // whatever is wrong shows by itself
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err == nil && minor < 30 {
		w.options.note("Kubernetes %s cannot delay stopping the webhook by %s; it stops at once", version.GitVersion, l.Drain)
		return false
	}
	return true
}

// caKey is where Secrets with certificates have that of the authority.
const caKey = "ca.crt"

// issue makes a certificate for a service, in a Secret of the kind that webhooks mount, and returns the authority to verify it
// by.
func issue(service Service, name string) (*corev1.Secret, *pki.Authority, error) {
	authority, err := pki.NewAuthority("crdconform webhook in a cluster")
	if err != nil {
		return nil, nil, err
	}
	secret, err := issueBy(authority, service, name)
	return secret, authority, err
}

// issueBy makes a certificate of an authority.
func issueBy(authority *pki.Authority, service Service, name string) (*corev1.Secret, error) {
	pair, err := authority.Server(service.ServerName(), service.Name+"."+service.Namespace, service.ServerName()+".cluster.local")
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: service.Namespace},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key, caKey: authority.PEM(),
		},
	}, nil
}

// account is one of the webhook's own: pods are not created before theirs is there, and it is unknown when that of a new
// namespace exists.
func (l Workload) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: l.Name}}
}

func (l Workload) service(run string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: l.Name},
		Spec: corev1.ServiceSpec{
			Selector: l.labels(run),
			Ports:    []corev1.ServicePort{{Name: "https", Port: l.ServicePort, TargetPort: intstr.FromInt32(l.Port), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// labels are what the pods are known by. Another run in the same namespace has others.
func (l Workload) labels(run string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": l.Name, cluster.RunLabel: run}
}

func (l Workload) deployment(run string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: l.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &l.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: l.labels(run)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l.labels(run)}, Spec: l.pod()},
		},
	}
}

func (l Workload) pod() corev1.PodSpec {
	const certs = "certs"
	open := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(l.Port)}}
	container := corev1.Container{
		Name: "webhook", Image: l.Image, ImagePullPolicy: Image{Loaded: l.Loaded}.pullPolicy(), Command: l.Command, Args: l.Args,
		Ports:        []corev1.ContainerPort{{Name: "https", ContainerPort: l.Port, Protocol: corev1.ProtocolTCP}},
		VolumeMounts: []corev1.VolumeMount{{Name: certs, MountPath: l.Certs, ReadOnly: true}},
		// Webhooks complain in their logs of clients that connect and say nothing, as probes do. So they are asked often while
		// they start, and now and then later on. One that takes long to start is for the timeout of the whole to end.
		StartupProbe:    &corev1.Probe{ProbeHandler: open, PeriodSeconds: 1, FailureThreshold: 3600},
		ReadinessProbe:  &corev1.Probe{ProbeHandler: open, PeriodSeconds: 5},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
		// With the log's end in place of what the container did not say itself.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: l.Env[name]})
	}
	if seconds := int64(l.Drain / time.Second); seconds > 0 {
		container.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
	if l.ReadOnlyRoot {
		container.SecurityContext.ReadOnlyRootFilesystem, container.SecurityContext.RunAsNonRoot = new(true), new(true)
		container.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"})
	}
	pod := corev1.PodSpec{
		ServiceAccountName: l.Name,
		Containers:         []corev1.Container{container},
		Volumes:            []corev1.Volume{{Name: certs, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: l.Name + "-cert"}}}},
	}
	if l.ReadOnlyRoot {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if l.Architecture != "" {
		pod.NodeSelector = map[string]string{corev1.LabelArchStable: l.Architecture}
	}
	return pod
}
