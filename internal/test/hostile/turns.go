package hostile

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// turns are good to some requests. The first request that a server gets meets what is wrong with it.
func turns() []plain {
	unlessGood := func(good func(*call) bool, evil func(*call)) func(*call) {
		return func(c *call) {
			c.read()
			if good(c) {
				c.well()
				return
			}
			evil(c)
		}
	}
	spaces := func(c *call) { c.head(); c.repeat(" ", huge) }
	return []plain{
		{"evil to every other request", tooLong, unlessGood(func(c *call) bool { return c.nth%2 == 0 }, spaces)},
		{"evil to one version", tooLong, unlessGood(func(c *call) bool { return !bytes.Contains(c.body, []byte(`"desiredAPIVersion":"`+c.group()+`/v1"`)) }, spaces)},
		{"evil after 100 requests", Accepted, unlessGood(func(c *call) bool { return c.nth <= 100 }, spaces)},
		{"silent after 100 requests", Accepted, unlessGood(func(c *call) bool { return c.nth <= 100 }, func(c *call) { c.hang() })},
		{"RST after a good answer", Accepted, func(c *call) {
			good := c.good()
			c.write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(good), good))
			c.next()
			c.reset()
		}},
		{"half a second late", Accepted, func(c *call) {
			good := string(c.good())
			c.pause(500 * time.Millisecond)
			c.head()
			c.write(good)
			c.finish()
		}},
		{"429 without end", "429 on attempt 11", func(c *call) {
			c.read()
			c.write("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}},
	}
}

// envelopes have good answers, or nearly, in what is not what it says.
func envelopes() []plain {
	in := func(head ...string) func(*call) {
		return func(c *call) { c.head(head...); c.write(string(c.good())); c.finish() }
	}
	around := func(before, behind string) func(*call) {
		return func(c *call) { c.head(); c.write(before, string(c.good()), behind); c.finish() }
	}
	return []plain{
		{"no gzip that is called gzip", "gzip: invalid header", in("Content-Encoding: gzip")},
		{"what is called br", Accepted, in("Content-Encoding: br")},
		{"what is called zstd", Accepted, in("Content-Encoding: zstd")},
		{"gzip in gzip", noJSON, func(c *call) {
			c.head("Content-Encoding: gzip")
			c.write(zip1(zip1(string(c.good()))))
			c.finish()
		}},
		{"UTF-8 with its mark", Accepted, around("\ufeff", "")},
		{"UTF-16", Accepted, func(c *call) {
			c.head()
			c.write("\xff\xfe", strings.Join(strings.Split(string(c.good()), ""), "\x00"), "\x00")
			c.finish()
		}},
		{"a second answer behind the first", noJSON, around("", "{}")},
		{"spaces around the answer", Accepted, around(strings.Repeat(" ", mib/4), strings.Repeat("\n", mib/4))},
		{"two lengths", "multiple Content-Length", in("Content-Length: 2", "Content-Length: 3")},
		{"chunks of 2^64", "malformed chunked encoding|invalid byte in chunk length|http chunk length too large", func(c *call) {
			c.head("Transfer-Encoding: chunked")
			c.write("fffffffffffffffff\r\n")
			c.repeat("x", mib)
			c.finish()
		}},
		{"extensions of chunks without end", "line too long", func(c *call) {
			c.head("Transfer-Encoding: chunked")
			c.write("1;")
			c.repeat("x", huge)
			c.finish()
		}},
		{"chunks of one byte with long extensions", "chunk", func(c *call) {
			c.head("Transfer-Encoding: chunked")
			c.repeat("1;"+strings.Repeat("x", 2000)+"\r\n \r\n", huge)
			c.finish()
		}},
		{"chunks in gzip", "unsupported transfer encoding", in("Transfer-Encoding: gzip, chunked")},
		{"folded headers", Accepted, in("X-Folded: a", "\tb", "  c")},
		{"a header without a name", "malformed MIME header", in(": x")},
		{"HTTP/1.0 without a header", Accepted, func(c *call) { good := c.good(); c.write("HTTP/1.0 200 OK\r\n\r\n", string(good)); c.finish() }},
		{"no header at all", "malformed HTTP (?:response|status|version)", func(c *call) { good := c.good(); c.write(string(good)); c.finish() }},
		{"204", "204", func(c *call) {
			c.read()
			c.write("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			c.finish()
		}},
		{"five 1xx", Accepted, func(c *call) {
			c.read()
			c.write(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 5))
			c.well()
		}},
	}
}

// values are answers that are JSON, of objects that are not what was asked for.
func values() []plain {
	return []plain{
		{"100,000 tiny objects", tooMany, func(c *call) {
			before, behind := c.inside(`"convertedObjects":[`)
			c.head()
			c.write(before, strings.Repeat("{},", 100_000), behind)
			c.finish()
		}},
		{"10,000 tiny objects", `expected \d+ objects, got`, func(c *call) {
			before, behind := c.inside(`"convertedObjects":[`)
			c.head()
			c.write(before, strings.Repeat("{},", 10_000), behind)
			c.finish()
		}},
		{"lists 200 deep", Accepted, func(c *call) { c.extended(strings.Repeat("[", 200), strings.Repeat("]", 200)) }},
		{"1e400", "is too large", func(c *call) { c.extended("1e400") }},
		{"metadata twice", Accepted, func(c *call) { c.extended(`1,"metadata":{"name":"other"}`) }},
		{"response twice", Accepted, func(c *call) {
			before, behind := c.inside(`"response":`)
			c.head()
			c.write(strings.TrimSuffix(before, `"response":`), `"response":{"uid":"other"},"response":`, behind)
			c.finish()
		}},
		{"keys in capitals", "response", func(c *call) {
			c.head()
			c.write(strings.NewReplacer(`"response"`, `"RESPONSE"`, `"uid"`, `"UID"`).Replace(string(c.good())))
			c.finish()
		}},
		{"a message that steers terminals", "Failed", func(c *call) {
			c.head()
			c.write(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`, c.uid(), `","result":{"status":"Failed","message":"`)
			c.repeat(`\u001b[2J\u0007\u202e\r`, 100_000)
			c.write(`"}}}`)
			c.finish()
		}},
	}
}

// handshakes go wrong before a request is sent.
func handshakes() []Server {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("%d.example.com", i)
	}
	return []Server{
		{Name: "a certificate of 10,000 names", Says: Accepted, names: names, answer: func(c *call) { c.well() }},
		{
			Name: "a response before it was asked for", Says: ".", SaysInTurn: unasked + "|expected \"1\", got \"0\"",
			greeting: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 93\r\n\r\n" +
				`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"0"}}    `,
			answer: func(c *call) { c.well() },
		},
		{Name: "two responses to a request", Says: Accepted, SaysInTurn: unasked, answer: func(c *call) {
			const next = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
			good := string(c.good())
			c.write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s", len(good), good, next))
			c.hang()
		}},
		{Name: "a handshake that never begins", Says: late, stalls: true},
	}
}

// group is the API group that the request is about.
func (c *call) group() string {
	_, rest, _ := strings.Cut(string(c.read()), `"desiredAPIVersion":"`)
	group, _, _ := strings.Cut(rest, "/")
	return group
}

// well answers as a correct webhook does.
func (c *call) well() {
	good := string(c.good())
	c.head()
	c.write(good)
	c.finish()
}

// next waits for another request on the connection.
func (c *call) next() {
	_, err := http.ReadRequest(c.from)
	c.broken = c.broken || err != nil
}

// reset ends the connection by a RST.
func (c *call) reset() {
	if tcp, ok := c.plain.(interface{ SetLinger(int) error }); ok {
		c.broken = tcp.SetLinger(0) != nil
	}
}

// hang waits until the client leaves.
func (c *call) hang() {
	_, _ = c.from.Peek(1) // that it fails is waited for
}

// pause waits.
func (c *call) pause(d time.Duration) {
	_ = pause.For(c.request.Context(), d)
}
