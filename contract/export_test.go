package contract

import "encoding/json"

// Scanned tells whether Judge judges a body by scanning it, and which converted objects it takes to be in it then. It leaves
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

// Knows tells whether all that is in a body is in the sample.
func (p *Repeated) Knows(uid string, body []byte) bool {
	s := scan{p: p, uid: uid, body: body, known: p.known.Load()}
	return s.whole() && s.misses == 0
}
