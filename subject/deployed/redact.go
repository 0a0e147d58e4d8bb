package deployed

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// redacted stands where something secret was.
	redacted = "[redacted]"

	// shortest is how long a value has to be, in bytes, to be looked for: shorter ones are too likely to be part of something
	// else.
	shortest = 6
)

// redactor takes out of texts what is secret: the values that it was told, and whatever looks like a key, a token or a
// password. The zero value knows no values. It is safe for use by many goroutines.
type redactor struct {
	mu     sync.Mutex
	values []string // the longest first
}

func (r *redactor) add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range values {
		value = strings.TrimSpace(value)
		if len(value) >= shortest && !slices.Contains(r.values, value) {
			r.values = append(r.values, value)
		}
	}
	slices.SortStableFunc(r.values, func(x, y string) int { return len(y) - len(x) })
}

// secret adds what is in a Secret, as it is and as objects have it, but for certificates, which everybody may see.
func (r *redactor) secret(data map[string][]byte) {
	for _, value := range data {
		text := string(value)
		if strings.Contains(text, "-----BEGIN CERTIFICATE-----") && !strings.Contains(text, "PRIVATE KEY-----") {
			continue
		}
		r.add(text, base64.StdEncoding.EncodeToString(value))
		if strings.Count(text, "\n") > 1 { // logs may have it line by line
			for line := range strings.Lines(text) {
				if len(line) >= 2*shortest && !strings.HasPrefix(line, "-----") {
					r.add(line)
				}
			}
		}
	}
}

// environment adds the variables whose names say that they are secret.
func (r *redactor) environment(env map[string]string) {
	for name, value := range env {
		if secretName().MatchString(name) {
			r.add(value)
		}
	}
}

// manifest adds what is secret in an object that is to be applied.
func (r *redactor) manifest(object *unstructured.Unstructured) {
	if object.GetKind() != "Secret" {
		return
	}
	values := map[string][]byte{}
	encoded, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for key, text := range encoded {
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			values[key] = value
		}
	}
	r.secret(values)
	plain, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
	values = map[string][]byte{}
	for key, text := range plain {
		values[key] = []byte(text)
	}
	r.secret(values)
}

// redact returns a text without what is secret.
func (r *redactor) redact(text string) string {
	r.mu.Lock()
	values := slices.Clone(r.values)
	r.mu.Unlock()
	for _, value := range values {
		text = strings.ReplaceAll(text, value, redacted)
	}
	for _, p := range patterns() {
		text = p.looks.ReplaceAllString(text, p.becomes)
	}
	return text
}

// pattern is what something secret looks like, and what becomes of it.
type pattern struct {
	looks   *regexp.Regexp
	becomes string
}

func patterns() []pattern {
	return []pattern{
		{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), redacted},
		{regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`), redacted}, // a JSON web token
		{regexp.MustCompile(`(?i)\b(bearer|basic)[ \t]+[\w.~+/=-]{8,}`), "${1} " + redacted},
		{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + redacted + "@"}, // in a URL
		{regexp.MustCompile(`(?i)((?:password|passwd|secret|token|api[_-]?key)["']?[ \t]*[=:][ \t]*["']?)[^\s"',;&]{3,}`), "${1}" + redacted},
	}
}

func secretName() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|api_?key|private_?key)`)
}

// hideEnvironment takes the values out of variables whose names say that they are secret, wherever they are in an object.
func hideEnvironment(node any) {
	switch node := node.(type) {
	case map[string]any:
		name, _ := node["name"].(string)
		if _, has := node["value"].(string); has && secretName().MatchString(name) {
			node["value"] = redacted
		}
		for _, inner := range node {
			hideEnvironment(inner)
		}
	case []any:
		for _, inner := range node {
			hideEnvironment(inner)
		}
	}
}

func schemaResource(kind [3]string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kind[0], Version: kind[1], Resource: kind[2]}
}
