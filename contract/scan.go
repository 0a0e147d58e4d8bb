package contract

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// scan goes through the body of a response to a repeated request once, and judges it if it is usual. It must be certain of how
// Request.Judge would judge the body, and gives up if it is not. It is certain because:
//
//   - All of the body is JSON according to the functions of syntax.go, so API servers decode it as JSON.
//   - Every member of the review, of its request and of its response is known, occurs at most once, and has the type that API
//     servers want. So it does not matter here that API servers use the last of several, and that they look for kind and apiVersion
//     in any case. Values are compared as they are spelled: other spellings of the same value are unusual.
//   - The kind and apiVersion are right, the uid is that of the request, the conversion succeeded, and there are as many
//     objects as in the request.
//   - Request.Judge judges each object at its own index if the order was kept. It assumes that the order was kept if each object has
//     the identity of the one at its index in the request. An object with the metadata of the request has that identity; for other
//     objects, it is checked. The judgement of an object then depends only on its bytes and on the object of the request. So an
//     object that is in the sample is judged as it was there. The same holds for the violations of metadata. A member that does not
//     affect the judgement is JSON if it equals one of the sample byte by byte.
//   - An object has no violations if it has the desired apiVersion, the kind of the request, and metadata without violations. If it
//     has one of these twice, that holds for both. All other objects, and those with a name that may be another spelling of one of
//     these, are judged by the functions of Request.Judge.
//
// Values are recognized by the bytes that come next. That is enough for strings, arrays and objects, whose end does not depend on
// what follows. Members may also be numbers, which end where no other character of a number follows.
type scan struct {
	p     *Repeated
	uid   string
	body  []byte
	known *sample // nil if there is none

	at  int  // current index in body
	bad bool // whether it gave up

	seen       member // members of the review, its request and its response
	echo       bool   // whether the review has a request
	echoed     int    // number of objects in that request
	result     span
	message    string
	count      int // number of converted objects
	violations []Violation

	misses   int64   // for parts that were not in the sample
	record   bool    // whether to keep the places of the objects
	sampling bool    // whether to take another sample
	places   []place // of the objects, if they are kept
	spans    []span  // of their members, for a sample
}

// member is a set of members of JSON objects.
type member uint

const (
	reviewKind member = 1 << iota
	reviewAPIVersion
	reviewRequest
	reviewResponse
	requestUID
	requestDesired
	requestObjects
	responseUID
	responseResult
	responseObjects

	required = reviewKind | reviewAPIVersion | reviewResponse | responseUID | responseResult
)

const (
	objectAPIVersion member = 1 << iota
	objectKind
	objectMetadata
)

// place is the place of an object in the body, with its violations.
type place struct {
	object     span
	metadata   span // in the object; empty if it has, or may have, violations
	members    span // range of the spans of its members
	violations []Violation
}

// scanned judges the body of a response. It returns false, and judges nothing, if the body is unusual.
func (r Request) scanned(j *Judgement, body []byte) bool {
	if !r.prepared() {
		r.parsed = readRequest(r.Objects)
	}
	s := scan{p: r.repeated(), uid: r.UID, body: body, record: true}
	if !s.whole() {
		return false
	}
	s.report(j)
	j.Objects = make([]json.RawMessage, len(s.places))
	for i, o := range s.places {
		j.Objects[i] = body[o.object.from:o.object.to:o.object.to]
	}
	return true
}

// report adds the findings in the whole body to a judgement.
func (s *scan) report(j *Judgement) {
	if s.echo {
		lean(j, s.echoed)
	}
	j.Violations = append(j.Violations, s.violations...)
	j.Message = s.message
}

// whole scans the body. It returns false if it gave up.
func (s *scan) whole() bool {
	s.at = spaceEnd(s.body, 0)
	for more := s.begins('{', '}'); more; more = s.goesOn('}') {
		switch string(s.name()) {
		case "kind":
			s.once(reviewKind, s.takes(`"`+kind+`"`))
		case "apiVersion":
			s.once(reviewAPIVersion, s.takes(s.p.version))
		case "request":
			s.once(reviewRequest, s.takes("null") || s.request())
		case "response":
			s.once(reviewResponse, s.response())
		default:
			s.bad = true
		}
	}
	return !s.bad && s.seen&required == required && s.count == len(s.p.wanted) && spaceEnd(s.body, s.at) == len(s.body) &&
		checkValues(s.body, s.p.request.mostValues) == nil
}

// request scans the request that a response should not have.
func (s *scan) request() bool {
	s.echo = true
	for more := s.begins('{', '}'); more; more = s.goesOn('}') {
		switch string(s.name()) {
		case "uid":
			s.once(requestUID, s.text())
		case "desiredAPIVersion":
			s.once(requestDesired, s.text())
		case "objects":
			s.once(requestObjects, s.takes("null") || s.echoes())
		default:
			s.bad = true
		}
	}
	return !s.bad
}

func (s *scan) echoes() bool {
	for more := s.begins('[', ']'); more; more = s.goesOn(']') {
		s.echoed++
		s.value()
	}
	return !s.bad
}

func (s *scan) response() bool {
	for more := s.begins('{', '}'); more; more = s.goesOn('}') {
		switch string(s.name()) {
		case "uid":
			s.once(responseUID, plain(s.uid) && s.takes(`"`) && s.takes(s.uid) && s.takes(`"`))
		case "result":
			s.once(responseResult, s.succeeded())
		case "convertedObjects":
			s.once(responseObjects, s.takes("null") || s.converted())
		default:
			s.bad = true
		}
	}
	return !s.bad
}

// succeeded scans the result and reports whether the conversion succeeded.
func (s *scan) succeeded() bool {
	s.result.from = s.at
	if s.known != nil && s.takes(s.known.result) {
		s.message = s.known.message
	} else {
		s.misses = max(s.misses, 1)
		s.value()
		var ok bool
		if s.message, ok = success(s.body[s.result.from:s.at]); !ok {
			return false
		}
	}
	s.result.to = s.at
	return !s.bad
}

// success decodes a result. It returns the message, and whether the conversion succeeded.
func success(result []byte) (string, bool) {
	var status metav1.Status
	err := kjson.UnmarshalCaseSensitivePreserveInts(result, &status)
	return status.Message, err == nil && status.Status == metav1.StatusSuccess
}

func (s *scan) converted() bool {
	for more := s.begins('[', ']'); more; more = s.goesOn(']') {
		if s.count == len(s.p.wanted) || !s.object() {
			s.bad = true
			return false
		}
		s.count++
	}
	return !s.bad
}

// object judges the next converted object.
func (s *scan) object() bool {
	o := place{object: span{from: s.at}, members: span{from: len(s.spans)}}
	if s.known != nil && s.takes(s.known.objects[s.count].raw) {
		known := &s.known.objects[s.count]
		o.metadata, o.violations = known.metadata, known.violations
		if s.sampling {
			s.spans = append(s.spans, known.members...)
		}
	} else if !s.unknown(&o) {
		return false
	}
	o.object.to, o.members.to = s.at, len(s.spans)
	s.violations = append(s.violations, o.violations...)
	if s.record {
		s.places = append(s.places, o)
	}
	return true
}

// unknown judges an object that is not in the sample.
func (s *scan) unknown(o *place) bool {
	s.misses = max(s.misses, 1)
	usual, escaped := s.members(o)
	if s.bad {
		return false
	}
	if !usual {
		s.misses = renewal
		var certain bool
		if o.violations, certain = s.p.unusual(s.count, s.body[o.object.from:s.at]); !certain {
			return false
		}
	}
	if escaped || len(o.violations) > 0 {
		o.metadata = span{}
	}
	return true
}

// members scans the members of an object. It reports whether the object has no violations, and whether a name has escapes.
func (s *scan) members(o *place) (usual, escaped bool) {
	const all = objectAPIVersion | objectKind | objectMetadata
	var seen, other member
	for n, more := 0, s.begins('{', '}'); more; n, more = n+1, s.goesOn('}') {
		start := s.at
		if s.recurs(n) {
			s.keep(start-o.object.from, s.at-o.object.from)
			continue
		}
		var is member
		var same bool
		name, from := s.name(), s.at
		switch string(name) {
		case "apiVersion":
			is, same = objectAPIVersion, s.takes(s.p.desired)
		case "kind":
			is, same = objectKind, s.takes(s.p.wanted[s.count].kind)
		case "metadata":
			is, same = objectMetadata, s.takes(s.p.wanted[s.count].metadata) || s.known != nil && s.takes(s.known.objects[s.count].fine())
		default:
			escaped = escaped || bytes.IndexByte(name, '\\') >= 0
		}
		if !same {
			s.value()
			other |= is
		}
		if is == objectMetadata {
			o.metadata = span{from - o.object.from, s.at - o.object.from}
		}
		seen |= is
		if is == 0 && !escaped {
			s.keep(start-o.object.from, s.at-o.object.from)
		} else {
			s.keep(0, 0)
		}
	}
	return seen == all && other == 0 && !escaped, escaped
}

// recurs moves to the end of a member that the sample has at the same index of the object, and reports whether there is one. Such a
// member does not affect the judgement.
func (s *scan) recurs(n int) bool {
	from := s.at
	if s.known == nil || !s.takes(s.known.objects[s.count].member(n)) {
		return false
	}
	if s.at < len(s.body) && continues(s.body[s.at]) {
		s.at = from
		return false
	}
	return true
}

// keep records the place of a member in its object, for a sample.
func (s *scan) keep(from, to int) {
	if s.sampling {
		s.spans = append(s.spans, span{from, to})
	}
}

// scanObject parses an object that is written in the usual way: no name has escapes, no name that matters occurs twice, and the texts
// need no escapes. The metadata is a part of raw.
func scanObject(raw []byte) (object, bool) {
	s := scan{body: raw}
	var o object
	for more := s.begins('{', '}'); more; more = s.goesOn('}') {
		name, from := s.name(), s.at
		s.value()
		value := raw[from:s.at]
		switch string(name) {
		case "apiVersion":
			s.once(objectAPIVersion, spelled(&o.APIVersion, value))
		case "kind":
			s.once(objectKind, spelled(&o.Kind, value))
		case "metadata":
			s.met(objectMetadata)
			o.Metadata = value
		default:
			s.bad = s.bad || bytes.IndexByte(name, '\\') >= 0
		}
	}
	return o, !s.bad && s.at == len(raw)
}

// scanMembers parses a JSON object as scanObject does: no name has escapes or is not ASCII, and none occurs twice.
func scanMembers(raw []byte) (map[string]json.RawMessage, bool) {
	s := scan{body: raw}
	members := map[string]json.RawMessage{}
	for more := s.begins('{', '}'); more; more = s.goesOn('}') {
		name, from := string(s.name()), s.at
		s.value()
		if _, twice := members[name]; s.bad || twice || !plain(name) {
			return nil, false
		}
		members[name] = raw[from:s.at:s.at]
	}
	return members, !s.bad && s.at == len(raw)
}

// scanItems parses a JSON array.
func scanItems(raw []byte) ([]json.RawMessage, bool) {
	s := scan{body: raw}
	var items []json.RawMessage
	for more := s.begins('[', ']'); more; more = s.goesOn(']') {
		from := s.at
		s.value()
		if s.bad {
			return nil, false
		}
		items = append(items, raw[from:s.at:s.at])
	}
	return items, !s.bad && s.at == len(raw)
}

// spelled parses a string without escapes, and reports whether value is one.
func spelled(into *string, value []byte) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	*into = string(value[1 : len(value)-1])
	return plain(*into)
}

// begins moves to the first element of an object or array. It returns false if there is none.
func (s *scan) begins(opening, closing byte) bool {
	if s.at >= len(s.body) || s.body[s.at] != opening {
		s.bad = true
		return false
	}
	s.at = spaceEnd(s.body, s.at+1)
	if s.at < len(s.body) && s.body[s.at] == closing {
		s.at++
		return false
	}
	return true
}

// goesOn moves from the end of an element to the next one. It returns false if there is none.
func (s *scan) goesOn(closing byte) bool {
	s.at = spaceEnd(s.body, s.at)
	switch {
	case s.bad:
	case s.at < len(s.body) && s.body[s.at] == ',':
		s.at = spaceEnd(s.body, s.at+1)
		return true
	case s.at < len(s.body) && s.body[s.at] == closing:
		s.at++
	default:
		s.bad = true
	}
	return false
}

// name moves to the value of a member, and returns the name as it is spelled.
func (s *scan) name() []byte {
	start, end := s.at, stringEnd(s.body, s.at)
	value := colonEnd(s.body, end)
	if value < 0 {
		s.bad = true
		return nil
	}
	s.at = value
	return s.body[start+1 : end-1]
}

// text moves to the end of a string.
func (s *scan) text() bool {
	if s.at >= len(s.body) || s.body[s.at] != '"' {
		return false
	}
	s.value()
	return !s.bad
}

// value moves to the end of a value.
func (s *scan) value() {
	if end := valueEnd(s.body, s.at); end >= 0 && !s.bad {
		s.at = end
		return
	}
	s.bad = true
}

// takes moves to the end of a token if the token comes next, and reports whether it does. The empty token never does.
func (s *scan) takes(token string) bool {
	end := s.at + len(token)
	if token == "" || s.bad || end > len(s.body) || string(s.body[s.at:end]) != token {
		return false
	}
	s.at = end
	return true
}

// once records a member, which may occur only once and must be good.
func (s *scan) once(is member, good bool) {
	s.met(is)
	s.bad = s.bad || !good
}

// met records a member, which may occur only once.
func (s *scan) met(is member) {
	s.bad = s.bad || s.seen&is != 0
	s.seen |= is
}

// sample returns a sample of the body.
func (s *scan) sample() *sample {
	body := string(s.body)
	known := &sample{result: body[s.result.from:s.result.to], message: s.message, objects: make([]judged, len(s.places))}
	for i, o := range s.places {
		known.objects[i] = judged{body[o.object.from:o.object.to], o.metadata, s.spans[o.members.from:o.members.to], o.violations}
	}
	return known
}

// span is a part of some text.
type span struct{ from, to int }
