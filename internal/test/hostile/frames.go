package hostile

import (
	"bytes"
	"crypto/tls"
	"io"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conversation is a connection of HTTP/2 on which a request has begun. Nobody cares whether writing succeeds: the client may have left.
type conversation struct {
	*http2.Framer

	stream uint32 // of the request
}

// converse has the server answer the first request on a connection, and reads what the client says until one of them leaves.
func (s *serving) converse(secured *tls.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(secured, preface); err != nil {
		return // a handshake alone
	}
	c := &conversation{Framer: http2.NewFramer(secured, secured)}
	if c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) != nil {
		return
	}
	var answering bool
	ended := make(chan struct{})
	close(ended)
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			break
		}
		if headers, is := frame.(*http2.HeadersFrame); is && !answering {
			answering, c.stream = true, headers.StreamID
			ended = make(chan struct{})
			go func() {
				defer close(ended)
				s.server.frames(c)
			}()
		}
	}
	_ = secured.Close() // the client has left, so that nothing can be written
	<-ended
}

// header encodes fields of a header, given as names and values in turn.
func header(fields ...string) []byte {
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			panic(err) // a builder takes everything
		}
	}
	return []byte(block.String())
}

// begin writes the header of a response.
func (c *conversation) begin(end bool) bool {
	return c.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.stream, EndHeaders: end, BlockFragment: header(":status", "200", "content-type", "application/json"),
	}) == nil
}

// frames are servers that do with frames what HTTP/2 leaves open.
func frames() []Server {
	server := func(name, says string, frames func(*conversation)) Server {
		return Server{Name: "HTTP/2, " + name, Says: says, frames: frames}
	}
	return []Server{
		server("a window that never opens", late, func(*conversation) {}),
		server("SETTINGS without end", late, func(c *conversation) {
			for c.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}) == nil {
			}
		}),
		server("PING without end", late, func(c *conversation) {
			for c.WritePing(false, [8]byte{}) == nil {
			}
		}),
		server("CONTINUATION without end", "rules of HTTP/2, or its headers are longer than 1 MiB", func(c *conversation) {
			block := header("x", strings.Repeat("x", 1<<13))
			for alive := c.begin(false); alive; alive = c.WriteContinuation(c.stream, false, block) == nil {
			}
		}),
		server("empty CONTINUATION without end", late, func(c *conversation) {
			for alive := c.begin(false); alive; alive = c.WriteContinuation(c.stream, false, nil) == nil {
			}
		}),
		server("empty DATA without end", late, func(c *conversation) {
			for alive := c.begin(true); alive; alive = c.WriteData(c.stream, false, nil) == nil {
			}
		}),
		server("small DATA without end", tooLong, func(c *conversation) {
			spaces := []byte(strings.Repeat(" ", 64))
			for alive := c.begin(true); alive; alive = c.WriteData(c.stream, false, spaces) == nil {
			}
		}),
		server("1xx without end", tooLong, func(c *conversation) {
			block := header(":status", "103", "link", "<x>")
			for c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, EndHeaders: true, BlockFragment: block}) == nil {
			}
		}),
		server("WINDOW_UPDATE without end", late, func(c *conversation) {
			for c.WriteWindowUpdate(0, 1) == nil {
			}
		}),
		server("frames that nobody knows without end", late, func(c *conversation) {
			content := make([]byte, 1<<14)
			for c.WriteRawFrame(0xee, 0, 0, content) == nil {
			}
		}),
		server("headers that are short until they are decompressed", "rules of HTTP/2, or its headers are longer than 1 MiB", func(c *conversation) {
			var block bytes.Buffer
			encoder := hpack.NewEncoder(&block)
			big := hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 4000)} // indexed, so that it is one byte from now on
			for range 16_000 {
				_ = encoder.WriteField(big) // a buffer takes everything
			}
			alive := c.begin(false)
			for all := block.Bytes(); alive && len(all) > 0; {
				n := min(len(all), 1<<14)
				alive = c.WriteContinuation(c.stream, n == len(all), all[:n]) == nil
				all = all[n:]
			}
		}),
		server("a promise", "rules of HTTP/2|PUSH_PROMISE|PROTOCOL_ERROR", func(c *conversation) {
			_ = c.WritePushPromise(http2.PushPromiseParam{StreamID: c.stream, PromiseID: 2, EndHeaders: true, BlockFragment: header(":method", "GET", ":scheme", "https", ":authority", "x", ":path", "/")})
		}),
		// These are asked again on other connections, until the time is over.
		server("a reset of each request", late, func(c *conversation) { _ = c.WriteRSTStream(c.stream, http2.ErrCodeRefusedStream) }),
		server("GOAWAY to each request", late, func(c *conversation) { _ = c.WriteGoAway(0, http2.ErrCodeNo, nil) }),
	}
}
