package suitetest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// Shared is an API server for the tests of a package that leave nothing in it, one after the other. To start one for each takes a
// second of processor time.
type Shared struct {
	start   sync.Once
	cluster *embedded.Cluster
	failed  error
}

// Main runs the tests, and stops the API server if one of them wanted it. It is what TestMain calls.
func (s *Shared) Main(m *testing.M) {
	m.Run()
	if s.cluster == nil {
		return
	}
	if err := s.cluster.Stop(context.Background()); err != nil {
		panic(err)
	}
}

// Cluster returns the API server. The test fails if it leaves a definition.
func (s *Shared) Cluster(t *testing.T) *embedded.Cluster {
	t.Helper()
	s.start.Do(func() {
		if s.failed = embedded.LogTo(io.Discard); s.failed == nil {
			s.cluster, s.failed = embedded.Start(context.WithoutCancel(t.Context()), embedded.Options{})
		}
	})
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	t.Cleanup(func() {
		if err := s.emptied(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s.cluster
}

// emptied waits until there is no definition.
func (s *Shared) emptied(ctx context.Context) error {
	client, err := clientset.NewForConfig(s.cluster.Config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		left, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(left.Items) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the test left %s and %d more definitions", left.Items[0].Name, len(left.Items)-1)
		case <-poll.C:
		}
	}
}
