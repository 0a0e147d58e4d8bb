// Package contract judges the responses of a conversion webhook. It derives violations of requirements from one exchange: a
// ConversionReview request and the HTTP response to it. It is purely functional: it performs no I/O, and never panics, whatever bytes
// it is given.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	kjson "sigs.k8s.io/json"
)

const (
	group = "apiextensions.k8s.io"
	kind  = "ConversionReview"
)

// Request is the request of a ConversionReview. Create one to send its Body, or parse a recorded one with ParseRequest.
type Request struct {
	ReviewVersion     string            `json:"reviewVersion"`     // of ConversionReview: v1 or v1beta1
	UID               string            `json:"uid,omitempty"`     // of this request; the response must repeat it
	DesiredAPIVersion string            `json:"desiredAPIVersion"` // <group>/<version> to convert the objects to
	Objects           []json.RawMessage `json:"objects"`           // the custom resources to convert

	parsed *parsedRequest // see Prepare
}

type requestReview struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Request    *requestBody `json:"request"`
	// API servers send an empty response beside the request, and so do we.
	Response responseStub `json:"response"`
}

type requestBody struct {
	UID               string            `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type responseStub struct {
	UID              string            `json:"uid"`
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           struct {
		Metadata struct{} `json:"metadata"`
	} `json:"result"`
}

// Body returns the request as API servers send it. It fails if an object is not JSON.
func (r Request) Body() ([]byte, error) {
	const none = `"objects":[]` // quotes within strings have a backslash before them
	envelope, err := json.Marshal(requestReview{
		APIVersion: group + "/" + r.ReviewVersion,
		Kind:       kind,
		Request:    &requestBody{r.UID, r.DesiredAPIVersion, r.Objects[:0]},
	})
	head, tail, ok := bytes.Cut(envelope, []byte(none))
	if err != nil || !ok { // there is no list of objects
		return envelope, err
	}
	length := len(envelope) + len(r.Objects)
	for _, object := range r.Objects {
		length += len(object)
	}
	body := append(make([]byte, 0, length), head...)
	body = append(body, none[:len(none)-1]...)
	for i, object := range r.Objects {
		if i > 0 {
			body = append(body, ',')
		}
		if !compact(object) {
			if object, err = json.Marshal(object); err != nil {
				return nil, fmt.Errorf("conversion request: %w", err)
			}
		}
		body = append(body, object...)
	}
	return append(append(body, ']'), tail...), nil
}

// compact reports whether JSON is as encoding/json writes it. This costs a fraction of writing it again. It may return false for JSON
// that is.
func compact(object []byte) bool {
	const separator = 0xe2 // begins the separators of lines and paragraphs
	for _, escaped := range []byte{'<', '>', '&', separator} {
		if bytes.IndexByte(object, escaped) >= 0 {
			return false
		}
	}
	if valueEnd(object, 0) != len(object) {
		return false
	}
	for at := 0; at < len(object); at++ {
		switch object[at] {
		case '"':
			at = quoteAt(object, at)
		case ' ', '\t', '\n', '\r':
			return false
		}
	}
	return true
}

// ParseRequest parses the body of a request, such as one sent by an API server. It fails if the body is not a ConversionReview of a
// known version with a request in it. The Objects of the request are parts of body, which must not be changed afterwards.
func ParseRequest(body []byte) (Request, error) {
	review, ok := scanRequest(body)
	if !ok {
		review = requestReview{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
			return Request{}, fmt.Errorf("conversion request: %w", err)
		}
	}
	version, ok := reviewVersion(review.APIVersion)
	switch {
	case review.Kind != kind || !ok:
		return Request{}, fmt.Errorf("conversion request: want a %s of %s/v1 or %[2]s/v1beta1, got %q of %q", kind, group, review.Kind, review.APIVersion)
	case review.Request == nil:
		return Request{}, fmt.Errorf("conversion request: the %s has no request", kind)
	}
	return Request{
		ReviewVersion:     version,
		UID:               review.Request.UID,
		DesiredAPIVersion: review.Request.DesiredAPIVersion,
		Objects:           review.Request.Objects,
	}, nil
}

// maxOpened is the maximum number of objects and lists in a body that is scanned, since scanning recurses into each.
const maxOpened = 1 << 20

// scanRequest finds the members of a request in a body. It returns false, and leaves it to a decoder to find out what is wrong, if
// the body is not as API servers write it: if a member occurs twice or has another type, or if a text has escapes.
func scanRequest(body []byte) (requestReview, bool) {
	var review requestReview
	if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > maxOpened || !gjson.ValidBytes(body) {
		return review, false
	}
	plain := true
	take := func(into *string, value gjson.Result) {
		plain = plain && *into == "" && value.Type == gjson.String && value.Str == value.Raw[1:len(value.Raw)-1] && utf8.ValidString(value.Str)
		*into = value.Str
	}
	top := gjson.ParseBytes(body)
	plain = plain && top.IsObject()
	top.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "apiVersion":
			take(&review.APIVersion, value)
		case "kind":
			take(&review.Kind, value)
		case "request":
			plain = plain && review.Request == nil && value.IsObject()
			review.Request = &requestBody{}
			value.ForEach(func(name, value gjson.Result) bool {
				switch name.Str {
				case "uid":
					take(&review.Request.UID, value)
				case "desiredAPIVersion":
					take(&review.Request.DesiredAPIVersion, value)
				case "objects":
					plain = plain && review.Request.Objects == nil && value.IsArray()
					review.Request.Objects = []json.RawMessage{}
					value.ForEach(func(_, object gjson.Result) bool {
						end := object.Index + len(object.Raw)
						review.Request.Objects = append(review.Request.Objects, body[object.Index:end:end])
						return true
					})
				}
				return plain
			})
		}
		return plain
	})
	return review, plain
}

// reviewVersion returns the version in an apiVersion of ConversionReview, and whether it is known.
func reviewVersion(apiVersion string) (string, bool) {
	switch apiVersion {
	case group + "/v1":
		return "v1", true
	case group + "/v1beta1":
		return "v1beta1", true
	}
	return "", false
}
