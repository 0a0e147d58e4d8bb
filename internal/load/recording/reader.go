package recording

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/crdconform/crdconform/contract"
)

// Recording is a recording as a whole.
type Recording struct {
	Header

	// Exchanges are in the order in which the requests came.
	Exchanges []Exchange

	// Cut reports whether the file ended in the middle of a line, which was left out: the disk was full, or the recording was killed.
	Cut bool
}

// Requests returns the requests in the order in which they came.
func (r *Recording) Requests() []contract.Request {
	requests := make([]contract.Request, 0, len(r.Exchanges))
	for _, x := range r.Exchanges {
		requests = append(requests, x.Request)
	}
	return requests
}

// Read reads a whole recording, compressed or not. Its errors name the line. A last line that is cut off is no error.
func Read(r io.Reader) (*Recording, error) { return within(r, usual()) }

func within(r io.Reader, most bounds) (*Recording, error) {
	reader, err := bounded(r, most)
	if err != nil {
		return nil, err
	}
	whole := &Recording{Header: reader.Header()}
	for {
		x, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if reader.size > most.whole {
			return nil, fmt.Errorf("recording: line %d: the recording, which is kept in memory, exceeds %d MiB here; give its first line and only some of the others", x.Line, most.whole>>20)
		}
		whole.Exchanges = append(whole.Exchanges, x)
	}
	whole.Cut = reader.Cut()
	slices.SortStableFunc(whole.Exchanges, func(a, b Exchange) int { return cmp.Compare(a.Offset, b.Offset) })
	return whole, nil
}

// Reader reads a recording exchange by exchange, in the order in which they ended.
type Reader struct {
	header Header
	lines  *bufio.Reader
	line   int
	most   int // bytes of a line
	size   int // of what was read, in bytes
	cut    bool
}

// bounds are how long a line may be, and all that is kept of a recording, in bytes.
type bounds struct{ line, whole int }

// usual are the bounds of recordings that Record writes: a line has a request and a response, which may be four times as long.
func usual() bounds { return bounds{line: 6 * maxRequest, whole: 1 << 30} }

// bounded reads the header of a recording, compressed or not.
func bounded(r io.Reader, most bounds) (*Reader, error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	if magic, err := lines.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(lines)
		if err != nil {
			return nil, fmt.Errorf("recording: it is compressed, and cannot be read: %w", err)
		}
		lines = bufio.NewReaderSize(zip, 1<<16)
	}
	read := &Reader{lines: lines, most: most.line}
	raw, _, err := read.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("recording: it is empty")
	case err != nil:
		return nil, err
	}
	h := &read.header
	if err := json.Unmarshal(raw, h); err != nil || h.Kind != Kind {
		return nil, fmt.Errorf("recording: line 1: its kind must be %s; \"crdconform record\" writes such files", Kind)
	}
	if h.APIVersion != APIVersion {
		return nil, fmt.Errorf("recording: line 1: its apiVersion is %q, and this version of crdconform knows %s", h.APIVersion, APIVersion)
	}
	return read, nil
}

// Header returns the header of the recording.
func (r *Reader) Header() Header { return r.header }

// Cut reports whether the last line was cut off. It is known when Next has returned io.EOF.
func (r *Reader) Cut() bool { return r.cut }

// Next returns the next exchange. At the end it fails with io.EOF.
func (r *Reader) Next() (Exchange, error) {
	raw, whole, err := r.next()
	if err != nil {
		return Exchange{}, err
	}
	x, err := decode(raw)
	switch {
	case err == nil:
		x.Line = r.line
		return x, nil
	case !whole:
		r.cut = true
		return Exchange{}, io.EOF
	}
	return Exchange{}, fmt.Errorf("recording: line %d: %w", r.line, err)
}

// next returns the next line, and whether it has an end. At the end of the file it fails with io.EOF.
func (r *Reader) next() (raw []byte, whole bool, err error) {
	for {
		part, more := r.lines.ReadSlice('\n')
		raw, err = append(raw, part...), more
		if !errors.Is(more, bufio.ErrBufferFull) || len(raw) > r.most {
			break
		}
	}
	r.line++
	r.size += len(raw)
	switch {
	case len(raw) > r.most:
		return nil, false, fmt.Errorf("recording: line %d: it is longer than %d MiB and than any exchange that \"crdconform record\" writes", r.line, r.most>>20)
	case err == nil:
		return raw, true, nil
	case errors.Is(err, io.ErrUnexpectedEOF): // of what is compressed
		r.cut = true
	case !errors.Is(err, io.EOF):
		return nil, false, fmt.Errorf("recording: line %d: %w", r.line, err)
	}
	if len(raw) == 0 {
		return nil, false, io.EOF
	}
	return raw, false, nil
}
