package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/load"
)

// TestProfilesOfConfigurations wants configurations to know the profiles that there are, and no others: to accept them, to list them
// where the name is unknown, and to have them in their schema.
func TestProfilesOfConfigurations(t *testing.T) {
	var names []string
	for _, profile := range load.Profiles() {
		names = append(names, profile[0])
		c := config.Default()
		c.Load.Profile = profile[0]
		if profile[0] == load.ReplayProfile {
			c.Load.Recording = "recording.jsonl"
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", profile[0], err)
		}
	}
	slices.Sort(names)
	c := config.Default()
	c.Load.Profile = "nothing-like-it"
	err := c.Validate()
	if err == nil {
		t.Fatal("a profile that does not exist is accepted")
	}
	_, list, _ := strings.Cut(err.Error(), "(want ")
	list, _, _ = strings.Cut(list, ")")
	if listed := slices.Sorted(strings.SplitSeq(list, ", ")); !slices.Equal(listed, names) {
		t.Errorf("%v\nlists %v, want %v", err, listed, names)
	}
	var schema struct {
		Types struct {
			Load struct {
				Properties struct {
					Profile struct {
						Enum []string `json:"enum"`
					} `json:"profile"`
				} `json:"properties"`
			} `json:"Load"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if enum := slices.Sorted(slices.Values(schema.Types.Load.Properties.Profile.Enum)); !slices.Equal(enum, names) {
		t.Errorf("the schema has %v, want %v", enum, names)
	}
}
