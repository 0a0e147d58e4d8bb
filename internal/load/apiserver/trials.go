package apiserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

// trials are the verbs that the definition has at the version.
func (b *budgeted) trials() map[Verb]trial {
	all := b.reads()
	maps.Copy(all, b.writes())
	maps.Copy(all, b.applies())
	if status := b.status(); status != nil {
		maps.Copy(all, status)
	}
	return all
}

func (b *budgeted) reads() map[Verb]trial {
	path := b.clients.Path(b.version)
	get := func(accept string, query url.Values) trial {
		return trial{per: perRequest, ask: func(ctx context.Context) (int, error) {
			return b.single(ctx, kube.Request{Path: b.clients.Path(b.version, nameOf("object", 0)), Accept: accept, Query: query})
		}}
	}
	list := func(accept string, query func() url.Values) trial {
		return trial{per: perObject, ask: func(ctx context.Context) (int, error) {
			return b.everything(ctx, kube.Request{Path: path, Accept: accept, Query: query()})
		}}
	}
	exact := ""
	plain := func() url.Values { return url.Values{} }
	listExact := list("", func() url.Values {
		return url.Values{"resourceVersion": {exact}, "resourceVersionMatch": {"Exact"}}
	})
	listExact.prepare = func(ctx context.Context) error {
		last, err := b.list(ctx, kube.Request{Path: b.clients.Path(b.storage), Query: url.Values{"limit": {"1"}}})
		exact = last.Metadata.ResourceVersion
		return err
	}
	return map[Verb]trial{
		Get:          get("", nil),
		GetCached:    get("", url.Values{"resourceVersion": {"0"}}),
		GetMetadata:  get(metadataOnly, nil),
		List:         list("", plain),
		ListMetadata: list(metadataList, plain),
		ListPaged: list("", func() url.Values {
			return url.Values{"limit": {strconv.Itoa(max(b.Seeded/3, 1))}}
		}),
		ListExact:  listExact,
		WatchEvent: b.watched(),
	}
}

// watched has writes at the storage version, which watches at the version see.
func (b *budgeted) watched() trial {
	var name string
	var open []*fleet.Watch
	return trial{
		per: perEvent,
		prepare: func(ctx context.Context) error {
			created, err := b.fresh(ctx)
			if err != nil {
				return err
			}
			name, open = created.GetName(), nil
			for range watches {
				w, err := b.watch(ctx, b.version, created.GetResourceVersion())
				if err != nil {
					closeAll(open)
					return err
				}
				open = append(open, w)
			}
			return nil
		},
		ask: func(ctx context.Context) (int, error) {
			defer closeAll(open)
			ctx, cancel := context.WithTimeout(ctx, b.Settings.RequestTimeout)
			defer cancel()
			last := ""
			for i := range events {
				object, err := b.one(ctx, b.patch(b.storage, name, i))
				if err != nil {
					return 0, err
				}
				last = object.GetResourceVersion()
			}
			for _, w := range open {
				if err := until(ctx, w, last); err != nil {
					return 0, fmt.Errorf("waiting for the events: %w", err)
				}
			}
			return events, nil
		},
	}
}

func closeAll(open []*fleet.Watch) {
	for _, w := range open {
		w.Close()
	}
}

func (b *budgeted) writes() map[Verb]trial {
	var current *unstructured.Unstructured
	existing := func(ctx context.Context) (err error) {
		current, err = b.existing(ctx)
		return err
	}
	create := func(query url.Values) trial {
		return trial{per: perRequest, ask: func(ctx context.Context) (int, error) {
			body, err := b.labelled(b.templates[0].at(b.run, b.version, b.name())).MarshalJSON()
			if err != nil {
				return 0, err
			}
			return b.single(ctx, kube.Request{Method: http.MethodPost, Path: b.clients.Path(b.version), Query: query, Body: body})
		}}
	}
	all := map[Verb]trial{
		Create:       create(nil),
		CreateDryRun: create(url.Values{"dryRun": {"All"}}),
		Update: {per: perRequest, prepare: existing, ask: func(ctx context.Context) (int, error) {
			body, err := annotated(current, b.n)
			if err != nil {
				return 0, err
			}
			return b.single(ctx, b.clients.Request(history.Update, b.version, current.GetName(), "", body))
		}},
		Patch: {per: perRequest, prepare: existing, ask: func(ctx context.Context) (int, error) {
			return b.single(ctx, b.patch(b.version, current.GetName(), b.n))
		}},
		Delete: {per: perRequest, prepare: existing, ask: func(ctx context.Context) (int, error) {
			return b.single(ctx, b.clients.Request(history.Delete, b.version, current.GetName(), "", nil))
		}},
		DeleteCollection: {
			per: perObject,
			prepare: func(ctx context.Context) error {
				if err := b.clean(ctx); err != nil {
					return err
				}
				for range collection {
					if _, err := b.fresh(ctx); err != nil {
						return err
					}
				}
				return nil
			},
			ask: func(ctx context.Context) (int, error) {
				_, err := b.single(ctx, kube.Request{Method: http.MethodDelete, Path: b.clients.Path(b.version), Query: url.Values{"labelSelector": {mark + "=" + b.version}}})
				return collection, err
			},
		},
	}
	if !b.Cluster.WatchCache() {
		// All objects are converted to find those with the label, so that the number for each depends on how many there are.
		delete(all, DeleteCollection)
	}
	return all
}

// apply is a request by which a manager applies an object.
func (r *run) apply(version, manager string, object *unstructured.Unstructured, value int) (kube.Request, error) {
	body, err := annotated(object, value)
	return r.clients.Request(history.Apply, version, object.GetName(), manager, body), err
}

func (b *budgeted) applies() map[Verb]trial {
	const first, second = "crdconform-first", "crdconform-second"
	var name string
	applied := func(ctx context.Context, version, manager string, value int) (int, error) {
		q, err := b.apply(version, manager, b.labelled(b.templates[0].at(b.run, version, name)), value)
		if err != nil {
			return 0, err
		}
		return b.single(ctx, q)
	}
	// by has a manager apply at the version what the first applied at a version before, if it did.
	by := func(manager, before string, value int) trial {
		return trial{
			per: perRequest,
			prepare: func(ctx context.Context) error {
				name = b.name()
				if before == "" {
					return nil
				}
				_, err := applied(ctx, before, first, 0)
				return err
			},
			ask: func(ctx context.Context) (int, error) { return applied(ctx, b.version, manager, value) },
		}
	}
	removing := by(first, "", 0)
	removing.prepare = func(ctx context.Context) error {
		name = b.name()
		object := b.labelled(b.templates[0].at(b.run, b.version, name))
		object.SetLabels(map[string]string{mark: b.version, mark + "-removed": "true"})
		q, err := b.apply(b.version, first, object, 0)
		if err != nil {
			return err
		}
		_, err = b.single(ctx, q)
		return err
	}
	mixed := trial{
		per: perRequest,
		prepare: func(ctx context.Context) error {
			name = b.name()
			_, err := applied(ctx, b.away(), first, 0)
			return err
		},
		ask: func(ctx context.Context) (int, error) {
			return b.single(ctx, b.patch(b.version, name, b.n))
		},
	}
	return map[Verb]trial{
		PatchMixed:    mixed,
		ApplyRemoving: removing,
		ApplyNew:      by(first, "", 0),
		ApplyNoOp:     by(first, b.version, 0),
		ApplySecond:   by(second, b.storage, 1),
		ApplyMoved:    by(first, b.storage, 1),
	}
}

// away is the version, of the two, that is not asked at.
func (b *budgeted) away() string {
	if b.version == b.storage {
		return b.other
	}
	return b.storage
}

// status are the verbs of the status subresource; nil when the version has none.
func (b *budgeted) status() map[Verb]trial {
	if !b.hasStatus(b.version) {
		return nil
	}
	var current *unstructured.Unstructured
	var state map[string]any
	existing := func(ctx context.Context) (err error) {
		if current, err = b.existing(ctx); err == nil && state == nil {
			state, err = b.state(ctx, current.GetName())
		}
		return err
	}
	return map[Verb]trial{
		UpdateStatus: {per: perRequest, prepare: existing, ask: func(ctx context.Context) (int, error) {
			changed := current.DeepCopy()
			changed.Object["status"] = state
			body, err := changed.MarshalJSON()
			if err != nil {
				return 0, err
			}
			return b.single(ctx, kube.Request{Method: http.MethodPut, Path: b.clients.Path(b.version, current.GetName(), "status"), Body: body})
		}},
		PatchStatus: {per: perRequest, prepare: existing, ask: func(ctx context.Context) (int, error) {
			q, err := b.putStatus(b.version, current.GetName(), state)
			if err != nil {
				return 0, err
			}
			return b.single(ctx, q)
		}},
	}
}

// state is a status for an object, of a sample or as the schema allows it, that the API server and the webhook accept. It is an
// empty one if there is no other: then nothing is written, which costs less.
func (b *budgeted) state(ctx context.Context, name string) (map[string]any, error) {
	const tries = 20
	candidates := b.Definition.Generator(b.version, 1, b.Objects).Objects(corpus.Plain, tries)
	for _, object := range slices.Concat(b.Objects, candidates) {
		status, there := object.Object["status"].(map[string]any)
		if !there || len(status) == 0 || object.GroupVersionKind().Version != b.version {
			continue
		}
		q, err := b.putStatus(b.version, name, status)
		if err != nil {
			return nil, err
		}
		q.Query = url.Values{"dryRun": {"All"}}
		if _, err := b.clients.Do(ctx, q); err == nil {
			return status, nil
		} else if kube.StatusOf(err) == 0 {
			return nil, err
		}
	}
	b.note("no status was found that can be written at %s, so an empty one is", b.version)
	return map[string]any{}, nil
}
