package contract

import (
	"bytes"
	"sync/atomic"
)

// Repeated judges the responses to a request that is sent over and over, each time with another uid. It says what
// Request.Judge does, many times faster. It is safe for use by many goroutines. It keeps a copy of one response.
type Repeated struct {
	request Request // prepared

	// What responses are to have, as JSON; empty when that can be spelled in several ways.
	version string // of the review, with its group
	desired string // apiVersion of the objects
	wanted  []wanted

	known  atomic.Pointer[sample] // nil before the first
	misses atomic.Int64           // of responses to what is known
}

// wanted is what an object is to have, as JSON.
type wanted struct{ kind, metadata string }

// sample is a response that was judged.
type sample struct {
	result  string // as JSON; it says that the conversion succeeded
	message string // of the result
	objects []judged
}

// judged is an object of a sample, at its place.
type judged struct {
	raw        string // as JSON
	metadata   span   // in raw; empty if there is, or may be, something against it
	members    []span // in raw, in their order; empty for those that count in a judgement
	violations []Violation
}

// fine returns metadata that there is nothing against, if any.
func (o *judged) fine() string { return o.raw[o.metadata.from:o.metadata.to] }

// member returns the n-th member, name included; empty if there is none, or if it counts in a judgement.
func (o *judged) member(n int) string {
	if n >= len(o.members) {
		return ""
	}
	return o.raw[o.members[n].from:o.members[n].to]
}

// renewal is after how many misses another sample is taken. To take one costs less than to judge a response, but most of what
// it costs is for nothing with webhooks that never give the same answer twice.
const renewal = 64

// Repeated prepares the request for being sent over and over. Its Objects must not be changed in place.
func (r Request) Repeated() *Repeated {
	return r.Prepare().repeated()
}

// repeated is the same for a request that was prepared, if only without metadata.
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

// token returns a text as JSON if it can be written as it is.
func token(text string) string {
	if !plain(text) {
		return ""
	}
	return `"` + text + `"`
}

// plain reports whether a text stands for itself in JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Judge judges the response to the request when it was sent with a uid. The judgement has no Objects: it does not refer to
// the body of the response, whose memory may be used again at once.
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

// scanned judges the body of a response and returns true, or leaves it if it is unusual.
func (p *Repeated) scanned(j *Judgement, uid string, body []byte) bool {
	s := scan{p: p, uid: uid, body: body, known: p.known.Load()}
	s.sampling = s.known == nil || p.misses.Load() >= renewal
	s.record = s.sampling
	if !s.whole() {
		return false
	}
	s.tell(j)
	switch {
	case s.misses > 0 && s.sampling:
		p.misses.Store(0)
		p.known.Store(s.sample())
	case s.misses > 0:
		p.misses.Add(s.misses)
	}
	return true
}

// unusual judges a converted object by itself. It returns false when it is not that of the request at its place, or cannot be
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
