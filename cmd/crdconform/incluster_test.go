package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
)

// TestFlagsOverAFile has flags change the webhook of a file, and take its place.
func TestFlagsOverAFile(t *testing.T) {
	t.Parallel()
	file := file(t, "crdconform.yaml", configHead+"cluster: kind\nwebhook: {inCluster: {image: a, replicas: 2}}\n")
	archive, err := filepath.Abs("b.tar")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want config.InCluster
	}{
		{nil, config.InCluster{Image: "a", Replicas: 2}},
		{[]string{"--webhook-replicas=3", "--webhook-path=/b"}, config.InCluster{Image: "a", Replicas: 3, Path: "/b"}},
		{[]string{"--webhook-image-archive=b.tar"}, config.InCluster{Archive: archive}},
	} {
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
			t.Errorf("%q: got %+v, want %+v", test.args, got, test.want)
		}
	}
}

// TestAgainWithAWebhook repeats the flags of a run that deploys a webhook.
func TestAgainWithAWebhook(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(optionFlags).bind(flags, "run")
	var api clusterFlags
	api.bind(streams{}, flags, "run")
	args := []string{"--cluster=kind", "--keep", "--webhook-manifests=a", "--webhook-manifests=b c", "--webhook-port=8443"}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if got, want := api.again(), " --cluster kind --webhook-manifests 'a,b c' --webhook-port 8443"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
