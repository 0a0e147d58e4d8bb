package existing

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/storage"
)

// TestOnAWholeCluster runs chapters in a cluster with everything that clusters have: services are led out of it by its
// proxy, and namespaces go by themselves. That is what differs from an API server alone, on which all chapters run, so it
// runs those that want services and namespaces.
func TestOnAWholeCluster(t *testing.T) {
	image, config := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE"), os.Getenv("CRDCONFORM_TEST_KIND_CONFIG") //nolint:forbidigo // tests are told by it what there is
	if image == "" {
		const missing = "CRDCONFORM_TEST_KIND_IMAGE names no node image for kind"
		if os.Getenv("CRDCONFORM_REQUIRE_KIND") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
			t.Fatal(missing + ", and CRDCONFORM_REQUIRE_KIND is set")
		}
		t.Skip(missing)
	}
	name := "crdconform-existing-" + strings.ToLower(rand.Text()[:6])
	whole, err := kind.Start(t.Context(), kind.Options{Name: name, Image: image, ConfigFile: config, WatchCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := whole.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	listener, host, err := whole.Listen(t.Context()) // it knows by which address this machine is reached
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()

	options := Options{Kubeconfig: whole.Kubeconfig(), Context: "kind-" + name, Run: "whole", WebhookHost: host}
	connection, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	c := &watched{Cluster: connection, used: map[string]bool{}}
	if passed := c.runSuites(t, conversion.Area, storage.Area, lifecycle.Area); passed < 100 {
		t.Errorf("%d requirements passed", passed)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	cleaner, err := NewCleaner(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { // the namespace takes a while
		found, unlisted, err := cleaner.Find(t.Context(), "whole")
		if err == nil && len(found)+len(unlisted) > 0 {
			err = fmt.Errorf("left are %v, not seen %v", found, unlisted)
		}
		return err
	})
}
