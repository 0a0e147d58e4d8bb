package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/kube"
)

// watch is a watch that is open.
type watch struct {
	body    io.ReadCloser
	decoder *json.Decoder
	cancel  context.CancelFunc
}

// event is what matters of an event. The status is of an ERROR.
type event struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"object"`
}

// watch watches all objects at a version from a resource version on. The context ends the watch, as close does.
func (a *api) watch(ctx context.Context, version, from string) (*watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	response, err := a.once.Open(ctx, kube.Request{Path: a.Path(version), Query: url.Values{"watch": {"true"}, "resourceVersion": {from}}}) //nolint:bodyclose // close does
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching at %s: %w", version, err)
	}
	return &watch{response.Body, json.NewDecoder(response.Body), cancel}, nil
}

func (w *watch) close() {
	w.cancel()
	w.body.Close()
}

// next waits for the next event. An error event is an error, and the end of the watch io.EOF.
func (w *watch) next() (event, error) {
	var e event
	if err := w.decoder.Decode(&e); err != nil {
		return e, err
	}
	if e.Type == "ERROR" {
		return e, &kube.RefusedError{Code: e.Object.Code, Status: metav1.Status{Message: e.Object.Message}}
	}
	return e, nil
}

// until reads events until the one with a resource version.
func (w *watch) until(ctx context.Context, resourceVersion string) error {
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	for {
		e, err := w.next()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, io.EOF) {
				return errors.New("the API server ended the watch")
			}
			return err
		}
		if e.Object.Metadata.ResourceVersion == resourceVersion {
			return nil
		}
	}
}
