// Package fleet has the clients of an API server that read, write and watch the objects of a definition while something else happens: a
// disruption, a migration, a load. It has their requests, each of which is sent exactly once, and what a client knows after the answer.
// What follows from that is judged by those who send them.
package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

// Clients are clients that work with the objects of a definition.
type Clients struct {
	kube.Resource
	*kube.Once

	Kind     string        // of the objects
	Mark     string        // annotation that they write: whatever converts an object has to keep it
	Patience time.Duration // for an answer
}

// New returns clients for the objects of a definition, those with a namespace in the given one.
func New(once *kube.Once, crd *apiextensionsv1.CustomResourceDefinition, namespace, mark string, patience time.Duration) *Clients {
	return &Clients{kube.ResourceOf(crd, namespace), once, crd.Spec.Names.Kind, mark, patience}
}

// In returns the clients for the objects of another namespace.
func (c *Clients) In(namespace string) *Clients {
	other := *c
	other.Namespace = namespace
	return &other
}

// LateError is a request that was not answered in time.
type LateError struct{ Patience time.Duration }

func (e *LateError) Error() string { return fmt.Sprintf("no response within %s", e.Patience) }

// Unwrap returns that the deadline was exceeded.
func (*LateError) Unwrap() error { return context.DeadlineExceeded }

// explained puts the reason why a context ended in the place of an error that comes from it.
func explained(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && err != nil && kube.StatusOf(err) == 0 {
		return cause
	}
	return err
}

// Do makes a request and returns the body of the response.
func (c *Clients) Do(ctx context.Context, q kube.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Patience, &LateError{c.Patience})
	defer cancel()
	body, err := c.Once.Do(ctx, q)
	if err != nil {
		return nil, explained(ctx, err)
	}
	return body, nil
}

// Request returns a request of a kind. The body is that of a write, and the manager of fields may be empty.
func (c *Clients) Request(kind history.Kind, version, name, manager string, body []byte) kube.Request {
	q := kube.Request{Path: c.Path(version, name), Body: body}
	switch kind {
	case history.Create:
		q.Method, q.Path = http.MethodPost, c.Path(version)
	case history.Update:
		q.Method = http.MethodPut
	case history.Patch:
		q.Method, q.ContentType = http.MethodPatch, kube.TypeMerge
	case history.Status:
		q.Method, q.ContentType, q.Path = http.MethodPatch, kube.TypeMerge, c.Path(version, name, "status")
	case history.Apply:
		q.Method, q.ContentType, q.Query = http.MethodPatch, kube.TypeApply, url.Values{"force": {"true"}}
	case history.Delete:
		q.Method = http.MethodDelete
	case history.Read:
	}
	if manager != "" {
		if q.Query == nil {
			q.Query = url.Values{}
		}
		q.Query.Set("fieldManager", manager)
	}
	return q
}

// Outcome returns what a client knows after a request. An API server that fails may have written before: it converts what it wrote for
// the answer.
func Outcome(kind history.Kind, err error) history.Outcome {
	refused, is := errors.AsType[*kube.RefusedError](err)
	switch {
	case err == nil:
		return history.Acknowledged
	case kind != history.Read && !is && !errors.Is(err, syscall.ECONNREFUSED), kind != history.Read && is && refused.Code >= http.StatusInternalServerError:
		return history.Unknown
	case is && refused.Code == http.StatusNotFound && kind != history.Create && !Unserved(refused):
		return history.NotFound
	case is && refused.Status.Reason == metav1.StatusReasonAlreadyExists && kind == history.Create:
		return history.Exists
	}
	return history.Refused
}

// Unserved reports whether an API server does not know the resource, or not yet, so that nothing was said of an object.
func Unserved(refused *kube.RefusedError) bool {
	return refused.Code == http.StatusNotFound && (refused.Status.Details == nil || refused.Status.Details.Name == "")
}

// Object is an object of an answer, with its numbers as they came.
type Object struct{ Fields, Metadata map[string]any }

// Decode decodes an object of an answer.
func Decode(raw []byte) (o Object, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&o.Fields); err != nil {
		return Object{}, fmt.Errorf("the answer is not an object: %w", err)
	}
	var is bool
	if o.Metadata, is = o.Fields["metadata"].(map[string]any); !is {
		return Object{}, errors.New("the answer is not an object: it has no metadata")
	}
	return o, nil
}

// State returns what an object shows of what was written to it.
func (c *Clients) State(o Object) history.State {
	s := history.State{Exists: true}
	s.UID, _ = o.Metadata["uid"].(string)
	annotations, _ := o.Metadata["annotations"].(map[string]any)
	s.Content, _ = annotations[c.Mark].(string)
	return s
}

// Rewritten returns an object of an answer with another value written to it.
func (c *Clients) Rewritten(raw []byte, value string) ([]byte, error) {
	o, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	annotations, is := o.Metadata["annotations"].(map[string]any)
	if !is {
		annotations = map[string]any{}
		o.Metadata["annotations"] = annotations
	}
	annotations[c.Mark] = value
	return json.Marshal(o.Fields)
}

// Marking returns a merge patch that writes a value.
func (c *Clients) Marking(value string) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{c.Mark: value}}}) // of strings only
	return patch
}

// Applied returns what applies a value to an object; with a UID, to none that took its place.
func (c *Clients) Applied(version, name, uid, value string) []byte {
	metadata := map[string]any{"name": name, "annotations": map[string]any{c.Mark: value}}
	if uid != "" {
		metadata["uid"] = uid
	}
	body, _ := json.Marshal(map[string]any{"apiVersion": c.Group + "/" + version, "kind": c.Kind, "metadata": metadata}) // of strings only
	return body
}

// Copy returns a new object like another one, with a value written to it.
func (c *Clients) Copy(like *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	fresh := Fresh(like)
	fresh.SetName(name)
	fresh.SetAnnotations(map[string]string{c.Mark: value})
	return fresh
}

// Fresh returns an object without what belongs to the one that it is like.
func Fresh(like *unstructured.Unstructured) *unstructured.Unstructured {
	fresh := like.DeepCopy()
	fresh.Object["metadata"] = map[string]any{}
	fresh.SetLabels(like.GetLabels())
	return fresh
}

// Page is what matters of a list.
type Page[T any] struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// Listed returns the page in the body of a response.
func Listed[T any](body []byte) (page Page[T], err error) {
	if err := json.Unmarshal(body, &page); err != nil {
		return page, fmt.Errorf("the answer is not a list: %w", err)
	}
	return page, nil
}

// Pace does something again and again until the context ends, at its own pace. What is due while it is at it is left out.
func Pace(ctx context.Context, period, offset time.Duration, do func(context.Context)) {
	for due := time.Now().Add(offset); ; due = due.Add(period) {
		if now := time.Now(); due.Before(now) {
			due = now
		}
		if pause.For(ctx, time.Until(due)) != nil {
			return
		}
		do(ctx)
	}
}
