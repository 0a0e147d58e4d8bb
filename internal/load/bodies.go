package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/wire"
)

// The number of different requests that are sent repeatedly, each time with a new uid.
const (
	maxBodies  = 64
	maxContent = 8 << 20 // bytes of all of them together, but for one that is larger by itself
)

// paddingAnnotation brings objects to the requested size. Every definition allows it, and every webhook must keep it.
const paddingAnnotation = "crdconform.dev/padding"

// Bodies builds the requests that a workload sends over and over: the objects of the corpus, batch by batch, each with a
// name and a UID of its own, at the versions of each pair in turn. Objects that are to be larger get an annotation, which
// conversions have to keep.
func Bodies(c corpus.Corpus, w Workload) ([]contract.Request, error) {
	if err := w.ValidateFor(c); err != nil {
		return nil, err
	}
	var requests []contract.Request
	for content := 0; len(requests) < maxBodies && uint64(len(requests)) < w.Total(); {
		n := len(requests)
		pair := w.Pairs[n%len(w.Pairs)]
		objects := c.Batch(pair.From, n/len(w.Pairs)+w.Batch)[n/len(w.Pairs):]
		request := contract.Request{
			ReviewVersion:     w.ReviewVersion,
			UID:               uid(0),
			DesiredAPIVersion: c.APIVersion(pair.To),
			Objects:           corpus.JSON(padded(objects, w.Bytes)...),
		}
		for _, object := range request.Objects {
			content += len(object)
		}
		if content > maxContent && n >= len(w.Pairs) {
			break
		}
		requests = append(requests, request)
	}
	return requests, nil
}

// padded makes objects have a number of bytes, at least, as JSON.
func padded(objects []*unstructured.Unstructured, size int) []*unstructured.Unstructured {
	if size == 0 {
		return objects
	}
	for i, raw := range corpus.JSON(objects...) {
		if len(raw) >= size {
			continue
		}
		annotations := objects[i].GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[paddingAnnotation] = ""
		objects[i].SetAnnotations(annotations)
		annotations[paddingAnnotation] = strings.Repeat("x", max(size-len(corpus.JSON(objects[i])[0]), 0))
		objects[i].SetAnnotations(annotations)
	}
	return objects
}

// uidLength is that of a uid, in bytes.
const uidLength = 36

// uid is that of the n-th request. All are of one length, so that one can take the place of another in a body.
func uid(n uint64) string {
	id := []byte("c0ffee00-0000-4000-8000-000000000000")
	for i := len(id) - 1; n > 0 && id[i] != '-'; i-- {
		id[i] = "0123456789abcdef"[n%16]
		n /= 16
	}
	return string(id)
}

// body is a request that is sent over and over.
type body struct {
	objects       int // in it
	judge         *contract.Repeated
	before, after []byte // what the uid stands between
	expected      *expected
}

// prepared encodes requests, with what is expected of their responses, if that is known.
func prepared(requests []contract.Request, content *Content) ([]body, error) {
	bodies := make([]body, 0, len(requests))
	for i, request := range requests {
		request.UID = uid(0)
		encoded, err := request.Body()
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		before, after, found := bytes.Cut(encoded, []byte(request.UID))
		if !found {
			return nil, errors.New("load: a request without its uid") // contract.Request.Body writes it
		}
		bodies = append(bodies, body{len(request.Objects), request.Repeated(), before, after, content.expected(i, request)})
	}
	return bodies, nil
}

// size is that of the body with any uid, in bytes.
func (b body) size() int { return len(b.before) + uidLength + len(b.after) }

// bytes returns the body with a uid.
func (b body) bytes(uid string) []byte {
	all := make([]byte, 0, b.size())
	all = append(all, b.before...)
	all = append(all, uid...)
	return append(all, b.after...)
}

// Targets returns requests as vegeta's targets, for its own attacker, each with a uid of its own.
func Targets(url string, requests []contract.Request) ([]vegeta.Target, error) {
	targets := make([]vegeta.Target, len(requests))
	for i, request := range requests {
		request.UID = uid(uint64(i))
		body, err := request.Body()
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		targets[i] = vegeta.Target{Method: http.MethodPost, URL: url, Header: wire.Header(), Body: body}
	}
	return targets, nil
}
