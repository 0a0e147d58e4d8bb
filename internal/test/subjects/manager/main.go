// Command manager is an operator for the Widgets of the program kubebuilder: controller-runtime's manager with a controller, a conversion
// webhook and flags as kubebuilder gives such programs. It finds its API server as controller-runtime does: by KUBECONFIG, the service
// account of a pod, or the file in the home folder.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"
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
	leaderElects bool
}

func main() {
	o := options{}
	pflag.IntVar(&o.port, "webhook-port", webhook.DefaultPort, "port of the webhook")
	pflag.StringVar(&o.certs, "webhook-cert-path", "", "directory with tls.crt and tls.key")
	pflag.BoolVar(&o.leaderElects, "leader-elect", false, "have one manager work at a time")
	pflag.Parse()
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
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: o.leaderElects, LeaderElectionID: "manager.factory.example.org",
		WebhookServer: webhook.NewServer(webhook.Options{Port: o.port, CertDir: o.certs}),
	})
	if err != nil {
		return err
	}
	if err := builder.WebhookManagedBy(mgr, &v1.Widget{}).Complete(); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&v1.Widget{}).Complete(reconciler{mgr.GetClient()}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// widgetList is what the cache lists.
type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []v1.Widget `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *widgetList) DeepCopyObject() runtime.Object {
	copied := &widgetList{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy()}
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
