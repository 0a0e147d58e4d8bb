package fleet

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/kube"
)

// Watch is a watch of all objects at a version.
type Watch struct {
	ctx     context.Context //nolint:containedctx // it ends with the watch
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	decoder *json.Decoder
}

// Watch opens a watch that begins after a resource version, or with all objects if that is empty. What comes after the answer may take as
// long as it likes. The context ends the watch, as Close does.
func (c *Clients) Watch(ctx context.Context, version, from string) (*Watch, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.Patience, func() { cancel(&LateError{c.Patience}) })
	defer late.Stop()
	response, err := c.Open(ctx, kube.Request{Path: c.Path(version), Query: url.Values{"watch": {"true"}, "resourceVersion": {from}}}) //nolint:bodyclose // Close does
	if err != nil {
		err = explained(ctx, err)
		cancel(nil)
		return nil, err
	}
	return &Watch{ctx, cancel, response.Body, json.NewDecoder(response.Body)}, nil
}

// Close ends the watch.
func (w *Watch) Close() {
	w.cancel(nil)
	w.body.Close()
}

// Next waits for the next object. What the API server ends the watch with is a kube.RefusedError, and the end without a reason io.EOF.
func (w *Watch) Next() (json.RawMessage, error) {
	for {
		var event struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := w.decoder.Decode(&event); err != nil {
			return nil, explained(w.ctx, err)
		}
		switch event.Type {
		case watch.Bookmark:
		case watch.Error:
			var status metav1.Status
			_ = json.Unmarshal(event.Object, &status) // what is no status has no code
			return nil, &kube.RefusedError{Code: int(status.Code), Status: status}
		default:
			return event.Object, nil
		}
	}
}
