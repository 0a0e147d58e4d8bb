package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forgetful converts objects by their apiVersion alone, and drops what v2 has no field for, on the way there.
func forgetful(t *testing.T) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Request    struct {
				UID               string           `json:"uid"`
				DesiredAPIVersion string           `json:"desiredAPIVersion"`
				Objects           []map[string]any `json:"objects"`
			} `json:"request"`
		}
		decoder := json.NewDecoder(r.Body)
		decoder.UseNumber()
		if err := decoder.Decode(&review); err != nil || review.Request.UID == "" || !strings.HasPrefix(review.APIVersion, "apiextensions.k8s.io/v1") {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		result := map[string]any{"status": "Success"}
		for _, object := range review.Request.Objects {
			if spec, is := object["spec"].(map[string]any); is && strings.HasSuffix(review.Request.DesiredAPIVersion, "/v2") && object["apiVersion"] != review.Request.DesiredAPIVersion {
				delete(spec, "legacy")
			}
			object["apiVersion"] = review.Request.DesiredAPIVersion
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": review.APIVersion, "kind": review.Kind,
			"response": map[string]any{"uid": review.Request.UID, "convertedObjects": review.Request.Objects, "result": result},
		})
	})
}

// forgotten are definitions that lose a field by design.
const forgotten = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: KINDs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: KINDs, kind: KIND}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      name: {type: string}, legacy: {type: object, properties: {mode: {type: string}, keys: {type: object, additionalProperties: {type: string}}}}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {name: {type: string}}}}}}}
`

// forgottenIn writes two such definitions, and returns the flags that name them.
func forgottenIn(t *testing.T, dir string) []string {
	t.Helper()
	var flags []string
	for _, kind := range []string{"widget", "gadget"} {
		file := filepath.Join(dir, kind+".yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(forgotten, "KIND", kind)), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--crd", file)
	}
	return flags
}

// TestLossesArePasted checks two definitions, pastes the losses that are written into a configuration file, and checks them again:
// now they conform.
func TestLossesArePasted(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, forgetful(t), nil)
	dir := t.TempDir()
	args := append([]string{"check", url, "--ca-file", ca, "--cluster", "none", "--objects", few, "--filter", "webhook.conversion"}, forgottenIn(t, dir)...)
	stanza := filepath.Join(dir, "lossy.yaml")
	first := invoke(t, append(args, "--write-lossy", stanza)...)
	first.exits(t, exitViolates)
	text, err := os.ReadFile(stanza)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n- path: \"spec.legacy\"\n"); n != 2 || !strings.Contains(first.out, "writes all 2:\nlossy:\n- {path: \"spec.legacy\", group: \"example.com\", kind: \"gadget\", from: \"v1\"") {
		t.Errorf("there are %d entries:\n%s\nand it says:\n%s", n, text, first.out)
	}
	if lines := strings.Count(first.out, "\n"); lines > 20 {
		t.Errorf("it says %d lines:\n%s", lines, first.out)
	}
	again := invoke(t, append(args, "--write-lossy", stanza)...)
	again.exits(t, exitUsage)
	if !strings.Contains(again.err, "--write-lossy: open "+stanza+": file exists; give the name of a new file") {
		t.Errorf("over the file it says %q", again.err)
	}
	pasted := filepath.Join(dir, "crdconform.yaml")
	if err := os.WriteFile(pasted, append([]byte("apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	unneeded := filepath.Join(dir, "unneeded.yaml")
	second := invoke(t, append(args, "--config", pasted, "--write-lossy", unneeded)...)
	second.exits(t, exitConforms)
	if _, err := os.Stat(unneeded); err == nil || !strings.Contains(second.out, "Nothing is lost that could be declared") {
		t.Errorf("there is a file of no losses, or it says:\n%s", second.out)
	}
}

// TestLoadOfOneDefinition has the report say that the load consists of objects of one definition.
func TestLoadOfOneDefinition(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, forgetful(t), nil)
	r := invoke(t, append([]string{"load", url, "--ca-file", ca, "--duration", "200ms", "--rate", "20"}, forgottenIn(t, t.TempDir())...)...)
	want := "The load consists of objects of gadgets.example.com only, the first of 2 definitions."
	if notes := r.report(t).Notes; !slices.Contains(notes, want) {
		t.Errorf("the notes are %q, want %q among them", notes, want)
	}
}
