package wire

import (
	"context"
	"io"
	"math"

	"github.com/crdconform/crdconform/contract"
)

// Reply is a response whose head has come, or why there is none. Its body can be read once, and must be closed. One goroutine uses it.
type Reply struct {
	client  *Client
	caller  context.Context //nolint:containedctx // whose end interrupts reading
	within  context.Context //nolint:containedctx // it ends when the time for all of the exchange does
	release func()          // has it end

	answer contract.Response
	body   io.ReadCloser // nil if there is nothing to be read
	length int64         // that the head says; -1 if it does not

	// How much was read, up to where it is read at once, and how much there may be.
	read, usual, limit int64
	large              bool // whether it is one of those beyond
}

// of has the reply be that to a caller, with what ends the time for it.
func (r *Reply) of(caller context.Context, release func()) *Reply {
	r.caller, r.release = caller, release
	r.answer = r.client.outcome(caller, r.answer)
	return r
}

// Response returns what has come, but for the body, and what was wrong with it until now.
func (r *Reply) Response() contract.Response { return r.answer }

// Read reads the body. It fails behind the limit, and otherwise with what Send would have in the response. Of large responses, which no
// correct webhook sends, a few are read at once: hundreds of them may be coming.
func (r *Reply) Read(into []byte) (int, error) {
	switch {
	case r.answer.Err != nil:
		return 0, r.answer.Err
	case r.body == nil:
		return 0, io.EOF
	case r.read > r.usual && !r.large:
		select {
		case r.client.large <- struct{}{}:
			r.large = true
		case <-r.within.Done():
			return 0, r.fail(r.within.Err())
		}
	}
	n, err := r.body.Read(into[:min(int64(len(into)), r.limit+1-r.read)])
	r.read += int64(n)
	switch {
	case r.read > r.limit:
		err = r.fail(contract.LengthError(r.limit))
	case err != nil && err != io.EOF: //nolint:errorlint // readers return it as it is
		err = r.fail(err)
	}
	return n, err
}

// fail keeps why the body is not whole, and returns it as it is explained.
func (r *Reply) fail(err error) error {
	r.answer.Err = err
	r.answer = r.client.outcome(r.caller, r.answer)
	return r.answer.Err
}

// Close breaks the connection off unless the body was read to its end.
func (r *Reply) Close() error {
	if r.body != nil {
		_ = r.body.Close() // there is nothing to be lost
		r.body = nil
	}
	if r.large {
		<-r.client.large
		r.large = false
	}
	r.release()
	return nil
}

// all reads all of it, and closes it. If there is an error, the body has what was read until then.
func (r *Reply) all() contract.Response {
	defer r.Close() //nolint:errcheck // it does not fail
	if r.body == nil {
		return r.answer
	}
	// There is one byte more than should be needed, to find the end without growing.
	into := make([]byte, 0, min(max(r.length, 511), r.usual)+1)
	r.answer.Body, _ = readUntil(r, into, math.MaxInt64-1) // the answer has the error
	return r.answer
}
