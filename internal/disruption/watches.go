package disruption

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

// watches watches all objects, and opens the watch again when it has ended.
func (c *client) watches(ctx context.Context) {
	for ctx.Err() == nil {
		c.watch(ctx)
		_ = pause.For(ctx, reopenPause) // the loop looks whether it is over
	}
}

func (c *client) watch(ctx context.Context) {
	o := record.Operation{Client: c.id, Verb: record.Watch, Version: c.version, Storage: c.needsNothing(), Call: c.record.Now()}
	opening, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, got := c.openWatch(opening, cancel)
	got = c.again(got)
	o.Return, o.Code, o.Error, o.Text, o.Outcome = c.record.Now(), got.code, got.error, got.text, got.outcome(false)
	if got.error == record.Canceled {
		return
	}
	c.record.Operation(o)
	if response == nil {
		return
	}
	defer response.Body.Close()
	c.event(record.WatchEvent{State: record.Opened})
	decoder := json.NewDecoder(response.Body)
	for {
		var event struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			c.ended(ctx, broken(ctx, err))
			return
		}
		switch event.Type {
		case watch.Bookmark:
		case watch.Error:
			var status metav1.Status
			_ = json.Unmarshal(event.Object, &status) // what is no status has no code
			c.ended(ctx, answer{code: int(status.Code), error: refusalKind(int(status.Code), status), text: status.Message})
			return
		default:
			sight, err := c.sight(event.Object)
			if err != nil {
				c.ended(ctx, answer{error: record.Other, text: err.Error()})
				return
			}
			c.event(record.WatchEvent{State: record.Seen, Sight: &sight})
		}
	}
}

// openWatch opens a watch, and gives up if there is no answer in time. What comes after the answer may take as long as it likes.
func (c *client) openWatch(ctx context.Context, cancel context.CancelCauseFunc) (*http.Response, answer) {
	timer := time.AfterFunc(patience, func() { cancel(fmt.Errorf("no answer within %s: %w", patience, context.DeadlineExceeded)) })
	defer timer.Stop()
	return c.open(ctx, kube.Request{Method: http.MethodGet, Path: c.Path(c.version), Query: url.Values{"watch": {"true"}}})
}

func (c *client) event(w record.WatchEvent) {
	w.Client, w.Version, w.Storage, w.At = c.id, c.version, c.needsNothing(), c.record.Now()
	c.record.Watch(w)
}

// ended records the end of a watch, unless the harness ended it.
func (c *client) ended(ctx context.Context, why answer) {
	if ctx.Err() != nil {
		return
	}
	if why.code == 0 && why.text == "EOF" { // as API servers end a watch now and then
		why.error, why.text = "", ""
	}
	c.event(record.WatchEvent{State: record.Ended, Code: why.code, Error: why.error, Text: why.text})
}
