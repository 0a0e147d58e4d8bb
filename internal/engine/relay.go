package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/loopback"
	"github.com/crdconform/crdconform/internal/wire"
)

// relay leads an API server to a webhook that it does not reach, or cannot verify, by itself.
type relay struct {
	server *http.Server
	client apiextensionsv1.WebhookClientConfig
	to     *wire.Client
}

// reachable returns how definitions refer to a webhook. The relay is nil unless one is needed; the caller closes it.
func reachable(ctx context.Context, api cluster.Cluster, endpoint wire.Endpoint) (apiextensionsv1.WebhookClientConfig, *relay, error) {
	direct := apiextensionsv1.WebhookClientConfig{URL: &endpoint.URL, CABundle: endpoint.CA}
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return direct, nil, err
	}
	listener, host, err := api.Listen(ctx)
	if err != nil {
		return direct, nil, err
	}
	verifiable := endpoint.ClientCertificate == nil && (endpoint.ServerName == "" || endpoint.ServerName == u.Hostname())
	if verifiable && (loopback.Is(host) || !loopback.Is(u.Hostname())) {
		return direct, nil, listener.Close()
	}
	r, err := startRelay(listener, host, endpoint)
	if err != nil {
		return direct, nil, errors.Join(err, listener.Close())
	}
	return r.client, r, nil
}

const relayPath = "/convert"

func startRelay(listener net.Listener, host string, endpoint wire.Endpoint) (*relay, error) {
	to, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	authority, err := pki.NewAuthority("crdconform relay")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server(host, "localhost")
	if err != nil {
		return nil, err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	at := (&url.URL{Scheme: "https", Host: net.JoinHostPort(host, port), Path: relayPath}).String()
	r := &relay{to: to, client: apiextensionsv1.WebhookClientConfig{URL: &at, CABundle: authority.PEM()}}
	r.server = &http.Server{
		Handler: r, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	go r.server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the server
	return r, nil
}

// ServeHTTP passes a request on. Where the webhook does not answer, it looks to the API server as if it had closed the connection.
func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	response := r.to.Send(request.Context(), body)
	if response.Err != nil {
		panic(http.ErrAbortHandler)
	}
	if kind := response.ContentType; kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(response.Status)
	_, _ = w.Write(response.Body)
}

func (r *relay) close() error {
	if r == nil {
		return nil
	}
	r.to.Close()
	return r.server.Close()
}
