package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

func TestReferenceToItself(t *testing.T) {
	s := selection{knownFailing: "it's.txt"}
	if got, want := s.again(true), ` --strict --known-failing 'it'\''s.txt'`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(selection).again(false); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}

// TestEndpointIsChecked looks at what record does before it connects.
func TestEndpointIsChecked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "no PEM": "nonsense", "a key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		path := file(t, "ca.crt", text)
		if _, err := authority("--ca-file", path); err == nil || err.Error() != "--ca-file "+path+": no certificate in it; give PEM, beginning with -----BEGIN CERTIFICATE-----" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, ca := serve(t, webhook.Handler(), nil)
	r, flags := &recorder{url: "https://localhost/"}, pflag.NewFlagSet("record", pflag.ContinueOnError)
	r.flags.bind(flags, "record")
	check(t, flags.Parse([]string{"--ca-file", ca, "--set", "webhook.serverName=a.b.svc", "--set", "webhook.http2=true"}))
	client, err := r.connect()
	check(t, err)
	defer client.Close()
	if e := client.Endpoint(); e.ServerName != "a.b.svc" || !e.HTTP2 || e.Timeout != wire.APIServerTimeout || string(e.CA) != string(read(t, ca)) {
		t.Errorf("got %+v", e)
	}
}

// TestFlagsOverAFile has flags change the webhook of a file, and take its place.
func TestFlagsOverAFile(t *testing.T) {
	t.Parallel()
	file := file(t, "crdconform.yaml", configHead+"apiServer: kind\nwebhook: {inCluster: {image: a, replicas: 2}}\n")
	archive := there(t, "b.tar")
	for _, test := range []struct {
		args []string
		want config.InCluster
	}{
		{nil, config.InCluster{Image: "a", Replicas: 2}},
		{[]string{"--set", "webhook.inCluster.replicas=3", "--set", "webhook.inCluster.path=/b"}, config.InCluster{Image: "a", Replicas: 3, Path: "/b"}},
		{[]string{"--set", "webhook.inCluster.archive=b.tar"}, config.InCluster{Archive: archive}},
	} {
		c, cmd := &checker{name: "check"}, &cobra.Command{Use: "check"}
		c.bindOptions(cmd)
		c.bindSpecs(cmd)
		check(t, cmd.ParseFlags(append(test.args, "--config="+file)))
		c.take(cmd, nil)
		description, err := c.check()
		check(t, err)
		if got := *description.Webhook.InCluster; !reflect.DeepEqual(got, test.want) {
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
	args := []string{"--api-server=kind", "--set", "cluster.keep=true", "--webhook-manifests=a", "--webhook-manifests=b c", "--set", "webhook.inCluster.port=8443"}
	check(t, flags.Parse(args))
	if got, want := api.again(), " --api-server kind --set webhook.inCluster.port=8443 --webhook-manifests 'a,b c'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAgainElsewhere has what is judged again leave alone the report that says so, and the report of that as well.
func TestAgainElsewhere(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("disrupt", pflag.ContinueOnError)
	const elsewhere = "out/again"
	for _, dir := range []string{"out", elsewhere} {
		of := reporting{dir: dir}
		c := checker{name: "check", reporting: of, flags: flags}
		for _, again := range []func(string, requirement.ID) string{c.again, (&disrupter{checker: c}).againScenario, (&runner{reporting: of, api: clusterFlags{flags: flags}}).rerun} {
			has(t, strings.ReplaceAll(again("", requirement.WebhookResponseUID), "=", " ")+" ", "--report-dir "+elsewhere+" ")
		}
	}
}

// TestBoundsOfFlags has each number that flags give be out of its bounds: what is wrong is the flag.
func TestBoundsOfFlags(t *testing.T) {
	t.Parallel()
	for _, o := range options.All() {
		for _, command := range o.Commands {
			var f optionFlags
			f.bind(pflag.NewFlagSet(command, pflag.ContinueOnError), command)
			if o.Bounds == nil {
				continue
			}
			c, flag := config.Default(), "--"+o.Flag
			c.Webhook.InCluster = &config.InCluster{Image: "a"}
			if o.Flag == "" {
				flag = "--set " + o.Key
				check(t, f.flags.Parse([]string{"--set", o.Key + "=-1"}))
			} else {
				check(t, f.flags.Parse([]string{flag + "=-1"}))
			}
			err := errors.Join(f.over(&c), c.Validate())
			if want := "\n" + flag + ": "; err == nil || !strings.Contains("\n"+err.Error(), want) {
				t.Errorf("%s: got %v, want %q", command, err, want)
			}
		}
	}
}

// TestOptionFlags compares the flags of commands with the table of options: a flag that is not there says how the command works, and
// nothing that crdconform.yaml could say.
func TestOptionFlags(t *testing.T) {
	t.Parallel()
	var clusters, columns []string
	for _, o := range new(kinds.Options).Table() {
		if o.Name != kinds.ReadOnly && !strings.HasPrefix(o.Name, clusterKeys) {
			clusters = append(clusters, o.Name)
		}
	}
	for _, k := range columnKinds() {
		columns = append(columns, k.Columns.Flag)
	}
	for name, own := range map[string][]string{
		"check":   append(strings.Fields("build config fail-fast history quiet verbose hold known-failing record-expected watch write-lossy"), clusters...),
		"load":    strings.Fields("config history quiet verbose baseline max-regress"),
		"run":     append([]string{kinds.ReadOnly, "fail-fast", "history", "quiet", "verbose", "known-failing", "load-profile"}, clusters...),
		"matrix":  append([]string{"parallel", "known-failing"}, columns...),
		"column":  append([]string{"known-failing"}, clusters...),
		"diff":    strings.Fields("recording output"),
		"convert": strings.Fields("config to"),
		"record":  strings.Fields("listen name ca-out file"),
	} {
		cmd, _, err := newRoot(streams{}).Find([]string{name})
		check(t, err)
		want := own
		keys := false
		for _, o := range options.All() {
			switch {
			case slices.Contains(o.Commands, name) && o.Flag != "":
				want = append(want, o.Flag)
			case slices.Contains(o.Commands, name):
				keys = true
			}
		}
		if keys {
			want = append(want, "set")
		}
		var got []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the flags\n%v, want\n%v", name, got, want)
		}
	}
}
