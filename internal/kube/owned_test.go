package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
)

// TestOwned removes what was created, in an order in which it can go, waits for it, and leaves alone what others made in its place.
func TestOwned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resource := schema.GroupResource{Resource: "things"}
		client := fake.NewSimpleDynamicClient(runtime.NewScheme())
		var log []string
		gone, away := map[string]time.Time{}, 3 // requests that the API server does not answer
		client.PrependReactor("*", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
			switch a := action.(type) {
			case kubetesting.DeleteActionImpl:
				log = append(log, fmt.Sprint(a.Name, " ", *a.DeleteOptions.Preconditions.UID, " ", *a.DeleteOptions.PropagationPolicy))
				gone[a.Name] = time.Now().Add(time.Second)
				return true, nil, map[string]error{
					"replaced":  apierrors.NewConflict(resource, a.Name, errors.New("the UID is another one")),
					"forbidden": apierrors.NewForbidden(resource, a.Name, nil),
					"gone":      apierrors.NewNotFound(resource, a.Name),
				}[a.Name]
			case kubetesting.GetActionImpl:
				there := &unstructured.Unstructured{}
				there.SetName(a.Name)
				there.SetUID(types.UID("uid-" + a.Name))
				switch {
				case a.Name == "hidden":
					return true, nil, apierrors.NewForbidden(resource, a.Name, nil)
				case a.Name == "manager" && away > 0:
					away--
					return true, nil, errors.New("no connection")
				case time.Now().Before(gone[a.Name]) || a.Name == "stuck":
				case a.Name == "followed":
					there.SetUID("another")
				default:
					return true, nil, apierrors.NewNotFound(resource, a.Name)
				}
				return true, there, nil
			}
			t.Errorf("unexpected: %v", action)
			return true, nil, nil
		})
		o := Owned{Client: client}
		add := func(group, kind, namespace, name string) {
			gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
			o.Add(Object{gvk, schema.GroupVersionResource{Group: group, Version: "v1", Resource: strings.ToLower(kind) + "s"}, namespace, name, types.UID("uid-" + name)})
		}
		add("", "Namespace", "", "stuck")
		add("", "Namespace", "", "space")
		o.Add(DefinitionObject(crontabs()))
		add("", "Secret", "space", "replaced")
		add("", "Secret", "space", "forbidden")
		add("", "Secret", "space", "gone")
		add("", "Service", "space", "followed")
		add("", "Service", "space", "hidden")
		add("apps", "Deployment", "space", "manager")
		add("example.com", "CronTab", "space", "one")
		add("example.com", "CronTab", "space", "one") // again
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := o.Remove(ctx)
		want := []string{
			"one uid-one Background", "crontabs.example.com ours Background", "manager uid-manager Foreground", "hidden uid-hidden Background",
			"followed uid-followed Background", "gone uid-gone Background", "forbidden uid-forbidden Background", "replaced uid-replaced Background", "space uid-space Background",
			"stuck uid-stuck Background",
		}
		if !slices.Equal(log, want) {
			t.Errorf("removed\n%s, want\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
		}
		for _, part := range []string{"removing Namespace stuck: it still exists: context deadline exceeded", "removing Service space/hidden: it still exists: ", "removing Secret space/forbidden: "} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("got %v, want %s", err, part)
			}
		}
		if err != nil && (strings.Contains(err.Error(), "replaced") || strings.Contains(err.Error(), "followed")) {
			t.Errorf("what others made is none of ours: %v", err)
		}
		if !o.Has("uid-stuck") || !o.Has("uid-forbidden") || o.Has("uid-followed") || o.Has("uid-gone") {
			t.Errorf("left are %v", o.all)
		}
	})
}
