package recording

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/contract"
)

// TestLeaveOutRefused has a webhook refuse what is redacted, what is not, and what it refused before.
func TestLeaveOutRefused(t *testing.T) {
	t.Parallel()
	failed := func(uid string) contract.Response {
		return contract.Response{Status: 200, ContentType: "application/json", Body: []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"` + uid + `","result":{"status":"Failed","message":"no such mode"}}}`)}
	}
	good := func(uid, mode string) contract.Response {
		return contract.Response{Status: 200, ContentType: "application/json", Body: converted(uid, widget("v2", `{"mode":"`+mode+`"}`))}
	}
	exchange := func(uid, mode string, r contract.Response) Exchange {
		return Exchange{Body: review(uid, widget("v1", `{"mode":"`+mode+`"}`)), Response: r}
	}
	none := Exchange{Body: review("5", widget("v1", `{}`)), Response: failed("5")}
	broken := exchange("6", "fast", contract.Response{Status: 500, ContentType: "text/plain", Body: []byte("out of order")})
	file, _, _ := recorded(t, Options{Redaction: redaction(t, "spec.mode", "spec.other")}, []Exchange{
		exchange("1", "fast", good("1", "fast")), exchange("2", "slow", failed("2")), exchange("3", "fast", good("3", "fast")), exchange("4", "safe!", good("4", "safe!")), none, broken,
	})
	read, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	refused := read.LeaveOutRefused(t.Context(), func(_ context.Context, body []byte) contract.Response {
		request, err := contract.ParseRequest(body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte("xxxx!")) {
			return good(request.UID, "xxxx!")
		}
		return failed(request.UID)
	})
	if refused.Exchanges != 2 || !slices.Equal(refused.Paths, []string{"spec.mode"}) || !strings.Contains(refused.First, "no such mode") {
		t.Errorf("got %+v", refused)
	}
	var left []string
	for _, x := range read.Exchanges {
		left = append(left, x.Request.UID)
	}
	if !slices.Equal(left, []string{"2", "4", "5", "6"}) {
		t.Errorf("left are %q", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if refused := read.LeaveOutRefused(ctx, nil); refused.Exchanges > 0 || len(read.Exchanges) != 4 {
		t.Errorf("stopped: %+v", refused)
	}
}

// TestReasonOfAFailure wants the violation over which a request fails to be named, though one that is put up with comes before it.
func TestReasonOfAFailure(t *testing.T) {
	t.Parallel()
	request, err := contract.ParseRequest(review("1", widget("v1", `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	refusal := []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"1","result":{"status":"Failed","message":"no such mode"}}}`)
	o := judged(&Question{Request: request}, contract.Response{Status: 200, ContentType: "text/plain", Body: refusal})
	if !strings.Contains(o.detail, "no such mode") || strings.Contains(o.detail, "text/plain") {
		t.Errorf("the reason is %q", o.detail)
	}
}
