package apiserver

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

// mark is the annotation and the label of what is ours.
const mark = "crdconform.dev/load"

// Media types of requests.
const (
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// one makes a request whose response is an object.
func (r *run) one(ctx context.Context, q kube.Request) (*unstructured.Unstructured, error) {
	body, err := r.clients.Do(ctx, q)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("%s: the response is not an object: %w", q, err)
	}
	return object, nil
}

// list makes a request whose response is a list.
func (r *run) list(ctx context.Context, q kube.Request) (fleet.Page[struct{}], error) {
	body, err := r.clients.Do(ctx, q)
	if err != nil {
		return fleet.Page[struct{}]{}, err
	}
	return fleet.Listed[struct{}](body)
}

// get reads an object at a version.
func (r *run) get(ctx context.Context, version, name string) (*unstructured.Unstructured, error) {
	return r.one(ctx, r.clients.Request(history.Read, version, name, "", nil))
}

// make creates an object, which says at what version.
func (r *run) make(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return r.one(ctx, r.clients.Request(history.Create, object.GroupVersionKind().Version, object.GetName(), "", body))
}

// delete deletes an object at a version.
func (r *run) delete(ctx context.Context, version, name string) error {
	_, err := r.clients.Do(ctx, r.clients.Request(history.Delete, version, name, "", nil))
	return err
}

// patch is a request that changes an annotation.
func (r *run) patch(version, name string, value int) kube.Request {
	return r.clients.Request(history.Patch, version, name, "", r.clients.Marking(strconv.Itoa(value)))
}
