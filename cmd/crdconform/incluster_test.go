package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
)

// TestWebhookToDeploy gives what cannot be deployed: it is refused before anything begins, in the words of the flags.
func TestWebhookToDeploy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := write("text.tar", "hello")
	pod := write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	service := write("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}}\n")
	pods := write("pods.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}, ports: [{port: 1}, {port: 2}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\n")
	deployment := write("crdconform.yaml", "apiVersion: crdconform.dev/v1alpha1\nkind: Config\nwebhook: {inCluster: {image: a, replicas: 2}}\n")
	const url = "https://localhost:1/convert"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such minor":      {[]string{"run", "--cluster=kind", "--kubernetes=1.99"}, "--kubernetes: no kind configuration for Kubernetes 1.99 (want 1."},
		"no minor":           {[]string{"check", url, "--cluster=kind", "--kubernetes=9.99"}, `--kubernetes: "9.99" is not a Kubernetes minor`},
		"no pods":            {[]string{"run", "--webhook-image=a"}, "--webhook-image is only valid with --cluster kind or existing, not embedded"},
		"no pods here":       {[]string{"check", "--cluster=envtest", "--webhook-image=a"}, "--webhook-image is only valid with --cluster kind or existing, not envtest"},
		"nothing":            {[]string{"run", "--cluster=kind", "--webhook-port=1"}, "--webhook-port: no webhook to deploy specified; give --webhook-image"},
		"nothing to check":   {[]string{"check", "--cluster=kind", "--webhook-replicas=2"}, "--webhook-replicas: no webhook to deploy specified"},
		"two":                {[]string{"check", url, "--cluster=kind", "--webhook-image=a"}, "--webhook-image deploys a webhook, but a URL, a program or --from-crd is also given"},
		"port 0":             {[]string{"run", "--cluster=kind", "--webhook-image=a", "--webhook-port=0"}, "--webhook-port: 0 is not a port: want 1 to 65535; leave it out for the default"},
		"no port":            {[]string{"run", "--cluster=kind", "--webhook-image=a", "--webhook-target-port=70000"}, "--webhook-target-port: 70000 is not a port"},
		"many pods":          {[]string{"check", "--cluster=kind", "--webhook-image=a", "--webhook-replicas=1000"}, "--webhook-replicas: 1000 pods: want 1 to 100"},
		"odd service":        {[]string{"run", "--cluster=kind", "--webhook-image=a", "--webhook-service=a/b/c"}, `--webhook-service: "a/b/c" is not the name of a service`},
		"secret for nobody":  {[]string{"run", "--cluster=kind", "--webhook-image=a", "--webhook-secret=b"}, "--webhook-secret: it is only valid with manifests"},
		"two certificates":   {[]string{"run", "--cluster=kind", "--webhook-manifests=" + service, "--webhook-secret=b", "--webhook-ca-secret=c"}, "--webhook-ca-secret: there is --webhook-secret too"},
		"no archive":         {[]string{"run", "--cluster=kind", "--webhook-image-archive=none.tar"}, "--webhook-image-archive: image archive: stat none.tar"},
		"text":               {[]string{"check", "--cluster=kind", "--webhook-image-archive=" + text}, "not an archive written by docker save"},
		"archive elsewhere":  {[]string{"run", "--cluster=existing", "--context=a", "--webhook-image-archive=" + text}, "--webhook-image-archive is only valid with --cluster kind, not existing"},
		"no manifests":       {[]string{"run", "--cluster=kind", "--webhook-manifests=none"}, "--webhook-manifests: none: no such file or folder"},
		"no service":         {[]string{"check", "--cluster=kind", "--webhook-manifests=" + pod}, "--webhook-manifests: the manifests contain no Service"},
		"no port of it":      {[]string{"run", "--cluster=kind", "--webhook-manifests=" + pods, "--webhook-secret=b"}, "--webhook-manifests: Service a (" + pods + ", document 1) has no port 443; it has 1, 2; choose one as the port (--webhook-port)"},
		"no authority":       {[]string{"run", "--cluster=kind", "--webhook-manifests=" + pods, "--webhook-port=2"}, "name a Secret that its pods mount, to store a certificate in, or one that has the ca.crt of their certificate (--webhook-secret or --webhook-ca-secret)"},
		"odd image":          {[]string{"run", "--cluster=kind", "--webhook-image=Bad Image"}, `--webhook-image: "Bad Image" is not an image name`},
		"no kind config":     {[]string{"run", "--cluster=kind", "--kind-config=none.yaml"}, "--kind-config: kind configuration none.yaml does not exist"},
		"two hosts":          {[]string{"run", "--cluster=existing", "--context=a", "--webhook-host=10.0.0.1:99"}, "--webhook-host 10.0.0.1:99: give the address alone; webhook-listen is for the port"},
		"no pods for it":     {[]string{"run", "--cluster=kind", "--webhook-manifests=" + service}, "and nothing among the manifests makes such pods"},
		"CA":                 {[]string{"check", "--cluster=kind", "--webhook-image=a", "--ca-file=" + text}, "--ca-file: it is only valid with url and fromCRD"},
		"file, no cluster":   {[]string{"check", "--config=" + deployment}, "webhook.inCluster: no pods can run with cluster embedded; set cluster to kind or existing"},
		"no context":         {[]string{"check", "--config=" + deployment, "--cluster=existing"}, "--cluster existing requires --context NAME"},
		"flags of a kind":    {[]string{"check", "--config=" + deployment, "--cluster=none", "--kind-image=a"}, "--kind-image is only valid with --cluster kind, not none"},
		"none for run":       {[]string{"run", "--cluster=none"}, "--cluster none: an API server is required"},
		"certificates twice": {[]string{"serve", "--cert-dir=a", "--ca-out=b"}, "--ca-out: cannot be combined with --cert-dir"},
		"time before":        {[]string{"serve", "--drain=-1s"}, "--drain -1s: must be at least 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := invoke(t, test.args...)
			r.exits(t, exitUsage)
			if !strings.Contains(r.err, test.want) {
				t.Errorf("it says %q, want %q", r.err, test.want)
			}
		})
	}
}

// TestFlagsOverAFile has flags change the webhook of a file, and take its place.
func TestFlagsOverAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "crdconform.yaml")
	text := "apiVersion: crdconform.dev/v1alpha1\nkind: Config\ncluster: kind\nwebhook: {inCluster: {image: a, replicas: 2}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	archive, err := filepath.Abs("b.tar")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want config.InCluster
	}{
		"nothing":   {nil, config.InCluster{Image: "a", Replicas: 2}},
		"a setting": {[]string{"--webhook-replicas=3", "--webhook-path=/b"}, config.InCluster{Image: "a", Replicas: 3, Path: "/b"}},
		"another":   {[]string{"--webhook-image-archive=b.tar"}, config.InCluster{Archive: archive}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, cmd := &checker{name: "check"}, &cobra.Command{Use: "check"}
			c.bindOptions(cmd)
			c.bindSpecs(cmd)
			if err := cmd.ParseFlags(append(test.args, "--config="+file)); err != nil {
				t.Fatal(err)
			}
			c.take(cmd, nil)
			check, err := c.check()
			if err != nil {
				t.Fatal(err)
			}
			if got := *check.Webhook.InCluster; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestAgainWithAWebhook repeats the flags of a run that deploys a webhook.
func TestAgainWithAWebhook(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(optionFlags).bind(flags, "run")
	var api clusterFlags
	api.bind(streams{}, flags, "run")
	if err := flags.Parse([]string{"--cluster=kind", "--keep", "--webhook-manifests=a", "--webhook-manifests=b c", "--webhook-port=8443"}); err != nil {
		t.Fatal(err)
	}
	if got, want := api.again(), " --cluster kind --webhook-manifests 'a,b c' --webhook-port 8443"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
