package engine

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestRehearsalOfEarlierSchemas generates what only the old schemas allow: a new webhook that fails for it is found by these objects alone.
func TestRehearsalOfEarlierSchemas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade")
	}
	plan, err := Rehearsal{
		Description: Description{Handler: faulty(t, "refuses-old-policy"), Config: config.Config{
			Old: []string{put(t, earlierCronTabs(t))}, CRDs: []string{crontabs}, Generate: config.Generate{Objects: 1, Seed: 5},
			Redact: []string{"spec.nothing"}, Filter: []string{string(requirement.UpgradeReadGet), string(requirement.UpgradeReadContent)},
		}},
		OldHandlers: []http.Handler{webhook.Handler()},
	}.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	report := plan.Run(t.Context(), nil, nil)
	if report.Error != "" || len(report.Upgrade) != 1 {
		t.Fatalf("%s\n%+v", report.Error, report)
	}
	found := report.Upgrade[0].Findings
	if len(found) == 0 || slices.ContainsFunc(found, func(f reports.LegFinding) bool {
		return f.Requirement != requirement.UpgradeReadGet || !strings.HasPrefix(f.Name, "earlier-") || !strings.Contains(f.Message, "unknown policy Queue")
	}) {
		t.Errorf("found %+v", found)
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "so 3 were generated from the schemas of ") || !strings.Contains(notes, " that it allows and later schemas would refuse, change or default differently; ") {
		t.Errorf("the notes are\n%s", notes)
	}
}

// TestRelay leads a client that knows nothing of the webhook's name or certificates to it.
func TestRelay(t *testing.T) {
	t.Parallel()
	server, err := webhook.StartAt(t.Context(), "127.0.0.1:0", "/convert", http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || bytes.Equal(body, []byte("hang up")) {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/odd")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s for %s", body, request.Host)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := startRelay(listener, "127.0.0.1", wire.Endpoint{URL: server.URL, CA: server.CA, ServerName: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.client.CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	ask := func(text string) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *r.client.URL, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return fmt.Sprintf("%d, %s: %s", response.StatusCode, response.Header.Get("Content-Type"), body), err
	}
	if got, err := ask("review"); err != nil || !strings.HasPrefix(got, "418, text/odd: review for localhost") {
		t.Errorf("%v, %q", err, got)
	}
	if got, err := ask("hang up"); err == nil {
		t.Errorf("a webhook that hangs up answers %q", got)
	}
}
