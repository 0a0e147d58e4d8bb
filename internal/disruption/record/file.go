package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/crdconform/crdconform/internal/memory"
)

// The limits of a file.
const (
	maxLine = 4 << 20 // bytes
	maxFile = 4 << 30 // bytes
)

// line is a line of a file after the header. One of its fields is set.
type line struct {
	Mark      *Mark          `json:"mark,omitempty"`
	Operation *Operation     `json:"operation,omitempty"`
	Watch     *WatchEvent    `json:"watch,omitempty"`
	Lag       *Lag           `json:"lag,omitempty"`
	Sample    *memory.Sample `json:"sample,omitempty"`
	End       *end           `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Lines   int `json:"lines"` // between the header and this one
	Dropped int `json:"dropped,omitempty"`
}

// Encode writes a history.
func Encode(w io.Writer, h *History) error {
	if err := h.write(w); err != nil {
		return fmt.Errorf("writing the history of a disruption: %w", err)
	}
	return nil
}

func (h *History) write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	header := h.Header
	header.APIVersion, header.Kind = APIVersion, Kind
	if err := header.valid(); err != nil {
		return err
	}
	if err := encoder.Encode(header); err != nil {
		return err
	}
	lines := 0
	for l := range h.lines() {
		if err := l.valid(); err != nil {
			return err
		}
		if err := encoder.Encode(l); err != nil {
			return err
		}
		lines++
	}
	if err := encoder.Encode(line{End: &end{Lines: lines, Dropped: h.Dropped}}); err != nil {
		return err
	}
	return buffered.Flush()
}

// lines yields what is between the first and the last line.
func (h *History) lines() func(yield func(line) bool) {
	return func(yield func(line) bool) {
		for i := range h.Marks {
			if !yield(line{Mark: &h.Marks[i]}) {
				return
			}
		}
		for i := range h.Operations {
			if !yield(line{Operation: &h.Operations[i]}) {
				return
			}
		}
		for i := range h.Watches {
			if !yield(line{Watch: &h.Watches[i]}) {
				return
			}
		}
		for i := range h.Lags {
			if !yield(line{Lag: &h.Lags[i]}) {
				return
			}
		}
		for i := range h.Samples {
			if !yield(line{Sample: &h.Samples[i]}) {
				return
			}
		}
	}
}

// Decode reads what Encode wrote. An error names the line, and says what to do.
func Decode(r io.Reader) (*History, error) {
	lines := &lines{reader: bufio.NewReaderSize(r, 1<<16)}
	h, err := lines.history()
	if err != nil {
		return nil, fmt.Errorf("reading the history of a disruption: line %d: %w", lines.number, err)
	}
	return h, nil
}

var errCut = errors.New("the file is truncated there: the run that wrote it was interrupted, or the file was not copied completely")

// lines reads a file line by line.
type lines struct {
	reader *bufio.Reader
	number int
	size   int
}

func (l *lines) history() (*History, error) {
	raw, err := l.next()
	if err != nil {
		return nil, err
	}
	var h History
	if err := decodeHeader(raw, &h.Header); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		raw, err := l.next()
		if err != nil {
			return nil, err
		}
		var parsed line
		if err := json.Unmarshal(raw, &parsed); err != nil {
			return nil, err
		}
		if parsed.End != nil {
			h.Dropped = parsed.End.Dropped
			return &h, l.finish(parsed.End.Lines, n)
		}
		if err := h.add(parsed); err != nil {
			return nil, err
		}
	}
}

// finish reports what is wrong with the end of a file.
func (l *lines) finish(want, got int) error {
	if want != got {
		return fmt.Errorf("%d lines are missing or too many: the file was changed or joined", max(want-got, got-want))
	}
	if _, err := l.reader.ReadByte(); !errors.Is(err, io.EOF) {
		l.number++
		return errors.New("there is more after the end: each history must have a file of its own")
	}
	return nil
}

func decodeHeader(raw []byte, h *Header) error {
	if err := json.Unmarshal(raw, h); err != nil || h.Kind != Kind {
		return fmt.Errorf("its kind must be %s; \"crdconform disrupt\" writes such files", Kind)
	}
	if h.APIVersion != APIVersion {
		return fmt.Errorf("its apiVersion is %q, and this version of crdconform knows %s; use the version that wrote it", h.APIVersion, APIVersion)
	}
	return h.valid()
}

// valid reports what is wrong with a line.
func (l line) valid() error {
	switch {
	case l.Mark != nil:
		return l.Mark.valid()
	case l.Operation != nil:
		return l.Operation.valid()
	case l.Watch != nil:
		return l.Watch.valid()
	case l.Lag != nil, l.Sample != nil:
		return nil
	}
	return errors.New("it is neither a mark nor an operation, watch, lag or sample")
}

// add adds a line that was read.
func (h *History) add(l line) error {
	if err := l.valid(); err != nil {
		return err
	}
	switch {
	case l.Mark != nil:
		if _, there := h.Mark(l.Mark.Name); there {
			return fmt.Errorf("there are two marks %q", l.Mark.Name)
		}
		h.Marks = append(h.Marks, *l.Mark)
	case l.Operation != nil:
		h.Operations = append(h.Operations, *l.Operation)
	case l.Watch != nil:
		h.Watches = append(h.Watches, *l.Watch)
	case l.Lag != nil:
		h.Lags = append(h.Lags, *l.Lag)
	case l.Sample != nil:
		h.Samples = append(h.Samples, *l.Sample)
	}
	if n := len(h.Operations) + len(h.Watches); n > maxEvents {
		return fmt.Errorf("there are more than %d operations", maxEvents)
	}
	return nil
}

// next returns the next line, without its end.
func (l *lines) next() ([]byte, error) {
	l.number++
	var raw []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		raw = append(raw, part...)
		l.size += len(part)
		switch {
		case len(raw) > maxLine:
			return nil, fmt.Errorf("it is longer than %d MiB", maxLine>>20)
		case l.size > maxFile:
			return nil, fmt.Errorf("the file is longer than %d GiB", maxFile>>30)
		case err == nil:
			return bytes.TrimSuffix(raw, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && l.number == 1 && len(raw) == 0:
			return nil, errors.New("the file is empty")
		case errors.Is(err, io.EOF) && l.number == 1:
			return nil, fmt.Errorf("its kind must be %s; \"crdconform disrupt\" writes such files", Kind)
		case errors.Is(err, io.EOF):
			return nil, errCut
		default:
			return nil, err
		}
	}
}
