//go:build kind

package kind_test

import (
	"testing"

	"github.com/crdconform/crdconform/internal/doctor/doctortest"
)

// TestDoctorPlanted plants defects in a whole cluster.
func TestDoctorPlanted(t *testing.T) {
	w, err := doctortest.NewWhole(start(t, "doctor").Config())
	if err != nil {
		t.Fatal(err)
	}
	w.Found(t)
}
