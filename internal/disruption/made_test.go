package disruption

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/internal/kube"
)

// TestOwnedIsRemoved removes what was created after Ctrl-C too, and says what removes what is left.
func TestOwnedIsRemoved(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	deleted := ""
	client.PrependReactor("*", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
		if d, is := action.(kubetesting.DeleteActionImpl); is {
			deleted += d.Name + " "
		}
		if action.GetVerb() == "delete" && action.GetResource().Resource == "namespaces" {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
		}
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	})
	l := &lab{owned: kube.Owned{Client: client}}
	l.owned.Add(kube.Object{Kind: schema.GroupVersionKind{Kind: "Namespace"}, Resource: schema.GroupVersionResource{Resource: "namespaces"}, Name: "space"})
	l.owned.Add(kube.Object{Kind: schema.GroupVersionKind{Kind: "Thing"}, Resource: schema.GroupVersionResource{Resource: "things"}, Name: "thing"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.removeOwned(ctx)
	if deleted != "thing space " || err == nil || !strings.HasPrefix(err.Error(), "removing Namespace space: ") || !strings.HasSuffix(err.Error(), `"crdconform cleanup" removes it`) {
		t.Errorf("removed %s: %v", deleted, err)
	}
}
