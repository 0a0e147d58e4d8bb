package kind_test

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/cluster/redact"
)

func TestRedactedText(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("localhost")
	if err != nil {
		t.Fatal(err)
	}
	var r redact.Redactor
	r.Secret(map[string][]byte{"tls.key": pair.Key, "tls.crt": pair.Certificate, "pass": []byte("correct horse\n"), "short": []byte("no")})
	r.Add("battery staple", "")
	keyLine := strings.Split(string(pair.Key), "\n")[1]
	for text, want := range map[string]string{
		"it says correct horse, then":              "it says [redacted], then",
		"Y29ycmVjdCBob3JzZQo= in base64":           "[redacted] in base64",
		"battery staple at verbose, no":            "[redacted] at verbose, no",
		keyLine:                                    "[redacted]",
		string(pair.Certificate):                   string(pair.Certificate),
		"password=hunter22 user=me":                "password=[redacted] user=me",
		`{"api_key": "abcdef", "a": 1}`:            `{"api_key": "[redacted]", "a": 1}`,
		`{\"password\":\"hunter22\",\"a\":1}`:      `{\"password\":\"[redacted]\",\"a\":1}`,
		"Authorization: Bearer abc.def-12345":      "Authorization: Bearer [redacted]",
		"postgres://me:hunter22@db/x":              "postgres://me:[redacted]@db/x",
		"eyJhbGciOiJSUzI1.eyJpc3MiOiJrdWJl.sig":    "[redacted]",
		"eyJhbGciOi.eyJpc3Mi.c2lnbmF0":             "[redacted]",
		"join --token abcdef.0123456789abcdef now": "join --token [redacted] now",
		"secretName: webhook-cert":                 "secretName: webhook-cert",
		"secret:\n  defaultMode: 420":              "secret:\n  defaultMode: 420",
		"system:serviceaccount:default:manager":    "system:serviceaccount:default:manager",
		"-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nmore": "[redacted]\nmore",
		"-----BEGIN PRIVATE KEY-----\nabc":                                        "[redacted]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
