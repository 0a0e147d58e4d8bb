package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestMeaningsOfFlags has a flag be of one type, and mean one thing, whatever the command. A list of values is of the type of one.
func TestMeaningsOfFlags(t *testing.T) {
	t.Parallel()
	// What the help of a flag says wherever it is, if it doesn't say the same everywhere.
	meanings := map[string]string{
		"api-server": "API server", "assets": "with kube-apiserver and etcd", "baseline": "report", "ca-out": "file to write the certificate of the authority to",
		"context": "context of the kubeconfig", "dry-run": "nothing", "file": "file to", "filter": "only these",
		"history": "folder to add", "kind-image": "node image", "kubeconfig": "kubeconfig", "kubernetes": "minor version", "listen": "host and port to listen on",
		"namespace": "namespace", "objective": "limit for", "old": "definitions",
		"old-program": "program that serves the webhook of the old release", "output": "format: ", "rate": "requests per second", "recording": "file written by",
		"redact": "path in", "report-dir": "folder", "seed": "seed", "strict": "treat ", "to": "version",
	}
	const most = 220 // places for flags: one for each command that has it
	places := 0
	flags := map[string]string{} // by their names, with the type
	for _, cmd := range commands() {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if cmd.Hidden || f.Name == "help" {
				return
			}
			places++
			kind := f.Value.Type()
			for _, list := range []string{"s", "Slice", "Array"} {
				kind = strings.TrimSuffix(kind, list)
			}
			meaning, differs := meanings[f.Name]
			if !differs {
				meaning = f.Usage
			}
			text := kind + ": " + meaning
			if flags[f.Name] == "" {
				flags[f.Name] = text
			}
			if flags[f.Name] != text || !strings.Contains(f.Usage, meaning) {
				t.Errorf("%s --%s is of the type %s and means %q; elsewhere it is %s", cmd.CommandPath(), f.Name, kind, f.Usage, flags[f.Name])
			}
		})
	}
	if t.Logf("%d places for %d flags", places, len(flags)); places > most {
		t.Errorf("there are %d places for flags, want at most %d: what few need is a key without a flag in the table of options", places, most)
	}
}
