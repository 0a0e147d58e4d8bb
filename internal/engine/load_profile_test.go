package engine

import (
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/load"
)

// TestProfilesOfConfigurations wants configurations to know the profiles that there are, and no others.
func TestProfilesOfConfigurations(t *testing.T) {
	for _, profile := range load.Profiles() {
		c := config.Default()
		c.Load.Profile = profile[0]
		if profile[0] == load.ReplayProfile {
			c.Load.Recording = "recording.jsonl"
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", profile[0], err)
		}
	}
	c := config.Default()
	c.Load.Profile = "other"
	if c.Validate() == nil {
		t.Error("a profile that does not exist is taken")
	}
}
