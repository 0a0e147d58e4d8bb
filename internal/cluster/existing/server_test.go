package existing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crdconform/crdconform/internal/test/needs"
)

// The API server that all tests share is a kube-apiserver with RBAC, started for the first that wants it.
var (
	environment = &envtest.Environment{ControlPlaneStartTimeout: 3 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	startServer = sync.OnceValues(func() (*rest.Config, error) {
		log.SetLogger(logr.Discard())
		// There is no proxy for ClusterIPs, so that the API server has to find endpoints by itself.
		arguments := environment.ControlPlane.GetAPIServer().Configure().Set("enable-aggregator-routing", "true")
		started = true
		var err error
		if audited, err = os.MkdirTemp("", "crdconform-audit-"); err != nil {
			return nil, err
		}
		const policy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
			"rules": [{"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}]}`
		if err := os.WriteFile(filepath.Join(audited, "policy.yaml"), []byte(policy), 0o600); err != nil {
			return nil, err
		}
		arguments.Set("audit-policy-file", filepath.Join(audited, "policy.yaml")).Set("audit-log-path", filepath.Join(audited, "audit.log"))
		return environment.Start()
	})
	started bool
	audited string // the folder with the log of writes
)

func TestMain(m *testing.M) {
	if isRun(os.Args) {
		return
	}
	m.Run()
	if started {
		if err := errors.Join(environment.Stop(), os.RemoveAll(audited)); err != nil {
			panic(err)
		}
	}
}

// server is the API server of the tests, as its administrator sees it.
type server struct {
	config      *rest.Config
	client      kubernetes.Interface
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
}

// apiServer returns the API server. The test is skipped when there are no programs for it, unless CRDCONFORM_REQUIRE_TOOLS is
// set; it fails then.
func apiServer(t *testing.T) server {
	t.Helper()
	needs.APIServer(t)
	config, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err1 := kubernetes.NewForConfig(config)
	definitions, err2 := clientset.NewForConfig(config)
	objects, err3 := dynamic.NewForConfig(config)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return server{config, client, definitions.ApiextensionsV1().CustomResourceDefinitions(), objects}
}

// kubeconfig writes a kubeconfig with the context test for a user and returns its path.
func (s server) kubeconfig(t *testing.T, user api.AuthInfo) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: s.config.Host, CertificateAuthorityData: s.config.CAData}
	config.AuthInfos["test"] = &user
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "test"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// as returns the credentials of a user, for whom the administrator acts.
func (s server) as(user string) api.AuthInfo {
	return api.AuthInfo{ClientCertificateData: s.config.CertData, ClientKeyData: s.config.KeyData, Impersonate: user}
}

// admin returns the credentials of the administrator.
func (s server) admin() api.AuthInfo { return s.as("") }

// ip returns an address of this machine that services can lead to.
func ip(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && unroutable(network.IP.String()) == "" {
			return network.IP.String()
		}
	}
	if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
		t.Fatal("this machine has no address but loopback, and CRDCONFORM_REQUIRE_TOOLS is set")
	}
	t.Skip("this machine has no address but loopback, to which no service can lead")
	return ""
}

// bind gives a user the rights of a role.
func (s server) bind(t *testing.T, user, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if _, err := s.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.client.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// allow gives a user a right, and no more.
func (s server) allow(t *testing.T, user string, rights ...Right) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, right := range rights {
		rule := rbacv1.PolicyRule{Verbs: []string{right.Verb}}
		if right.Path != "" {
			rule.NonResourceURLs = []string{right.Path}
		} else {
			rule.APIGroups, rule.Resources = []string{right.Group}, []string{right.Resource}
		}
		role.Rules = append(role.Rules, rule)
	}
	if _, err := s.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.bind(t, user, role.Name)
	t.Cleanup(func() {
		if err := s.client.RbacV1().ClusterRoles().Delete(context.WithoutCancel(t.Context()), role.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// eventually waits until something is as it should be, for which RBAC may take a moment after it was changed.
func eventually(t *testing.T, what func() error) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for {
		err := what()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
}

// connected starts a connection that ends with the test.
func connected(t *testing.T, options Options) *Cluster {
	t.Helper()
	options.Context = "test"
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // the second time there is nothing to do
			if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// finalize lets namespaces go that are deleted, as the controller of a whole cluster does, until the test is over.
func (s server) finalize(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.finalizeAll(ctx)
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
}

func (s server) finalizeAll(ctx context.Context) {
	list, err := s.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the next time
	}
	for _, namespace := range list.Items {
		if namespace.DeletionTimestamp == nil {
			continue
		}
		s.empty(ctx, namespace.Name)
		namespace.Spec.Finalizers = nil
		// What goes wrong makes the namespace stay, which is what tests look at.
		_, _ = s.client.CoreV1().Namespaces().Finalize(ctx, &namespace, metav1.UpdateOptions{})
	}
}

// empty removes what tests make in namespaces.
func (s server) empty(ctx context.Context, namespace string) {
	services, err := s.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, service := range services.Items {
		_ = s.client.CoreV1().Services(namespace).Delete(ctx, service.Name, metav1.DeleteOptions{})
	}
	_ = s.client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	_ = s.client.CoreV1().ConfigMaps(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// gone wants something not to be there.
func gone(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.IsNotFound(err) {
		t.Errorf("%s is still there, or: %v", what, err)
	}
}

// untouched wants a service and a namespace of somebody else's to be as they were.
func (s server) untouched(t *testing.T, before ...metav1.Object) {
	t.Helper()
	for _, was := range before {
		var now metav1.Object
		var err error
		switch was.(type) {
		case *corev1.Namespace:
			now, err = s.client.CoreV1().Namespaces().Get(t.Context(), was.GetName(), metav1.GetOptions{})
		case *corev1.Service:
			now, err = s.client.CoreV1().Services(was.GetNamespace()).Get(t.Context(), was.GetName(), metav1.GetOptions{})
		case *corev1.ConfigMap:
			now, err = s.client.CoreV1().ConfigMaps(was.GetNamespace()).Get(t.Context(), was.GetName(), metav1.GetOptions{})
		default:
			now, err = s.definitions.Get(t.Context(), was.GetName(), metav1.GetOptions{})
		}
		if err != nil || now.GetUID() != was.GetUID() || now.GetResourceVersion() != was.GetResourceVersion() || now.GetDeletionTimestamp() != nil {
			t.Errorf("%s was touched: %v, %v", was.GetName(), now, err)
		}
	}
}

// single joins an error to one line.
func single(err error) string { return strings.ReplaceAll(fmt.Sprint(err), "\n", " ") }
