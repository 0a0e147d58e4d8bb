package deployed

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster/pki"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("localhost")
	if err != nil {
		t.Fatal(err)
	}
	var r redactor
	r.secret(map[string][]byte{corev1.TLSPrivateKeyKey: pair.Key, corev1.TLSCertKey: pair.Certificate, "pass": []byte("correct horse\n"), "short": []byte("no")})
	r.environment(map[string]string{"DB_PASSWORD": "battery staple", "LOG_LEVEL": "verbose", "EMPTY_TOKEN": ""})
	r.manifest(parsed(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: "+base64.StdEncoding.EncodeToString([]byte("encoded secret"))+"}\nstringData: {b: plain secret}\n")[0].Unstructured)
	r.manifest(parsed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: not a secret}\n")[0].Unstructured)
	keyLine := strings.Split(string(pair.Key), "\n")[1]
	for text, want := range map[string]string{
		"it says correct horse, then":           "it says [redacted], then",
		"Y29ycmVjdCBob3JzZQo= in base64":        "[redacted] in base64",
		"battery staple at verbose, no":         "[redacted] at verbose, no",
		"an encoded secret and a plain secret":  "an [redacted] and a [redacted]",
		"not a secret":                          "not a secret",
		keyLine:                                 "[redacted]",
		string(pair.Certificate):                string(pair.Certificate),
		"password=hunter22 user=me":             "password=[redacted] user=me",
		`{"api_key": "abcdef", "a": 1}`:         `{"api_key": "[redacted]", "a": 1}`,
		"Authorization: Bearer abc.def-12345":   "Authorization: Bearer [redacted]",
		"postgres://me:hunter22@db/x":           "postgres://me:[redacted]@db/x",
		"eyJhbGciOiJSUzI1.eyJpc3MiOiJrdWJl.sig": "[redacted]",
		"secretName: webhook-cert":              "secretName: webhook-cert",
		"secret:\n  defaultMode: 420":           "secret:\n  defaultMode: 420",
		"-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nmore": "[redacted]\nmore",
		"-----BEGIN PRIVATE KEY-----\nabc":                                        "[redacted]",
	} {
		if got := r.redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestHideEnvironment(t *testing.T) {
	t.Parallel()
	var object any
	if err := yaml.Unmarshal([]byte("spec: {containers: [{name: token, env: [{name: API_TOKEN, value: abc}, {name: LEVEL, value: debug}, {name: PASSWORD, valueFrom: {}}]}]}"), &object); err != nil {
		t.Fatal(err)
	}
	hideEnvironment(object)
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "abc") || !strings.Contains(got, "value: debug") || !strings.Contains(got, "value: '[redacted]'") {
		t.Errorf("got\n%s", got)
	}
}
