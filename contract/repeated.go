package contract

import (
	"bytes"
	"sync/atomic"
)

// Repeated judges the responses to a request that is sent over and over, each time with a different uid. It judges like
// Request.Judge, many times faster. It is safe for concurrent use. It keeps a copy of one response.
type Repeated struct {
	request Request // prepared

	// Expected parts of responses, as JSON; empty if there are several ways to spell them.
	version string // of the review, with its group
	desired string // apiVersion of the objects
	wanted  []wanted

	known  atomic.Pointer[sample] // nil before the first
	misses atomic.Int64           // number of parts of responses that are not in known
}

// wanted holds the expected parts of an object, as JSON.
type wanted struct{ kind, metadata string }

// sample is a response that was judged.
type sample struct {
	result  string // as JSON, of a conversion that succeeded
	message string // of the result
	objects []judged
}

// judged is an object of a sample, at its index.
type judged struct {
	raw        string // as JSON
	metadata   span   // in raw; empty if it has, or may have, violations
	members    []span // in raw, in order; empty for those that affect a judgement
	violations []Violation
}

// fine returns the metadata, or "" if it has, or may have, violations.
func (o *judged) fine() string { return o.raw[o.metadata.from:o.metadata.to] }

// member returns the n-th member, including its name. It returns "" if there is none, or if the member affects a judgement.
func (o *judged) member(n int) string {
	if n >= len(o.members) {
		return ""
	}
	return o.raw[o.members[n].from:o.members[n].to]
}

// renewal is the number of misses after which another sample is taken. Taking one costs less than judging a response, but most of
// that cost is wasted on webhooks that never give the same response twice.
const renewal = 64

// Repeated prepares the request to be sent over and over. Its Objects must not be changed in place.
func (r Request) Repeated() *Repeated {
	return r.Prepare().repeated()
}

// repeated does the same for a request that was prepared, even if only without metadata.
func (r Request) repeated() *Repeated {
	p := &Repeated{request: r, version: token(group + "/" + r.ReviewVersion), desired: token(r.DesiredAPIVersion)}
	for i := range r.parsed.objects {
		before := &r.parsed.objects[i]
		w := wanted{kind: token(before.Kind)}
		if bytes.HasPrefix(before.Metadata, []byte("{")) && valueEnd(before.Metadata, 0) == len(before.Metadata) {
			w.metadata = string(before.Metadata)
		}
		p.wanted = append(p.wanted, w)
	}
	return p
}

// token returns a text as JSON. It returns "" if the text needs escapes.
func token(text string) string {
	if !plain(text) {
		return ""
	}
	return `"` + text + `"`
}

// plain reports whether a text needs no escapes in JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Judge judges the response to the request that was sent with a uid. The judgement has no Objects. It does not refer to the body of
// the response, whose memory may be reused at once.
func (p *Repeated) Judge(uid string, response Response) Judgement {
	var j Judgement
	if arrived(&j, response) && p.scanned(&j, uid, response.Body) {
		return j
	}
	request := p.request
	request.UID = uid
	j = request.decoded(response)
	j.Objects = nil
	return j
}

// scanned judges the body of a response. It returns false, and judges nothing, if the body is unusual.
func (p *Repeated) scanned(j *Judgement, uid string, body []byte) bool {
	s := scan{p: p, uid: uid, body: body, known: p.known.Load()}
	s.sampling = s.known == nil || p.misses.Load() >= renewal
	s.record = s.sampling
	if !s.whole() {
		return false
	}
	s.report(j)
	switch {
	case s.misses > 0 && s.sampling:
		p.misses.Store(0)
		p.known.Store(s.sample())
	case s.misses > 0:
		p.misses.Add(s.misses)
	}
	return true
}

// unusual judges a converted object by itself. It returns false if the object is not that of the request at its index, or cannot be
// judged by itself for another reason.
func (p *Repeated) unusual(i int, raw []byte) ([]Violation, bool) {
	before := p.request.parsed.objects[i]
	if before.metadata == nil {
		before.parseMetadata()
	}
	after, err := parseObject(raw)
	if err != nil {
		return nil, false
	}
	after.parseMetadata()
	if after.identity() != before.identity() {
		return nil, false
	}
	var j Judgement
	p.request.object(&j, i, &before, &after)
	return j.Violations, true
}
