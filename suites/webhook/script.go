package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/wire"
)

// script returns the commands that send an exchange again, and before it the one that it follows from. They are run beside the
// files that attach attaches.
func (e *exhibits) script(x exchange) []byte {
	client := cmp.Or(x.client, e.env.Subject.Client)
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Sends the request again and shows the response. The webhook must be running; a program is stopped after a check that does not hold it.\n")
	b.WriteString("cd \"$(dirname \"$0\")\" || exit\nset -x\n")
	if x.before != nil {
		b.WriteString(curl(client, *x.before, "request-before.json") + "\n")
		if slices.EqualFunc(x.before.request.Objects, x.request.Objects, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			b.WriteString("sleep 1 # the time may matter\n")
		}
	}
	b.WriteString(curl(client, x, "request.json") + "\n")
	return []byte(b.String())
}

// curl returns the command that sends the request of an exchange from a file.
func curl(client *wire.Client, x exchange, file string) string {
	e := client.Endpoint()
	method, header := http.MethodPost, wire.Header()
	if x.raw != nil {
		method = x.raw.method
	}
	if x.raw != nil && x.raw.header != nil {
		header = x.raw.header.Clone()
	}
	header.Set("Expect", "") // which curl would send with a long body
	words := []string{"curl", "-sS", "-i", "--compressed", "--max-time", fmt.Sprintf("%g", e.Timeout.Seconds())}
	if len(e.CA) > 0 {
		words = append(words, "--cacert", "ca.crt")
	}
	if e.ClientCertificate != nil {
		words = append(words, `--cert "${CLIENT_CERT:?set it to the file of the client certificate}"`, `--key "${CLIENT_KEY:?set it to the file of its private key}"`)
	}
	if !e.HTTP2 {
		words = append(words, "--http1.1")
	}
	if u, err := url.Parse(e.URL); err == nil && e.ServerName != "" && e.ServerName != u.Hostname() {
		port := cmp.Or(u.Port(), "443")
		words = append(words, "--connect-to", shell.Quote(net.JoinHostPort(e.ServerName, port)+":"+net.JoinHostPort(u.Hostname(), port)))
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		words = append(words, "-H", shell.Quote(strings.TrimSpace(name+": "+header.Get(name))))
	}
	return strings.Join(append(words, "-X", method, "--data-binary", "@"+file, shell.Quote(client.URL())), " ")
}
