package kind

import "regexp"

// secrets are what nobody else is to read. Certificates and the names of users and service accounts are not among it.
var secrets = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), "(private key)"},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]+`), "(token)"},
	{regexp.MustCompile(`(?i)\b(bearer|basic) +[\w.~+/=-]{8,}`), "$1 (credential)"},
	{regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), "(token)"}, // of kubeadm
}

// redacted returns a text without its secrets.
func redacted(text string) string {
	for _, secret := range secrets {
		text = secret.of.ReplaceAllString(text, secret.by)
	}
	return text
}
