package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// connection sends requests, and knows whether the webhook still answers: a spec is skipped rather than asked of one that ended.
type connection struct {
	env      *suites.Env
	exhibits *exhibits

	silent *contract.Response // the response to a request that did not come in time or was too long to read, once nothing more is sent
	ended  error              // what is known of a webhook that ended or hung while it was asked
	last   exchange           // the exchange that was answered last
	proven []byte             // the body of a request that the webhook converted, which distinguishes a slow webhook from one that hangs; nil before there is one
	hands  *handshake         // what came of the first TLS handshake

	outlives bool // the webhook went on after it broke a connection, as servers do that catch panics: to wait each time for it to end takes minutes
}

// send sends a body as it is.
func (c *connection) send(ctx context.Context, what string, request contract.Request, body []byte) exchange {
	x := exchange{what: what, request: request, body: body}
	if c.silent != nil {
		x.response = *c.silent
		return x
	}
	c.reach(ctx, &x, func(ctx context.Context) contract.Response { return c.env.Subject.Client.Send(ctx, body) })
	return x
}

// isSilent reports whether nothing more is sent.
func (c *connection) isSilent() bool { return c.silent != nil }

// hush makes a response the one to all that follows: no more is sent.
func (c *connection) hush(response contract.Response) { c.silent = &response }

// prove remembers a request that the webhook converted.
func (c *connection) prove(body []byte) { c.proven = body }

// reach sends an exchange to the webhook, and notes the response. Once the webhook has ended, there is nothing more to judge.
func (c *connection) reach(ctx context.Context, x *exchange, send func(context.Context) contract.Response) {
	GinkgoHelper()
	if c.ended != nil {
		Skip(fmt.Sprintf("cannot be judged while %v", c.ended))
	}
	c.secured(ctx)
	x.response = c.env.Subject.Ask(ctx, send)
	if x.response.Interrupted { // then it says nothing about the webhook
		c.env.Require(x.response.Err, "asking the webhook")
	}
	switch {
	case x.response.TimedOut:
		if is, hung := c.hung(ctx); is {
			err := fmt.Errorf("it hangs: it does not answer any more, not even what it answered before: %w", hung)
			if x.before == nil && c.last.body != nil {
				x.before = &c.last
				err = fmt.Errorf("%w; the last request that it answered is in request-before.json, and got %s", err, answered(&c.last))
			}
			c.env.Subject.Hangs(fmt.Errorf("%s fails: %w", running(), err))
			c.broken(x, err)
		}
	case x.response.Err == nil:
		c.last = *x
	}
	if x.response.Err != nil && !x.response.TimedOut && !suites.Ended(x.response) {
		if gone := c.env.Subject.Gone(); gone != nil && errors.Is(x.response.Err, syscall.ECONNREFUSED) { // over another request
			c.ended = gone
			Skip(fmt.Sprintf("cannot be judged: %v", gone))
		}
		if err := c.end(ctx); err != nil {
			c.broken(x, err)
		}
	}
}

// broken fails the spec because of a webhook that does not answer any more. No other spec asks it again.
func (c *connection) broken(x *exchange, err error) {
	GinkgoHelper()
	c.ended = fmt.Errorf("%s fails: %w", running(), err)
	c.exhibits.attach(*x)
	over := ""
	if objects := c.exhibits.sent(x); len(objects) > 0 {
		over = " when it was asked to convert " + c.exhibits.named(objects)
	}
	Fail(fmt.Sprintf("expected it to answer%s, but %v", over, err))
}

// running is the requirement that the running spec checks.
func running() requirement.ID {
	id, _ := suites.LabelledBy(CurrentSpecReport().LeafNodeLabels)
	return id
}

// hung reports whether a webhook that did not answer in time does not answer what it converted before either, and returns what came of that: then
// each other request would take as long.
func (c *connection) hung(ctx context.Context) (is bool, why error) {
	if c.proven == nil {
		return false, nil
	}
	response := c.env.Subject.Client.Send(ctx, c.proven)
	return response.TimedOut && ctx.Err() == nil, response.Err
}

// end says why a webhook has ended that did not answer, if it has: its program did, which is known a moment after the connection broke, or
// it does not answer what it converted before either.
func (c *connection) end(ctx context.Context) error {
	moments, moment := 20, 50*time.Millisecond
	if c.outlives {
		moments, moment = 1, 10*time.Millisecond
	}
	alive := c.env.Subject.Alive
	var silent error
	for range moments {
		if alive != nil {
			if err := alive(); err != nil {
				return err
			}
		}
		if c.proven != nil {
			response := c.env.Subject.Client.Send(ctx, c.proven)
			silent = nil
			if response.Err != nil && !response.TimedOut && ctx.Err() == nil {
				silent = fmt.Errorf("it does not answer any more, not even what it answered before: %w", response.Err)
			}
		}
		if silent == nil && (alive == nil || c.proven != nil) {
			return nil
		}
		_ = pause.For(ctx, moment) // whether the spec was stopped shows in what is asked next
	}
	c.outlives = c.outlives || silent == nil && ctx.Err() == nil
	return silent
}

// lateness is that an object was not converted in time, and in which spec.
type lateness struct {
	spec string
	x    exchange
}

// isLate reports whether a webhook did not answer in time, or put off for as long.
func isLate(x *exchange) bool {
	return x.response.TimedOut || x.response.Attempts > 1 && x.judgement.Stopped == requirement.WebhookResponseHTTPStatus
}

// notice remembers a response to the samples that was not given in time: no more of any kind are sent then, since each would
// take as long.
func (c *connection) notice(x *exchange) {
	if !isLate(x) || c.silent != nil {
		return
	}
	if x.response.TimedOut {
		x.response.Err = noMoreError{x.response.Err}
		x.judgement = x.request.Judge(x.response)
	}
	c.hush(x.response)
}

// noMoreError is why nothing came back, and what followed from that.
type noMoreError struct{ error }

func (e noMoreError) Error() string {
	return e.error.Error() + "; no more requests were sent after that"
}

func (e noMoreError) Unwrap() error { return e.error }

// noticeLength remembers a response to the samples that is longer than is read: no more are sent then, since each would take as much.
func (c *connection) noticeLength(x *exchange) {
	body, header := contract.LengthError(0), contract.HeaderError{}
	if c.silent != nil || !errors.As(x.response.Err, &body) && !errors.As(x.response.Err, &header) {
		return
	}
	x.response.Err = noMoreError{x.response.Err}
	x.judgement = x.request.Judge(x.response)
	c.hush(x.response)
}

// handshake is what came out of the first TLS handshake.
type handshake struct {
	wire.Handshake

	err error
	old bool // whether the webhook speaks only versions of TLS that API servers don't
}

// shake performs a TLS handshake, once for all specs.
func (c *connection) shake(ctx context.Context) handshake {
	if c.hands != nil {
		return *c.hands
	}
	client := c.env.Subject.Client
	var h handshake
	h.Handshake, h.err = client.Handshake(ctx, wire.HandshakeOptions{})
	if failed := (*wire.HandshakeError)(nil); errors.As(h.err, &failed) && failed.Connected {
		_, err := client.Handshake(ctx, wire.HandshakeOptions{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		h.old = err == nil
	}
	if ctx.Err() == nil {
		c.hands = &h
	}
	return h
}

// secured skips the spec when no request can reach the webhook because of its TLS.
func (c *connection) secured(ctx context.Context) {
	GinkgoHelper()
	h := c.shake(ctx)
	switch {
	case h.old:
		Skip(fmt.Sprintf("cannot be judged while %s fails: the webhook has only versions of TLS that API servers do not use", requirement.WebhookTransportTlsVersion))
	case h.VerifyError != nil:
		Skip(fmt.Sprintf("cannot be judged while %s fails: %v", requirement.WebhookTransportCertificate, h.VerifyError))
	}
}

// shaken returns the handshake, or skips the spec when there was none.
func (c *connection) shaken(ctx context.Context) handshake {
	GinkgoHelper()
	h := c.shake(ctx)
	if h.err != nil {
		Skip(fmt.Sprintf("cannot be judged without a TLS handshake: %v", h.err))
	}
	return h
}
