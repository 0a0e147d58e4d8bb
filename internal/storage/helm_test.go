package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
)

// helmRelease is what Helm keeps of a release with an object, in a Secret or a ConfigMap.
func helmRelease(t *testing.T, kind, name, status, apiVersion string) *unstructured.Unstructured {
	t.Helper()
	manifest := "---\n# Source: templates/web.yaml\napiVersion: " + apiVersion + "\nkind: Thing\nmetadata: {name: web, namespace: shops}\n"
	text, err := json.Marshal(map[string]any{"name": name, "namespace": "default", "manifest": manifest, "config": map[string]any{"password": "hidden"}})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, wrote := w.Write(text)
	if err := errors.Join(wrote, w.Close()); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(packed.Bytes())
	if kind == "Secret" {
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": "sh.helm.release.v1." + name + ".v1", "namespace": "default", "labels": map[string]any{"owner": "helm", "status": status}},
		"data":     map[string]any{"release": data},
	}}
}

// TestHelm finds what deployed releases name, wherever Helm keeps them, and keeps nothing else of them.
func TestHelm(t *testing.T) {
	t.Parallel()
	damaged := helmRelease(t, "Secret", "damaged", "deployed", "example.com/v1")
	damaged.Object["data"] = map[string]any{"release": "AAAA"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New(`User "jane" cannot list resource "secrets"`))
	for name, test := range map[string]struct {
		objects []runtime.Object
		fails   error // of the list of Secrets
		skip    []string
		want    Answer
		text    string // in the condition
	}{
		"none":                  {nil, nil, nil, Safe, "No annotation of kubectl and no release of Helm names v1; manifests elsewhere were not looked at."},
		"Secret":                {[]runtime.Object{helmRelease(t, "Secret", "shop", "deployed", "example.com/v1")}, nil, nil, NotSafe, "shops/web (release shop in namespace default)"},
		"ConfigMap":             {[]runtime.Object{helmRelease(t, "ConfigMap", "shop", "deployed", "example.com/v1")}, nil, nil, NotSafe, "shops/web (release shop in namespace default)"},
		"another version":       {[]runtime.Object{helmRelease(t, "Secret", "shop", "deployed", "example.com/v2")}, nil, nil, Safe, ""},
		"another group":         {[]runtime.Object{helmRelease(t, "Secret", "shop", "deployed", "example.org/v1")}, nil, nil, Safe, ""},
		"replaced":              {[]runtime.Object{helmRelease(t, "Secret", "shop", "superseded", "example.com/v1")}, nil, nil, Safe, ""},
		"left out":              {[]runtime.Object{helmRelease(t, "Secret", "shop", "deployed", "example.com/v1")}, nil, []string{"secrets"}, Safe, "Not looked at, as you asked: secrets."},
		"damaged":               {[]runtime.Object{damaged}, nil, nil, CannotTell, "secrets default/sh.helm.release.v1.damaged.v1"},
		"damaged, beside a bug": {[]runtime.Object{damaged, helmRelease(t, "Secret", "shop", "deployed", "example.com/v1")}, nil, nil, NotSafe, "shops/web"},
		"not allowed":           {nil, forbidden, nil, CannotTell, "--resource=secrets"},
		"no such resource":      {nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ""), nil, Safe, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
				{Version: "v1", Resource: "secrets"}: "SecretList", {Version: "v1", Resource: "configmaps"}: "ConfigMapList",
			}, test.objects...)
			if test.fails != nil {
				client.PrependReactor("list", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, test.fails })
			}
			d := thing()
			i := &inspector{inventory: &Inventory{Definitions: []*Definition{d}, Skipped: test.skip}, objects: client, options: Options{Skip: test.skip}, book: &book{counts: *newCounts(), pending: newCounts()}}
			if err := i.helm(t.Context()); err != nil {
				t.Fatal(err)
			}
			i.sum(d)
			conditions := judgement{inventory: i.inventory, definition: d, version: d.Version("v1")}.manifests()
			parts := []string{conditions[0].Text}
			for _, b := range conditions[0].First {
				parts = append(parts, b.String()+" ("+b.By+")")
			}
			for _, gap := range conditions[0].Gaps {
				parts = append(parts, gap.What, gap.Why, gap.Mend)
			}
			text := strings.Join(parts, " ")
			if conditions[0].Answer != test.want || len(conditions) != 1 || !strings.Contains(text, test.text) {
				t.Errorf("got %s: %s\nwant %s: %s", conditions[0].Answer, text, test.want, test.text)
			}
			if all, err := json.Marshal(i.inventory); err != nil || strings.Contains(string(all), "hidden") {
				t.Errorf("%v: %s", err, all)
			}
		})
	}
}
