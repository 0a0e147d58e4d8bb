package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The bounds of what is read of a response. API servers have fewer: they read a body to its end, whatever that takes (client-go,
// rest/request.go), headers of up to 10 MiB (net/http, Transport.MaxResponseHeaderBytes), and JSON that is nested up to 10,000 deep
// (sigs.k8s.io/json, maxNestingDepth), of any number of values. No legitimate answer comes near to the bounds here: it is about as large as
// the request, and the annotations of an object, in which webhooks keep what has no field, have 256 KiB at most (k8s.io/apimachinery,
// ValidateAnnotations). The bounds leave room for webhooks that exceed that.
const (
	// MaxHeader bounds the headers of a response, in bytes.
	MaxHeader = 1 << 20

	// addedNesting is by how many levels a response may be nested deeper than the request.
	addedNesting = 256

	// maxGrowth and maxAdded bound the body of a response: so many times the size of the request and so many bytes more.
	maxGrowth = 4
	maxAdded  = 1 << 20

	// addedValues and keptValue bound the values in a response, with those in lists and objects: maxGrowth times those of the request,
	// one for so many bytes of it, because webhooks keep JSON in annotations, and so many more. A value takes up to a hundred times its
	// size when it is decoded.
	addedValues = 16 << 10
	keptValue   = 4

	// otherGrowth and otherAdded do the same for bodies that are tried as something other than JSON. YAML takes a hundred times its size.
	otherGrowth = 2
	otherAdded  = 256 << 10
)

// MaxResponse bounds the body of the response to a request of so many bytes, in bytes, after decompression.
func MaxResponse(request int) int64 { return maxGrowth*int64(request) + maxAdded }

// maxOther bounds the bodies that are tried as something other than JSON, in bytes.
func (r Request) maxOther() int {
	return otherGrowth*r.size() + otherAdded
}

// LengthError is that the body of a response is longer than so many bytes, which MaxResponse does not allow.
type LengthError int64

func (e LengthError) Error() string {
	return fmt.Sprintf("the response is longer than %d KiB (%d times the request and %d KiB); API servers would read on",
		int64(e)>>10, maxGrowth, maxAdded>>10)
}

// HeaderError is that the headers of a response are longer than MaxHeader.
type HeaderError struct{}

func (HeaderError) Error() string {
	return fmt.Sprintf("the headers of the response are longer than %d MiB; API servers read 10 MiB", MaxHeader>>20)
}

// depthError is that a response is nested deeper than addedNesting allows.
type depthError struct{}

func (depthError) Error() string {
	return fmt.Sprintf("the response is nested more than %d deep; API servers read what is nested up to 10,000 deep", addedNesting)
}

// valuesError is that a response holds more than so many values.
type valuesError int

func (e valuesError) Error() string {
	return fmt.Sprintf("the response holds more than %d values (%d times those of the request, one for %d bytes of it, and %d); API servers would read on",
		int(e), maxGrowth, keptValue, addedValues)
}

// CheckBody fails if the body of a response is nested more than addedNesting deeper than that of the request, or holds many
// more values.
func CheckBody(request, response []byte) error {
	if err := checkNesting(response, request); err != nil {
		return err
	}
	return checkValues(response, func() int { return mostValues(values(request), len(request)) })
}

// checkBody does the same for the objects of the request, of which the deepest counts.
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

// mostValues is how many values the response may hold to a request of so many values and bytes.
func mostValues(values, size int) int { return maxGrowth*values + size/keptValue + addedValues }

// mostValues is how many values the response may hold.
func (r Request) mostValues() int {
	if r.prepared() {
		return mostValues(r.parsed.values(), r.size())
	}
	return mostValues(valuesOf(r.Objects), r.size())
}

// size returns how many bytes the objects have.
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

// values returns how many values JSON holds, itself included, as far as it is JSON.
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

// nesting returns how deep a body is nested, whatever else is wrong with it. It stops where that is deeper than most.
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
