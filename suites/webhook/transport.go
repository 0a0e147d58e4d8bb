package webhook

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// security has the specs about the connection itself.
type security struct {
	material
}

func transport(env *suites.Env, ch *chapter) {
	Describe("transport", func() {
		env.It(requirement.WebhookTransportCertificate, "verifies the certificate", ch.security.certificate)
		env.It(requirement.WebhookTransportCertificateLifetime, "looks at the time that the certificate has left", ch.security.lifetime)
		env.It(requirement.WebhookTransportTlsVersion, "agrees on a version of TLS", ch.security.tlsVersion)
		env.It(requirement.WebhookTransportHttp1, "converts over HTTP/1.1", func(ctx SpecContext) {
			ch.security.converts(ctx, http1)
		})
		env.It(requirement.WebhookTransportHttp2, "converts over HTTP/2", func(ctx SpecContext) {
			h, err := env.Subject.Client.Handshake(ctx, wire.HandshakeOptions{ALPN: []string{"h2", "http/1.1"}})
			if err != nil || h.ALPN != "h2" {
				env.Inapplicable("the webhook does not agree to HTTP/2")
			}
			ch.security.converts(ctx, http2)
		})
	})
}

func (s *security) certificate(ctx SpecContext) {
	h := s.connection.shaken(ctx)
	if h.VerifyError != nil {
		leaf := h.Chain[0]
		Fail(fmt.Sprintf("expected a certificate that verifies, got %v\nthe webhook presents %q, issued by %q, valid from %s to %s, for %v %v",
			h.VerifyError, leaf.Subject, leaf.Issuer, day(leaf.NotBefore), day(leaf.NotAfter), leaf.DNSNames, leaf.IPAddresses))
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// soon is how long a certificate has to live at least, if that is not more than a tenth of its life.
const soon = 30 * 24 * time.Hour

func (s *security) lifetime(ctx SpecContext) {
	h := s.connection.shaken(ctx)
	leaf := h.Chain[0]
	left, life := time.Until(leaf.NotAfter), leaf.NotAfter.Sub(leaf.NotBefore)
	if left > 0 && left < soon && left < life/10 {
		s.env.Violated(s.env.Severity(none), fmt.Sprintf("expected a certificate that is renewed in time, got one that expires on %s and lives %s in all", day(leaf.NotAfter), life.Round(time.Hour)))
	}
}

func (s *security) tlsVersion(ctx SpecContext) {
	h := s.connection.shake(ctx)
	switch {
	case h.old:
		Fail("expected TLS 1.2 or later, got TLS 1.1 at most")
	case h.err != nil:
		Skip(fmt.Sprintf("cannot be judged without a TLS handshake: %v", h.err))
	}
}

// protocol is a version of HTTP.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	http2 protocol = "HTTP/2"
)

// converts asks for the samples over one version of HTTP.
func (s *security) converts(ctx SpecContext, over protocol) {
	GinkgoHelper()
	s.standard.sound(ctx)
	client, err := s.env.Subject.Client.With(func(e *wire.Endpoint) { e.HTTP2 = over == http2 })
	s.env.Require(err, "connecting")
	defer client.Close()
	pair := s.routes.ways(ctx)[0]
	request := s.talk.request(s.standard.reviewVersion(ctx), pair.To, s.stock.base(ctx, pair.From)...)
	body, err := request.Body()
	s.env.Require(err, "building a request")
	x := exchange{what: pair.String(), to: pair.To, request: request, body: body, client: client}
	s.connection.reach(ctx, &x, func(ctx context.Context) contract.Response { return client.Send(ctx, body) })
	x.judgement = request.Judge(x.response)
	if v := x.judgement.Rejected(); v != nil {
		s.exhibits.rejected(x, fmt.Sprintf("%s over %s: conversion of the samples failed: %s", x.what, over, v))
	}
}
