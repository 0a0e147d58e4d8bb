package server_test

import (
	"context"
	"os"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/doctor/doctortest"
	"github.com/crdconform/crdconform/internal/test/needs"
)

// TestDoctorPlantedAreCaught plants defects in an embedded API server.
func TestDoctorPlantedAreCaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("dozens of definitions take seconds")
	}
	newWard(t).Found(t)
}

// TestDoctorPlantedInAWholeCluster plants them in a whole API server.
func TestDoctorPlantedInAWholeCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	needs.APIServer(t)
	c, err := envtest.Start(t.Context(), envtest.Options{Variable: os.LookupEnv, WatchCache: true}) //nolint:forbidigo // envtest goes by it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	w, err := doctortest.NewWhole(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	w.Found(t)
}
