package suites_test

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/versions"
	"github.com/crdconform/crdconform/suites/webhook"
)

// TestCatalogueAndSpecsAgree holds them together: an entry has exactly one spec, or says why it has none.
func TestCatalogueAndSpecsAgree(t *testing.T) {
	specs := map[requirement.ID]int{}
	for _, area := range []suites.Area{versions.Area, conversion.Area, webhook.Area, storage.Area, lifecycle.Area} {
		for _, spec := range suites.Preview([]suites.Area{area}) {
			specs[spec.Requirement]++
			if spec.Requirement.Area() != area.Name {
				t.Errorf("%s has its spec in the area %s", spec.Requirement, area.Name)
			}
			if spec.Text == "" || !strings.HasPrefix(spec.Location, "suites/"+area.Name+"/") {
				t.Errorf("%s: the spec has no text or no place: %+v", spec.Requirement, spec)
			}
		}
	}
	checked := 0
	for _, r := range requirement.All() {
		switch n := specs[r.ID]; {
		case n > 1:
			t.Errorf("%s has %d specs", r.ID, n)
		case n == 1 && r.Untested != "":
			t.Errorf("%s has a spec and says why it is not tested", r.ID)
		case n == 0 && r.Untested == "":
			t.Errorf("%s has no spec and does not say why", r.ID)
		}
		if (r.Binds == requirement.Webhook) != (r.ID.Area() == webhook.Area.Name) {
			t.Errorf("%s binds the %s and is in the area %s", r.ID, r.Binds, r.ID.Area())
		}
		checked += specs[r.ID]
	}
	if checked < 120 {
		t.Errorf("%d requirements have a spec, want 120 or more", checked)
	}
}
