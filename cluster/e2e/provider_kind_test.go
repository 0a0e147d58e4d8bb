//go:build kind

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/klient/wait/conditions"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/crdconform/crdconform/internal/cluster/kind"
)

const (
	clusterName = "test-e2e"
	loaded      = "example.com/crdconform-test:e2e"
)

// framework is the environment of the tests, as users of the framework have it.
var framework env.Environment

func TestMain(m *testing.M) { os.Exit(run(m)) } //nolint:forbidigo // this is the main function of the tests

func run(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" { // which needs no cluster
		return m.Run()
	}
	image, config := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE"), os.Getenv("CRDCONFORM_TEST_KIND_CONFIG") //nolint:forbidigo // CI sets them
	if image == "" {
		panic("CRDCONFORM_TEST_KIND_IMAGE names no node image to make a cluster of")
	}
	dir, err := os.MkdirTemp("", "crdconform-e2e-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	archive, logs := filepath.Join(dir, "image.tar"), filepath.Join(dir, "logs")
	if err := writeImage(archive); err != nil {
		panic(err)
	}
	framework = env.New()
	clusters := NewProvider(kind.Options{Image: image})
	create := envfuncs.CreateClusterWithOpts(clusters, clusterName, Options(func(o *kind.Options) { o.Run = "e2e" }))
	if config != "" {
		create = envfuncs.CreateClusterWithConfig(clusters, clusterName, config, Options(func(o *kind.Options) { o.Run = "e2e" }))
	}
	framework.Setup(create, envfuncs.LoadImageArchiveToCluster(clusterName, archive))
	framework.Finish(envfuncs.ExportClusterLogs(clusterName, logs), envfuncs.DestroyCluster(clusterName))
	code := framework.Run(m)
	if err := gone(clusters, logs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// writeImage writes an image of nothing in particular.
func writeImage(file string) error {
	tag, err := name.NewTag(loaded)
	if err != nil {
		return err
	}
	image, err := random.Image(1024, 1)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, image)
}

// gone returns what is not as it is to be after the framework has finished.
func gone(clusters support.E2EClusterProvider, logs string) error {
	if clusters.KubernetesRestConfig() != nil {
		return errors.New("the provider still has a cluster")
	}
	left, err := kind.Left(context.Background(), "")
	if err != nil || slices.ContainsFunc(left, func(l kind.Leftover) bool { return strings.HasSuffix(l.Name, clusterName) }) {
		return fmt.Errorf("left are %v, %w", left, err)
	}
	if _, err := os.Stat(filepath.Join(logs, "kube-apiserver.log")); err != nil {
		return fmt.Errorf("the logs were not exported: %w", err)
	}
	return nil
}

func TestFramework(t *testing.T) {
	feature := features.New("a cluster of package kind").
		Assess("its API server keeps objects", func(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
			t.Helper()
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default"}, Data: map[string]string{"a": "b"}}
			if err := c.Client().Resources().Create(ctx, settings); err != nil {
				t.Fatal(err)
			}
			if err := wait.For(conditions.New(c.Client().Resources()).ResourceMatch(settings, func(object k8s.Object) bool {
				kept, ok := object.(*corev1.ConfigMap)
				return ok && kept.Data["a"] == "b"
			})); err != nil {
				t.Error(err)
			}
			return ctx
		}).
		Assess("the image that was loaded is known to the node", func(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
			t.Helper()
			var nodes corev1.NodeList
			known := func(ctx context.Context) (bool, error) {
				if err := c.Client().Resources().List(ctx, &nodes); err != nil {
					return false, err
				}
				return strings.Contains(fmt.Sprint(nodes.Items[0].Status.Images), loaded), nil
			}
			if err := wait.For(known, wait.WithContext(ctx)); err != nil {
				t.Errorf("the images are %v: %v", nodes.Items[0].Status.Images, err)
			}
			return ctx
		}).
		Assess("its provider reports it", func(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
			t.Helper()
			found, ok := envfuncs.GetClusterFromContext(ctx, clusterName)
			own, is := found.(*provider)
			if !ok || !is {
				t.Fatalf("the context has %v", found)
			}
			if got, want := own.GetKubectlContext(), "kind-"+kind.Prefix+clusterName; got != want {
				t.Errorf("the context is %s, not %s", got, want)
			}
			if own.GetKubeconfig() != c.KubeconfigFile() {
				t.Errorf("the kubeconfig is %s, and the framework's %s", own.GetKubeconfig(), c.KubeconfigFile())
			}
			if again, err := own.GenerateKubeconfig(); err != nil || again != own.GetKubeconfig() {
				t.Errorf("another kubeconfig: %s, %v", again, err)
			}
			if host := own.KubernetesRestConfig().Host; host != c.Client().RESTConfig().Host {
				t.Errorf("the API server is %s, and the framework's %s", host, c.Client().RESTConfig().Host)
			}
			if _, err := own.Create(ctx); err == nil || !strings.Contains(err.Error(), "has the cluster") {
				t.Errorf("a second cluster: %v", err)
			}
			if err := own.LoadImage(ctx, "example.com/no-such-image"); err == nil || !strings.Contains(err.Error(), "has no image") {
				t.Errorf("an image that is not there: %v", err)
			}
			return ctx
		}).Feature()
	framework.Test(t, feature)
}
