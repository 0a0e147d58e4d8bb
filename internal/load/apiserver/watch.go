package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/crdconform/crdconform/internal/fleet"
)

// event returns the resource version of the object in the next event of a watch.
func event(w *fleet.Watch) (string, error) {
	raw, err := w.Next()
	if err != nil {
		return "", err
	}
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err = json.Unmarshal(raw, &object)
	return object.Metadata.ResourceVersion, err
}

// watch opens a watch.
func (r *run) watch(ctx context.Context, version, from string) (*fleet.Watch, error) {
	w, err := r.clients.Watch(ctx, version, from)
	if err != nil {
		return nil, fmt.Errorf("watching at %s: %w", version, err)
	}
	return w, nil
}

// until reads events until the one with a resource version.
func until(ctx context.Context, w *fleet.Watch, resourceVersion string) error {
	stop := context.AfterFunc(ctx, w.Close)
	defer stop()
	for {
		came, err := event(w)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return errors.New("the API server ended the watch")
		case err != nil:
			return err
		case came == resourceVersion:
			return nil
		}
	}
}
