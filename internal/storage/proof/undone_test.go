package proof

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/internal/fixtures"
)

// owned is an entry of a manager with a field each for spec and metadata.annotations.
func owned(manager, fields string) owner {
	return owner{manager, "Update", "", "example.com/v1", fields, "2026-01-01T12:00:00Z"}
}

// TestUndone finds writes that others undid, and leaves what may be meant.
func TestUndone(t *testing.T) {
	t.Parallel()
	const host, note = `{"f:spec":{"f:host":{}}}`, `{"f:metadata":{"f:annotations":{"f:example.com/note":{}}}}`
	spec := func(host string, owners ...owner) written {
		return written{map[string]any{"spec": map[string]any{"host": host, "hosts": []any{host}}}, owners}
	}
	noted := func(note any, owners ...owner) written {
		annotations := map[string]any{}
		if note != nil {
			annotations["example.com/note"] = note
		}
		return written{map[string]any{"metadata": map[string]any{"annotations": annotations}}, owners}
	}
	lists := strings.Replace(host, `"f:host":{}`, `"f:host":{},"f:hosts":{}`, 1)
	for name, test := range map[string]struct {
		all  []written
		want []string
	}{
		"one write":                     {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists))}, nil},
		"a stale write":                 {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("migrator", lists))}, []string{`migrator undid controller: .spec.host ("b", now "a"), .spec.hosts (["b"], now ["a"])`}},
		"another value":                 {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("c", owned("migrator", lists))}, nil},
		"who wrote it puts it back":     {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("controller", lists))}, nil},
		"who had it puts it back":       {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("a", owned("kubectl", lists))}, nil},
		"several writes":                {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("c", owned("other", lists)), spec("a", owned("migrator", lists))}, []string{`migrator undid other: .spec.host ("c", now "a"), .spec.hosts (["c"], now ["a"])`}},
		"one of several writes is kept": {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists)), spec("c", owned("controller", lists)), spec("b", owned("migrator", lists))}, []string{`migrator undid controller: .spec.host ("c", now "b"), .spec.hosts (["c"], now ["b"])`}},
		"a write of its own between":    {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("migrator", lists)), spec("c", owned("other", lists)), spec("a", owned("migrator", lists))}, nil},
		"what was added is taken away":  {[]written{noted(nil), noted("x", owned("controller", note)), noted(nil, owned("migrator", host))}, []string{`migrator undid controller: .metadata.annotations.example.com/note ("x", now nothing)`}},
		"what was removed is back":      {[]written{noted("x", owned("kubectl", note)), noted(nil, owned("controller", host)), noted("x", owned("migrator", note))}, []string{`migrator undid controller: .metadata.annotations.example.com/note (nothing, now "x")`}},
		"only the last is known":        {[]written{spec("a", owned("migrator", lists))}, nil},
		"nothing is known":              {nil, nil},
		"fields that nobody knows":      {[]written{spec("a"), spec("b"), spec("a")}, nil},
		"a field that begins like that": {[]written{spec("a", owned("kubectl", lists)), spec("b", owned("controller", lists), owned("kubectl", `{"f:spec":{"f:hostess":{}}}`)), spec("a", owned("migrator", lists))}, []string{`migrator undid controller: .spec.host ("b", now "a"), .spec.hosts (["b"], now ["a"])`}},
	} {
		var got []string
		for _, u := range undone(test.all) {
			got = append(got, u.by+" undid "+u.writer+": "+strings.Join(u.differences, ", "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestFollowIsRefused has an API server show an object as it is, and answer with an error when it is asked how that was. Only one that
// has forgotten it leaves nothing to find.
func TestFollowIsRefused(t *testing.T) {
	t.Parallel()
	crd := fixtures.None.New(fixtures.StoredAt("v1"))
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: "v1", Resource: crd.Spec.Names.Plural}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"forgotten": {apierrors.NewResourceExpired("too old resource version"), ""},
		"forbidden": {
			apierrors.NewForbidden(resource.GroupResource(), "", nil),
			"whether writes to these objects were undone is not known, since the API server does not list what was there before: " + apierrors.NewForbidden(resource.GroupResource(), "", nil).Error() + ": default/a",
		},
		"at fault": {
			apierrors.NewInternalError(errors.New("conversion webhook failed")),
			"whether writes to these objects were undone is not known, since the API server does not list what was there before: Internal error occurred: conversion webhook failed: default/a",
		},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": resource.GroupVersion().String(), "kind": crd.Spec.Names.Kind}}
		object.SetNamespace("default")
		object.SetName("a")
		object.SetUID("1")
		object.SetResourceVersion("9")
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: crd.Spec.Names.Kind + "List"}, object)
		client.PrependReactor("list", resource.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			list, _ := action.(clienttesting.ListActionImpl)
			return list.ListOptions.ResourceVersion != "", nil, test.err
		})
		e := complete()
		e.before.uids[0], e.before.wrote[0], e.followed = uidOf(object), 5, []int{0}
		p := &Proof{crd: crd, served: []string{"v1"}, objects: client, before: e.before, defaults: map[string]func(map[string]any){"v1": func(map[string]any) {}}}
		p.follow(t.Context(), e)
		e.judgeUndone()
		if got := strings.Join(e.weaker, "; "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
