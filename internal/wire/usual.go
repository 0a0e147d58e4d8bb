package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
)

// usual is the head of an earlier response, which those that follow repeat but for the length of the body, as long as it is the same
// second. It is recognised byte by byte, and stands for what net/http made of it: parsing takes a tenth of what a short request takes.
type usual struct {
	head   []byte // that was seen; empty if it has not come as a whole
	before int    // how many bytes of it are before the length; 0 if it is none to be recognised
	after  int    // and from where on they are behind it
	parsed http.Response
}

const lengthField = "\r\ncontent-length: "

// see keeps the head of the response that is about to be parsed.
func (u *usual) see(from *bufio.Reader) {
	begun, _ := from.Peek(from.Buffered())
	end := bytes.Index(begun, []byte("\r\n\r\n")) + len("\r\n\r\n")
	u.before, u.head = 0, u.head[:0]
	if end < len("\r\n\r\n") {
		return
	}
	// Net/http takes a line feed alone for the end of a line, too, so that the head may have ended before.
	if head := begun[:end]; bytes.Count(head, []byte("\n")) == bytes.Count(head, []byte("\r\n")) {
		u.head = append(u.head, head...)
	}
}

// learn learns what net/http made of the head that was seen, where nothing but its bytes and the length decides that.
func (u *usual) learn(r *http.Response) {
	if r.StatusCode != http.StatusOK || r.ContentLength < 0 || r.TransferEncoding != nil || r.Trailer != nil || r.Header.Get("Content-Encoding") != "" {
		return
	}
	lower := bytes.Clone(u.head)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c - 'A' + 'a'
		}
	}
	if at := bytes.Index(lower, []byte(lengthField)); at >= 0 && bytes.Count(lower, []byte("content-length")) == 1 {
		before := at + len(lengthField)
		after := before + digits(u.head[before:])
		if string(u.head[before:after]) == strconv.FormatInt(r.ContentLength, 10) && bytes.HasPrefix(u.head[after:], []byte("\r\n")) {
			u.before, u.after, u.parsed = before, after, *r
			u.parsed.Request, u.parsed.Body, u.parsed.Header = nil, nil, r.Header.Clone()
			u.parsed.Header.Del("Content-Length")
		}
	}
}

// response returns the response that has come, if its head is the usual one.
func (u *usual) response(from *bufio.Reader, request *http.Request) *http.Response {
	if u.before == 0 {
		return nil
	}
	begun, _ := from.Peek(from.Buffered())
	rest, same := bytes.CutPrefix(begun, u.head[:u.before])
	if !same {
		return nil
	}
	length := digits(rest)
	size, err := strconv.ParseInt(string(rest[:length]), 10, 64)
	if err != nil || !bytes.HasPrefix(rest[length:], u.head[u.after:]) {
		return nil
	}
	_, _ = from.Discard(u.before + length + len(u.head) - u.after) // all of it is there
	r := u.parsed
	r.Request, r.ContentLength, r.Body = request, size, http.NoBody
	if size > 0 {
		r.Body = &sized{from, size}
	}
	return &r
}

// digits is how many digits a text begins with.
func digits(text []byte) int {
	if n := slices.IndexFunc(text, func(c byte) bool { return c < '0' || c > '9' }); n >= 0 {
		return n
	}
	return len(text)
}

// sized is a body of which so many bytes are left, as net/http has it.
type sized struct {
	from io.Reader
	left int64
}

// Read reads from the body.
func (s *sized) Read(into []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.from.Read(into[:min(int64(len(into)), s.left)])
	s.left -= int64(n)
	switch {
	case s.left == 0:
		return n, io.EOF
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing: the connection belongs to others.
func (s *sized) Close() error { return nil }
