package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
)

var start = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// review is the body of a request for widgets with some fields.
func review(uid string, objects ...string) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":%q,"desiredAPIVersion":"example.com/v2","objects":[%s]}}`,
		uid, strings.Join(objects, ","))
}

// converted is the body of a response.
func converted(uid string, objects ...string) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":%q,"result":{"status":"Success"},"convertedObjects":[%s]}}`,
		uid, strings.Join(objects, ","))
}

func widget(version, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":"one","uid":"u"},"spec":%s}`, version, spec)
}

// exchanges are one of every kind.
func exchanges() []Exchange {
	good := func(uid string) Exchange {
		return Exchange{
			Body:     review(uid, widget("v1", `{"big":9007199254740993,"ratio":1.50,"text":"<&>\u2028 ü"}`)),
			Response: contract.Response{Status: 200, ContentType: "application/json", Body: converted(uid, widget("v2", `{"big":9007199254740993}`))},
		}
	}
	all := []Exchange{
		good("1"),
		{Body: review("2"), Response: contract.Response{Status: 500, ContentType: "text/plain", Body: []byte("out of cheese\n")}},
		{Body: review("3"), Response: contract.Response{Status: 200, Body: []byte("\xff\xfe{}")}},
		{Body: review("4"), Response: contract.Response{Err: errors.New("the caller gave up"), TimedOut: true}},
		{Body: review("5"), Response: contract.Response{Status: 200, Body: []byte(`{"kind":`), Err: io.ErrUnexpectedEOF}},
		{Body: review("6"), Response: contract.Response{Status: 200, ContentType: "application/json"}, Withheld: "because"},
		{Body: review("7"), Response: contract.Response{Status: 200, Body: []byte("null")}},
		good("8"),
	}
	for i := range all {
		all[i].Offset = time.Duration(i)*time.Second + 123456789
		all[i].Service = time.Duration(i+1) * 1234567
	}
	return all
}

// recorded records exchanges and returns the file, and its length after the header and after each of them.
func recorded(t *testing.T, o Options, all []Exchange) ([]byte, []int, Summary) {
	t.Helper()
	var file bytes.Buffer
	r, err := NewRecorder(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{file.Len()}
	for _, x := range all {
		r.Record(x)
		ends = append(ends, file.Len())
	}
	summary := r.Close()
	return file.Bytes(), ends, summary
}

func same(a, b Exchange) bool {
	words := func(err error) string { return fmt.Sprint(err) }
	return a.Offset == b.Offset && a.Service == b.Service && bytes.Equal(a.Body, b.Body) && a.Withheld == b.Withheld &&
		a.Response.Status == b.Response.Status && a.Response.ContentType == b.Response.ContentType && a.Response.TimedOut == b.Response.TimedOut &&
		bytes.Equal(a.Response.Body, b.Response.Body) && words(a.Response.Err) == words(b.Response.Err)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		all := exchanges()
		file, _, summary := recorded(t, Options{Tool: "v9", Started: start, Compress: compress, MaxExchanges: 100}, all)
		if summary.Exchanges != len(all) || summary.Dropped+summary.Unread > 0 || summary.Full || summary.Err != nil {
			t.Errorf("compressed %t: %+v", compress, summary)
		}
		if compress != bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
			t.Errorf("compressed %t: it begins with %q", compress, file[:2])
		}
		read, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if h := read.Header; h.Tool != "v9" || !h.Started.Equal(start) || h.MaxBytes != DefaultMaxBytes || h.MaxExchanges != 100 || h.Redacted != nil || read.Cut {
			t.Errorf("got the header %+v", h)
		}
		if len(read.Exchanges) != len(all) {
			t.Fatalf("%d exchanges, want %d", len(read.Exchanges), len(all))
		}
		for i, x := range read.Exchanges {
			if !same(x, all[i]) || x.Line != i+2 {
				t.Errorf("compressed %t: line %d: got\n%+v\nwant\n%+v", compress, x.Line, x, all[i])
			}
			if uid := strconv.Itoa(i + 1); x.Request.UID != uid || read.Requests()[i].UID != uid || x.Request.DesiredAPIVersion != "example.com/v2" {
				t.Errorf("got the request %+v", x.Request)
			}
		}
		first := read.Exchanges[0]
		if j := first.Request.Judge(first.Response); len(j.Violations) > 0 || len(j.Objects) != 1 {
			t.Errorf("what was a good response is judged %v", j.Violations)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	all := exchanges()
	all[0].Offset = time.Hour // it took so long that it is written before those that came earlier
	file, _, _ := recorded(t, Options{}, all)
	read, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if last := read.Exchanges[len(all)-1]; last.Request.UID != "1" || last.Line != 2 || read.Exchanges[0].Request.UID != "2" {
		t.Errorf("the last one is %s of line %d", last.Request.UID, last.Line)
	}
}

// TestCutFile cuts files everywhere behind the header: what is whole has to be read.
func TestCutFile(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		file, ends, _ := recorded(t, Options{Compress: compress}, exchanges())
		for at := ends[0]; at < len(file); at++ {
			read, err := Read(bytes.NewReader(file[:at]))
			if err != nil {
				t.Fatalf("compressed %t, cut at %d: %v", compress, at, err)
			}
			whole, exact := slices.BinarySearch(ends, at)
			if !exact {
				whole--
			}
			got := len(read.Exchanges)
			// All of a line may be there before the last bytes of it, or of what ends a block.
			if got != whole && (exact || got != whole+1) {
				t.Errorf("compressed %t, cut at %d of %v: %d exchanges, want %d", compress, at, ends, got, whole)
			}
			if want := !exact && got == whole || compress; read.Cut != want {
				t.Errorf("compressed %t, cut at %d of %v: it says that it is cut: %t", compress, at, ends, read.Cut)
			}
		}
	}
}

// TestLengths reads recordings with lines that are too long, with or without an end, and ones with too many lines.
func TestLengths(t *testing.T) {
	t.Parallel()
	file, ends, _ := recorded(t, Options{}, exchanges())
	squeezed, _, _ := recorded(t, Options{Compress: true}, exchanges())
	longest := 0
	for i := 1; i < len(ends); i++ {
		longest = max(longest, ends[i]-ends[i-1])
	}
	fits := bounds{line: max(longest, ends[0]), whole: len(file)}
	for name, test := range map[string]struct {
		from io.Reader
		most bounds
		want string
	}{
		"as long as may be":  {bytes.NewReader(file), fits, ""},
		"compressed":         {bytes.NewReader(squeezed), fits, ""},
		"a line too long":    {bytes.NewReader(file), bounds{longest - 1, len(file)}, ": it is longer than 0 MiB and than any exchange"},
		"one byte too long":  {bytes.NewReader(file), bounds{fits.line, len(file) - 1}, ": the recording, which is kept in memory, exceeds 0 MiB here"},
		"a line without end": {endless{}, bounds{1 << 20, 1 << 30}, "recording: line 1: it is longer than 1 MiB"},
	} {
		read, err := within(test.from, test.most)
		if test.want == "" && (err != nil || len(read.Exchanges) == 0) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestNoRecording(t *testing.T) {
	t.Parallel()
	file, ends, _ := recorded(t, Options{}, exchanges())
	squeezed, _, _ := recorded(t, Options{Compress: true}, exchanges())
	squeezed[len(squeezed)/2] ^= 0xff
	header := string(file[:ends[0]])
	for name, test := range map[string]struct{ text, want string }{
		"empty":           {"", "recording: it is empty"},
		"not JSON":        {"some words\n", `recording: line 1: its kind must be Recording; "crdconform record" writes such files`},
		"another kind":    {`{"apiVersion":"crdconform.dev/v1alpha1","kind":"Config"}`, "recording: line 1: its kind must be Recording"},
		"another version": {strings.Replace(header, "v1alpha1", "v7", 1), `recording: line 1: its apiVersion is "crdconform.dev/v7", and this version of crdconform knows crdconform.dev/v1alpha1`},
		"a bad line":      {string(file[:ends[2]]) + "nonsense\n" + string(file[ends[2]:]), "recording: line 4: it is not an exchange: invalid character"},
		"no request":      {header + `{"offsetSeconds":1,"response":{}}` + "\n", "recording: line 2: conversion request: "},
		"no conversion":   {header + `{"request":{"kind":"Pod","apiVersion":"v1"},"response":{}}` + "\n", "recording: line 2: conversion request: want a ConversionReview"},
		"damaged":         {string(squeezed), "recording: line "},
		"not compressed":  {"\x1f\x8bnonsense", "recording: it is compressed, and cannot be read"},
	} {
		if _, err := Read(strings.NewReader(test.text)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var all []Exchange
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		noise := make([]byte, 150) // which cannot be compressed
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		all = append(all, Exchange{Body: review("1", widget("v1", fmt.Sprintf(`{"noise":"%x"}`, noise)))})
	}
	for name, o := range map[string]Options{
		"bytes":            {MaxBytes: 4000},
		"compressed bytes": {MaxBytes: 4000, Compress: true},
		"exchanges":        {MaxExchanges: 2},
	} {
		var stopped []error
		o.Stopped = func(err error) { stopped = append(stopped, err) }
		file, ends, summary := recorded(t, o, all)
		if o.MaxExchanges > 0 && summary.Exchanges != o.MaxExchanges || summary.Exchanges == 0 || summary.Exchanges+summary.Dropped != 20 || !summary.Full || summary.Err != nil {
			t.Errorf("%s: %+v", name, summary)
		}
		if o.MaxBytes > 0 && (int64(len(file)) > o.MaxBytes || int64(len(file)) < o.MaxBytes/2) || summary.Bytes != int64(len(file)) {
			t.Errorf("%s: %d bytes are written and %d reported", name, len(file), summary.Bytes)
		}
		if len(stopped) != 1 || !errors.Is(stopped[0], ErrFull) {
			t.Errorf("%s: stopped by %v", name, stopped)
		}
		// An end is an end: nothing smaller gets in later.
		if last := ends[summary.Exchanges]; ends[len(ends)-1] != last {
			t.Errorf("%s: it goes on after its end: %v", name, ends)
		}
		read, err := Read(bytes.NewReader(file))
		if err != nil || len(read.Exchanges) != summary.Exchanges || read.Cut {
			t.Errorf("%s: read %v, %v", name, read, err)
		}
	}
	if _, err := NewRecorder(io.Discard, Options{MaxBytes: 10}); err == nil || err.Error() != "recording: not even its header fits into 10 bytes" {
		t.Errorf("a bound of 10 bytes: %v", err)
	}
}

// disk is a writer with so many bytes left.
type disk struct {
	bytes.Buffer
	left int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	d.left -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestFullDisk fills the disk at every seventh byte.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	all := exchanges()
	for _, compress := range []bool{false, true} {
		whole, ends, _ := recorded(t, Options{Compress: compress}, all)
		for size := 0; size < len(whole); size += 7 {
			d := &disk{left: size}
			var stopped []error
			r, err := NewRecorder(d, Options{Compress: compress, Stopped: func(err error) { stopped = append(stopped, err) }})
			if size < ends[0] {
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("%d bytes: the header is written: %v", size, err)
				}
				continue
			}
			for _, x := range all {
				r.Record(x)
			}
			summary := r.Close()
			if !errors.Is(summary.Err, syscall.ENOSPC) || summary.Exchanges+summary.Dropped != len(all) || summary.Full || summary.Bytes != int64(size) {
				t.Fatalf("compressed %t, %d bytes of %d: %+v", compress, size, len(whole), summary)
			}
			// What fails with the end of the compression fails when all is written.
			if atOnce := size < ends[len(all)]; atOnce && (len(stopped) != 1 || !errors.Is(stopped[0], syscall.ENOSPC)) || !atOnce && stopped != nil {
				t.Errorf("compressed %t, %d bytes: stopped by %v", compress, size, stopped)
			}
			read, err := Read(&d.Buffer)
			if err != nil || len(read.Exchanges) < summary.Exchanges {
				t.Errorf("compressed %t, %d bytes: read %v, %v, want %d exchanges", compress, size, read, err, summary.Exchanges)
			}
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	r, err := NewRecorder(&file, Options{MaxExchanges: 300})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 50 {
				r.Record(exchanges()[0])
			}
		})
	}
	work.Wait()
	if s := r.Close(); s.Exchanges != 300 || s.Dropped != 100 {
		t.Errorf("got %+v", s)
	}
	if read, err := Read(&file); err != nil || len(read.Exchanges) != 300 {
		t.Errorf("read %v, %v", read, err)
	}
}

func TestWhatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{nil, {"spec.a"}} {
		redaction, err := ParseRedaction(paths)
		if err != nil {
			t.Fatal(err)
		}
		file, _, s := recorded(t, Options{Redaction: redaction}, []Exchange{{Body: []byte("no JSON")}, exchanges()[0]})
		if s.Unread != 1 || s.Exchanges != 1 || s.Err != nil || bytes.Contains(file, []byte("no JSON")) {
			t.Errorf("redacting %v: %+v", paths, s)
		}
	}
}
