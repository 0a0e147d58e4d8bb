//go:build kind

package kind_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/kind"
)

// start makes a cluster that goes with the test.
func start(t *testing.T, name string) *kind.Cluster {
	t.Helper()
	image, config := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE"), os.Getenv("CRDCONFORM_TEST_KIND_CONFIG") //nolint:forbidigo // CI sets them
	if image == "" {
		t.Fatal("CRDCONFORM_TEST_KIND_IMAGE names no node image to make a cluster of")
	}
	c, err := kind.Start(t.Context(), kind.Options{Name: "crdconform-" + name + "-" + strings.ToLower(rand.Text()[:6]), Image: image, ConfigFile: config, WatchCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}
