//go:build nightly

package engine

import (
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/test/subjects"
)

// TestSubjectsByAllRequirements judges each webhook without a bug on an API server, and with each bug by all requirements.
func TestSubjectsByAllRequirements(t *testing.T) {
	for _, name := range subjects.Names() {
		t.Run(name, func(t *testing.T) {
			program := subjects.Build(t, name)
			t.Run("without bugs", func(t *testing.T) { blameless(t, program, config.Embedded) })
			for _, bug := range program.Bugs(t) {
				t.Run(bug, func(t *testing.T) { caught(t, program, bug, nil) })
			}
		})
	}
}
