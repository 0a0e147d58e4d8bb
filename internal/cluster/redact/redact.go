// Package redact removes secrets from texts: values that it was given, and whatever looks like a key, a token or a password.
package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// Mark stands where something secret was.
	Mark = "[redacted]"

	// shortest is how long a value must be, in bytes, to be looked for: shorter ones are too likely to be part of something
	// else.
	shortest = 6
)

// Redactor knows what is secret. The zero value knows no values, but still recognizes what secrets look like. It is safe for
// use by many goroutines.
type Redactor struct {
	mu     sync.Mutex
	values []string // the longest first
}

// Add adds values to look for. Those of fewer than 6 bytes are not looked for.
func (r *Redactor) Add(values ...string) {
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

// Secret adds what is in a Secret, as it is and as objects have it, but for certificates, which everybody may see.
func (r *Redactor) Secret(data map[string][]byte) {
	for _, value := range data {
		text := string(value)
		if strings.Contains(text, "-----BEGIN CERTIFICATE-----") && !strings.Contains(text, "PRIVATE KEY-----") {
			continue
		}
		r.Add(text, base64.StdEncoding.EncodeToString(value))
		if strings.Count(text, "\n") > 1 { // logs may have it line by line
			for line := range strings.Lines(text) {
				if len(line) >= 2*shortest && !strings.HasPrefix(line, "-----") {
					r.Add(line)
				}
			}
		}
	}
}

// Text returns a text without what is secret.
func (r *Redactor) Text(text string) string {
	r.mu.Lock()
	values := slices.Clone(r.values)
	r.mu.Unlock()
	for _, value := range values {
		text = strings.ReplaceAll(text, value, Mark)
	}
	for _, p := range patterns {
		text = p.looks.ReplaceAllString(text, p.becomes)
	}
	return text
}

// Text returns a text without what looks like a secret, for texts of which no secret is known.
func Text(text string) string { return new(Redactor).Text(text) }

// patterns are what something secret looks like, and what becomes of it. Certificates and the names of users are not among it.
var patterns = []struct {
	looks   *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), Mark},
	{regexp.MustCompile(`\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*`), Mark},       // a JSON web token
	{regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), Mark},           // a token of kubeadm's
	{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + Mark + "@"}, // in a URL
	{regexp.MustCompile(`(?i)\b(bearer|basic)[ \t]+[\w.~+/=-]{8,}`), "${1} " + Mark},
	{regexp.MustCompile(`(?i)((?:password|passwd|secret|token|api[_-]?key)\\?["']?[ \t]*[=:][ \t]*\\?["']?)(?:[^\s"',;&\\]|\\[^\s"']){3,}`), "${1}" + Mark},
}
