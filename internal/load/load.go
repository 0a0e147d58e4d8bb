// Package load sends conversion requests to a webhook and judges every response.
//
// The attack is vegeta's: its attacker reads ConversionReviews from its targeter, hits once for each request, and its results say when
// that was, how long it took, and what came back. Clients are its workers, and a constant rate has its pacer. This package gives it a
// pacer that waits more exactly than vegeta does and keeps a limit on the requests in flight, and a transport that gives each review its
// uid and sends it as an API server does, which follows redirects, and asks again when a webhook says after what time. The transport reads
// the response into memory of its own, so vegeta keeps no bodies, and its results get the number of bytes from here. Connections are
// opened ahead, without a request. What Learn asks before an attack is none of it.
//
// On top of vegeta's results, and only there, are three things. A response counts as good only if the judge has nothing against it,
// since a webhook can fail every conversion with HTTP status 200. Times are taken from the moment a request was due, as well as from when
// it was sent, so that a webhook which makes requests queue does not look fast; requests that were due and never sent are counted, but
// are no hits. And the generator watches itself: a run in which it was late, or could not send for want of files, ports or memory, is
// void.
package load

import (
	"context"
	"errors"
	"fmt"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/wire"
)

// Watch receives the progress of a run. Its functions may be nil, and are never called concurrently.
type Watch struct {
	// Second is called once a second.
	Second func(Snapshot)

	// Result is called with each of vegeta's results, after it was judged. It may change them.
	Result func(*vegeta.Result)
}

// Run sends requests repeatedly, as the workload says, and returns the result. Each request gets a new uid. When the context ends,
// Run stops and returns the result so far, marked as partial. It opens connections of its own, and closes them in the end.
func Run(ctx context.Context, client *wire.Client, requests []contract.Request, w Workload, watch Watch) (Summary, error) {
	return send(ctx, client.Sender(), requests, w, watch)
}

func send(ctx context.Context, sender *wire.Sender, requests []contract.Request, w Workload, watch Watch) (Summary, error) {
	if err := w.Validate(); err != nil {
		return Summary{}, err
	}
	if len(requests) == 0 {
		return Summary{}, errors.New("load: there is nothing to send")
	}
	switch {
	case w.JudgeContent && w.Content == nil:
		return Summary{}, errors.New("load: the expected content is not known; learn it first")
	case w.JudgeContent && len(w.Content.Answers) != len(requests):
		return Summary{}, fmt.Errorf("load: the expected content has %d answers to %d requests", len(w.Content.Answers), len(requests))
	}
	bodies, err := prepared(requests, w.Content)
	if err != nil {
		return Summary{}, err
	}
	r := newRun(ctx, sender, w, bodies, watch)
	r.connectAhead() //nolint:contextcheck // its context is that of the run, which is derived from this one
	return r.attack(), nil
}
