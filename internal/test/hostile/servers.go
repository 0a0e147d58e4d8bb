package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crdconform/crdconform/contract"
)

const (
	mib  = 1 << 20
	huge = 250 * mib
	// endless stands for a body without end: more than anybody waits for.
	endless = 10_000 * mib
)

// What the verdicts on them say.
const (
	tooLong = `longer than \d+ (?:KiB|MiB)`
	tooMany = `more than \d+ values`
	tooDeep = `nested more than \d+ deep`
	noJSON  = "a JSON document"
	unasked = "what no request asked for"
	late    = "no complete response within"
)

// Accepted is what Server.Says of an answer that there is nothing against.
const Accepted = "accepted"

// Servers returns all hostile webhooks.
func Servers() []Server {
	servers := append(frames(), handshakes()...)
	for _, p := range slices.Concat(bodies(), lengths(), contents(), heads(), connections(), bombs(), turns(), envelopes(), values()) {
		servers = append(servers, Server{Name: p.name, Says: p.says, answer: p.answer})
	}
	return servers
}

// plain is a server that speaks HTTP/1.1.
type plain struct {
	name, says string
	answer     func(*call)
}

// bodies are too long as they are sent.
func bodies() []plain {
	return []plain{
		{"body without end", tooLong, func(c *call) { c.head(); c.repeat(" ", endless) }},
		{"body without end, in chunks", tooLong, func(c *call) {
			c.head("Transfer-Encoding: chunked")
			c.repeat("10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n", endless)
		}},
		{"10 GB", tooLong, func(c *call) {
			c.head(fmt.Sprintf("Content-Length: %d", endless))
			c.repeat("0", endless)
		}},
		{"Content-Length of 2^63-1", tooLong, func(c *call) {
			c.head("Content-Length: 9223372036854775807")
			c.repeat("0", endless)
		}},
		{"switching protocols", tooLong, func(c *call) {
			c.read()
			c.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			c.repeat("x", endless)
		}},
		{"250 MB of spaces", tooLong, func(c *call) { c.head(); c.repeat(" ", huge); c.write("{}"); c.finish() }},
		{"NULs", tooLong, func(c *call) { c.head(); c.repeat("\x00", huge); c.finish() }},
		{"few NULs", noJSON, func(c *call) { c.head(); c.repeat("\x00", mib/8); c.finish() }},
		{"annotation of 250 MB", tooLong, func(c *call) { c.annotated(strings.Repeat("x", 1<<16), huge) }},
	}
}

// lengths are not what they are said to be.
func lengths() []plain {
	return []plain{
		{"a body longer than said", noJSON + "|" + unasked, func(c *call) {
			good := string(c.good())
			c.write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(good)-1, good))
			c.hang()
		}},
		{"a body shorter than said", "unexpected EOF", func(c *call) {
			good := string(c.good())
			c.head(fmt.Sprintf("Content-Length: %d", len(good)+1))
			c.write(good)
			c.finish()
		}},
		{"Content-Length and chunks", Accepted, func(c *call) { // net/http goes by the chunks
			good := string(c.good())
			c.head("Content-Length: 2", "Transfer-Encoding: chunked")
			c.write(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(good), good))
			c.finish()
		}},
		{"a record of TLS that is cut", "unexpected EOF", func(c *call) {
			c.head("Content-Length: 100")
			_, err := c.plain.Write([]byte{23, 3, 3, 0, 100, 1, 2, 3}) // the record has 100 bytes, they say
			c.broken = err != nil
		}},
	}
}

// contents are too long or too deep in what they say, or nearly.
func contents() []plain {
	return []plain{
		{"message of 250 MB", tooLong, func(c *call) {
			c.head()
			c.write(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`, c.uid(), `","result":{"status":"Failed","message":"`)
			c.repeat("x", huge)
			c.write(`"}}}`)
			c.finish()
		}},
		{"message of 0.2 MB", "Failed", func(c *call) {
			c.head()
			c.write(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"`, c.uid(), `","result":{"status":"Failed","message":"`)
			c.repeat("x", 190_000)
			c.write(`"}}}`)
			c.finish()
		}},
		{"annotation of 0.2 MB", Accepted, func(c *call) { c.annotated(strings.Repeat("x", 1<<16), 190_000) }},
		{"numbers of 0.2 MB", tooMany, func(c *call) { c.extended("[0", strings.Repeat(",1", 100_000), "]") }},
		{"lists of 0.2 MB", tooMany, func(c *call) { c.extended("[0", strings.Repeat(",[]", 65_000), "]") }},
		{"objects of 0.2 MB", tooMany, func(c *call) { c.extended("[0", strings.Repeat(",{}", 65_000), "]") }},
		{"numbers just below the bound", Accepted, func(c *call) { c.filled("0,", 1) }},
		{"objects just below the bound", Accepted, func(c *call) { c.filled(`{"a":{}},`, 2) }},
		{"text just below the bound", Accepted, func(c *call) {
			c.extended(`"`, strings.Repeat("x", int(contract.MaxResponse(len(c.read())))-len(c.good())-1000), `"`)
		}},
		{"objects 9,000 deep", tooDeep, func(c *call) { c.extended(strings.Repeat(`{"a":`, 9000), "1", strings.Repeat("}", 9000)) }},
		{"lists 9,000 deep", tooDeep, func(c *call) { c.extended(strings.Repeat("[", 9000), "1", strings.Repeat("]", 9000)) }},
		{"lists and objects 9,000 deep", tooDeep, func(c *call) { c.extended(strings.Repeat(`[{"a":`, 4500), "1", strings.Repeat("}]", 4500)) }},
		{"lists 9,000 deep beside the response", tooDeep, func(c *call) {
			c.head()
			c.write(strings.Repeat("[", 9000), strings.Repeat("]", 9000))
			c.finish()
		}},
		{"lists 200,000 deep", tooDeep, func(c *call) { c.head(); c.repeat("[", 200_000); c.finish() }},
	}
}

// heads have their mischief before or after the body.
func heads() []plain {
	return []plain{
		{"a header of 10 MB", tooLong, func(c *call) {
			c.read()
			c.write("HTTP/1.1 200 OK\r\nX: ")
			c.repeat("x", 10*mib)
			c.write("\r\n\r\n{}")
			c.finish()
		}},
		{"a status line without end", tooLong, func(c *call) { c.read(); c.write("HTTP/1.1 200 "); c.repeat("x", endless) }},
		{"headers without end", tooLong, func(c *call) {
			c.read()
			c.write("HTTP/1.1 200 OK\r\n")
			for i := 0; !c.broken; {
				var many strings.Builder // one by one they would take longer than anybody waits
				for many.Len() < 1<<16 {
					fmt.Fprintf(&many, "X-%d: x\r\n", i)
					i++
				}
				c.write(many.String())
			}
		}},
		{"1xx without end", tooLong, func(c *call) {
			c.read()
			c.repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", endless)
		}},
		{"trailers without end", "suspiciously long trailer", func(c *call) {
			c.head("Transfer-Encoding: chunked", "Trailer: X")
			good := string(c.good())
			c.write(fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(good), good))
			c.repeat("X: x\r\n", endless)
		}},
		{"redirects to itself", "redirected to https://", func(c *call) { c.redirect(c.serving.url) }},
		{"redirects without end", "redirected to https://", func(c *call) { c.redirect(c.serving.url + "/" + strings.Repeat("x", 1<<15)) }},
		{"redirects to a file", "unsupported protocol scheme", func(c *call) { c.redirect("file:///etc/passwd") }},
		{"redirects to http", "which redirects to http://", func(c *call) { c.redirect("http://127.0.0.1:1/") }},
		{"Retry-After 0 with a big body", tooLong, func(c *call) {
			c.read()
			c.write("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nConnection: close\r\n\r\n")
			c.repeat("x", huge)
		}},
		{"Retry-After that overflows", "503 on attempt 11", func(c *call) {
			c.read()
			c.write("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 9223372036854775807\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}},
		{"status 0", `malformed HTTP status code "0"`, func(c *call) { c.read(); c.write("HTTP/1.1 0 x\r\n\r\n"); c.finish() }},
		{"status 999", "got 999", func(c *call) {
			c.read()
			c.write("HTTP/1.1 999 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			c.finish()
		}},
	}
}

// connections break off, or answer some and not others.
func connections() []plain {
	return []plain{
		{"duplicate keys", `expected "ConversionReview", got ""`, func(c *call) { c.head(); c.write("{"); c.repeat(`"a":1,`, mib/32); c.write(`"a":1}`); c.finish() }},
		{"huge numbers", "is too large", func(c *call) { c.extended("[1", strings.Repeat("0", mib/8), ",1e400,-1e-400]") }},
		{"invalid UTF-8", Accepted, func(c *call) { c.extended(`"`, strings.Repeat("\xff\xfe", mib/8), `"`) }},
		{"RST", "connection reset by peer", func(c *call) {
			c.read()
			c.reset()
		}},
		{"no close_notify", "unexpected end of JSON input", func(c *call) { c.head(); good := c.good(); c.write(string(good[:len(good)/2])) }},
		{"early answers", `expected "ConversionReview", got ""`, func(c *call) {
			c.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		}},
		{"endless to API servers", tooLong, func(c *call) {
			c.head()
			good := c.good()
			if bytes.Contains(c.body, []byte(`"managedFields"`)) {
				c.repeat(" ", endless)
			}
			c.write(string(good))
			c.finish()
		}},
		{"9,000 deep to API servers", tooDeep, func(c *call) {
			c.read()
			if bytes.Contains(c.body, []byte(`"managedFields"`)) {
				c.extended(strings.Repeat(`{"a":`, 9000), "1", strings.Repeat("}", 9000))
				return
			}
			c.head()
			c.write(string(c.good()))
			c.finish()
		}},
		{"a byte each second", late, func(c *call) {
			c.head()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for range 120 {
				if !c.write(" ") {
					return
				}
				<-tick.C
			}
		}},
	}
}

// bombs are short until they are decompressed.
func bombs() []plain {
	var servers []plain
	for _, bomb := range []struct{ of, unit, says string }{
		{"zeros", "0", tooLong},
		{"spaces", " ", tooLong},
		{"objects", `{"a":{}},`, tooLong},
		{"lists", "[],", tooLong},
		{"numbers", "1,", tooLong},
		{"nesting", "[", tooLong},
		{"YAML", "- a\n", tooLong},
		{"deep YAML", "- ", tooLong},
	} {
		zipped := sync.OnceValue(func() string { return zip(bomb.unit) })
		servers = append(servers, plain{"gzip bomb of " + bomb.of, bomb.says, func(c *call) {
			c.head("Content-Encoding: gzip")
			first := "["
			if strings.HasSuffix(bomb.of, "YAML") {
				first = ""
			}
			c.write(zip1(first))
			c.repeat(zipped(), 64*len(zipped()))
			c.finish()
		}})
	}
	return servers
}

// redirect redirects to a URL.
func (c *call) redirect(to string) {
	c.read()
	c.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: ", to, "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	c.finish()
}

// uid is that of the request.
func (c *call) uid() string {
	_, rest, _ := strings.Cut(string(c.read()), `"uid":"`)
	uid, _, _ := strings.Cut(rest, `"`)
	return uid
}

// annotated answers well, with an annotation in the first object that has something so often that it is so many bytes.
func (c *call) annotated(what string, size int) {
	before, behind := c.inside(`"metadata":{"`)
	c.head()
	c.write(strings.TrimSuffix(before, `"`), `"annotations":{"example.com/x":"`)
	c.repeat(what, size)
	c.write(`"},"`, behind)
	c.finish()
}

// extended answers well, but that the first object has one field more.
func (c *call) extended(value ...string) {
	before, behind := c.inside(`"convertedObjects":[{`)
	c.head()
	c.write(before, `"more":`, strings.Join(value, ""), ",", behind)
	c.finish()
}

// zip compresses 16 MiB of something. Any number of such in a row decompress to all of it.
func zip(unit string) string { return zip1(strings.Repeat(unit, 16*mib/len(unit))) }

func zip1(text string) string {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(text))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return zipped.String()
}

// filled answers well, but that the first object has a list more, of something that holds so many values so often that the response is just
// short enough.
func (c *call) filled(unit string, values int) {
	most := 16_000 + 4*bytes.Count(c.read(), []byte(","))
	c.extended("[", strings.Repeat(unit, most/values), "0]")
}
