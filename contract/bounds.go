package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The limits on how much of a response is read. API servers have fewer: they read a body to its end, however long it is (client-go,
// rest/request.go), headers of up to 10 MiB (net/http, Transport.MaxResponseHeaderBytes), and JSON that is nested up to 10,000 levels
// deep (sigs.k8s.io/json, maxNestingDepth), with any number of values. No legitimate response comes near the limits here: it is about
// as large as the request, and the annotations of an object, in which webhooks keep data that has no field, have at most 256 KiB
// (k8s.io/apimachinery, ValidateAnnotations). The limits leave room for webhooks that exceed that.
const (
	// MaxHeader is the maximum size of the headers of a response, in bytes.
	MaxHeader = 1 << 20

	// addedNesting is how many levels deeper than the request a response may be nested.
	addedNesting = 256

	// maxGrowth and maxAdded limit the size of the body of a response to maxGrowth times the size of the request plus maxAdded bytes.
	maxGrowth = 4
	maxAdded  = 1 << 20

	// addedValues and keptValue limit the number of values in a response, including those in lists and objects: maxGrowth times those
	// of the request, plus one for every keptValue bytes of it, since webhooks keep JSON in annotations, plus addedValues. Decoded, a
	// value takes up to a hundred times its size.
	addedValues = 16 << 10
	keptValue   = 4

	// otherGrowth and otherAdded limit the size of bodies that are tried as something other than JSON in the same way. YAML takes a
	// hundred times its size.
	otherGrowth = 2
	otherAdded  = 256 << 10
)

// MaxResponse returns the maximum size of the body of the response, in bytes after decompression, to a request of the given size in
// bytes.
func MaxResponse(request int) int64 { return maxGrowth*int64(request) + maxAdded }

// maxOther returns the maximum size, in bytes, of a body that is tried as something other than JSON.
func (r Request) maxOther() int {
	return otherGrowth*r.size() + otherAdded
}

// LengthError reports that the body of a response is longer than MaxResponse allows. Its value is the limit in bytes.
type LengthError int64

func (e LengthError) Error() string {
	return fmt.Sprintf("the response is longer than %d KiB (%d times the request and %d KiB); API servers would read on",
		int64(e)>>10, maxGrowth, maxAdded>>10)
}

// HeaderError reports that the headers of a response are longer than MaxHeader.
type HeaderError struct{}

func (HeaderError) Error() string {
	return fmt.Sprintf("the headers of the response are longer than %d MiB; API servers read 10 MiB", MaxHeader>>20)
}

// depthError reports that a response is nested deeper than addedNesting allows.
type depthError struct{}

func (depthError) Error() string {
	return fmt.Sprintf("the response is nested more than %d deep; API servers read what is nested up to 10,000 deep", addedNesting)
}

// valuesError reports that a response holds too many values. Its value is the limit.
type valuesError int

func (e valuesError) Error() string {
	return fmt.Sprintf("the response holds more than %d values (%d times those of the request, one for %d bytes of it, and %d); API servers would read on",
		int(e), maxGrowth, keptValue, addedValues)
}

// CheckBody fails if the body of a response is nested more than 256 levels deeper than that of the request, or holds far more values.
func CheckBody(request, response []byte) error {
	if err := checkNesting(response, request); err != nil {
		return err
	}
	return checkValues(response, func() int { return mostValues(values(request), len(request)) })
}

// checkBody does the same for the objects of the request. The most deeply nested one counts.
func (r Request) checkBody(response []byte) error {
	if err := checkNesting(response, r.Objects...); err != nil {
		return err
	}
	return checkValues(response, r.mostValues)
}

func checkNesting[T ~[]byte](response []byte, request ...T) error {
	if nesting(response, addedNesting) <= addedNesting { // which saves looking at the request
		return nil
	}
	most := addedNesting
	for _, part := range request {
		most = max(most, addedNesting+nesting(part, len(part)))
	}
	if nesting(response, most) > most {
		return depthError{}
	}
	return nil
}

// checkValues returns a valuesError if a response holds more values than it may.
func checkValues(response []byte, mayHold func() int) error {
	separators := 1
	for _, one := range []byte(",{[") {
		separators += bytes.Count(response, []byte{one})
	}
	if separators <= addedValues { // there are no more values than that, and most responses are so short
		return nil
	}
	most := mayHold()
	if separators > most && values(response) > most {
		return valuesError(most)
	}
	return nil
}

// mostValues returns the maximum number of values in the response to a request with the given number of values and bytes.
func mostValues(values, size int) int { return maxGrowth*values + size/keptValue + addedValues }

// mostValues returns the maximum number of values in the response.
func (r Request) mostValues() int {
	if r.prepared() {
		return mostValues(r.parsed.values(), r.size())
	}
	return mostValues(valuesOf(r.Objects), r.size())
}

// size returns the total size of the objects in bytes.
func (r Request) size() int {
	size := 0
	for _, object := range r.Objects {
		size += len(object)
	}
	return size
}

func valuesOf(objects []json.RawMessage) int {
	n := 0
	for _, object := range objects {
		n += values(object)
	}
	return n
}

// values returns the number of values in JSON, itself included, as far as it is JSON.
func values(body []byte) int {
	n, empty := 1, false // whether the list or object that was opened last has nothing in it so far
	for at := 0; at < len(body); at++ {
		switch c := body[at]; c {
		case '{', '[':
			n++
			empty = true
			continue
		case '}', ']':
			if empty {
				n--
			}
		case ',':
			n++
		case ' ', '\n', '\t', '\r':
			continue
		case '"':
			at = quoteAt(body, at)
		}
		empty = false
	}
	return n
}

// nesting returns how deep a body is nested, whatever else is wrong with it. It stops once that exceeds most.
func nesting(body []byte, most int) int {
	depth, deepest := 0, 0
	for at := 0; at < len(body) && deepest <= most; at++ {
		switch body[at] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			at = quoteAt(body, at)
		}
	}
	return deepest
}
