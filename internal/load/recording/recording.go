// Package recording keeps what passes between API servers and a conversion webhook: a proxy that stands between them, the
// file that it writes, and the reader of such files, for those who send the requests again. It also compares the answers of two
// webhooks to the same requests, or those of one with a recording.
//
// A recording is JSON, one value a line, as a whole compressed by gzip or not. The first line is the header, each other one an
// exchange. Of HTTP headers nothing but the content type is kept, so no credentials of the transport are in it.
//
// Converted objects are compared by what they mean, as package corpus does. What a webhook answers differently each time differs
// by chance, and is kept apart from the rest. So is what may be due to redacted values: a recording has the answer to the
// original request.
package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/crdconform/crdconform/contract"
)

// APIVersion and Kind are what the header of every recording begins with.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	Kind       = "Recording"
)

// Header is the first line of a recording.
type Header struct {
	APIVersion   string    `json:"apiVersion"`
	Kind         string    `json:"kind"`
	Tool         string    `json:"tool"`                   // version of what recorded it
	Started      time.Time `json:"started"`                // what offsets are counted from
	Redacted     []string  `json:"redacted,omitempty"`     // paths into objects at which values are replaced
	MaxBytes     int64     `json:"maxBytes"`               // bound on the size of the file
	MaxExchanges int       `json:"maxExchanges,omitempty"` // bound on their number; 0 for none
}

// Exchange is a request to a webhook and what came back.
type Exchange struct {
	Line     int               // in the file; 0 before it is written
	Offset   time.Duration     // from the start of the recording to when the request came
	Service  time.Duration     // from when it was sent on until the whole response was there
	Body     []byte            // of the request
	Request  contract.Request  // what Body says; only of exchanges that were read
	Response contract.Response // decompressed; status, content type, body and error are kept

	// Withheld is why the body of the response is not in the recording; empty when it is.
	Withheld string

	// Redacted has the paths at which the request was redacted: who sends it again asks something else there.
	Redacted []string
}

// line is an exchange as it is written.
type line struct {
	Offset   float64         `json:"offsetSeconds"`
	Service  float64         `json:"serviceSeconds"`
	Request  json.RawMessage `json:"request"`
	Response answer          `json:"response"`
	Redacted []string        `json:"redacted,omitempty"`
}

// answer is a response as it is written. Its body is in one of two fields: as it is if it is JSON in UTF-8, and encoded
// otherwise.
type answer struct {
	Status      int             `json:"status,omitempty"`
	ContentType string          `json:"contentType,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`
	Encoded     []byte          `json:"bodyBase64,omitempty"`
	Withheld    string          `json:"withheld,omitempty"`
	Error       string          `json:"error,omitempty"`
	TimedOut    bool            `json:"timedOut,omitempty"`
}

// encode returns an exchange as a line. It fails when the body of the request is not JSON.
func (x Exchange) encode() ([]byte, error) {
	l := line{
		Offset:   x.Offset.Seconds(),
		Service:  x.Service.Seconds(),
		Request:  x.Body,
		Response: answer{Status: x.Response.Status, ContentType: x.Response.ContentType, Withheld: x.Withheld, TimedOut: x.Response.TimedOut},
		Redacted: x.Redacted,
	}
	if x.Response.Err != nil {
		l.Response.Error = x.Response.Err.Error()
	}
	switch body := x.Response.Body; {
	case x.Withheld != "":
	case isJSON(body):
		l.Response.Body = body
	default:
		l.Response.Encoded = body
	}
	return encoded(l)
}

func isJSON(body []byte) bool { return utf8.Valid(body) && json.Valid(body) }

// encoded returns a value as JSON on a line of its own. What is JSON in it already stays as it is but for white space.
func encoded(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return b.Bytes(), err
}

// decode returns the exchange of a line.
func decode(raw []byte) (Exchange, error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return Exchange{}, fmt.Errorf("it is not an exchange: %w", err)
	}
	request, err := contract.ParseRequest(l.Request)
	if err != nil {
		return Exchange{}, err
	}
	x := Exchange{
		Offset:   seconds(l.Offset),
		Service:  seconds(l.Service),
		Body:     l.Request,
		Request:  request,
		Response: contract.Response{Status: l.Response.Status, ContentType: l.Response.ContentType, Body: l.Response.Body, TimedOut: l.Response.TimedOut},
		Withheld: l.Response.Withheld,
		Redacted: l.Redacted,
	}
	if l.Response.Body == nil {
		x.Response.Body = l.Response.Encoded
	}
	if l.Response.Error != "" {
		x.Response.Err = errors.New(l.Response.Error)
	}
	return x, nil
}

// seconds is the duration that was written as so many seconds, to the nanosecond.
func seconds(s float64) time.Duration {
	return time.Duration(math.Round(s * float64(time.Second)))
}
