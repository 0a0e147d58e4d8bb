package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedact has check and load be told by a flag and by a file what to redact. What is there is in nothing that they print or write.
func TestRedact(t *testing.T) {
	t.Parallel()
	const secret = "planted-host"
	samples := filepath.Join(t.TempDir(), "samples.yaml")
	text := "apiVersion: example.com/v1beta1\nkind: CronTab\nmetadata: {name: one}\nhostPort: " + secret + ":1234\n---\n" +
		"apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: two}\nhost: " + secret + "\nport: \"1234\"\n"
	if err := os.WriteFile(samples, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url, ca := serving(t, "swaps-host-and-port")
	broken, brokenCA := serving(t, "mangles-request")
	file := filepath.Join(t.TempDir(), "crdconform.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: crdconform.dev/v1alpha1\nkind: Config\nredact: [host, hostPort]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--redact", "host", "--redact=hostPort"}
	for name, test := range map[string]struct {
		args  []string
		leaks bool
	}{
		"check":               {append([]string{"check", url, "--ca-file", ca}, flags...), false},
		"check, by a file":    {[]string{"check", url, "--ca-file", ca, "--config", file, "--report-dir", "crdconform-report"}, false},
		"check, by no path":   {[]string{"check", url, "--ca-file", ca}, true},
		"load":                {append([]string{"load", broken, "--ca-file", brokenCA, "--duration", "200ms"}, flags...), false},
		"load, by no path":    {[]string{"load", broken, "--ca-file", brokenCA, "--duration", "200ms"}, true},
		"check of a bad port": {append([]string{"check", url, "--ca-file", ca, "--redact", "port"}, flags...), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := invoke(t, append(test.args, "--samples", samples)...)
			r.exits(t, exitViolates)
			said := map[string]string{"the output": r.out, "the standard error": r.err}
			err := filepath.WalkDir(r.dir, func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				data, err := os.ReadFile(name)
				said[name] = string(data)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for where, text := range said {
				if at := strings.Index(text, secret); at >= 0 {
					found++
					if !test.leaks {
						t.Errorf("%s has %q", where, text[max(0, at-60):min(len(text), at+60)])
					}
				}
			}
			if test.leaks && found == 0 {
				t.Error("it is nowhere without redaction either")
			}
			if !test.leaks && !strings.Contains(said[filepath.Join(r.dir, "crdconform-report", "summary.md")], "were masked before any request was sent") {
				t.Errorf("the report does not say so:\n%s", r.out)
			}
		})
	}
	for args, want := range map[string]string{
		"--redact spec.pasword":  "--redact: no sample has a value at spec.pasword; write the path as the samples have it, or remove it",
		"--redact spec.a[]":      `--redact: the path "spec.a[]" has []; write [*]`,
		"--redact metadata.name": `--redact: the path "metadata.name" cannot be redacted`,
	} {
		r := invoke(t, append([]string{"check", url, "--ca-file", ca, "--samples", samples}, strings.Fields(args)...)...)
		r.exits(t, exitUsage)
		if !strings.Contains(r.err, want) {
			t.Errorf("%s: it says %q, want %q", args, r.err, want)
		}
	}
}
