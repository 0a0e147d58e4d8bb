package recording

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultMaxBytes bounds the file of a recording unless something else is said.
const DefaultMaxBytes = 256 << 20

// ErrFull reports that a recording reached one of its limits.
var ErrFull = errors.New("the recording is full")

// Options says what is recorded and how much of it.
type Options struct {
	Tool         string    // version of the tool, for the header
	Started      time.Time // what offsets are counted from
	Redaction    Redaction // what is replaced before anything is written
	MaxBytes     int64     // of the file; 0 for DefaultMaxBytes
	MaxExchanges int       // 0 for no bound
	Compress     bool      // by gzip

	// Stopped is called once when the recording ends before its time: with ErrFull, or with the error of the writer. It may be
	// nil.
	Stopped func(error)
}

// Recorder writes a recording. It is safe for use by many goroutines. Once a bound is reached or something could not be
// written it takes no more exchanges, so that the recording is what came up to then, without gaps.
type Recorder struct {
	options Options
	out     *counter
	zip     *gzip.Writer // nil without compression

	mu      sync.Mutex
	summary Summary
	matched map[string]bool // paths to redact that were found so far
	stopped bool
}

// Summary is what became of a recording.
type Summary struct {
	Exchanges int   // that are in it
	Bytes     int64 // of the file
	Dropped   int   // exchanges that are not in it, as they came after its end
	Unread    int   // exchanges that are not in it, as they could not be redacted or encoded

	Full bool  // a bound was reached
	Err  error // why writing failed; nil when it did not

	// Unmatched are the paths to redact at which nothing was found in any exchange.
	Unmatched []string
}

// NewRecorder begins a recording with its header. It fails when that cannot be written.
func NewRecorder(w io.Writer, o Options) (*Recorder, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	header, err := encoded(Header{
		APIVersion: APIVersion, Kind: Kind, Tool: o.Tool, Started: o.Started.UTC(),
		Redacted: o.Redaction.Paths(), MaxBytes: o.MaxBytes, MaxExchanges: o.MaxExchanges,
	})
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recorder{options: o, out: &counter{w: w}, matched: map[string]bool{}}
	if o.Compress {
		r.zip = gzip.NewWriter(r.out)
	}
	if !r.fits(header) {
		return nil, fmt.Errorf("recording: not even its header fits into %d bytes", o.MaxBytes)
	}
	if err := r.write(header); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return r, nil
}

// Record redacts and writes an exchange, or counts it if the recording is at its end.
func (r *Recorder) Record(x Exchange) {
	if r.over() {
		return
	}
	redacted, matched, err := r.options.Redaction.apply(x)
	if err == nil {
		var raw []byte
		if raw, err = redacted.encode(); err == nil {
			r.add(raw, matched)
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Unread++
}

// over counts an exchange if the recording is at its end.
func (r *Recorder) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		r.summary.Dropped++
	}
	return r.stopped
}

// add writes a line, or ends the recording if that is not possible.
func (r *Recorder) add(raw []byte, matched []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		r.summary.Dropped++
		return
	}
	for _, path := range matched {
		r.matched[path] = true
	}
	if !r.fits(raw) || r.options.MaxExchanges > 0 && r.summary.Exchanges == r.options.MaxExchanges {
		r.summary.Full = true
		r.stop(ErrFull)
		return
	}
	if err := r.write(raw); err != nil {
		r.summary.Err = err
		r.stop(err)
		return
	}
	r.summary.Exchanges++
}

// stop ends the recording with an exchange that is not in it.
func (r *Recorder) stop(why error) {
	r.stopped = true
	r.summary.Dropped++
	if r.options.Stopped != nil {
		r.options.Stopped(why)
	}
}

// fits reports whether a line can be written within the bound. Compressed, a line takes little more than its length at worst.
func (r *Recorder) fits(raw []byte) bool {
	need := int64(len(raw))
	if r.zip != nil {
		need += need/1000 + 64
	}
	return r.out.n+need <= r.options.MaxBytes
}

// write writes a line so that it can be read even if the process dies.
func (r *Recorder) write(raw []byte) error {
	if r.zip == nil {
		_, err := r.out.Write(raw)
		return err
	}
	if _, err := r.zip.Write(raw); err != nil {
		return err
	}
	return r.zip.Flush()
}

// Close ends the recording and returns its summary. Exchanges that come later are not in it. The writer stays open. Closing it
// again does nothing.
func (r *Recorder) Close() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.zip != nil && r.summary.Err == nil {
		r.summary.Err = r.zip.Close()
	}
	s := r.summary
	s.Bytes = r.out.n
	for _, path := range r.options.Redaction.Paths() {
		if !r.matched[path] {
			s.Unmatched = append(s.Unmatched, path)
		}
	}
	return s
}

// counter counts what was written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
