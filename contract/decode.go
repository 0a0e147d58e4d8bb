package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/requirement"
)

// codec returns the decoder that API servers use for the responses of webhooks.
var codec = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(apiextensionsv1beta1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).LegacyCodec(apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion), err
})

// decode decodes a body as API servers do: every field must have its type, even if it is not used. Both versions have the same
// fields.
func (r Request) decode(body []byte) (*apiextensionsv1.ConversionReview, error) {
	review := &apiextensionsv1.ConversionReview{}
	isJSON := yaml.IsJSONBuffer(body)
	switch {
	case isJSON && !oddNames(body):
		return review, kjson.UnmarshalCaseSensitivePreserveInts(body, review)
	case !isJSON && len(body) > r.maxOther():
		return nil, fmt.Errorf("not JSON; %d bytes are too many to try other formats", len(body))
	}
	decoder, err := codec()
	if err != nil {
		return nil, err
	}
	if r.ReviewVersion != "v1beta1" {
		_, _, err = decoder.Decode(body, nil, review)
		return review, err
	}
	old := &apiextensionsv1beta1.ConversionReview{}
	_, _, err = decoder.Decode(body, nil, old)
	return &apiextensionsv1.ConversionReview{
		TypeMeta: old.TypeMeta,
		Request:  (*apiextensionsv1.ConversionRequest)(old.Request),
		Response: (*apiextensionsv1.ConversionResponse)(old.Response),
	}, err
}

// oddNames reports whether a JSON object may have kind or apiVersion in another case. API servers look for these before they decode
// the rest.
func oddNames(body []byte) bool {
	depth := 0
	for at := 0; at < len(body); at++ {
		switch body[at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := quoteAt(body, at)
			if name := body[at+1 : end]; depth == 1 && odd(name) {
				return true
			}
			at = end
		}
	}
	return false
}

func odd(name []byte) bool {
	for _, known := range []string{"kind", "apiVersion"} {
		if string(name) != known && bytes.EqualFold(name, []byte(known)) {
			return true
		}
	}
	return bytes.IndexByte(name, '\\') >= 0
}

// quoteAt returns the index of the quote that ends a string, given the index of the quote that begins it.
func quoteAt(raw []byte, at int) int {
	for at++; at < len(raw) && raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return min(at, len(raw))
}

// review decodes the body of a response. It returns nil if it had to stop.
func (r Request) review(j *Judgement, body []byte) *apiextensionsv1.ConversionReview {
	if len(body) == 0 {
		j.stop(requirement.WebhookResponseBody, whole, "HTTP body", "a JSON document", "nothing")
		return nil
	}
	if err := r.checkBody(body); err != nil {
		j.stop(requirement.WebhookResponseBody, whole, "HTTP body", "a JSON document", fmt.Sprintf("%v: %s", err, quote(body)))
		return nil
	}
	review, err := r.decode(body)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		if !yaml.IsJSONBuffer(body) {
			j.add(requirement.WebhookResponseBody, requirement.PartDecodable, -1, "HTTP body", "a JSON document", otherThanJSON(body))
		}
		return review
	case errors.As(err, &wrongType) || json.Valid(body):
		j.stop(requirement.WebhookResponseReviewKind, whole, "HTTP body", "a ConversionReview", clip(err.Error()))
	default:
		j.stop(requirement.WebhookResponseBody, whole, "HTTP body", "a JSON document", fmt.Sprintf("%s (%s)", quote(body), clip(err.Error())))
	}
	return nil
}

// otherThanJSON describes a body that API servers can decode although it is not JSON.
func otherThanJSON(body []byte) string {
	mark := []byte("\uFEFF")
	switch {
	case bytes.HasPrefix(body, mark) && json.Valid(body[len(mark):]):
		return "a JSON document that begins with a byte order mark"
	case bytes.HasPrefix(body, []byte("k8s\x00")):
		return "protobuf"
	}
	return "YAML: " + quote(body)
}

// versionless reports whether an apiVersion lacks a version, and names no other group.
func versionless(apiVersion string) bool {
	return apiVersion == "" || apiVersion == "/" || apiVersion == group+"/"
}
