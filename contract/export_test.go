package contract

import (
	"encoding/json"
	"reflect"

	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/requirement"
)

// Order lists the requirements that the judge looks at, in the order in which it does.
func Order() []requirement.ID { return order() }

// Scanned reports whether Judge judges a body by scanning it, and which converted objects it takes to be in it then. It leaves
// the sample as it is.
func (p *Repeated) Scanned(uid string, body []byte) ([]json.RawMessage, bool) {
	s := scan{p: p, uid: uid, body: body, known: p.known.Load(), record: true}
	if !s.whole() {
		return nil, false
	}
	objects := make([]json.RawMessage, 0, len(s.places))
	for _, o := range s.places {
		objects = append(objects, body[o.object.from:o.object.to])
	}
	return objects, true
}

// Decoded judges a response without scanning it.
func (r Request) Decoded(response Response) Judgement { return r.decoded(response) }

// ReadsAlike reports whether an object is read in the same way by scanning it, if that is possible, and by decoding it.
func ReadsAlike(raw []byte) bool {
	scanned, ok := scanObject(raw)
	decoded, err := decodeObject(raw)
	return !ok || err == nil && decodable(raw) == nil && reflect.DeepEqual(scanned, decoded)
}

// ReadsMembersAlike is the same for the members of metadata.
func ReadsMembersAlike(raw []byte) bool {
	scanned, ok := scanMembers(raw)
	var decoded map[string]json.RawMessage
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &decoded)
	return !ok || err == nil && reflect.DeepEqual(scanned, decoded)
}

// ScansMembers reports whether the members of metadata are read without decoding it.
func ScansMembers(raw []byte) bool {
	_, ok := scanMembers(raw)
	return ok
}

// Knows reports whether all that is in a body is in the sample.
func (p *Repeated) Knows(uid string, body []byte) bool {
	s := scan{p: p, uid: uid, body: body, known: p.known.Load()}
	return s.whole() && s.misses == 0
}
