// Command manager is an operator for the Widgets of the program kubebuilder: controller-runtime's manager with a controller, a conversion
// webhook and the flags that kubebuilder gives such programs. It finds its API server as controller-runtime does, by --kubeconfig,
// KUBECONFIG, the service account of a pod, and the file in the home folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1alpha1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1beta1"
)

// options are what the flags say.
type options struct {
	port         int
	certs        string
	probes       string
	leaderElects bool
	owns         bool
}

func main() {
	o := options{}
	flag.IntVar(&o.port, "webhook-port", webhook.DefaultPort, "port of the webhook")
	flag.StringVar(&o.certs, "webhook-cert-path", "", "directory with tls.crt and tls.key")
	flag.StringVar(&o.probes, "health-probe-bind-address", "0", "address of the probes; 0 for none")
	flag.BoolVar(&o.leaderElects, "leader-elect", false, "have one manager work at a time")
	flag.BoolVar(&o.owns, "owns-config-maps", false, "watch ConfigMaps, which only a whole control plane serves")
	flag.Parse()
	ctrl.SetLogger(funcr.NewJSON(func(line string) { fmt.Fprintln(os.Stderr, line) }, funcr.Options{}))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		ctrl.Log.Error(err, "unable to run the manager")
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, o options) error {
	scheme := runtime.NewScheme()
	for group, widget := range map[schema.GroupVersion]runtime.Object{
		v1.GroupVersion():       &v1.Widget{},
		v1beta1.GroupVersion():  &v1beta1.Widget{},
		v1alpha1.GroupVersion(): &v1alpha1.Widget{},
	} {
		scheme.AddKnownTypes(group, widget)
		metav1.AddToGroupVersion(scheme, group)
	}
	scheme.AddKnownTypeWithName(v1.GroupVersion().WithKind("WidgetList"), &widgetList{})
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: o.probes,
		LeaderElection: o.leaderElects, LeaderElectionID: "manager.factory.example.org",
		WebhookServer: webhook.NewServer(webhook.Options{Port: o.port, CertDir: o.certs}),
	})
	if err != nil {
		return err
	}
	if err := builder.WebhookManagedBy(mgr, &v1.Widget{}).Complete(); err != nil {
		return err
	}
	widgets := ctrl.NewControllerManagedBy(mgr).For(&v1.Widget{})
	if o.owns {
		widgets = widgets.Owns(&corev1.ConfigMap{})
	}
	if err := widgets.Complete(reconciler{mgr.GetClient()}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// widgetList is what the cache lists.
type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []v1.Widget `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *widgetList) DeepCopyObject() runtime.Object {
	copied := &widgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopy())
	}
	return copied
}

// reconciler reads Widgets.
type reconciler struct{ client.Client }

// Reconcile reads a Widget through the cache.
func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, request.NamespacedName, &v1.Widget{}))
}
