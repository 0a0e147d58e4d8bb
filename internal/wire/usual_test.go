package wire

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUsual has heads be recognised that differ in nothing but the length, and no others. What is made of them is what net/http makes.
func TestUsual(t *testing.T) {
	t.Parallel()
	const plain = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Wed, 25 Nov 2026 18:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}"
	const lineFeed, lineFeeds = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX: y\n\r\n{}abc\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX: y\n\n{}abc\r\n\r\nx"
	for name, test := range map[string]struct {
		first, second string
		recognised    bool
	}{
		"the same":              {plain, plain, true},
		"another length":        {plain, strings.Replace(plain, "2\r\n\r\n", "12\r\n\r\n", 1) + "0123456789", true},
		"nothing":               {plain, strings.Replace(plain, "2\r\n\r\n", "0\r\n\r\n", 1), true},
		"zeros":                 {plain, strings.Replace(plain, "2\r\n\r\n", "002\r\n\r\n", 1), true},
		"small letters":         {strings.Replace(plain, "Content-L", "content-l", 1), strings.Replace(plain, "Content-L", "content-l", 1), true},
		"that it closes":        {strings.Replace(plain, "OK\r\n", "OK\r\nConnection: close\r\n", 1), strings.Replace(plain, "OK\r\n", "OK\r\nConnection: close\r\n", 1), true},
		"another date":          {plain, strings.Replace(plain, "18:00:00", "18:00:01", 1), false},
		"another status":        {plain, strings.Replace(plain, "200 OK", "500 Internal Server Error", 1), false},
		"always another status": {strings.Replace(plain, "200", "500", 1), strings.Replace(plain, "200", "500", 1), false},
		"half a head":           {plain, plain[:60], false},
		"a number too long":     {plain, strings.Replace(plain, "2\r\n\r\n", "99999999999999999999\r\n\r\n", 1), false},
		"no number":             {plain, strings.Replace(plain, "2\r\n\r\n", "\r\n\r\n", 1), false},
		"a sign":                {plain, strings.Replace(plain, "2\r\n\r\n", "+2\r\n\r\n", 1), false},
		"a space behind it":     {plain, strings.Replace(plain, "2\r\n\r\n", "2 \r\n\r\n", 1), false},
		"a line feed alone":     {lineFeed, lineFeed, false},
		"an end of line feeds":  {lineFeeds, lineFeeds, false},
		"two lengths": {
			strings.Replace(plain, "OK\r\n", "OK\r\nContent-Length: 2\r\n", 1), strings.Replace(plain, "OK\r\n", "OK\r\nContent-Length: 2\r\n", 1), false,
		},
		"chunks": {
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false,
		},
		"gzip": {
			strings.Replace(plain, "OK\r\n", "OK\r\nContent-Encoding: gzip\r\n", 1), strings.Replace(plain, "OK\r\n", "OK\r\nContent-Encoding: gzip\r\n", 1), false,
		},
	} {
		var u usual
		if !learnt(t, &u, test.first) {
			t.Fatalf("%s: the first response is no such", name)
		}
		if got := sameAsParsed(t, &u, test.second); got != test.recognised {
			t.Errorf("%s: recognised is %t, want %t", name, got, test.recognised)
		}
	}
}

// FuzzUsual has two responses of any kind on one connection: where the second is recognised, it is what net/http makes of it.
func FuzzUsual(f *testing.F) {
	const plain = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	f.Add(plain, plain)
	f.Add(plain, strings.Replace(plain, "2\r", "12\r", 1))
	f.Add("HTTP/1.0 200\r\ncontent-length: 2\r\nConnection: keep-alive\r\nTrailer: X\r\n\r\n{}", plain)
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX: y\n\n{}abc\r\n\r\nx", plain)
	f.Add("HTTP/1.1 200 \x8f\xb3\xdc\r\nContent-Length: 0\r\n\r\n", plain)
	f.Fuzz(func(t *testing.T, first, second string) {
		var u usual
		if !learnt(t, &u, first) {
			return
		}
		sameAsParsed(t, &u, second)
		sameAsParsed(t, &u, first)
	})
}

// learnt has a response be parsed and learnt, and reports whether it is one.
func learnt(t *testing.T, u *usual, text string) bool {
	t.Helper()
	from := bufio.NewReader(strings.NewReader(text))
	_, _ = from.Peek(1)
	u.see(from)
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	u.learn(response)
	return true
}

// sameAsParsed reports whether a response is recognised, and fails if net/http makes something else of it.
func sameAsParsed(t *testing.T, u *usual, text string) bool {
	t.Helper()
	from := bufio.NewReader(strings.NewReader(text))
	_, _ = from.Peek(1)
	got := u.response(from, nil)
	if got == nil {
		if rest, err := io.ReadAll(from); err != nil || string(rest) != text {
			t.Errorf("of %q, which is not recognised, %q is left, %v", text, rest, err)
		}
		return false
	}
	defer got.Body.Close()
	parsed := bufio.NewReader(strings.NewReader(text))
	want, err := http.ReadResponse(parsed, nil)
	if err != nil {
		t.Fatalf("%q is recognised, but net/http says: %v", text, err)
	}
	defer want.Body.Close()
	gotBody, gotErr := io.ReadAll(got.Body)
	wantBody, wantErr := io.ReadAll(want.Body)
	gotRest, _ := io.ReadAll(from)
	wantRest, _ := io.ReadAll(parsed)
	want.Header.Del("Content-Length")
	type response struct {
		Status, Proto, Body, Rest string
		Code                      int
		Length                    int64
		Header                    http.Header
		Close                     bool
		Err                       error
	}
	if diff := cmp.Diff(
		response{want.Status, want.Proto, string(wantBody), string(wantRest), want.StatusCode, want.ContentLength, want.Header, want.Close, wantErr},
		response{got.Status, got.Proto, string(gotBody), string(gotRest), got.StatusCode, got.ContentLength, got.Header, got.Close, gotErr},
		cmp.Comparer(func(a, b error) bool { return a == b }), //nolint:errorlint // readers return it as it is
	); diff != "" {
		t.Errorf("net/http (-) and what is recognised (+) differ for %q:\n%s", text, diff)
	}
	return true
}
