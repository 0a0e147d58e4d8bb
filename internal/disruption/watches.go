package disruption

import (
	"context"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
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
	o := c.started(record.Watch)
	w, err := c.Watch(ctx, c.version, "")
	got := c.finish(&o, history.Read, err)
	if got.error == record.Canceled {
		return
	}
	c.record.Operation(o)
	if err != nil {
		return
	}
	defer w.Close()
	c.event(record.WatchEvent{State: record.Opened})
	for {
		object, err := w.Next()
		if err != nil {
			c.ended(ctx, answered(err))
			return
		}
		sight, err := c.sight(object)
		if err != nil {
			c.ended(ctx, answer{error: record.Other, text: err.Error()})
			return
		}
		c.event(record.WatchEvent{State: record.Seen, Sight: &sight})
	}
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
