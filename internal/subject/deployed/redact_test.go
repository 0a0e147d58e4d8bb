package deployed

import (
	"encoding/base64"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	var r redactor
	r.environment(map[string]string{"DB_PASSWORD": "battery staple", "LOG_LEVEL": "verbose", "EMPTY_TOKEN": ""})
	r.manifest(parsed(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: "+base64.StdEncoding.EncodeToString([]byte("encoded secret"))+"}\nstringData: {b: plain secret}\n")[0].Unstructured)
	r.manifest(parsed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: not a secret}\n")[0].Unstructured)
	for text, want := range map[string]string{
		"battery staple at verbose, no":        "[redacted] at verbose, no",
		"an encoded secret and a plain secret": "an [redacted] and a [redacted]",
		"not a secret":                         "not a secret",
	} {
		if got := r.Text(text); got != want {
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
