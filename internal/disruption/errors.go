package disruption

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/kube"
)

// answer is what a client was answered.
type answer struct {
	code  int // 0 if there was none
	error record.Error
	text  string // of the error
}

// answered is the answer that an error of a request means.
func answered(err error) answer {
	if err == nil {
		return answer{code: http.StatusOK}
	}
	if refused, is := errors.AsType[*kube.RefusedError](err); is {
		return answer{code: refused.Code, error: refusalKind(refused), text: refused.Status.Message}
	}
	kind := textKind(err.Error(), record.Other)
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, context.Canceled):
		kind = record.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		kind = record.Timeout
	case errors.Is(err, syscall.ECONNREFUSED):
		kind = record.Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		kind = record.Reset
	}
	return answer{error: kind, text: err.Error()}
}

// refusalKind is the kind of error that an API server answered with.
func refusalKind(refused *kube.RefusedError) record.Error {
	status := refused.Status
	switch refused.Code {
	case http.StatusNotFound:
		if fleet.Unserved(refused) {
			return record.Unavailable
		}
		return record.NotThere
	case http.StatusGone:
		return record.Expired
	case http.StatusTooManyRequests:
		return record.Throttled
	case http.StatusServiceUnavailable:
		return record.Unavailable
	case http.StatusGatewayTimeout:
		return record.Timeout
	case http.StatusConflict:
		if status.Reason == metav1.StatusReasonAlreadyExists {
			return record.There
		}
		return record.Conflict
	}
	if refused.Code < http.StatusInternalServerError {
		return record.Rejected
	}
	if _, called, is := strings.Cut(status.Message, "conversion webhook for "); is {
		return callKind(called)
	}
	return textKind(status.Message, record.Internal)
}

// callKind is the kind of error of a call to a webhook, from "KIND failed: " on. What a webhook says itself may quote an error of a call
// that it made in turn, which is no error of the way to it.
func callKind(text string) record.Error {
	_, why, _ := strings.Cut(text, " failed: ")
	for _, own := range []string{"Post ", "context ", "client rate limiter "} {
		if strings.HasPrefix(why, own) {
			return textKind(why, record.Answer)
		}
	}
	return record.Answer
}

// textKind is the kind of an error that is known by its text only, as API servers quote it.
func textKind(text string, other record.Error) record.Error {
	for _, known := range []struct {
		words []string
		kind  record.Error
	}{
		{[]string{"connection refused"}, record.Refused},
		{[]string{"x509:", "tls: "}, record.Certificate},
		{[]string{"context deadline exceeded", "Client.Timeout", "i/o timeout", "handshake timeout", "request did not complete within"}, record.Timeout},
		{[]string{"connection reset", ": EOF", "unexpected EOF", "broken pipe", "server closed idle connection", "use of closed network connection", "GOAWAY", "connection lost", "connection broken", "malformed HTTP"}, record.Reset},
		{[]string{"no route to host", "network is unreachable", "no such host", "has no port"}, record.Unreachable},
	} {
		for _, words := range known.words {
			if strings.Contains(text, words) {
				return known.kind
			}
		}
	}
	return other
}
